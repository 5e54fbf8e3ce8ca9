# containerd: its archive by way of create (QEMU's driver, nothing is started), and what the boot script does with it in
# this system's root under an overlay.
. "$BATS_TEST_DIRNAME/../helpers/cloud.bash"

setup() {
	cloud_setup
	W=$LIMA_HOME/.www
	mkdir "$W"
	archive full.tar.gz one
	serve "$W"
	template system "{location: \"$URL/full.tar.gz\", arch: x86_64, digest: \"$(digest full.tar.gz)\"}"
}
teardown() { cli_teardown; }

# archive NAME VERSION [MEMBER...]: programs that say their version, and a setup tool that says what it is told.
archive() {
	local d=$LIMA_HOME/.archive name=$1 version=$2 p
	shift 2
	rm -rf "$d"
	mkdir -p "$d/bin" "$d/lib/systemd/system"
	for p in "${@:-containerd}"; do
		printf '#!/bin/sh\necho %s %s\n' "$p" "$version" >"$d/bin/$p"
	done
	# shellcheck disable=SC2016 # for its shell
	printf '#!/bin/sh\necho "$(id -un) $* $CONTAINERD_NAMESPACE $XDG_RUNTIME_DIR" >>"$HOME/tool.log"\n[ ! -e /tool.fails ] || { echo oh no; exit 1; }\n' \
		>"$d/bin/containerd-rootless-setuptool.sh"
	chmod 0755 "$d"/bin/*
	echo "# unit $version" >"$d/lib/systemd/system/containerd.service"
	tar -czf "$W/$name" -C "$d" .
}

# template TRUE ARCHIVES: containerd.TRUE with these entries.
template() {
	box_template >"$LIMA_HOME/box.yaml"
	cat >>"$LIMA_HOME/box.yaml" <<-YAML
		user: {name: jane, uid: 4321, home: /home/jane.guest, shell: /bin/bash}
		containerd: {$1: true, archives: [$2]}
	YAML
}
digest() { echo "sha256:$(sha256sum "$W/$1" | cut -d ' ' -f 1)"; }
served() { grep -c "GET /$1 .* 200" "$LIMA_HOME/.served" || true; }
in_volume() { bsdtar -xOf "$LIMA_HOME/box/cidata.iso" "$1"; }

# boot COMMAND...: as in cloud.bats, with a systemd that answers.
boot() {
	in_guest "${before:-:}" '/mnt/lima-cidata/boot.sh >/run/boot.log 2>&1; echo $? >/run/boot.status' "$@"
}
# The user's containerd serves in the namespaces of a process: of one that has the same root here.
systemd='mkdir -p /run/systemd/system /run/containerd
	sleep 300 &
	for n in 4321 4322; do
		mkdir -p /run/user/$n/systemd /run/user/$n/containerd-rootless
		: >/run/user/$n/systemd/private
		echo $! >/run/user/$n/containerd-rootless/child_pid
	done
	python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\"/run/containerd/containerd.sock\")"'
user_needs='for p in newuidmap newgidmap; do printf "#!/bin/sh\n" >/usr/bin/$p; chmod 0755 /usr/bin/$p; done
	mkdir -p /usr/lib/systemd/user; : >/usr/lib/systemd/user/dbus.socket'

@test "the archive is fetched once, checked, and in the volume as it came; afterwards no network is needed" {
	make
	in_volume nerdctl-full.tgz | cmp - "$W/full.tar.gz"
	contains "$(in_volume lima.env)" $'LIMA_CIDATA_CONTAINERD_USER=\nLIMA_CIDATA_CONTAINERD_SYSTEM=1\nLIMA_CIDATA_CONTAINERD_ARCHIVE=nerdctl-full.tgz'
	equals "$(served full.tar.gz)" 1
	limactl-c prune --log-level warn
	limactl-c delete box
	serve_stop
	run -0 make
	in_volume nerdctl-full.tgz | cmp - "$W/full.tar.gz"
	# What no instance needs goes.
	limactl-c delete box
	limactl-c prune
	run -1 make
	contains "$output" "archive $URL/full.tar.gz"
	[ ! -e "$LIMA_HOME/box" ]
}

@test "a wrong digest is refused, and nothing is left behind" {
	sed -i 's/sha256:...../sha256:00000/' "$LIMA_HOME/box.yaml"
	run -1 make
	contains "$output" "digest"
	[ ! -e "$LIMA_HOME/box" ]
}

@test "the first for the guest's architecture that can be had is taken, with a warning for each that cannot" {
	template user "{location: \"$URL/arm.tar.gz\", arch: aarch64}, {location: \"$URL/gone.tar.gz\"}, {location: \"$URL/full.tar.gz\"}"
	run -0 make
	contains "$output" "gone.tar.gz"
	contains "$output" "trying the next"
	[[ $output != *arm.tar.gz* ]]
	in_volume nerdctl-full.tgz | cmp - "$W/full.tar.gz"
	contains "$(in_volume lima.env)" $'LIMA_CIDATA_CONTAINERD_USER=1\nLIMA_CIDATA_CONTAINERD_SYSTEM=\n'
}

@test "an archive taken by its sha256 is used again by later starts, which ask for none; another digest is another archive" {
	template system "{location: \"$URL/gone.tar.gz\"}, {location: \"$URL/full.tar.gz\", digest: \"$(digest full.tar.gz)\"}"
	make
	mkdir "$LIMA_HOME/.bin"
	printf '#!/bin/sh\nexit 1\n' >"$LIMA_HOME/.bin/qemu-system-x86_64"
	chmod 755 "$LIMA_HOME/.bin/qemu-system-x86_64"
	# The machine's program does nothing, so that a start makes a plan and ends.
	start_in_vain() { PATH=$LIMA_HOME/.bin:$PATH run -1 limactl-c start --tty=false box; }
	rm "$LIMA_HOME/box/cidata.iso"
	start_in_vain
	[[ $output != *Fetching* ]]
	equals "$(grep -c 'GET /gone' "$LIMA_HOME/.served") $(served full.tar.gz)" "1 1"
	in_volume nerdctl-full.tgz | cmp - "$W/full.tar.gz"
	# Gone from the cache.
	rm "$(jq -r .containerd "$LIMA_HOME/box/plan.json")"
	start_in_vain
	equals "$(served full.tar.gz)" 2
	in_volume nerdctl-full.tgz | cmp - "$W/full.tar.gz"
	archive full.tar.gz two
	sed -i "s/sha256:[0-9a-f]*/$(digest full.tar.gz)/" "$LIMA_HOME/box/lima.yaml"
	start_in_vain
	equals "$(served full.tar.gz)" 3
	in_volume nerdctl-full.tgz | cmp - "$W/full.tar.gz"
	# Without one its location counts.
	sed -i 's/, digest: [^}]*//' "$LIMA_HOME/box/lima.yaml"
	start_in_vain
	contains "$output" "Fetching $URL/full.tar.gz"
}

