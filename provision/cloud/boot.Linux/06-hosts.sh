#!/bin/sh
# The guest's own name and the host's, for programs that ask /etc/hosts.
set -eu
# shellcheck source=provision/cloud/util/lima.sh
. "$LIMA_CIDATA_MNT/util/lima.sh"
name=$(sed -n 's/^local-hostname: //p' "$LIMA_CIDATA_MNT/meta-data")
[ "$(hostname 2>/dev/null || cat /proc/sys/kernel/hostname)" = "$name" ] || hostname "$name" ||
	printf '%s' "$name" >/proc/sys/kernel/hostname
{
	printf '#LIMA-START\n127.0.1.1 %s\n%s host.lima.internal\n' "$name" "$LIMA_CIDATA_SLIRP_GATEWAY"
	# hostResolver.hosts
	sed -n 's/^host\.\([^=]*\)=\(.*\)/\2 \1/p' "$LIMA_CIDATA_MNT/lima/settings"
	echo '#LIMA-END'
} | lima_block /etc/hosts
