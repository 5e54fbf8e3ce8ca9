# disks: extra disks in a real guest of their own, without an engine: formatted once, kept, grown.
. "$BATS_TEST_DIRNAME/../helpers/common.bash"
bats_require_minimum_version 1.5.0

setup_file() {
	OWN_HOME=$(mktemp -d /tmp/ld.XXXX)
	export OWN_HOME
}
teardown_file() {
	LIMA_HOME=$OWN_HOME limactl-c delete -f box >/dev/null 2>&1 || true
	rm -rf "$OWN_HOME"
}
setup() { export LIMA_HOME=$OWN_HOME; }

box() { limactl-c shell box "$@"; }

@test "extra disks are formatted, mounted, kept and grown; one that holds something is left alone" {
	sed 's|when: noContainers|when: never|' templates/minimal-docker-offline.yaml >"$LIMA_HOME/box.yaml"
	cat >>"$LIMA_HOME/box.yaml" <<-'YAML'
		additionalDisks:
		- data
		- {name: a-name-longer-than-a-serial, fsType: ext2, fsArgs: ["-m", "0"]}
		- {name: swap, fsType: swap}
		- {name: mine, fsType: ext4}
	YAML
	limactl-c disk create data --size 1GiB
	limactl-c disk create a-name-longer-than-a-serial --size 256MiB --format raw
	limactl-c disk create swap --size 64MiB
	# Somebody's: something is on it, and no label of ours.
	truncate -s 64M "$LIMA_HOME/mine.raw"
	mkfs.ext4 -q -L other "$LIMA_HOME/mine.raw"
	limactl-c disk import mine "$LIMA_HOME/mine.raw"
	limactl-c start --tty=false --set 'del(.guest.engineDisk) | .portForwards = []' "$LIMA_HOME/box.yaml"
	run -0 box cat /proc/mounts
	contains "$output" '/dev/vdb1 /mnt/lima-data ext4 rw'
	contains "$output" '/dev/vdc1 /mnt/lima-a-name-longer-than-a-serial ext2 rw'
	contains "$output" '/dev/vde /mnt/lima-mine ext4 rw'
	contains "$(box cat /proc/swaps)" /dev/vdd1
	run ! box test -s /run/lima/setup.warnings
	contains "$(box sudo blkid /dev/vdb1 /dev/vde)" 'LABEL="lima-data"'
	contains "$(box sudo blkid /dev/vde)" 'LABEL="other"'
	box sudo sh -c 'echo kept >/mnt/lima-data/file'
	limactl-c stop box
	contains "$(dumpe2fs -h "$LIMA_HOME/_disks/a-name-longer-than-a-serial/datadisk?offset=1048576" 2>&1)" \
		"Filesystem state:         clean"
	equals "$(limactl-c disk list --json data | grep -c '"instance":""')" 1
	limactl-c disk resize data --size 3GiB
	# In another order: the guest goes by the serial number.
	sed -i -e '/^- data$/d' "$LIMA_HOME/box/lima.yaml"
	echo '- data' >>"$LIMA_HOME/box/lima.yaml"
	limactl-c start --tty=false box
	equals "$(box cat /mnt/lima-data/file)" kept
	contains "$(box cat /proc/mounts)" '/dev/vde1 /mnt/lima-data ext4 rw'
	(($(box df -k /mnt/lima-data | awk 'END { print $2 }') > 2800000))
	run ! box test -s /run/lima/setup.warnings
	limactl-c stop box
}
