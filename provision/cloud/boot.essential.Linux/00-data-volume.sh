#!/bin/sh
# An ISO guest has its root in memory: what is to stay lives on a disk, the volume data-volume, which is made of the
# first empty disk that is nobody else's. First of all scripts, so that whatever the others write stays.
set -eu
# shellcheck source=provision/cloud/util/lima.sh
. "$LIMA_CIDATA_MNT/util/lima.sh"
mount=/mnt/data
folders="/etc /home /root /tmp /usr/local /var/lib"
# What belongs to this boot, not to the last one: the network as lima-init has set it up, the ISO's own version.
fresh="/etc/network/interfaces /etc/udev/rules.d/70-persistent-net.rules /etc/resolv.conf /etc/hostname /etc/os-release
	/etc/alpine-release /etc/lsb-release /etc/lima-mounts"
# What lima-init makes of the template: taken over when that has changed, as cloud-init does; else what was set in the guest
# stays.
made="/etc/localtime /etc/timezone /etc/zoneinfo /etc/ca-certificates.conf"

root_type() {
	awk '$2 == "/" { type = $3 } END { print type }' /proc/mounts
}

is_additional() {
	disk=0
	while [ "$disk" -lt "${LIMA_CIDATA_DISKS:-0}" ]; do
		[ "$(lima_value "DISK_${disk}_DEVICE")" != "$1" ] || return 0
		disk=$((disk + 1))
	done
	return 1
}

# No partition, and nothing in the first megabyte, where every file system has its mark.
is_empty() {
	for part in "/sys/block/$1/$1"*; do
		[ ! -e "$part/partition" ] || return 1
	done
	[ "$(cat "/sys/block/$1/ro")" = 0 ] && [ "$(head -c 1048576 "/dev/$1" | tr -d '\000' | wc -c)" -eq 0 ]
}

find_volume() {
	for disk in /sys/block/vd*; do
		name=${disk##*/}
		[ -e "$disk" ] && is_labelled "/dev/$name" && { echo "/dev/$name"; return; }
	done
	blkid -L data-volume 2>/dev/null || findfs LABEL=data-volume 2>/dev/null || true
}

is_labelled() {
	case " $(blkid "$1" 2>/dev/null) " in
	*' LABEL="data-volume" '*) ;;
	*) return 1 ;;
	esac
}

make_volume() {
	for disk in /sys/block/vd*; do
		name=${disk##*/}
		if [ ! -e "$disk" ] || is_additional "$name" || ! is_empty "$name"; then continue; fi
		mkfs.ext4 -q -F -L data-volume -m 0 "/dev/$name" >&2
		echo "/dev/$name"
		return
	done
}

# Copied beside and renamed: a copy that was cut short by the power must not be taken for the whole.
keep() {
	to=$mount$1
	if [ ! -d "$to" ]; then
		rm -rf "$to.new"
		mkdir -p "${to%/*}" "$1"
		cp -a "$1" "$to.new"
		sync
		mv "$to.new" "$to"
	fi
	mount --bind "$to" "$1"
}

# carry_over FILE...: onto a volume that has an /etc.
carry_over() {
	[ -d $mount/etc ] || return 0
	for file; do
		[ -e "$file" ] || continue
		mkdir -p "$mount${file%/*}"
		rm -rf "${mount:?}$file"
		cp -a "$file" "$mount$file"
	done
}

is_new_template() { [ "$(cat $mount/lima.iid 2>/dev/null)" != "$LIMA_CIDATA_IID" ]; }

# Packages the user added are in memory too: their archives are kept on the volume and installed again from there.
restore_packages() {
	command -v apk >/dev/null || return 0
	mkdir -p $mount/apk-cache
	ln -sfn $mount/apk-cache /etc/apk/cache
	apk add --no-network >/dev/null 2>&1 || apk add >/dev/null 2>&1 ||
		lima_warn "packages added before could not be installed again"
}

case $(root_type) in
tmpfs | ramfs | rootfs) ;;
*) exit 0 ;;
esac
if mountpoint -q $mount; then exit 0; fi
volume=$(find_volume)
if [ -n "$volume" ]; then
	e2fsck -p "$volume" >/dev/null || [ $? -le 2 ]
else
	volume=$(make_volume)
fi
if [ -z "$volume" ]; then
	lima_warn "no empty disk for what is to stay: everything in this guest is lost when it stops"
	exit 0
fi
mkdir -p $mount
mount -t ext4 -o noatime "$volume" $mount
# Not before: of one that is not mounted resize2fs wants a full check since it last was.
resize2fs "$volume" >/dev/null 2>&1 || lima_warn "$volume could not be made as large as its disk"
# shellcheck disable=SC2086 # words
carry_over $fresh
# shellcheck disable=SC2086
! is_new_template || carry_over $made
for folder in $folders; do
	keep "$folder"
done
chmod 1777 /tmp
if is_new_template; then
	# The certificates themselves are in memory and, those added in the guest, in /usr/local.
	if command -v update-ca-certificates >/dev/null; then
		update-ca-certificates || lima_warn "the certificates of caCerts could not be added"
	fi
	printf '%s\n' "$LIMA_CIDATA_IID" >$mount/lima.iid
fi
restore_packages
# Host keys of the last boot, so that ssh knows the guest again.
if [ -e /etc/init.d/sshd ]; then rc-service --ifstarted sshd restart; fi
