#!/bin/sh
# The engine of guest.engineDisk, which `agent setup` has mounted and linked into place: started now that /var/lib is where
# it stays.
set -eu
# shellcheck source=provision/cloud/util/service.sh
. "$LIMA_CIDATA_MNT/util/service.sh"
grep -qx 'docker=true' "$LIMA_CIDATA_MNT/lima/settings" || exit 0
agent=$LIMA_CIDATA_GUEST_INSTALL_PREFIX/bin/lima-guestagent
lima_service start lima-containerd "" "containerd of the engine disk" "$agent" service containerd
lima_service start lima-dockerd lima-containerd "dockerd of the engine disk" "$agent" service dockerd
