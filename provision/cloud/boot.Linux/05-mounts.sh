#!/bin/sh
# Host folders whose mount point needs escaping in fstab, which cloud-init does not do; and any it has not mounted.
set -eu
# shellcheck source=provision/cloud/util/lima.sh
. "$LIMA_CIDATA_MNT/util/lima.sh"
mount=0 code=0 lines=
others=$(sed '/^#LIMA-START$/,/^#LIMA-END$/d' /etc/fstab 2>/dev/null || true)
while read -r tag type options; do
	point=$(lima_value "MOUNTS_${mount}_MOUNTPOINT")
	mount=$((mount + 1))
	field=$(escape_fstab.sh "$point")
	# cloud-init's own line, or ours.
	printf '%s\n' "$others" | grep -q "^${tag}[[:blank:]]" || lines="$lines$tag $field $type $options 0 0
"
	mkdir -p "$point"
	mountpoint -q "$point" || mount -t "$type" -o "$options" "$tag" "$point" || {
		lima_warn "$point could not be mounted"
		code=1
	}
done <"$LIMA_CIDATA_MNT/lima/mounts"
[ -z "$lines" ] && ! grep -qx '#LIMA-START' /etc/fstab 2>/dev/null || printf '#LIMA-START\n%s#LIMA-END\n' "$lines" | lima_block /etc/fstab
exit $code
