#!/bin/sh
# Run by cloud-init (scripts/per-boot) or lima-init at every boot, as root, from the seed volume: makes a guest that has
# an init of its own the user's. What happens once an instance is cloud-init's; everything here may be repeated.
set -u
export LIMA_CIDATA_MNT="${LIMA_CIDATA_MNT:-/mnt/lima-cidata}"
# shellcheck source=provision/cloud/util/lima.sh
. "$LIMA_CIDATA_MNT/util/lima.sh"
rm -f /run/lima-boot-done /run/lima-reboot-required
export LIMA_REBOOT_REQUIRED=/run/lima-reboot-required
lima_environment
code=0

# One that fails must not cost the others.
run_folder() {
	for script in "$LIMA_CIDATA_MNT/$1"/*.sh; do
		[ -f "$script" ] || continue
		"$script" || { lima_warn "$1/${script##*/} failed"; code=1; }
	done
}

provision() {
	lima_provision "$1" || code=1
}

# A user's script may talk to its own systemd, which comes with the user's first session.
await_user_session() {
	[ -d /run/systemd/system ] && [ -d "$LIMA_CIDATA_MNT/provision.user" ] || return 0
	tries=0
	until [ -e "/run/user/$LIMA_CIDATA_UID/systemd/private" ]; do
		tries=$((tries + 1))
		[ $tries -le 30 ] || { lima_warn "there is no systemd of user $LIMA_CIDATA_USER"; return; }
		sleep 1
	done
}

# Made here, once, and told to nobody but the user.
set_password() {
	mark=$LIMA_CIDATA_HOME/.lima-password-set
	[ -e "$mark" ] && return
	password=$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n')
	printf '%s:%s\n' "$LIMA_CIDATA_USER" "$password" | chpasswd || return
	printf '%s\n' "$password" | lima_as_user sh -c 'umask 077; rm -f "$HOME/password"; cat >"$HOME/password"' &&
		lima_as_user touch "$mark"
}

run_folder "boot.essential.$(uname)"
# lima-init knows nothing of cloud-init's bootcmd. By now what is written stays, also where the root is in memory.
[ -e /run/lima/early.done ] || "$LIMA_CIDATA_MNT/boot.early.sh" || code=1
[ -n "$LIMA_CIDATA_PLAIN" ] || run_folder "boot.$(uname)"
provision data
provision yq
provision system
await_user_session
provision user
[ -n "$LIMA_CIDATA_PASSWORDLESS_SUDO" ] || set_password || { lima_warn "no password could be set"; code=1; }

if [ -e "$LIMA_REBOOT_REQUIRED" ]; then
	reboot
	exit $code
fi
[ -n "$LIMA_CIDATA_PLAIN" ] || : >/run/lima/provision/done
printf '%s\n' "$LIMA_CIDATA_IID" >/run/lima-boot-done
exit $code
