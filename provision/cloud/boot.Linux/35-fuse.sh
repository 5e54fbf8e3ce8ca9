#!/bin/sh
# The host mounts its folders by sshfs, for everybody in the guest; the mark tells it that it may.
set -eu
[ "$LIMA_CIDATA_MOUNTTYPE" = reverse-sshfs ] && [ "$LIMA_CIDATA_MOUNTS" -gt 0 ] || exit 0
for file in /etc/fuse.conf /etc/fuse3.conf; do
	[ ! -e $file ] || grep -q '^user_allow_other' $file || echo user_allow_other >>$file
done
[ -e /etc/fuse.conf ] || [ -e /etc/fuse3.conf ] || echo user_allow_other >/etc/fuse.conf
printf '%s\n' "$LIMA_CIDATA_IID" >/run/lima-fuse-ready
