# How an instance will start: what the image is by its content, where kernel and arguments come from. Nothing is started.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"
setup() {
	cli_setup
	unset LIMACTL_C_DRIVER
	cd "$BATS_TEST_TMPDIR" || return
}
teardown() { cli_teardown; }

# template IMAGE <MORE
template() {
	printf 'images: [{location: "%s", arch: x86_64}]\narch: x86_64\ncpus: 1\nmemory: 512MiB\ndisk: 1GiB\n' "$1" >t.yaml
	cat >>t.yaml
}
create() { limactl-c create --tty=false --name=b t.yaml "$@"; }
plan() { jq -r ".$1" "$LIMA_HOME/b/plan.json"; }
setting() { jq -r --arg key "$1" '.settings[] | select(.key == $key).value' "$LIMA_HOME/b/plan.json"; }
# iso FILE [GRUB_CONFIG]
iso() {
	echo "${2:-nothing}" >grub.cfg
	echo kernel >kernel
	echo initrd >initrd
	printf '644 %s\n' "boot/grub/grub.cfg $PWD/grub.cfg" "boot/vmlinuz $PWD/kernel" "boot/initramfs $PWD/initrd" >list
	"$OUT/libexec/limactl-c/image" seed --label test --list list --out "$1"
}
LOADER='menuentry a {
linux /boot/vmlinuz modules=loop,squashfs alpine_dev=LABEL=x console=tty0 quiet
initrd /boot/initramfs
}'

@test "an image is what its content says, not its name" {
	iso disk.qcow2 "$LOADER"
	template "$PWD/disk.qcow2" </dev/null
	create
	equals "$(plan iso)" "$PWD/disk.qcow2"
	equals "$(plan disk_base)" null
	limactl-c delete b
	qemu-img create -q -f qcow2 disk.iso 100M
	template "$PWD/disk.iso" <<<'firmware: {legacyBIOS: true}'
	create
	equals "$(plan iso)" null
	equals "$(plan disk_base)" "$PWD/disk.iso"
	contains "$(qemu-img info "$LIMA_HOME/b/disk")" "backing file format: qcow2"
}

@test "a format we cannot read is refused by its name" {
	qemu-img create -q -f vpc -o subformat=fixed disk.raw 4M
	template "$PWD/disk.raw" <<<'firmware: {legacyBIOS: true}'
	run -1 create
	contains "$output" VHD
	[ ! -e "$LIMA_HOME/b" ]
}

@test "an image that was cut short, or is empty, is refused; so is an import of it" {
	truncate -s 2M kernel
	printf '644 %s\n' "kernel $PWD/kernel" >list
	"$OUT/libexec/limactl-c/image" seed --label test --list list --out whole.iso
	head -c 1M /dev/urandom >raw
	qemu-img convert -f raw -O qcow2 raw whole.qcow2
	for kind in iso qcow2; do
		head -c 1000000 "whole.$kind" >cut
		template "$PWD/cut" <<<'firmware: {legacyBIOS: true}'
		run -1 create
		contains "$output" "cut: "
		contains "$output" "was cut short"
		[ ! -e "$LIMA_HOME/b" ]
		run -1 limactl-c disk import d cut
		contains "$output" "was cut short"
		[ ! -e "$LIMA_HOME/_disks/d" ]
		template "$PWD/whole.$kind" <<<'firmware: {legacyBIOS: true}'
		create
		limactl-c delete b
	done
	: >cut
	template "$PWD/cut" <<<'firmware: {legacyBIOS: true}'
	run -1 create
	contains "$output" "it is empty"
}

@test "an ISO starts directly with its loader's words; what was read out of it is used again" {
	iso a.iso "$LOADER"
	template "$PWD/a.iso" <<<'guest: {kernelArgs: [nomodeset]}'
	create
	equals "$(plan boot)" direct
	contains "$(plan cmdline)" "modules=loop,squashfs alpine_dev=LABEL=x console=tty0 quiet console=ttyS0 psi=1"
	contains "$(plan cmdline)" " nomodeset"
	cmp kernel "$(plan kernel)"
	cmp initrd "$(plan initrd)"
	equals "$(plan initrd_base)" null
	local kernel
	kernel=$(plan kernel)
	limactl-c delete b
	create
	equals "$(plan kernel)" "$kernel"
	equals "$(find "$XDG_CACHE_HOME/limactl-c/boot" -mindepth 1 -maxdepth 1 | wc -l)" 1
	# Another ISO in its place is another one.
	iso a.iso "${LOADER/quiet/loud}"
	touch -d tomorrow a.iso
	limactl-c delete b
	create
	contains "$(plan cmdline)" "loud"
}

