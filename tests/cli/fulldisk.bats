# fulldisk: every command that writes, on a file system that has room for less and less of it. Each write is the one that
# fails once: then one sentence says so, nothing new is left, nothing that was there is changed.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup() {
	cli_setup
	unset LIMACTL_C_DRIVER
	T=$LIMA_HOME # with room
	S=$T/small
	mkdir "$S"
	cd "$T" || return
	head -c 3M /dev/urandom >disk.raw
	truncate -s 8M disk.raw
	qemu-img convert -f raw -O qcow2 disk.raw disk.qcow2
	echo kernel >kernel
	head -c 300k /dev/urandom >initrd
}
teardown() {
	LIMA_HOME=$S/home cli_teardown
	while umount -l "$S" 2>/dev/null; do :; done
	LIMA_HOME=$T cli_teardown
}

image() { "$OUT/libexec/limactl-c/image" "$@"; }
# template [MORE]
template() {
	cat >"$T/t.yaml" <<-YAML
		images: [{location: "$T/disk.qcow2", arch: x86_64}]
		arch: x86_64
		memory: 512MiB
		disk: 1GiB
		$1
	YAML
}
new() { limactl-c create --tty=false --name "$1" "$T/t.yaml"; }

# What is there, but for locks, which hold nothing, the user's keys, which the first instance makes for all, the folders of the
# cache, its links to objects that are not there, and its note of the home that uses it.
state() {
	(cd "$S" && find . ! -path './.cache*' ! -path ./home/_config -type d -printf '%p %m\n' -o \
		-type l ! -xtype l ! -path '*/homes/*' -printf '%p %l\n' -o \
		-type f ! -name '*.lock' ! -name lock ! -path './home/_config/user*' -printf '%p %m ' -exec cksum '{}' ';') | sort
	find "$S" -path '*/_config/user*.tmp*'
}
used() { df --output="$1" -k "$S" | tail -n 1; }

# sweep COMMAND: prepare_COMMAND makes what it needs, COMMAND is tried with more and more room until it succeeds; then with
# more and more room for files' names.
sweep() {
	local n refused=0
	for n in 0 4 8 12 16 24 32 48 64 96 128 192 256 384 512 768 1024 2048 3072 4096 8192 16384 20480 end; do
		[ "$n" = end ] || room "$1" size used "$n" k && break
	done
	[ "$n" != end ]
	for n in {0..60} end; do
		[ "$n" = end ] || room "$1" nr_inodes iused "$n" '' && break
	done
	[ "$n" != end ]
	((refused))
}

# room COMMAND OPTION USED MORE UNIT
room() {
	local before
	# What was stopped may not have ended yet.
	! mountpoint -q "$S" || wait_until 20 umount "$S"
	mount -t tmpfs -o size=64M,nr_inodes=1000 tmpfs "$S"
	echo >"$S/other" # a size of 0 is none
	"prepare_$1" >"$T/said" 2>&1 || { cat "$T/said" >&2; exit 1; }
	before=$(state)
	mount -o "remount,$2=$(($(used "$3") + $4))$5" "$S" || exit 1
	if "$1" >"$T/said" 2>&1 3>&-; then
		return 0
	fi
	mount -o remount,size=64M,nr_inodes=1000 "$S" || exit 1
	one_sentence "$4 $2 more"
	refused=$((refused + 1))
	[ "$(state)" = "$before" ] || {
		diff -u <(echo "$before") <(state) >&2
		exit 1
	}
	return 1
}

# one_sentence ROOM: of what it said, one line is an error.
one_sentence() {
	[ "$(grep -cE '^image: |level=(fatal|error)' "$T/said")" = 1 ] && grep -q "no free disk space for $S/" "$T/said" || {
		echo "with $1 it said:"
		cat "$T/said"
		exit 1
	} >&2
}

# --- what lies in LIMA_HOME ---

prepare_create() { mkdir "$S/home"; }
create() { LIMA_HOME=$S/home XDG_CACHE_HOME=$T/.cache new one; }

@test "create: a guest with a seed" {
	template $'firmware: {legacyBIOS: true}\nprovision: [{script: "#!/bin/sh\\ntrue"}, {mode: data, path: /etc/x, content: hello}]'
	sweep create
}

@test "create: a guest with UEFI's variables" {
	template "cpus: 1"
	sweep create
}

@test "create: a guest with an initramfs of ours" {
	template "guest: {init: lean}"
	sed -i "s|arch: x86_64}]|arch: x86_64, kernel: {location: $T/kernel}, initrd: {location: $T/initrd}}]|" t.yaml
	sweep create
}

# An instance with a disk that holds something.
prepare_one() {
	export LIMA_HOME=$S/home
	mkdir "$LIMA_HOME"
	template "firmware: {legacyBIOS: true}"
	new one
	qemu-io -f qcow2 -c 'write -P 5 0 1M' "$LIMA_HOME/one/disk"
}

@test "start" {
	prepare_start() {
		export LIMA_HOME=$S/home LIMACTL_C_DRIVER=fake
		mkdir "$LIMA_HOME"
		limactl-c create --tty=false --name one "$T/fake.yaml"
	}
	# Once it runs, what has no room is the guest, which is in the same folder here.
	start() {
		limactl-c start --tty=false --timeout=3s one || grep -q 'guest agent answers' "$T/said" || return
		limactl-c stop -f one || true
	}
	# The host agent's words are shown, and are the reason.
	one_sentence() { equals "$(grep -c 'level=fatal.*no free disk space for' "$T/said")" 1 || { cat "$T/said" >&2; exit 1; }; }
	state() { cksum "$S/home/one/lima.yaml"; find "$S" -name '*.tmp' -o -name '*.sock'; }
	sweep start
}