@test "who asks for containerd and gives no archive is told what to give; who does not ask has none" {
	sed -i '/^containerd/d' "$LIMA_HOME/box.yaml"
	make
	[[ $(in_volume lima.env) == *$'CONTAINERD_USER=\nLIMA_CIDATA_CONTAINERD_SYSTEM=\nLIMA_CIDATA_SLIRP'* ]]
	limactl-c delete box
	run -1 limactl-c create --tty=false --name box --containerd user "$LIMA_HOME/box.yaml"
	contains "$output" "containerd.user: nothing is installed by itself: give \`containerd.archives\`"
	[ ! -e "$LIMA_HOME/box" ]
	template user ''
	limactl-c validate "$LIMA_HOME/box.yaml"
	template user "{location: \"$URL/full.tar.gz\"}"
	echo "plain: true" >>"$LIMA_HOME/box.yaml"
	make
	equals "$(served full.tar.gz)" 0
}

@test "for root: unpacked once a version, started at each boot" {
	make
	before=$systemd
	run -0 boot 'cat /run/boot.status /run/systemctl.log; /usr/local/bin/containerd; touch /usr/local/bin/containerd.mark' \
		'cat /etc/buildkit/buildkitd.toml; ls /run/lima/containerd.error 2>&1 || true'
	contains "$output" $'0\n'
	contains "$output" "restart containerd"
	contains "$output" "containerd one"
	contains "$output" 'namespace = "default"'
	contains "$output" "No such file"
	[[ $output != *"restart buildkit"* ]]
	run -0 boot 'cat /run/systemctl.log; find /usr/local/bin/containerd.mark -newer /usr/local/bin/containerd'
	contains "$output" $'daemon-reload\nstart containerd'
	contains "$output" containerd.mark
	# Another version.
	limactl-c delete box
	archive full.tar.gz two containerd buildkitd
	template system "{location: \"$URL/full.tar.gz\", digest: \"$(digest full.tar.gz)\"}"
	make
	run -0 boot 'cat /run/systemctl.log; containerd'
	contains "$output" $'restart containerd\nrestart buildkit'
	contains "$output" "containerd two"
}

