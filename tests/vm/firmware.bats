# Guests that start by a boot loader of their own, by BIOS and by UEFI, and an ISO that starts without its loader.
bats_require_minimum_version 1.5.0
. "$BATS_TEST_DIRNAME/../helpers/vm.bash"
. "$BATS_TEST_DIRNAME/../helpers/firmware_disk.bash"

setup_file() {
	export IMAGES=$BATS_FILE_TMPDIR
	firmware_files "$IMAGES"
	firmware_disk "$IMAGES"
}
teardown() { limactl-c delete -f fw >/dev/null 2>&1 || true; }

# template IMAGE [ARCH] <MORE
template() {
	cat - >"$BATS_TEST_TMPDIR/fw.yaml" <<-YAML
		arch: ${2:-x86_64}
		images: [{location: "$1", arch: ${2:-x86_64}}]
		cpus: 1
		memory: 512MiB
		disk: 1GiB
	YAML
	cat >>"$BATS_TEST_TMPDIR/fw.yaml"
	limactl-c create --tty=false --name=fw "$BATS_TEST_TMPDIR/fw.yaml"
}

# The guest powers off when it has said its marks, so it is never ready.
marks() {
	run -1 limactl-c start fw
	contains "$output" "powered itself off before it was ready"
	grep -a ^mark: "$LIMA_HOME/fw/serial.log"
}

@test "BIOS: the disk's boot loader starts the guest, which finds the seed volume" {
	template "$IMAGES/disk.img" <<<'firmware: {legacyBIOS: true}'
	local said
	said=$(marks)
	contains "$said" "started by BIOS"
	contains "$said" "CD-ROM with"
	contains "$said" " user-data "
	contains "$(cat "$LIMA_HOME/fw/serial.log")" SeaBIOS # what goes wrong before the loader could be read too
}

@test "UEFI: the guest starts, and finds what it made UEFI remember at its second start" {
	template "$IMAGES/disk.img" </dev/null
	contains "$(marks)" "started by UEFI, the variable is new"
	equals "$(stat -c %a "$LIMA_HOME/fw/efi-vars.fd")" 600
	contains "$(marks)" "started by UEFI, the variable is kept"
}

@test "an ISO starts without its loader, with its arguments and ours; an empty disk lies beside it" {
	mkdir -p "$BATS_TEST_TMPDIR/iso"
	cat >"$BATS_TEST_TMPDIR/grub.cfg" <<-'CFG'
		set timeout=5
		menuentry "Linux" {
			linux /boot/vmlinuz-virt modules=loop,squashfs modloop=/boot/modloop-virt alpine_dev=LABEL=test rdinit=/test/init
			initrd /boot/initramfs-virt
		}
	CFG
	cat >"$BATS_TEST_TMPDIR/list" <<-LIST
		644 boot/grub/grub.cfg $BATS_TEST_TMPDIR/grub.cfg
		644 boot/vmlinuz-virt $IMAGES/kernel
		644 boot/initramfs-virt $IMAGES/initrd
	LIST
	"$OUT/libexec/limactl-c/image" seed --label test --list "$BATS_TEST_TMPDIR/list" --out "$BATS_TEST_TMPDIR/image"
	template "$BATS_TEST_TMPDIR/image" <<<'guest: {kernelArgs: [nomodeset]}'
	equals "$(limactl-c list fw --json | jq -r .kernelCmdline)" \
		"modules=loop,squashfs modloop=/boot/modloop-virt alpine_dev=LABEL=test rdinit=/test/init console=ttyS0 quiet psi=1 panic=-1 no_timer_check tsc=reliable norandmaps nomodeset"
	local said
	said=$(marks)
	contains "$said" "mark: arguments $(limactl-c list fw --json | jq -r .kernelCmdline)"
	contains "$said" "CD-ROM with boot "
	contains "$said" " user-data "
	contains "$(qemu-img info "$LIMA_HOME/fw/disk")" "virtual size: 1 GiB"
	[[ $(qemu-img info "$LIMA_HOME/fw/disk") != *"backing file"* ]]
}

@test "UEFI of aarch64, under emulation: it finds the seed volume, and what it made UEFI remember at its second start" {
	local arm=$BATS_TEST_TMPDIR/arm said
	mkdir "$arm"
	"$BATS_TEST_DIRNAME/../../provision/image/make-cache" aarch64
	firmware_files "$arm" aarch64
	firmware_disk_aarch64 "$arm"
	template "$arm/disk.img" aarch64 </dev/null
	said=$(marks)
	contains "$said" "started by UEFI, the variable is new"
	contains "$said" "CD-ROM with"
	contains "$said" " user-data "
	equals "$(stat -c %a "$LIMA_HOME/fw/efi-vars.fd")" 600
	contains "$(marks)" "started by UEFI, the variable is kept"
}