@test "clone" {
	prepare_clone() { prepare_one; }
	clone() { limactl-c clone --tty=false one two; }
	sweep clone
}

@test "rename" {
	prepare_rename() { prepare_one; }
	rename() { limactl-c rename --tty=false one two; }
	# What is made of these at each start may be the new name's.
	eval "all_$(declare -f state)"
	state() { all_state | grep -vE 'one/(settings|provision|cidata)'; }
	sweep rename
}

@test "edit, of an instance and of a file; protect" {
	prepare_edit() { prepare_one; }
	edit() { limactl-c edit --tty=false one --cpus 3; }
	sweep edit
	prepare_edit_file() { cp "$T/t.yaml" "$S/t.yaml"; }
	edit_file() { limactl-c edit --tty=false "$S/t.yaml" --cpus 3; }
	sweep edit_file
	prepare_protect() { prepare_one; }
	protect() { limactl-c protect one; }
	sweep protect
}

@test "template copy: a new file, and in the place of an old one" {
	template "cpus: 1"
	printf '# %s\n' {1..3000} >>t.yaml
	prepare_copy_new() { true; }
	copy_new() { limactl-c template copy "$T/t.yaml" "$S/out.yaml"; }
	sweep copy_new
	prepare_copy_over() { echo old >"$S/out.yaml"; }
	copy_over() { copy_new; }
	sweep copy_over
}

@test "disk create, import, resize" {
	export LIMA_HOME=$S/home
	prepare_disks() { mkdir -p "$S/home/_disks"; }
	prepare_disk_create() { prepare_disks; }
	disk_create() { limactl-c disk create d --size 1GiB; }
	sweep disk_create
	prepare_disk_create_raw() { prepare_disks; }
	disk_create_raw() { limactl-c disk create d --size 1GiB --format raw; }
	sweep disk_create_raw
	prepare_disk_import() { prepare_disks; }
	disk_import() { limactl-c disk import d "$T/disk.qcow2"; }
	sweep disk_import
	disk_import() { limactl-c disk import d "$T/disk.raw"; }
	sweep disk_import
	# What qemu-img appended before there was no more room is no part of the disk.
	prepare_disk_resize() {
		prepare_disks
		limactl-c disk create d --size 1GiB
		qemu-io -f qcow2 -c 'write -P 5 0 1M' "$S/home/_disks/d/datadisk"
	}
	disk_resize() { limactl-c disk resize d --size 8TiB; }
	state() {
		qemu-img info --output json "$S/home/_disks/d/datadisk" | jq '."virtual-size"'
		qemu-img check -q "$S/home/_disks/d/datadisk" >&2
		qemu-io -f qcow2 -c 'read -P 5 0 1M' "$S/home/_disks/d/datadisk" | grep -c 'verification failed' || true
	}
	sweep disk_resize
}

# --- what lies in the cache ---

@test "a download, whole or packed; a packed file; what Lima has" {
	local url
	serve "$T"
	gzip -k disk.raw
	xz -k disk.qcow2
	export XDG_CACHE_HOME=$S/.cache
	url=$URL
	# What was fetched whole waits for its place.
	eval "all_$(declare -f state)"
	state() { all_state | grep -v /partial/; }
	prepare_get() { true; }
	for url in "$URL/disk.qcow2" "$URL/disk.raw.gz" "$T/disk.qcow2.xz"; do
		get() { image get "$url"; }
		sweep get
	done
	prepare_get() {
		local dir=$XDG_CACHE_HOME/lima/download/by-url-sha256/$(printf %s http://192.0.2.1/x | sha256sum | cut -d ' ' -f 1)
		mkdir -p "$dir"
		cp "$T/disk.raw" "$dir/data"
	}
	get() { image get "http://192.0.2.1/x" --digest "sha256:$(sha256sum <"$T/disk.raw" | cut -d ' ' -f 1)"; }
	sweep get
	# An object without a name waits for prune: to name it first would lose what had the name.
	state() { all_state | grep -vE '/(objects|known)/'; }
	prepare_import() { image import name "$T/kernel"; }
	import() { image import name "$T/disk.raw"; }
	sweep import
}

@test "kernel and initramfs out of an ISO" {
	export XDG_CACHE_HOME=$S/.cache
	echo 'menuentry a {
	linux /x quiet
	initrd /x
	}' >grub.cfg
	printf '644 %s\n' "boot/grub/grub.cfg $T/grub.cfg" "x $T/initrd" >list
	image seed --label test --list list --out disk.qcow2
	template "guest: {directBoot: true}"
	prepare_of_iso() { true; }
	of_iso() {
		rm -rf "$T/home"
		LIMA_HOME=$T/home new one
	}
	sweep of_iso
}

@test "image convert, extract, kernel: the old file stays" {
	prepare_image() { echo old >"$S/out"; }
	prepare_convert() { prepare_image; }
	convert() { image convert "$T/disk.qcow2" "$S/out"; }
	sweep convert
	convert() { image convert "$T/disk.raw" "$S/out"; }
	sweep convert
	python3 -c 'import gzip, struct, sys
data = open("initrd", "rb").read()
packed = gzip.compress(data)
open("zboot", "wb").write(b"MZ\0\0zimg" + struct.pack("<II8x4s36x", 64, len(packed), b"gzip") + packed)'
	prepare_kernel() { prepare_image; }
	kernel() { image kernel "$T/zboot" "$S/out"; }
	sweep kernel
	cmp "$S/out" initrd
	echo "644 x $T/initrd" >list
	image seed --label test --list list --out x.iso
	prepare_extract() { prepare_image; }
	extract() { image extract "$T/x.iso" x "$S/out"; }
	sweep extract
	cmp "$S/out" initrd
}
