#!/bin/sh
# containerd, nerdctl and BuildKit out of the template's archive: for root as services, which are started at each boot and
# enabled nowhere; for the user, without root's rights, by the archive's own setup tool. Also run in a guest without a seed, by
# its agent. What went wrong stands in containerd.error, for the host.
set -u
# shellcheck source=provision/cloud/util/lima.sh
. "$LIMA_CIDATA_MNT/util/lima.sh"
# shellcheck source=provision/cloud/util/service.sh
. "$LIMA_CIDATA_MNT/util/service.sh"
export PATH="/usr/local/sbin:/usr/local/bin:$PATH"
archive=$LIMA_CIDATA_MNT/${LIMA_CIDATA_CONTAINERD_ARCHIVE:-}
state=/var/lib/lima-containerd # archive: what is unpacked; user: whose containerd the setup tool has installed
said=/run/lima/containerd.error
code=0 updated=false

fail() {
	lima_warn "containerd: $1"
	printf '%s\n' "$1" >>$said
	code=1
}

# await CONDITION SENTENCE: what is loaded and started takes its time under emulation.
await() {
	tries=0
	until $1; do
		tries=$((tries + 1))
		[ $tries -le 120 ] || { fail "$2"; return 1; }
		sleep 1
	done
}

# --- the archive ---

# Its size and both its ends, checksum of the packed data included. All of it would take as long as to unpack it.
identity() {
	file=$(readlink -f "$archive")
	if [ -b "$file" ]; then
		sectors=$(cat "/sys/class/block/${file##*/}/size")
	else
		sectors=$((($(stat -c %s "$file") + 511) / 512))
	fi
	skip=$((sectors > 128 ? sectors - 128 : 0))
	echo "$sectors" "$(dd if="$file" bs=512 count=128 2>/dev/null | cksum)" \
		"$(dd if="$file" bs=512 skip=$skip 2>/dev/null | cksum)"
}

unpack() {
	new=$(identity)
	[ "$(cat $state/archive 2>/dev/null)" != "$new" ] || return 0
	updated=true
	mkdir -p $state /usr/local
	rm -f $state/archive # an archive that was unpacked half is none
	[ ! -e $state/user ] || user_tool "$(cat $state/user)" systemctl --user stop containerd
	tar -xof "$archive" -C /usr/local || { fail "the archive cannot be unpacked"; return 1; }
	[ -x /usr/local/bin/containerd ] ||
		{ fail "the archive has no bin/containerd: it should be a nerdctl-full-VERSION-linux-ARCH.tar.gz"; return 1; }
	echo "$new" >$state/archive
}

# --- for root ---

# What is built is an image of the namespace nerdctl looks into.
configure_buildkit() {
	[ ! -e /etc/buildkit/buildkitd.toml ] || return 0
	mkdir -p /etc/buildkit
	cat >/etc/buildkit/buildkitd.toml <<-'TOML'
		[worker.oci]
		  enabled = false
		[worker.containerd]
		  enabled = true
		  namespace = "default"
	TOML
}

# The archive has units.
systemd_start() {
	systemctl daemon-reload
	for unit in containerd buildkit; do
		[ "$unit" = containerd ] || [ -x "/usr/local/bin/${unit}d" ] || continue
		systemctl "$verb" $unit || fail "systemd could not start $unit.service: see journalctl -u $unit"
	done
}

# keep NAME NEEDED PROGRAM ARGUMENT...
keep() {
	name=$1 needed=$2 program=$3
	shift 3
	lima_service "$verb" "$name" "$needed" "$program of nerdctl's archive" "/usr/local/bin/$program" "$@" ||
		fail "$name could not be started"
}

other_start() {
	keep nerdctl-containerd "" containerd --log-level warn
	[ ! -x /usr/local/bin/buildkitd ] ||
		keep nerdctl-buildkitd nerdctl-containerd buildkitd --addr unix:///run/buildkit/buildkitd.sock
}

serves_root() { [ -S /run/containerd/containerd.sock ]; }

system_start() {
	if $updated; then verb=restart; else verb=start; fi
	modprobe -aq overlay br_netfilter
	configure_buildkit
	if [ -d /run/systemd/system ]; then systemd_start; else other_start; fi
	await serves_root "containerd does not serve /run/containerd/containerd.sock"
}

# --- for the user ---

# user_tool USER COMMAND...: in the user's own session.
user_tool() (
	number=$(id -u "$1") || return
	LIMA_CIDATA_USER=$1
	shift
	cd /
	lima_as_user env "XDG_RUNTIME_DIR=/run/user/$number" "DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/$number/bus" \
		"PATH=$PATH" CONTAINERD_NAMESPACE=default "$@"
)