@test "prune removes what was taken out of images no instance needs any more" {
	local boot=$XDG_CACHE_HOME/limactl-c/boot
	iso a.iso "$LOADER"
	template "$PWD/a.iso" </dev/null
	create
	limactl-c delete b
	iso b.iso "${LOADER/quiet/loud}"
	template "$PWD/b.iso" </dev/null
	create
	# Of one that was killed.
	mkdir "$boot/tmp.abcdef"
	head -c 2M /dev/urandom >"$boot/tmp.abcdef/kernel"
	equals "$(find "$boot" -mindepth 1 -maxdepth 1 | wc -l)" 3
	run -0 limactl-c prune
	equals "$(find "$boot" -mindepth 1 -maxdepth 1)" "$(dirname "$(plan kernel)")"
	contains "$output" "Removed a kernel taken out of its image (2MiB)"
	contains "$output" "Freed 2"
	# A saved machine was started with it, whatever the plan says by now.
	jq '{version: 1, machine: .kernel}' "$LIMA_HOME/b/plan.json" >"$LIMA_HOME/b/vm.state.json"
	rm "$LIMA_HOME/b/plan.json"
	limactl-c prune
	equals "$(find "$boot" -mindepth 1 -maxdepth 1 | wc -l)" 1
	rm "$LIMA_HOME/b/vm.state.json"
	limactl-c prune
	equals "$(find "$boot" -mindepth 1)" ""
}

@test "directBoot: false leaves an ISO to its own loader; true insists" {
	iso a.iso "$LOADER"
	template "$PWD/a.iso" <<<$'guest: {directBoot: false}\nfirmware: {legacyBIOS: true}'
	create
	equals "$(plan boot)" bios
	equals "$(plan kernel)" null
	limactl-c delete b
	iso b.iso
	template "$PWD/b.iso" <<<'firmware: {legacyBIOS: true}'
	run -0 create
	contains "$output" "Direct boot is not possible, the ISO's own loader starts it"
	equals "$(plan boot)" bios
	limactl-c delete b
	template "$PWD/b.iso" <<<'guest: {directBoot: true}'
	run -1 create
	contains "$output" "guest.directBoot: "
	contains "$output" "no configuration of a boot loader"
	equals "$(find "$XDG_CACHE_HOME/limactl-c/boot" -name 'tmp.*')" ""
}

@test "directBoot: true of a disk without a kernel is refused in words" {
	qemu-img create -q -f qcow2 disk 100M
	template "$PWD/disk" <<<'guest: {directBoot: true}'
	run -1 create
	contains "$output" "this image comes without a kernel"
}

@test "the template's words for its kernel come first, once; list shows the whole line" {
	qemu-img create -q -f qcow2 disk 100M
	echo kernel >kernel
	cat >t.yaml <<-YAML
		images:
		- location: $PWD/disk
		  arch: x86_64
		  kernel: {location: $PWD/kernel, cmdline: "root=/dev/vda1 console=ttyS0,115200 ro"}
		arch: x86_64
		disk: 1GiB
		guest: {kernelArgs: [root=/dev/vda2]}
	YAML
	create
	contains "$(limactl-c list b --json | jq -r .kernelCmdline)" "console=ttyS0,115200 ro quiet psi=1 panic=-1 "
	equals "$(plan cmdline | grep -o 'root=\S*' | tr '\n' ' ')" "root=/dev/vda2 "
	equals "$(plan cmdline | grep -o 'console=\S*' | tr '\n' ' ')" "console=ttyS0,115200 "
	equals "$(plan initrd)" null
}

