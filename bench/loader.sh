#!/usr/bin/env bash
# What a Debian guest's own loader costs: two instances of one image started in turn, one by its BIOS and GRUB, one by the
# kernel that was taken out of it after its first start. bench/stages.py says by which clocks. As root, which making the
# image needs.
. "$(dirname "$0")/lib.bash"
. tests/helpers/vm.bash
tests/helpers/debian-image
bench_begin loader
FIRST="kernel's first line (firmware, unpacking it)"

debian_template >"$LIMA_HOME/debian.yaml"

start() { limactl-c start --tty=false --timeout=15m "$@" >/dev/null 2>&1; }
kernel_is_known() { [ -e "$LIMA_HOME/harvested/harvest/harvest.json" ]; }

start --name=grub --set '.guest.directBoot=false' "$LIMA_HOME/debian.yaml"
limactl-c stop grub >/dev/null 2>&1
start --name=harvested "$LIMA_HOME/debian.yaml"
for _ in $(seq 300); do
	kernel_is_known && break
	sleep 1
done
kernel_is_known || { echo "loader.sh: the guest's kernel was not taken out of it" >&2; exit 1; }
limactl-c stop harvested >/dev/null 2>&1

for run in $(seq "$RUNS"); do
	for kind in grub harvested; do
		python3 bench/stages.py boot "$kind" | keep "$run" "$kind"
		limactl-c stop "$kind" >/dev/null 2>&1
	done
	raw "run $run: load average $(cut -d ' ' -f 1 /proc/loadavg)"
done

# saved STAGE: in each run that has it of both; a busy host's early stages are left out.
saved() {
	samples | awk -F '\t' -v s="$1" '
		$3 == s { at[$1, $2] = $4; runs[$1] }
		END {
			for (r in runs)
				if ((r, "grub") in at && (r, "harvested") in at)
					printf "%.3f\n", at[r, "grub"] - at[r, "harvested"]
		}'
}

for stage in "$FIRST" "agent answers"; do
	for kind in grub harvested; do
		mapfile -t seconds < <(column "$kind" "$stage" 4)
		summary "$kind: $stage" s - "${seconds[@]}"
	done
	mapfile -t seconds < <(saved "$stage")
	summary "saved: $stage" s - "${seconds[@]}"
done
