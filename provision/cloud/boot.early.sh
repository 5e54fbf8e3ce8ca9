#!/bin/sh
# The early part of a boot, run by cloud-init's bootcmd before the guest's services (with lima-init: by boot.sh): hands
# the agent what it needs and runs the scripts of mode boot.
set -u
export LIMA_CIDATA_MNT="${LIMA_CIDATA_MNT:-/mnt/lima-cidata}"
# shellcheck source=provision/cloud/util/lima.sh
. "$LIMA_CIDATA_MNT/util/lima.sh"
lima_environment

# A kernel that names cards otherwise at this boot than at the first: cloud-init renames only once an instance.
name_card() {
	[ ! -e /sys/class/net/eth0 ] || return 0
	mac=$(sed -n "s/^ *macaddress: '\(.*\)'/\1/p" "$LIMA_CIDATA_MNT/network-config" | head -n 1)
	for card in /sys/class/net/*; do
		[ "$(cat "$card/address" 2>/dev/null)" = "$mac" ] || continue
		ip link set "${card##*/}" down
		ip link set "${card##*/}" name eth0
		ip link set eth0 up
	done
}

await_network() {
	tries=0
	until ip -4 address show dev eth0 2>/dev/null | grep -q 'inet '; do
		tries=$((tries + 1))
		[ $tries -le 30 ] || { lima_warn "eth0 has no IPv4 address"; return; }
		sleep 1
	done
}

# The scripts of provision[] under the names the agent knows, and the settings; both are root's alone.
hand_over() (
	umask 077
	mkdir -p /run/lima/provision
	for file in "$LIMA_CIDATA_MNT"/provision.*/*; do
		[ -f "$file" ] && cp "$file" "/run/lima/provision/$(lima_number "$file")"
	done
	cat "$LIMA_CIDATA_MNT/lima/settings" >/run/lima/settings
)

# The guest's own services fetch through the host's proxies too. They are below /run: a boot without them has none.
proxies_for_services() (
	grep -qi '^[a-z]*_proxy=' "$LIMA_CIDATA_MNT/etc_environment" || return 0
	umask 077 # a proxy may want a password
	sed -n "/^[a-z]*_proxy=/I { s/'/'\\\\''/g; s/=\(.*\)/='\1'/p }" "$LIMA_CIDATA_MNT/etc_environment" >/run/lima/services.env
	umask 022
	if [ -d /run/systemd/system ]; then
		for unit in docker containerd buildkit; do
			mkdir -p "/run/systemd/system/$unit.service.d"
			printf '[Service]\nEnvironmentFile=-/run/lima/services.env\n' >"/run/systemd/system/$unit.service.d/lima.conf"
		done
		systemctl daemon-reload
	elif [ -x /sbin/openrc-run ]; then
		# Read by every service; OpenRC keeps the environment from them.
		mkdir -p /etc/rc.conf.d
		echo '[ ! -r /run/lima/services.env ] || { set -a; . /run/lima/services.env; set +a; }' >/etc/rc.conf.d/90-lima.conf
	fi
)

# Our kernel argument norandmaps, for guests under emulation, is for programs up to here: none of the user's runs by it.
end_norandmaps() {
	! grep -qx 'boot.norandmaps=true' "$LIMA_CIDATA_MNT/lima/settings" || echo 2 >/proc/sys/kernel/randomize_va_space
}

code=0
end_norandmaps
[ -d /run/lima ] || mkdir -m 0755 /run/lima
name_card
if [ -z "$LIMA_CIDATA_PLAIN" ]; then
	hand_over
	proxies_for_services
	lima_agent setup --cloud || code=1
fi
if [ -d "$LIMA_CIDATA_MNT/provision.boot" ]; then
	await_network
	lima_provision boot || code=1
fi
: >/run/lima/early.done
exit $code
