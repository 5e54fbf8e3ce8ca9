# reflink: where the file system can share blocks, a copy of an image or disk costs nothing. XFS and Btrfs, on loop devices.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup() {
	cli_setup
	unset LIMACTL_C_DRIVER
	M=$LIMA_HOME/mnt
	mkdir "$M"
	truncate -s 512M "$LIMA_HOME/fs"
}
teardown() {
	umount "$M" 2>/dev/null || true
	LIMA_HOME=${M%/mnt} cli_teardown
}

image() { "$OUT/libexec/limactl-c/image" "$@"; }
used() {
	sync -f "$M"
	df --output=used -B 1 "$M" | tail -n 1
}
# shares FILE: every extent of it is another file's too.
shares() {
	local extents
	extents=$(filefrag -sv "$1" | grep -E '^ +[0-9]+:')
	! grep -v shared <<<"$extents"
}
# costs_nothing COMMAND...: as what it copies are 8 MiB and more.
costs_nothing() {
	local before
	before=$(used)
	"$@"
	(($(used) - before < 2 << 20)) || {
		echo "$* took $(($(used) - before)) bytes" >&2
		return 1
	}
}

everything_is_shared() {
	local url=http://127.0.0.1:1/disk.raw dir
	mount -o loop "$LIMA_HOME/fs" "$M"
	export XDG_CACHE_HOME=$M/cache LIMA_HOME=$M/home
	mkdir "$LIMA_HOME"
	dir=$XDG_CACHE_HOME/lima/download/by-url-sha256/$(printf %s "$url" | sha256sum | cut -d ' ' -f 1)
	mkdir -p "$dir"
	head -c 8M /dev/urandom >"$dir/data"
	truncate -s 64M "$dir/data"
	cat >"$LIMA_HOME/t.yaml" <<-YAML
		images: [{location: "$url", arch: $(uname -m)}]
		memory: 512MiB
		disk: 1GiB
		mounts: []
	YAML

	# Lima's download becomes an object of ours.
	costs_nothing limactl-c create --tty=false --name one "$LIMA_HOME/t.yaml"
	shares "$XDG_CACHE_HOME"/limactl-c/objects/sha256-*

	# The disk of a clone.
	head -c 8M /dev/urandom >"$M/data"
	qemu-io -f qcow2 -c "write -s $M/data 1M 8M" "$LIMA_HOME/one/disk" >/dev/null
	costs_nothing limactl-c clone --tty=false one two
	shares "$LIMA_HOME/two/disk"
	cmp "$LIMA_HOME/one/disk" "$LIMA_HOME/two/disk"
	# What is written to one of them is not the other's.
	qemu-io -f qcow2 -c 'write -P 5 1M 64k' "$LIMA_HOME/two/disk" >/dev/null
	qemu-io -f qcow2 -c "read -P 5 1M 64k" "$LIMA_HOME/one/disk" | grep -q 'verification failed'

	# An extra disk made of an image, and a raw image made of a raw one.
	costs_nothing limactl-c disk import extra "$dir/data"
	shares "$LIMA_HOME/_disks/extra/datadisk"
	costs_nothing image convert "$dir/data" "$M/out.raw"
	shares "$M/out.raw"
	cmp "$M/out.raw" "$LIMA_HOME/_disks/extra/datadisk"
}

@test "XFS" {
	mkfs.xfs -q -m reflink=1 "$LIMA_HOME/fs"
	everything_is_shared
}

@test "Btrfs" {
	mkfs.btrfs -q "$LIMA_HOME/fs"
	everything_is_shared
}

@test "where the file system cannot, it is a copy that keeps the holes" {
	mkfs.ext4 -q "$LIMA_HOME/fs"
	mount -o loop "$LIMA_HOME/fs" "$M"
	head -c 8M /dev/urandom >"$M/a"
	truncate -s 64M "$M/a"
	image convert "$M/a" "$M/b"
	cmp "$M/a" "$M/b"
	((512 * $(stat -c %b "$M/b") < 9 << 20))
}