@test "an arm64 kernel in an EFI image is unwrapped into the cache, once" {
	local payload
	payload=$(printf 'the plain kernel' | gzip -n | od -An -v -tx1 | tr -d ' \n')
	{
		printf 'MZ\0\0zimg\x40\0\0\0%b\0\0\0' "\\x$(printf %02x $((${#payload} / 2)))"
		head -c 8 /dev/zero
		printf 'gzip'
		head -c 36 /dev/zero
		# shellcheck disable=SC2001
		printf '%b' "$(sed 's/../\\x&/g' <<<"$payload")"
	} >kernel
	qemu-img create -q -f qcow2 disk 100M
	echo initrd >initrd
	cat >t.yaml <<-YAML
		arch: aarch64
		images:
		- location: $PWD/disk
		  arch: aarch64
		  kernel: {location: $PWD/kernel}
		  initrd: {location: $PWD/initrd}
		disk: 1GiB
		guest: {init: lean}
	YAML
	for i in 1 2; do
		create
		equals "$(cat "$(plan kernel)")" "the plain kernel"
		limactl-c delete b
	done
	equals "$(find "$XDG_CACHE_HOME/limactl-c/boot" -mindepth 1 -maxdepth 1 | wc -l)" 1
}

@test "UEFI's variables: a store of the instance's own, made once" {
	qemu-img create -q -f qcow2 disk 100M
	template "$PWD/disk" </dev/null
	create
	equals "$(plan boot)" uefi
	cmp "$(plan vars)" "$(plan vars_template)"
	equals "$(stat -c %a "$(plan vars)")" 600
	[ "$(plan vars)" = "$LIMA_HOME/b/efi-vars.fd" ]
}

@test "files of caCerts are in the seed in their order, ~ is the home; one that is missing is named" {
	export HOME=$PWD
	echo 'first certificate' >a.pem
	echo 'second certificate' >b.pem
	qemu-img create -q -f qcow2 disk 100M
	template "$PWD/disk" <<-YAML
		firmware: {legacyBIOS: true}
		caCerts: {files: [~/a.pem, $PWD/b.pem]}
	YAML
	create
	equals "$(grep -ao '    [a-z]* certificate$' "$LIMA_HOME/b/cidata.iso" | tr -d '\n')" "    first certificate    second certificate"
	limactl-c delete b
	rm b.pem
	run -1 create
	contains "$output" "caCerts.files[1]: "
	contains "$output" "$PWD/b.pem"
}

# A kernel and an initramfs as if they had been taken out of the guest b.
harvest() {
	local dir=$LIMA_HOME/b/harvest
	rm -rf "$dir"
	mkdir -p "$dir"
	echo kernel >"$dir/kernel"
	echo initrd >"$dir/initrd"
	jq -n --arg k "$(sha256sum <"$dir/kernel" | cut -c 1-64)" --arg i "$(sha256sum <"$dir/initrd" | cut -c 1-64)" \
		'{kernel: $k, initrd: $i, args: "root=LABEL=root ro console=tty0", boot: "x"}' >"$dir/harvest.json"
}
# The machine's program does nothing, so that a start makes a plan and ends.
start_in_vain() { run -1 limactl-c start b "$@"; }

@test "a disk's own loader is needed until the guest's kernel is known, and when that will not do" {
	mkdir bin
	printf '#!/bin/sh\necho in vain >&2; exit 1\n' >bin/qemu-system-x86_64
	chmod 755 bin/qemu-system-x86_64
	qemu-img create -q -f qcow2 disk 100M
	template "$PWD/disk" <<<$'firmware: {legacyBIOS: true}\nguest: {kernelArgs: [nomodeset]}'
	create
	PATH=$PWD/bin:$PATH
	start_in_vain
	equals "$(plan boot)" bios
	equals "$(plan harvest)" true
	# The loader is to say what we say when it is left out; it is told the same at each start.
	local told='console=ttyS0 quiet psi=1 panic=-1 no_timer_check tsc=reliable nomodeset'
	equals "$(limactl-c list b --json | jq -r '.kernelArgs, .kernelCmdline')" "$told"$'\n'null
	equals "$(setting loader.args) $(setting loader.lastArgs)" "$told"
	harvest
	start_in_vain
	equals "$(plan boot)" direct
	equals "$(plan kernel)" "$LIMA_HOME/b/harvest/kernel"
	equals "$(plan initrd)" "$LIMA_HOME/b/harvest/initrd"
	equals "$(plan cmdline)" "root=LABEL=root ro console=tty0 console=ttyS0 quiet psi=1 panic=-1 no_timer_check tsc=reliable norandmaps nomodeset"
	equals "$(setting loader.args) $(setting loader.lastArgs)" "$told"
	equals "$(limactl-c list b --json | jq -r '.kernelArgs, .kernelCmdline')" null$'\n'"$(plan cmdline)"
	# That start was in vain: the loader is asked again, which is said once.
	start_in_vain
	equals "$(plan boot)" bios
	contains "$output" "The guest's own loader starts it: started without it, its agent did not answer"
	start_in_vain
	equals "$(plan boot)" bios
	[[ $output != *"own loader"* ]]
	harvest
	touch "$LIMA_HOME/b/harvest/stale"
	start_in_vain
	equals "$(plan boot)" bios
	contains "$output" "its /boot has changed"
	harvest
	echo >>"$LIMA_HOME/b/harvest/initrd"
	start_in_vain
	equals "$(plan boot)" bios
	contains "$output" "harvest/initrd has not the digest the guest said"
	harvest
	echo '{"kernel": 1}' >"$LIMA_HOME/b/harvest/harvest.json"
	start_in_vain
	equals "$(plan boot)" bios
	contains "$output" 'harvest.json: '
	harvest
	start_in_vain --set '.guest.directBoot = false'
	equals "$(plan boot)" bios
	equals "$(plan harvest)" false
	# The image's own kernel is not mixed up with it.
	limactl-c delete b
	create
	harvest
	start_in_vain
	equals "$(plan boot)" direct
	echo other >kernel
	rm "$LIMA_HOME/b/harvest/tried"
	start_in_vain --set ".images[0].kernel.location = \"$PWD/kernel\""
	equals "$(plan kernel)" "$PWD/kernel"
	equals "$(plan harvest)" false
}

