#!/usr/bin/env bash
# What it costs to sleep and to be woken up (docs/idle.md), of a guest of MEMORY (1GiB) with Docker and one container: wake to the
# first answer when paused, and when suspended, its state in the host's page cache or not; saving, fsync included; what is left in
# the host's memory; what is written.
. "$(dirname "$0")/lib.bash"
# shellcheck source=tests/helpers/common.bash
. tests/helpers/common.bash
bench_begin wake
SOCK=$LIMA_HOME/vm/sock/docker.sock

answer() { python3 bench/wake.py "$SOCK"; }
put() { echo "$2" >>"$LIMA_HOME/_$1"; }
# milliseconds COMMAND...
milliseconds() {
	local from to
	from=$(date +%s%N)
	"$@" >/dev/null
	to=$(date +%s%N)
	awk -v ns=$((to - from)) 'BEGIN { printf "%.3f\n", ns / 1e6 }'
}
# The pages of these processes, MB: shared ones by their share; and those that are in no file.
memory() {
	local pid
	for pid in "$@"; do cat "/proc/$pid/smaps_rollup"; done | awk '
		/^Pss:/ { pss += $2 }
		/^Pss_Anon:/ { anon += $2 }
		END { printf "%.3f %.3f\n", pss / 1000, anon / 1000 }'
}
family() { echo "$1"; for child in $(cat "/proc/$1/task/$1/children"); do family "$child"; done; }
# What is not in the page cache any more: a host that needed its memory for something else.
forget() { python3 -c 'import os, sys; f = os.open(sys.argv[1], os.O_RDONLY); os.posix_fadvise(f, 0, 0, os.POSIX_FADV_DONTNEED)' "$1"; }

limactl-c start --tty=false --name=vm --idle=never --memory="$(tr -dc 0-9 <<<"${MEMORY:-1GiB}")" templates/minimal-docker-offline.yaml >/dev/null
answer >/dev/null
for ((i = 0; i <= RUNS; i++)); do # the first is not counted
	limactl-c pause vm
	ms=$(answer)
	((i == 0)) || put paused "$ms"
	saved=$(milliseconds control vm POST save '{"untilUsed":true}')
	bytes=$(stat -c %s "$LIMA_HOME/vm/vm.state")
	ms=$(answer)
	ticks=$(awk '{ print $14 + $15 }' "/proc/$(cat "$LIMA_HOME/vm/qemu.pid")/stat")
	((i == 0)) || put processor $((ticks * 1000 / $(getconf CLK_TCK)))
	((i == 0)) || { put saved "$saved"; put woken "$ms"; put state $((bytes / 1000000)); }
	control vm POST save '{"untilUsed":true}' >/dev/null
	forget "$LIMA_HOME/vm/vm.state"
	# shellcheck disable=SC2046 # words
	read -r pss anon < <(memory $(family "$(ha_pid vm)"))
	ms=$(answer)
	((i == 0)) || { put forgotten "$ms"; put pss "$pss"; put anon "$anon"; }
	raw "run $i: saved in $saved ms, $bytes bytes; woken after $ms ms from the disk; $pss MB of memory, $anon MB of it its own"
done
of() { cat "$LIMA_HOME/_$1"; }
# shellcheck disable=SC2046 # words
{
	summary "paused: wake to the first answer" ms 20 $(of paused)
	summary "suspend, fsync included" ms 1000 $(of saved)
	summary "suspended: wake to the first answer" ms 600 $(of woken)
	summary "... processor time of QEMU until then" ms - $(of processor)
	summary "... its state read from the disk" ms 600 $(of forgotten)
	summary "suspended: memory of the instance" MB 3 $(of pss)
	summary "... of its own" MB - $(of anon)
	summary "written a cycle" MB - $(of state)
}
# shellcheck disable=SC2046 # words
cycle=$(median $(of state))
# Quiet for an hour (idle.suspendAfter): at lunch, in two long meetings, and at the end of the day.
raw "written in a day of 8 hours: $(awk -v mb="$cycle" 'BEGIN { printf "%.0f MB (4 times quiet for an hour), %.0f MB (every half hour short of memory)", 4 * mb, 16 * mb }')"
