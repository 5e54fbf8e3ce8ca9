#!/usr/bin/env bash
# What an idle instance keeps: memory of the host agent and the guest agent, and how often our processes wake in 60 s,
# with a control: the same count while one request a second goes through.
. "$(dirname "$0")/lib.bash"
bench_begin footprint
SECONDS_IDLE=${SECONDS_IDLE:-60}

limactl-c start --tty=false --name=bench --idle=never templates/minimal-docker-offline.yaml >/dev/null
sock=$LIMA_HOME/bench/sock/docker.sock

# Every process of ours on the host: the host agent, the spawner it forked, and the shell that waits for the guest's sample.
host_pids() {
	local exe
	for exe in /proc/[0-9]*/exe; do
		case $(readlink "$exe") in
		"$OUT"/*) exe=${exe%/exe}; echo "${exe#/proc/}" ;;
		esac
	done
}

host_switches() {
	local pid sum=0
	for pid in $(host_pids); do
		sum=$((sum + $(awk '/^voluntary_ctxt_switches/ { print $2 }' "/proc/$pid/status")))
	done
	echo "$sum"
}

# One exec samples the guest agent before and after; nothing of ours runs in between. Prints the difference.
guest_switches() {
	limactl-c shell bench sh -c '
		n() { awk "/^voluntary_ctxt_switches/ { print \$2 }" "/proc/$(pgrep -o -f "agent daemon")/status"; }
		sleep 2; a=$(n); sleep '"$1"'; b=$(n); echo $((b - a))'
}

# window SECONDS: switches of all our processes together, host and guest, in that time.
window() {
	local out before after
	out=$(mktemp)
	guest_switches "$1" >"$out" &
	local job=$!
	sleep 4 # the exec has begun, its first sample is taken
	before=$(host_switches)
	sleep $(($1 - 4))
	after=$(host_switches)
	wait "$job"
	echo "$(cat "$out") $((after - before))"
	rm -f "$out"
}

host_pss=() guest_rss=() idle=() busy=()
for run in $(seq "$RUNS"); do
	kb=0
	for pid in $(host_pids); do
		kb=$((kb + $(awk '/^Pss:/ { print $2 }' "/proc/$pid/smaps_rollup")))
	done
	host_pss+=("$(awk -v kb="$kb" 'BEGIN { printf "%.3f", kb / 1024 }')")
	guest_rss+=("$(limactl-c shell bench sh -c 'awk "/^VmRSS/ { print \$2 / 1024 }" "/proc/$(pgrep -o -f "agent daemon")/status"')")
	read -r g h < <(window "$SECONDS_IDLE")
	idle+=($((g + h)))
	(
		for _ in $(seq "$SECONDS_IDLE"); do
			curl -sS --unix-socket "$sock" http://docker/_ping >/dev/null
			sleep 1
		done
	) &
	load=$!
	read -r bg bh < <(window "$SECONDS_IDLE")
	kill "$load" 2>/dev/null || true
	wait "$load" 2>/dev/null || true
	busy+=($((bg + bh)))
	raw "run $run: host PSS ${host_pss[-1]} MB, guest RSS ${guest_rss[-1]} MB, switches in $SECONDS_IDLE s: idle $g guest + $h host, one request a second $bg + $bh"
done
summary "host agent with its spawner, PSS" MB 3 "${host_pss[@]}"
summary "guest agent, RSS" MB 1 "${guest_rss[@]}"
summary "voluntary switches in $SECONDS_IDLE s, idle" "" 2 "${idle[@]}"
summary "control: one request a second" "" - "${busy[@]}"
