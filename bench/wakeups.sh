#!/usr/bin/env bash
# Who wakes an idle guest with the engine up, RUNS times SECONDS_IDLE (60) seconds by bench/idle.sh: timer interrupts a vCPU (20 a
# second at most), and the rest by name. Then the same machine paused.
. "$(dirname "$0")/lib.bash"
bench_begin wakeups
SECONDS_IDLE=${SECONDS_IDLE:-60}
limactl-c start --tty=false --name=bench --idle=never "${TEMPLATE:-templates/minimal-docker-offline.yaml}" >/dev/null
timers=() cpu=() written=()
for run in $(seq "$RUNS"); do
	out=$(bench/idle.sh bench 15 "$SECONDS_IDLE")
	while read -r line; do raw "run $run: $line"; done <<<"$out"
	timers+=("$(sed -n 's/.*a second and vCPU: \([0-9.]*\).*/\1/p' <<<"$out")")
	cpu+=("$(sed -n 's/^QEMU: \([0-9.]*\) .*/\1/p' <<<"$out")")
	written+=("$(sed -n 's/^guest: .*written \([0-9]*\).*/\1/p' <<<"$out")")
done
limactl-c pause bench
paused=$(bench/idle.sh bench 2 "$SECONDS_IDLE")
while read -r line; do raw "paused: $line"; done <<<"$paused"
summary "timer interrupts a second and vCPU" "" 20 "${timers[@]}"
summary "QEMU's processor time in $SECONDS_IDLE s, awake" s - "${cpu[@]}"
summary "written by the guest in $SECONDS_IDLE s, awake" B 0 "${written[@]}"
summary "QEMU's processor time in $SECONDS_IDLE s, paused" s 0 "$(sed -n 's/^QEMU: \([0-9.]*\) .*/\1/p' <<<"$paused")"
