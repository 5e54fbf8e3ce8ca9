#!/bin/sh
# What containers without root need of a guest with systemd: control groups, low ports and ping, user numbers, and a
# systemd of the user's that is there without a login.
set -eu
[ -d /run/systemd/system ] && [ "$LIMA_CIDATA_USER" != root ] || exit 0

# Writes standard input to a file that does not say so already; fails when there was nothing to do.
put() {
	mkdir -p "${1%/*}"
	text=$(cat)
	[ "$(cat "$1" 2>/dev/null)" != "$text" ] && printf '%s\n' "$text" >"$1"
}

printf '[Service]\nDelegate=yes\n' | put /etc/systemd/system/user@.service.d/lima.conf && systemctl daemon-reload
printf 'net.ipv4.ping_group_range = 0 2147483647\nnet.ipv4.ip_unprivileged_port_start = 0\n' |
	put /etc/sysctl.d/99-lima.conf && sysctl -q -p /etc/sysctl.d/99-lima.conf
for file in /etc/subuid /etc/subgid; do
	grep -q "^$LIMA_CIDATA_USER:" $file 2>/dev/null || echo "$LIMA_CIDATA_USER:524288:1073741824" >>$file
done
loginctl enable-linger "$LIMA_CIDATA_USER"