# Answers with a sentence for each thing that is missing.
user_needs() {
	[ -d /run/systemd/system ] || { echo "containerd.user needs a guest with systemd"; return; }
	command -v newuidmap >/dev/null && command -v newgidmap >/dev/null ||
		echo "newuidmap and newgidmap are missing: install the guest's package uidmap or shadow-utils"
	for file in /etc/subuid /etc/subgid; do
		grep -q "^$LIMA_CIDATA_USER:" $file 2>/dev/null || echo "$file has no line for $LIMA_CIDATA_USER"
	done
	lima_has_user_bus || echo "the user has no D-Bus of its own: install the guest's package dbus-user-session"
	command -v containerd-rootless-setuptool.sh >/dev/null || echo "the archive has no containerd-rootless-setuptool.sh"
}

# Made without a login.
has_session() { [ -e "/run/user/$(id -u "$1")/systemd/private" ]; }

# Its socket is in a mount namespace of its own.
serves_user() {
	child=$(cat "/run/user/$LIMA_CIDATA_UID/containerd-rootless/child_pid" 2>/dev/null) &&
		[ -S "/proc/$child/root/run/containerd/containerd.sock" ]
}

# Containers run without, but their limits are not kept.
check_delegation() {
	controllers=/sys/fs/cgroup/user.slice/user-$LIMA_CIDATA_UID.slice/user@$LIMA_CIDATA_UID.service/cgroup.controllers
	for controller in cpu memory pids; do
		grep -qw $controller "$controllers" 2>/dev/null ||
			lima_warn "containerd: the cgroup controller $controller is not delegated to the user: containers have no such limit"
	done
}

# Some distributions let nobody make a user namespace whom AppArmor does not know.
allow_namespaces() {
	profile=/etc/apparmor.d/lima.rootlesskit
	[ "$(cat /proc/sys/kernel/apparmor_restrict_unprivileged_userns 2>/dev/null)" = 1 ] && [ ! -e $profile ] || return 0
	cat >$profile <<-'PROFILE'
		abi <abi/4.0>,
		include <tunables/global>
		/usr/local/bin/rootlesskit flags=(unconfined) {
		  userns,
		}
	PROFILE
	apparmor_parser -r $profile || fail "AppArmor does not take $profile"
}

# user_setup WORD: one of the tool's; its last words are ours when it fails.
user_setup() {
	log=$(mktemp)
	user_tool "$LIMA_CIDATA_USER" containerd-rootless-setuptool.sh "$1" >"$log" 2>&1
	status=$?
	cat "$log"
	[ $status = 0 ] || fail "containerd-rootless-setuptool.sh $1 failed: $(tail -n 1 "$log" | sed 's/\x1b\[[0-9;]*m//g')"
	rm -f "$log"
	return $status
}

user_start() {
	missing=$(user_needs)
	if [ -n "$missing" ]; then
		fail "$missing"
		return
	fi
	await "has_session $LIMA_CIDATA_USER" "there is no systemd of user $LIMA_CIDATA_USER" || return
	check_delegation
	allow_namespaces
	# Afterwards the user's systemd starts them.
	if $updated || [ "$(cat $state/user 2>/dev/null)" != "$LIMA_CIDATA_USER" ]; then
		user_setup install || return
		echo "$LIMA_CIDATA_USER" >$state/user
		[ ! -x /usr/local/bin/buildkitd ] || user_setup install-buildkit-containerd
	fi
	await serves_user "the containerd of user $LIMA_CIDATA_USER does not serve its socket"
}

user_undo() {
	former=$(cat $state/user)
	await "has_session $former" "there is no systemd of user $former" && user_tool "$former" containerd-rootless-setuptool.sh uninstall
	rm -f $state/user
}

rm -f $said
if [ -e $state/user ] && { [ -z "$LIMA_CIDATA_CONTAINERD_USER" ] || [ "$(cat $state/user)" != "$LIMA_CIDATA_USER" ]; }; then
	user_undo
fi
[ -n "$LIMA_CIDATA_CONTAINERD_USER$LIMA_CIDATA_CONTAINERD_SYSTEM" ] || exit 0
unpack || exit 1
[ -z "$LIMA_CIDATA_CONTAINERD_SYSTEM" ] || system_start
[ -z "$LIMA_CIDATA_CONTAINERD_USER" ] || user_start
exit $code
