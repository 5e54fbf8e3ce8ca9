#!/bin/sh
# The user with its number, home, keys and rights, also where cloud-init could not make it: an image may have given the
# number to a user of its own, and cloud-init leaves users alone that are there.
set -eu
# shellcheck source=provision/cloud/util/lima.sh
. "$LIMA_CIDATA_MNT/util/lima.sh"
user=$LIMA_CIDATA_USER uid=$LIMA_CIDATA_UID home=$LIMA_CIDATA_HOME shell=$LIMA_CIDATA_SHELL
[ -x "$shell" ] || shell=/bin/sh
# Users that images bring with them for their first login.
stock=" alpine almalinux arch centos cloud-user debian ec2-user fedora opensuse oracle rocky ubuntu "

field() {
	awk -F: -v key="$2" -v at="$1" '$at == key { print $1; exit }' /etc/passwd
}

free_number() {
	holder=$(field 3 "$uid")
	case $stock in
	*" $holder "*) if command -v userdel >/dev/null; then userdel "$holder"; else deluser "$holder"; fi ;;
	esac
}

make_user() {
	if command -v useradd >/dev/null; then
		useradd -o -u "$uid" -d "$home" -m -s "$shell" -c "$LIMA_CIDATA_COMMENT" "$user"
	else
		adduser -D -u "$uid" -h "$home" -s "$shell" -g "$LIMA_CIDATA_COMMENT" "$user"
	fi
}

# A user who is there already gets the shell of a template that has changed, and keeps one chosen in the guest until then.
renew_user() {
	seen=/var/lib/lima-user.iid
	[ "$(cat $seen 2>/dev/null)" = "$LIMA_CIDATA_IID" ] && return
	if command -v usermod >/dev/null; then
		usermod -s "$shell" "$user"
	else
		sed -i "s|^\\($user:.*\\):[^:]*\$|\\1:$shell|" /etc/passwd
	fi
	printf '%s\n' "$LIMA_CIDATA_IID" >$seen
}

# An account without a password may log in by key, a locked one may not where ssh does not ask PAM.
unlock() {
	[ -n "$LIMA_CIDATA_PASSWORDLESS_SUDO" ] && [ -e /etc/shadow ] || return 0
	! grep -q "^$user:!" /etc/shadow || sed -i "s/^$user:![^:]*:/$user:*:/" /etc/shadow
}

add_keys() {
	ssh=$home/.ssh
	[ -d "$home" ] || mkdir -p "$home"
	# By the user, who owns the folder and may have made a link of anything in it.
	chown "$uid:$(id -g "$user")" "$home"
	lima_as_user mkdir -p -m 0700 "$ssh"
	# shellcheck disable=SC2016 # for the user's shell
	lima_as_user sh -c 'umask 077; : >>"$1"; while IFS= read -r key; do
		grep -qxF "$key" "$1" || printf "%s\n" "$key" >>"$1"; done' sh "$ssh/authorized_keys" \
		<"$LIMA_CIDATA_MNT/ssh_authorized_keys"
}

give_rights() {
	command -v sudo >/dev/null || lima_install sudo
	rule="$user ALL=(ALL) ALL"
	[ -z "$LIMA_CIDATA_PASSWORDLESS_SUDO" ] || rule="$user ALL=(ALL) NOPASSWD:ALL"
	[ -d /etc/sudoers.d ] || mkdir -m 0750 /etc/sudoers.d
	# lima-init's own rule asks for no password, and the last one counts.
	rm -f /etc/sudoers.d/90-lima-users
	(umask 0227 && rm -f /etc/sudoers.d/90-lima && printf '%s\n' "$rule" >/etc/sudoers.d/90-lima)
}

if [ "$user" != root ]; then
	if [ -z "$(field 1 "$user")" ]; then
		free_number
		make_user
	fi
	renew_user
	unlock
	give_rights || lima_warn "the guest has no sudo"
fi
add_keys
