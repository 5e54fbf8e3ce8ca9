#!/usr/bin/env bash
# What a Debian guest's own loader costs: two instances of one image started in turn, one by its BIOS and GRUB, one by the
# kernel that was taken out of it after its first start. bench/stages.py says by which clocks. As root, which making the
# image needs.
. "$(dirname "$0")/lib.bash"
here=$(dirname "$(realpath "$0")")
. tests/helpers/vm.bash
tests/helpers/debian-image
bench_begin loader
samples=$LIMA_HOME/_samples # KIND<tab>STAGE<tab>SECONDS
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
		while IFS=$'\t' read -r stage seconds processor; do
			printf '%s\t%s\t%s\n' "$kind" "$stage" "$seconds" >>"$samples"
			raw "run $run: $kind: $stage at $seconds s, processor $processor s"
		done < <(python3 "$here/stages.py" boot "$kind")
		limactl-c stop "$kind" >/dev/null 2>&1
	done
	raw "run $run: load average $(cut -d ' ' -f 1 /proc/loadavg)"
done

# column KIND STAGE
column() { awk -F '\t' -v k="$1" -v s="$2" '$1 == k && $2 == s { print $3 }' "$samples"; }

for stage in "$FIRST" "agent answers"; do
	for kind in grub harvested; do
		mapfile -t seconds < <(column "$kind" "$stage")
		summary "$kind: $stage" s - "${seconds[@]}"
	done
	mapfile -t saved < <(paste <(column grub "$stage") <(column harvested "$stage") | awk 'NF == 2 { printf "%.3f\n", $1 - $2 }')
	summary "saved: $stage" s - "${saved[@]}"
done