@test "a saved machine goes on with what it was started with" {
	mkdir bin
	printf '#!/bin/sh\nexit 1\n' >bin/qemu-system-x86_64
	chmod 755 bin/qemu-system-x86_64
	qemu-img create -q -f qcow2 disk 100M
	template "$PWD/disk" <<<'firmware: {legacyBIOS: true}'
	create
	PATH=$PWD/bin:$PATH
	harvest
	echo state >"$LIMA_HOME/b/vm.state"
	start_in_vain
	equals "$(plan boot)" bios
	rm -f "$LIMA_HOME/b/vm.state"
	start_in_vain
	equals "$(plan boot)" direct
	touch "$LIMA_HOME/b/harvest/stale"
	echo state >"$LIMA_HOME/b/vm.state"
	start_in_vain
	equals "$(plan boot)" direct
}

@test "a start that changes nothing leaves alone what another command changes meanwhile" {
	qemu-img create -q -f qcow2 disk 100M
	template "$PWD/disk" </dev/null
	create
	mkdir bin
	printf '#!/bin/sh\nexit 1\n' >bin/qemu-system-x86_64
	printf '#!/bin/sh\nlimactl-c edit --tty=false b --cpus 3 >&2\nexec "%s" "$@"\n' "$(command -v qemu-img)" >bin/qemu-img
	chmod 755 bin/*
	sed -i 's/^disk: .*/disk: 2GiB/' "$LIMA_HOME/b/lima.yaml"
	PATH=$PWD/bin:$PATH start_in_vain --tty=false
	equals "$(grep -E '^(cpus|disk):' "$LIMA_HOME/b/lima.yaml")" $'cpus: 3\ndisk: 2GiB'
}

@test "a restart keeps the words of the image that was taken, first or not" {
	qemu-img create -q -f qcow2 disk 100M
	echo kernel >kernel
	cat >t.yaml <<-YAML
		images:
		- {location: "$PWD/none", arch: x86_64, kernel: {location: "$PWD/kernel", cmdline: "of=the-first"}}
		- {location: "$PWD/disk", arch: x86_64, kernel: {location: "$PWD/kernel", cmdline: "of=the-second"}}
		arch: x86_64
		memory: 512MiB
		disk: 1GiB
	YAML
	create
	contains "$(plan cmdline)" of=the-second
	mkdir bin
	printf '#!/bin/sh\nexit 1\n' >bin/qemu-system-x86_64
	chmod 755 bin/qemu-system-x86_64
	PATH=$PWD/bin:$PATH start_in_vain --tty=false
	contains "$(plan cmdline)" of=the-second
	# Once the template says others, those.
	sed -i 's/of=the-second/of=another/' "$LIMA_HOME/b/lima.yaml"
	PATH=$PWD/bin:$PATH start_in_vain --tty=false
	contains "$(plan cmdline)" of=the-first
}
