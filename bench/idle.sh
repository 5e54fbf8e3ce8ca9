#!/usr/bin/env bash
# idle.sh NAME WARMUP SECONDS: what the instance NAME costs while nobody uses it: after WARMUP seconds, over SECONDS, processor
# time, wakeups (voluntary switches) and bytes written of QEMU and the host agent; in the guest timer interrupts a vCPU, blocks
# written and wakeups by who woke. One command samples the guest before and after; it sleeps meanwhile. A paused or suspended
# instance is measured on the host only, so that it is not woken up.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$(realpath -m "${OUT:-out}")/bin:$PATH
[ $# = 3 ] || { echo "usage: bench/idle.sh NAME WARMUP SECONDS" >&2; exit 2; }
name=$1 warmup=$2 seconds=$3
status=$(limactl-c list "$name" --format '{{.Status}}')
dir=$(limactl-c list "$name" --format '{{.Dir}}')
qemu=$(limactl-c list "$name" --format '{{.DriverPID}}')
agent=$(limactl-c list "$name" --format '{{.HostAgentPID}}')

# process PID: processor seconds, voluntary switches of all threads, bytes written; zeros of one that is not there.
process() {
	[ "$1" -gt 0 ] && [ -d "/proc/$1" ] || { echo "0 0 0"; return; }
	awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); printf "%.2f ", ($12 + $13) / hz }' "/proc/$1/stat"
	cat /proc/"$1"/task/*/status 2>/dev/null | awk '/^voluntary_ctxt_switches/ { n += $2 } END { printf "%d ", n }'
	awk '/^write_bytes/ { print $2 }' "/proc/$1/io"
}

# The guest's side, with a sync before and one at the end; its own programs are the first ones of the list, once each.
sample='
	threads() {
		for t in /proc/[0-9]*/task/[0-9]*; do
			{ read -r name <$t/comm; } 2>/dev/null || continue
			awk -v id="${t##*/}" -v name="$name" "/^voluntary_ctxt_switches/ { print id, \$2, name }" $t/status 2>/dev/null
		done
	}
	written() { awk "\$3 ~ /^vd[a-z]\$/ { n += \$10 } END { print n * 512 }" /proc/diskstats; }
	timers() { awk "/ LOC:|LOC:/ { for (i = 2; i <= NF; i++) if (\$i ~ /^[0-9]+\$/) n += \$i } END { print n }" /proc/interrupts; }
	sync; sleep '"$warmup"'; sync
	threads >/run/bench.before; w=$(written); l=$(timers); i=$(awk "/^intr/ { print \$2 }" /proc/stat)
	sleep '"$seconds"'
	l=$(($(timers) - l)); i=$(($(awk "/^intr/ { print \$2 }" /proc/stat) - i)); threads >/run/bench.after; sync
	echo "guest: timer interrupts $l, interrupts $i, written $(($(written) - w))"
	awk -v s='"$seconds"' "NR == FNR { was[\$1] = \$2; next } { n = \$2 - was[\$1]; sub(/^[0-9]+ [0-9]+ /, \"\"); sub(/\/.*/, \"\"); sum[\$0] += n }
		END { for (k in sum) if (sum[k] > s / 20) printf \"guest: %s: %.2f switches a second\n\", k, sum[k] / s }" /run/bench.before /run/bench.after | sort -t: -k3 -rn
	rm -f /run/bench.before /run/bench.after'
guest=$(mktemp)
trap 'rm -f "$guest"' EXIT
if [ "$status" = Running ]; then
	limactl-c shell "$name" sudo sh -c "$sample" >"$guest" &
	job=$!
	sleep 2
fi
sleep "$warmup"
touch "$guest.mark"
q=$(process "$qemu") a=$(process "$agent")
sleep "$((seconds - 2))"
q2=$(process "$qemu") a2=$(process "$agent")
changed=$(find "$dir" -type f -newer "$guest.mark" | wc -l)
rm -f "$guest.mark"
[ -z "${job:-}" ] || wait "$job"
cpus=$(jq -r .cpus "$dir/plan.json")
report() {
	awk -v who="$1" -v s="$((seconds - 2))" '{ printf "%s: %.2f processor seconds, %d switches (%.2f a second), %d bytes written in %d s\n", who, $4 - $1, $5 - $2, ($5 - $2) / s, $6 - $3, s }' <<<"$2 $3"
}
report QEMU "$q" "$q2"
report "host agent" "$a" "$a2"
echo "files of the instance that changed: $changed"
sed "s|^guest: timer interrupts \([0-9]*\)|& (a second and vCPU: PER)|" "$guest" | awk -v s="$seconds" -v c="$cpus" '/PER/ { sub(/PER/, sprintf("%.1f", $4 / s / c)) } { print }'
