# firmware_disk.bash - a disk that starts by BIOS and by UEFI, and an ISO with the same content: a kernel and an initramfs
# whose only program says on the console what it finds, in lines that begin with "mark:", and powers off.

# firmware_files FOLDER [ARCH]: kernel and initrd.
firmware_files() {
	local to=$1 module
	local guest=${XDG_CACHE_HOME:-$HOME/.cache}/limactl-c/names/alpine-3.23-${2:-x86_64}
	qemu-img convert -O raw "$guest.qcow2" "$to/root"
	cp "$guest.kernel" "$to/kernel"
	local modules
	modules=/lib/modules/$(debugfs -R "ls -p /lib/modules" "$to/root" 2>/dev/null | awk -F/ '$6 ~ /virt/ { print $6 }')
	# Some kernels have the first two built in.
	for module in drivers/scsi/scsi_common drivers/scsi/scsi_mod drivers/cdrom/cdrom drivers/scsi/sr_mod drivers/scsi/virtio_scsi fs/isofs/isofs fs/efivarfs/efivarfs; do
		debugfs -R "dump $modules/kernel/$module.ko.gz $to/${module##*/}.ko.gz" "$to/root" 2>/dev/null
		[ -s "$to/${module##*/}.ko.gz" ] || continue
		gunzip "$to/${module##*/}.ko.gz"
		echo "644 test/${module##*/}.ko $to/${module##*/}.ko"
	done >"$to/list"
	cat >"$to/init" <<-'SH'
		#!/bin/busybox sh
		bb=/bin/busybox
		$bb mount -t proc proc /proc
		$bb mount -t sysfs sys /sys
		$bb mount -t devtmpfs dev /dev
		for m in scsi_common scsi_mod cdrom sr_mod virtio_scsi isofs efivarfs; do
			if [ -e /test/$m.ko ]; then $bb insmod /test/$m.ko; fi
		done
		say() { echo "mark: $*" >/dev/console; }
		say "arguments $($bb cat /proc/cmdline)"
		if [ -d /sys/firmware/efi ]; then
			v=/sys/firmware/efi/efivars/LimaTest-4c696d61-0000-4000-8000-000000000001
			$bb mount -t efivarfs efivarfs /sys/firmware/efi/efivars
			say "started by UEFI, the variable is $([ -e $v ] && echo kept || echo new)"
			[ -e $v ] || printf '\007\000\000\000x' >$v
		else
			say "started by BIOS"
		fi
		tries=0
		until [ -b /dev/sr0 ] || [ $tries = 50 ]; do $bb usleep 100000; tries=$((tries + 1)); done
		$bb mkdir -p /test/mnt
		for d in /dev/sr*; do
			$bb mount -t iso9660 -o ro $d /test/mnt || continue
			say "CD-ROM with $($bb ls /test/mnt | $bb tr '\n' ' ')"
			$bb umount /test/mnt
		done
		$bb poweroff -f
	SH
	echo "755 test/init $to/init" >>"$to/list"
	"$OUT/libexec/limactl-c/image" initrd --base "$guest.initrd" --list "$to/list" --out "$to/initrd"
}

# firmware_disk FOLDER: disk.img of them, one partition with a GRUB for each firmware.
firmware_disk() {
	local to=$1 modules="fat part_msdos linux serial terminal search search_fs_file normal"
	cat >"$to/grub.cfg" <<-'CFG'
		serial --unit=0
		terminal_output serial
		search --file --set=root /kernel
		linux /kernel console=ttyS0 quiet panic=-1 no_timer_check rdinit=/test/init
		initrd /initrd
		boot
	CFG
	# shellcheck disable=SC2086 # words
	grub-mkimage -O i386-pc -p / -c "$to/grub.cfg" -o "$to/core.img" biosdisk $modules
	# shellcheck disable=SC2086
	grub-mkimage -O x86_64-efi -p / -c "$to/grub.cfg" -o "$to/BOOTX64.EFI" $modules
	truncate -s 64M "$to/disk.img"
	# GRUB's first sector loads what follows it; the table of partitions stays in it.
	head -c 440 /usr/lib/grub/i386-pc/boot.img | dd of="$to/disk.img" conv=notrunc status=none
	dd if="$to/core.img" of="$to/disk.img" bs=512 seek=1 conv=notrunc status=none
	echo 'start=2048, type=ef, bootable' | sfdisk -q "$to/disk.img"
	mformat -i "$to/disk.img@@1M" -F -T $(((63 << 20) / 512)) ::
	mmd -i "$to/disk.img@@1M" ::/EFI ::/EFI/BOOT
	mcopy -i "$to/disk.img@@1M" "$to/kernel" "$to/initrd" ::
	mcopy -i "$to/disk.img@@1M" "$to/BOOTX64.EFI" ::/EFI/BOOT
}

# firmware_disk_aarch64 FOLDER: disk.img of them. There is no loader for that architecture here: the shell that UEFI falls
# back to starts the kernel, which is an EFI program.
firmware_disk_aarch64() {
	local to=$1
	printf 'fs0:\r\nkernel.efi initrd=\\initrd console=ttyAMA0 quiet panic=-1 rdinit=/test/init\r\n' >"$to/startup.nsh"
	truncate -s 64M "$to/disk.img"
	echo 'start=2048, type=ef' | sfdisk -q "$to/disk.img"
	mformat -i "$to/disk.img@@1M" -F -T $(((63 << 20) / 512)) ::
	mcopy -i "$to/disk.img@@1M" "$to/initrd" "$to/startup.nsh" ::
	mcopy -i "$to/disk.img@@1M" "$to/kernel" ::/kernel.efi
}
