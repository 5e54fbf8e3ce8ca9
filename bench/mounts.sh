#!/usr/bin/env bash
# What files of the host cost in the guest: its own disk, 9p with several caches and message sizes, virtiofs; in turn, so that
# ratios hold on a machine that is not quiet. bench/mounts_load.c says what is measured.
. "$(dirname "$0")/lib.bash"
. tests/helpers/vm.bash
bench_begin mounts
make -s OUT="$OUT" bench-tools
samples=$LIMA_HOME/.samples
mkdir "$LIMA_HOME/.share"

# template TYPE: a small guest with every way of that type, each at /m/NAME.
template() {
	alpine_template 1GiB
	cat <<-YAML
		guest: {init: lean}
		mountType: $1
		mounts:
	YAML
	if [ "$1" = virtiofs ]; then
		echo "- {location: $LIMA_HOME/.share, mountPoint: /m/virtiofs, writable: true}"
		return
	fi
	local way
	for way in none:500 readahead:500 mmap:64 mmap:128 mmap:500 loose:500; do
		echo "- {location: $LIMA_HOME/.share, mountPoint: /m/9p-${way/:/-}, writable: true, 9p: {cache: ${way%:*}, msize: ${way#*:}KiB}}"
	done
	echo "- {location: $LIMA_HOME/.share, mountPoint: /m/9p-mapped-128, writable: true, 9p: {securityModel: mapped-xattr}}"
}

for type in 9p virtiofs; do
	template $type >"$LIMA_HOME/$type.yaml"
	limactl-c start --tty=false --name=bench "$LIMA_HOME/$type.yaml" >/dev/null
	limactl-c shell bench sudo sh -c 'mkdir -p /root/disk && cat >/root/load && chmod 755 /root/load' <"$OUT/bench/mounts_load"
	for run in $(seq "$RUNS"); do
		for folder in /root/disk $(limactl-c shell bench sh -c 'ls -d /m/*'); do
			way=$(basename "$folder")
			[ "$way" != disk ] || way=disk-beside-$type
			line=$(limactl-c shell bench sudo /root/load "$folder" | tee >(sed "s/^/$way /" >>"$samples") | tr '\n' ' ')
			raw "run $run: $way: $line"
		done
	done
	limactl-c delete -f bench
done
for what in write read read4k write4k files stat small again; do
	unit=/s
	case $what in write | read) unit=MB/s ;; esac
	mapfile -t ways < <(awk '!seen[$1]++ { print $1 }' "$samples")
	for way in "${ways[@]}"; do
		mapfile -t values < <(awk -v w="$way" -v n="$what" '$1 == w && $2 == n { print $3 }' "$samples")
		summary "$way: $what" $unit - "${values[@]}"
	done
done