@test "with OpenRC they are supervised services, without either they are kept running" {
	archive full.tar.gz one containerd buildkitd
	template system "{location: \"$URL/full.tar.gz\"}"
	make
	before="$systemd; rm -r /run/systemd; mkdir /run/openrc; printf '#!/bin/sh\n' >/sbin/openrc-run; chmod +x /sbin/openrc-run"
	run -0 boot 'cat /run/boot.status /etc/init.d/nerdctl-* /run/rc-service.log'
	contains "$output" 'command="/usr/local/bin/containerd"'
	contains "$output" $'supervisor=supervise-daemon'
	contains "$output" "need nerdctl-containerd"
	contains "$output" $'nerdctl-containerd restart\nnerdctl-buildkitd restart'
	# Where OpenRC is there and does not run, it is our own init that does.
	before="$systemd; rm -r /run/systemd"
	run -0 boot 'cat /run/boot.status; n=0; until [ $(wc -l </var/log/nerdctl-buildkitd.log) -ge 2 ]; do
		n=$((n + 1)); [ $n -lt 200 ] || exit 1; sleep 0.1; done; cat /var/log/nerdctl-containerd.log'
	contains "$output" "containerd one"
}

@test "for the user: the archive's own tool, as the user, once; taken away when the template no longer wants it" {
	archive full.tar.gz one containerd buildkitd
	template user "{location: \"$URL/full.tar.gz\"}"
	make
	before="$systemd; $user_needs"
	run -0 boot 'cat /run/boot.status /home/jane.guest/tool.log; cat /run/systemctl.log'
	contains "$output" $'0\njane install default /run/user/4321\njane install-buildkit-containerd default /run/user/4321'
	[[ $output != *"start containerd"* ]]
	run -0 boot 'wc -l </home/jane.guest/tool.log'
	equals "$output" 2
	limactl-c delete box
	template system "{location: \"$URL/full.tar.gz\"}"
	make
	run -0 boot 'cat /home/jane.guest/tool.log; ls /var/lib/lima-containerd'
	contains "$output" "jane uninstall"
	contains "$output" $'\narchive'
	[[ $output != *$'\nuser'* ]]
	run -0 boot 'wc -l </home/jane.guest/tool.log'
	equals "$output" 3
}

@test "for another user: the former one's is taken away" {
	template user "{location: \"$URL/full.tar.gz\"}"
	make
	before="$systemd; $user_needs"
	boot
	limactl-c delete box
	sed -i 's/name: jane, uid: 4321, home: .home.jane.guest/name: joe, uid: 4322, home: \/home\/joe.guest/' "$LIMA_HOME/box.yaml"
	make
	run -0 boot 'cat /run/boot.status /home/jane.guest/tool.log /home/joe.guest/tool.log /var/lib/lima-containerd/user'
	equals "$output" "0
jane install default /run/user/4321
jane uninstall default /run/user/4321
joe install default /run/user/4322
joe"
}

@test "for the user: what is missing is said, for the host too, and costs no other" {
	template "system: true, user" "{location: \"$URL/full.tar.gz\"}"
	make
	before="$systemd; rm -f /usr/bin/newuidmap /usr/bin/newgidmap /usr/lib/systemd/user/dbus.socket /lib/systemd/user/dbus.socket"
	run -0 boot 'cat /run/lima/containerd.error; grep -o "restart containerd" /run/systemctl.log; cat /run/lima-boot-done' \
		'cat /run/apt-get.log'
	contains "$output" "newuidmap and newgidmap are missing: install the guest's package uidmap or shadow-utils"
	contains "$output" "the user has no D-Bus of its own: install the guest's package dbus-user-session"
	contains "$output" "restart containerd"
	contains "$output" iid-
	contains "$output" "uidmap dbus-user-session"
	before="$systemd; $user_needs; : >/tool.fails"
	run -0 boot 'cat /run/lima/containerd.error' 'rm /tool.fails'
	contains "$output" "containerd-rootless-setuptool.sh install failed: oh no"
	# Tried again at the next boot.
	before=$systemd
	run -0 boot 'cat /run/boot.status; ls /run/lima/containerd.error 2>&1 || true; cat /var/lib/lima-containerd/user'
	contains "$output" "No such file"
	contains "$output" jane
}

@test "an archive that is none, or another's, is said" {
	echo "nothing packed" >"$W/full.tar.gz"
	template system "{location: \"$URL/full.tar.gz\"}"
	make
	before=$systemd
	run -0 boot 'cat /run/lima/containerd.error; cat /run/boot.status'
	contains "$output" $'the archive cannot be unpacked\n1'
	limactl-c delete box
	archive full.tar.gz one dockerd
	template system "{location: \"$W/full.tar.gz\"}"
	make
	run -0 boot 'cat /run/lima/containerd.error'
	contains "$output" "the archive has no bin/containerd: it should be a nerdctl-full-VERSION-linux-ARCH.tar.gz"
}
