#!/bin/sh
# The template's own dependencies, then what this template needs of the guest and the guest has not; nothing else.
set -u
# shellcheck source=provision/cloud/util/lima.sh
. "$LIMA_CIDATA_MNT/util/lima.sh"
code=0 packages=

# cloud-init has done it at this boot when it did it after the settings were handed over.
was_upgraded() {
	done=/var/lib/cloud/instance/sem/config_package_update_upgrade_install
	[ -n "$(find $done -newer /run/lima/settings 2>/dev/null)" ]
}

# need PROGRAM PACKAGE: by the name most distributions have for it.
need() {
	command -v "$1" >/dev/null || packages="$packages $2"
}

if [ -n "$LIMA_CIDATA_UPGRADE_PACKAGES" ] && ! was_upgraded; then lima_provision upgradePackages || code=1; fi
[ ! -e /var/run/reboot-required ] || [ -z "$LIMA_CIDATA_UPGRADE_PACKAGES" ] || : >"$LIMA_REBOOT_REQUIRED"
lima_provision dependency || code=1
[ -z "$LIMA_CIDATA_SKIP_DEFAULT_DEPENDENCY_RESOLUTION" ] || exit $code

if [ "$LIMA_CIDATA_MOUNTTYPE" = reverse-sshfs ] && [ "$LIMA_CIDATA_MOUNTS" -gt 0 ]; then
	if command -v dnf >/dev/null; then need sshfs fuse-sshfs; else need sshfs sshfs; fi
fi
if [ -n "$LIMA_CIDATA_CONTAINERD_USER$LIMA_CIDATA_CONTAINERD_SYSTEM" ]; then need iptables iptables; fi
if [ -n "$LIMA_CIDATA_CONTAINERD_USER" ] && command -v apt-get >/dev/null; then
	need newuidmap uidmap
	lima_has_user_bus || packages="$packages dbus-user-session"
fi
# shellcheck disable=SC2086 # in words
[ -z "$packages" ] || lima_install $packages || code=1
exit $code
