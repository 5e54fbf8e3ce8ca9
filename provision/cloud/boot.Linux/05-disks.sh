#!/bin/sh
# Additional disks: one that is empty is given a file system, once; each is mounted at /mnt/lima-NAME. As in Lima the
# file system is in a partition, so that a disk may go back and forth; without sfdisk it takes the disk whole.
set -eu
# shellcheck source=provision/cloud/util/lima.sh
. "$LIMA_CIDATA_MNT/util/lima.sh"

# Every file system, swap and partition table has a mark in the first megabyte.
is_empty() {
	[ "$(head -c 1048576 "$1" | tr -d '\000' | wc -c)" -eq 0 ]
}

# The partition, or the disk where it has none.
volume_of() {
	[ -b "${1}1" ] && echo "${1}1" || echo "$1"
}

format() {
	if command -v sfdisk >/dev/null; then
		echo 'type=linux' | sfdisk -q --label gpt "$device"
		udevadm settle 2>/dev/null || sleep 1
		volume=$(volume_of "$device")
	fi
	label=lima-$name
	case $type in
	swap) limit=15 ;;
	xfs) limit=12 ;;
	*) limit=16 ;;
	esac
	# A name too long for a label is not shortened: another disk could have the same.
	[ ${#label} -le $limit ] || label=
	if [ "$type" = swap ]; then
		mkswap ${label:+-L "$label"} "$volume"
		return
	fi
	command -v "mkfs.$type" >/dev/null || { lima_warn "disk $name: the guest has no mkfs.$type"; return 1; }
	# shellcheck disable=SC2086 # options of the template, in words
	"mkfs.$type" $args ${label:+-L "$label"} "$volume"
}

# Its disk may have become larger.
grow() {
	if [ "$volume" != "$device" ]; then
		if command -v growpart >/dev/null; then
			growpart "$device" 1 >/dev/null || true
		else
			echo ', +' | sfdisk -q -N 1 --no-reread --force "$device" >/dev/null 2>&1 || true
			partx -u "$device" 2>/dev/null || true
		fi
	fi
	case $type in
	ext*) resize2fs "$volume" >/dev/null 2>&1 || true ;;
	xfs) xfs_growfs "$1" >/dev/null 2>&1 || true ;;
	btrfs) btrfs filesystem resize max "$1" >/dev/null 2>&1 || true ;;
	esac
}

use() {
	found=$(blkid -o value -s TYPE "$volume" 2>/dev/null || blkid "$volume" | sed -n 's/.* TYPE="\([^"]*\)".*/\1/p')
	type=${found:-$type}
	if [ "$type" = swap ]; then
		grep -q "^$volume " /proc/swaps || swapon "$volume"
		return
	fi
	mkdir -p "/mnt/lima-$name"
	mountpoint -q "/mnt/lima-$name" || mount -t "$type" "$volume" "/mnt/lima-$name"
	grow "/mnt/lima-$name"
}

disk=0 code=0
while [ "$disk" -lt "$LIMA_CIDATA_DISKS" ]; do
	name=$(lima_value "DISK_${disk}_NAME") device=/dev/$(lima_value "DISK_${disk}_DEVICE")
	type=$(lima_value "DISK_${disk}_FSTYPE") args=$(lima_value "DISK_${disk}_FSARGS")
	type=${type:-ext4} volume=$(volume_of "$device")
	if is_empty "$device"; then
		# format: false leaves an empty disk to the user.
		if [ "$(lima_value "DISK_${disk}_FORMAT")" = true ]; then (format && use) || code=1; fi
	else
		(use) || { lima_warn "disk $name could not be mounted"; code=1; }
	fi
	disk=$((disk + 1))
done
exit $code
