#!/usr/bin/env bash
# Where the time of a boot goes, stage by stage (bench/stages.py says by which clocks), beside bare QEMU booting the same
# kernel and initramfs to power-off, in turn. A second start each, so that nothing is made that stays. On a busy machine
# run it as `chrt -f 1 bench/boot.sh`: the machine's processes inherit that and go ahead of the other work.
. "$(dirname "$0")/lib.bash"
bench_begin boot

# The guests: instance, template, what is changed in it. One more guest is one more line.
guests() {
	cat <<-'LIST'
		bench    templates/minimal-docker-offline.yaml
		openrc   templates/minimal-docker-offline.yaml   .guest.init="openrc"
	LIST
}
limits() {
	cat <<-'LIST'
		bench: agent answers|6
		bench: READY (_ping answered)|18
		openrc: agent answers|28
	LIST
}

# Stages of a kind, in their order in the first run.
stages_of() { samples | awk -F '\t' -v k="$1" '$2 == k && !seen[$3]++ { print $3 }'; }

conclude() {
	local kind=$1 stage limit
	local -a seconds processor
	while read -r stage; do
		mapfile -t seconds < <(column "$kind" "$stage" 4)
		mapfile -t processor < <(column "$kind" "$stage" 5)
		limit=$(limits | awk -F '|' -v s="$kind: $stage" '$1 == s { print $2 }')
		summary "$kind: $stage" s "${limit:--}" "${seconds[@]}"
		summary "  QEMU's processor time" s - "${processor[@]}"
	done < <(stages_of "$kind")
}

# ratio KIND STAGE: to bare QEMU of the same run.
ratio() {
	local -a r
	mapfile -t r < <(paste <(column "$1" "$2" 4) <(column bare "powered off" 4) | awk '{ printf "%.3f\n", $1 / $2 }')
	summary "$1: $2 / bare QEMU" "" - "${r[@]}"
	mapfile -t r < <(paste <(column "$1" "$2" 5) <(column bare "powered off" 5) | awk '{ printf "%.3f\n", $1 / $2 }')
	summary "  of processor time" "" - "${r[@]}"
}

while read -r name template change; do
	limactl-c create --tty=false --name="$name" ${change:+--set "$change"} "$template" >/dev/null 2>&1
	limactl-c start "$name" >/dev/null 2>&1
	limactl-c stop "$name" >/dev/null 2>&1
done < <(guests)

same=$(jq -r .cmdline "$LIMA_HOME/bench/plan.json" | sed 's/ rdinit=[^ ]*//')
# shellcheck disable=SC2034 # bare_qemu uses it
bare_by=(python3 bench/stages.py bare)
for run in $(seq "$RUNS"); do
	while read -r name _; do
		python3 bench/stages.py boot "$name" | keep "$run" "$name"
		limactl-c stop "$name" >/dev/null 2>&1
	done < <(guests)
	bare_qemu "$same" | keep "$run" bare
	raw "run $run: load average $(cut -d ' ' -f 1 /proc/loadavg)"
done

for kind in $(guests | cut -d " " -f 1) bare; do
	conclude "$kind"
done
for kind in $(guests | cut -d " " -f 1); do
	ratio "$kind" "agent answers"
	ratio "$kind" "READY (_ping answered)"
done
