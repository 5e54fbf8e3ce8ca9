#!/bin/sh
# Installs the guest agent of this start and keeps it running.
set -eu
# shellcheck source=provision/cloud/util/service.sh
. "$LIMA_CIDATA_MNT/util/service.sh"
agent=$LIMA_CIDATA_GUEST_INSTALL_PREFIX/bin/lima-guestagent
verb=start

# By a rename: the old one may be running.
if ! cmp -s "$LIMA_CIDATA_MNT/lima-guestagent" "$agent"; then
	mkdir -p "${agent%/*}"
	cp "$LIMA_CIDATA_MNT/lima-guestagent" "$agent.new"
	chmod 0755 "$agent.new"
	mv "$agent.new" "$agent"
	verb=restart
fi
lima_service $verb lima-guestagent "" "Lima's guest agent" "$agent" daemon --carrier "virtio:$LIMA_CIDATA_VIRTIO_PORT"
