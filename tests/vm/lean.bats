# The lean init: what it has when it works, and how a boot ends that cannot go on: with a reason, never by standing there.
bats_require_minimum_version 1.5.0
. "$BATS_TEST_DIRNAME/../helpers/vm.bash"

setup_file() {
	alpine_template >"$LIMA_HOME/lean.yaml"
	cat >>"$LIMA_HOME/lean.yaml" <<-'YAML'
		user: {name: dev, uid: 1000, home: /home/dev}
		guest: {init: lean}
	YAML
}
HOST_PORT=18765
teardown() { for name in l m; do limactl-c delete -f $name >/dev/null 2>&1 || true; done; }
teardown_file() { vm_stop; }

l() { limactl-c shell l "$@"; }

# An installation of our own, to be damaged.
own_install() {
	rm -rf "$LIMA_HOME/_install"
	mkdir "$LIMA_HOME/_install"
	cp -a "$(dirname "$(command -v limactl-c)")/../"{bin,libexec,share} "$LIMA_HOME/_install/"
	PATH=$LIMA_HOME/_install/bin:$PATH
}

# no_start WORDS [FILE]: the start of l ends by itself, before its limit, with these words.
no_start() {
	run -1 limactl-c start --tty=false --name=l "${2:-$LIMA_HOME/lean.yaml}"
	contains "$output" "$1"
	equals "$(limactl-c list l --json | jq -r .status)" Stopped
}

# fails_with WORDS [FILE]: these are the guest's.
fails_with() {
	no_start "the guest powered itself off before it was ready; it says: the guest cannot boot: $1" "${2:-$LIMA_HOME/lean.yaml}"
}

# is_degraded WORDS: the start of l with l.yaml says this, before its limit, of a guest that can be looked into.
is_degraded() {
	run -1 limactl-c start --tty=false --name=l "$LIMA_HOME/l.yaml"
	contains "$output" "runs, but is degraded: $1"
	l true
}

# boot_script: a template l.yaml with standard input as a script of mode boot.
boot_script() {
	printf 'provision:\n- mode: boot\n  script: |\n    #!/bin/sh\n' | cat "$LIMA_HOME/lean.yaml" - >"$LIMA_HOME/l.yaml"
	sed 's/^/    /' >>"$LIMA_HOME/l.yaml"
}

@test "what a lean guest has: loopback, IPv6, cgroup2, random numbers, no second of needless work" {
	boot_script <<<'cat /proc/net/if_inet6 >/root/early'
	limactl-c start --tty=false --name=l "$LIMA_HOME/l.yaml"
	contains "$(l ip -4 addr show lo)" 127.0.0.1
	contains "$(l ip -6 addr show lo)" ::1
	contains "$(l ip -4 addr show eth0)" 10.0.2.15/24
	contains "$(l ip -4 route)" "default via 10.0.2.2 dev eth0"
	contains "$(l cat /etc/resolv.conf)" "nameserver 10.0.2.3"
	equals "$(l hostname)" lima-l
	local module
	for module in virtio_blk virtio_net ext4 button evdev; do
		l grep -q "^$module " /proc/modules
	done
	contains "$(l ip -6 addr show eth0)" fe80:
	contains "$(l ip -6 route)" "default via fe80::2 dev eth0"
	# As early as the first script, and the host is reached by it.
	run -0 l sudo cat /root/early
	grep -q '^fec0000000000000.* eth0$' <<<"$output"
	grep -q '^00000000000000000000000000000001 .* lo$' <<<"$output"
	echo "by IPv6" >"$BATS_TEST_TMPDIR/page"
	python3 -m http.server --directory "$BATS_TEST_TMPDIR" --bind ::1 "$HOST_PORT" >/dev/null 2>&1 &
	local server=$!
	wait_until 20 curl -sSf "http://[::1]:$HOST_PORT/page"
	equals "$(l wget -qO- "http://[fec0::2]:$HOST_PORT/page")" "by IPv6"
	kill "$server"
	equals "$(l cat /proc/sys/net/ipv6/conf/eth0/accept_ra)" 2
	contains "$(l cat /sys/fs/cgroup/cgroup.subtree_control)" memory
	# Before the first program, so that none ever waits for it.
	contains "$(l sudo dmesg | sed '/Run .lima.init as init process/,$d')" "crng init done"
	equals "$(l sh -c 'ps -o comm | grep -c "^crond$"' || true)" 0
	run ! l test -e /run/lima/setup.warnings
	# What nobody waits for is taken away by init.
	l sh -c '(sleep 0.1 & exec sh -c "exit 0") & sleep 1'
	wait_until 5 l sh -c '! ps -o stat | grep "^Z"'
	# Files are copied with the user's rights.
	limactl-c copy "$BATS_TEST_TMPDIR/page" l:
	equals "$(l stat -c '%U %n' /home/dev/page)" "dev /home/dev/page"
	run -1 limactl-c copy "$BATS_TEST_TMPDIR/page" l:/root
	contains "$output" "/root: Permission denied"
	run -1 limactl-c copy l:/etc/shadow "$BATS_TEST_TMPDIR"
	contains "$output" "/etc/shadow: Permission denied"
}

@test "an address by DHCP, where the network's is not known beforehand" {
	own_install
	sed -i '2i echo net.address=dhcp >>/lima/settings' "$LIMA_HOME/_install/share/limactl-c/provision/lean/init"
	limactl-c start --tty=false --name=l "$LIMA_HOME/lean.yaml"
	contains "$(l ip -4 addr show eth0)" 10.0.2.15/24
	contains "$(l ip -4 route)" "default via 10.0.2.2 dev eth0"
	contains "$(l cat /etc/resolv.conf)" "nameserver 10.0.2.3"
	l pgrep -x udhcpc
	run ! l test -e /run/lima/setup.warnings
	# The lease is lost, then comes back.
	l sudo sh -c 'interface=eth0 /run/lima/dhcp deconfig'
	equals "$(l ip -4 addr show eth0)" ""
	l sudo pkill -USR1 -x udhcpc
	wait_until 20 l sh -c 'ip -4 route | grep "default via 10.0.2.2 dev eth0"'
	limactl-c stop l
	sed 's/^guest:.*/guest: {init: lean, kernelArgs: [module_blacklist=af_packet]}/' "$LIMA_HOME/lean.yaml" >"$LIMA_HOME/l.yaml"
	limactl-c delete l
	is_degraded "network: udhcpc ended with exit code 1"
}

@test "the agent takes less than a mebibyte, and sleeps while nothing happens" {
	limactl-c start --tty=false --name=l "$LIMA_HOME/lean.yaml"
	local pid
	pid=$(l pgrep -f 'agent daemon')
	(($(l awk '/^VmRSS/ { print $2 }' "/proc/$pid/status") <= 1024))
	# In one command, which costs the agent nothing while it sleeps. Soon after its start it looks at its ports once more.
	sleeps() {
		local before after
		read -r before after < <(l sh -c "f=/proc/$pid/status; n() { awk '/^voluntary/ { print \$2 }' \$f; }; a=\$(n); sleep 5; echo \$a \$(n)")
		[ "$before" -gt 0 ] && [ "$before" = "$after" ]
	}
	wait_until 20 sleeps
}

@test "crond runs when there is something for it, and only then" {
	limactl-c start --tty=false --name=l "$LIMA_HOME/lean.yaml"
	run -1 l pgrep -x crond
	l sudo sh -c 'echo "* * * * * touch /root/cron-ran" | crontab -'
	limactl-c restart l
	wait_until 10 l pgrep -x crond
	l sudo pkill -9 crond
	wait_until 20 l pgrep -x crond
	l sudo crontab -r
	limactl-c restart l
	run -1 l pgrep -x crond
}

ssh_to() { ssh -F "$LIMA_HOME/$1/ssh.config" -o ControlMaster=no -o ControlPath=none "lima-$1" "${@:2}"; }
machine_id() { limactl-c shell "$1" cat /etc/machine-id; }

@test "ssh into a lean guest that has a server; its clone is somebody else, with keys of its own" {
	limactl-c start --tty=false --name=l "$LIMA_HOME/lean.yaml"
	put_sshd l
	start_sshd l
	equals "$(ssh_to l 'id -un; hostname')" $'dev\nlima-l'
	echo "of the host" >"$BATS_TEST_TMPDIR/file"
	sftp -q -F "$LIMA_HOME/l/ssh.config" -b - lima-l <<<"put $BATS_TEST_TMPDIR/file there"
	equals "$(l cat there)" "of the host"
	l sudo sh -c 'echo 00112233445566778899aabbccddeeff >/etc/machine-id'
	limactl-c stop l
	limactl-c clone --start l m
	equals "$(limactl-c shell m hostname)" lima-m
	equals "$(machine_id m)" "$(cat "$LIMA_HOME/m/machine-id")"
	[ "$(machine_id m)" != 00112233445566778899aabbccddeeff ]
	equals "$(limactl-c shell m cat /sys/class/net/eth0/address)" "$(jq -r .mac "$LIMA_HOME/m/plan.json")"
	[ "$(jq -r .mac "$LIMA_HOME/m/plan.json")" != "$(jq -r .mac "$LIMA_HOME/l/plan.json")" ]
	equals "$(limactl-c shell m sh -c 'ls /etc/ssh')" ""
	start_sshd m
	equals "$(ssh_to m 'id -un; hostname')" $'dev\nlima-m'
	[ "$(cut -d ' ' -f 2- "$LIMA_HOME/m/known_hosts")" != "$(cut -d ' ' -f 2- "$LIMA_HOME/l/known_hosts")" ]
	# It stays what it is now.
	limactl-c restart m
	equals "$(machine_id m) $(limactl-c shell m sh -c 'ls /etc/ssh/*.pub')" "$(cat "$LIMA_HOME/m/machine-id") /etc/ssh/ssh_host_ed25519_key.pub"
	limactl-c delete -f m
}

@test "stop ends within bounds, whatever a process does about it, with a clean file system" {
	limactl-c start --tty=false --name=l "$LIMA_HOME/lean.yaml"
	l sudo sh -c 'trap "" TERM HUP; while :; do sleep 1; done >/root/held 2>&1 & echo started'
	local begun=$SECONDS
	limactl-c stop l
	((SECONDS - begun < 25))
	qemu-img convert -O raw "$LIMA_HOME/l/disk" "$BATS_TEST_TMPDIR/raw"
	run -0 e2fsck -fn "$BATS_TEST_TMPDIR/raw"
	run ! grep -q needs_recovery <(dumpe2fs -h "$BATS_TEST_TMPDIR/raw" 2>/dev/null)
}

@test "an engine that is killed comes back, with its containers' socket" {
	vm_restore
	guest sudo pkill -9 containerd
	guest sudo pkill -9 dockerd
	wait_until 90 guest docker ps
	equals "$(guest sh -c 'ps -o stat | grep -c "^Z"' || true)" 0
	vm_stop
}

# container_that_says: one that writes "told" into the guest's /var/tmp/ended when it is told to end, and then takes two seconds.
container_that_says() {
	guest sudo rm -f /var/tmp/ended /var/tmp/begun
	guest docker run -d -v /var/tmp:/h busybox /bin/sh -c \
		'trap "echo told >/h/ended; /bin/busybox sleep 2; echo done >>/h/ended; exit 0" TERM; >/h/begun; while :; do /bin/busybox sleep 1; done'
	wait_until 30 guest test -e /var/tmp/begun
}
vm_stopped() { [ "$(limactl-c list vm --json | jq -r .status)" = Stopped ]; }
sigterm() { kill -TERM "$(ha_pid vm)"; }

@test "the power button and SIGTERM: containers end as they like, file systems are clean, the machine is off" {
	local how
	for how in "limactl-c stop vm" sigterm; do
		vm_restore
		container_that_says
		$how
		wait_until 60 vm_stopped
		run ! grep -q "killed" <(tail -n 3 "$LIMA_HOME/vm/ha.stderr.log")
		qemu-img convert -O raw "$LIMA_HOME/vm/disk" "$BATS_TEST_TMPDIR/raw"
		run -0 e2fsck -fn "$BATS_TEST_TMPDIR/raw"
		run ! grep -q needs_recovery <(dumpe2fs -h "$BATS_TEST_TMPDIR/raw" 2>/dev/null)
		equals "$(debugfs -R 'cat /var/tmp/ended' "$BATS_TEST_TMPDIR/raw" 2>/dev/null)" $'told\ndone'
		rm "$BATS_TEST_TMPDIR/raw"
	done
}

@test "SIGTERM to init: the same, and the guest boots again" {
	vm_restore
	container_that_says
	guest sudo kill -TERM 1
	wait_until 120 guest sh -c 'awk "{ exit \$1 > 100 }" /proc/uptime && docker ps'
	equals "$(guest cat /var/tmp/ended)" $'told\ndone'
	run ! guest sh -c 'sudo dmesg | grep "EXT4-fs (vda).*recover"'
	equals "$(control vm GET status | jq .degraded)" false
	vm_stop
}

@test "a program of the guest on [::1] or [::] is reached from the host" {
	vm_restore
	guest sh -c 'helper echo 22061 ::1 >/dev/null 2>&1 & helper echo 22062 :: >/dev/null 2>&1 &'
	local port
	for port in 22061 22062; do
		wait_until 10 open_port $port
		exec 7<>/dev/tcp/127.0.0.1/$port
		echo "to $port" >&7
		equals "$(timeout 10 head -n 1 <&7)" "to $port"
		exec 7<&-
	done
	vm_stop
}

@test "containerd or dockerd alone is killed: containers can be run again" {
	local program
	vm_restore
	for program in containerd dockerd; do
		guest sudo pkill -9 -x "$program"
		wait_until 90 guest docker run --rm busybox /bin/busybox true
	done
	equals "$(control vm GET status | jq .degraded)" false
	vm_stop
}

troubles() { control vm GET status | jq -r '.errors[]'; }
is_told() { contains "$(troubles)" "$1"; }
no_trouble() { [ -z "$(troubles)" ]; }

@test "a dockerd that cannot start is tried again with growing pauses and told of, until it works" {
	vm_restore
	guest sudo sh -c 'mkdir -p /etc/docker && echo "{\"no-such-key\": 1}" >/etc/docker/daemon.json && pkill -x dockerd'
	wait_until 60 is_told "dockerd: it ended too soon, 3 times, and is tried again; the log ends with: "
	contains "$(troubles)" no-such-key
	wait_until 60 is_told "dockerd: it ended too soon, 4 times"
	equals "$(guest logread | sed -n 's/.*dockerd ended too soon, . times; trying again in //p' | head -n 3 | tr '\n' ' ')" "1 s 2 s 4 s "
	grep -q "dockerd: it ended too soon, 3 times" "$LIMA_HOME/vm/ha.stderr.log"
	wait_until 5 guest sh -c '! ps -o stat | grep "^Z"'
	guest sudo rm /etc/docker/daemon.json
	wait_until 90 guest docker ps
	wait_until 90 no_trouble
	grep -q "dockerd works again" "$LIMA_HOME/vm/ha.stderr.log"
	vm_stop
}

# engine_template FILE: the shipped template with that engine disk, as l.yaml.
engine_template() {
	sed "s|^  engineDisk:.*|  engineDisk: \"$1\"|; s|when: noContainers|when: never|" "${BATS_TEST_DIRNAME%/tests/vm}/templates/minimal-docker-offline.yaml" \
		>"$LIMA_HOME/l.yaml"
}

@test "an engine disk with nothing on it: degraded, with the reason" {
	truncate -s 64M "$LIMA_HOME/engine"
	engine_template "$LIMA_HOME/engine"
	is_degraded "engine disk: cannot mount /dev/vdb: Invalid argument"
	wait_until 20 sh -c "limactl-c list l --json | grep -q 'dockerd: cannot run dockerd: No such file or directory'"
}

@test "an engine disk that cannot be read: degraded, with what its programs say" {
	cp "${XDG_CACHE_HOME:-$HOME/.cache}/limactl-c/names/docker-engine-$(uname -m).squashfs" "$LIMA_HOME/engine"
	local size
	size=$(stat -c %s "$LIMA_HOME/engine")
	# Its tables at the end are whole, the files are not.
	dd if=/dev/urandom of="$LIMA_HOME/engine" bs=1M seek=1 count=$((size / 1048576 - 4)) conv=notrunc status=none
	engine_template "$LIMA_HOME/engine"
	is_degraded ""
	contains "$output" "dockerd: cannot run dockerd: I/O error"
}

@test "no engine disk: the start says so before there is a machine" {
	engine_template "$LIMA_HOME/no-such-engine"
	run -1 limactl-c start --tty=false --name=l "$LIMA_HOME/l.yaml"
	contains "$output" "$LIMA_HOME/no-such-engine"
	# Gone since.
	truncate -s 64M "$LIMA_HOME/no-such-engine"
	limactl-c create --tty=false --name=l "$LIMA_HOME/l.yaml"
	rm "$LIMA_HOME/no-such-engine"
	run -1 limactl-c start --tty=false l
	contains "$output" "$LIMA_HOME/no-such-engine"
	equals "$(limactl-c list l --json | jq -r .status)" Stopped
}

@test "a data disk that cannot be read: degraded, with its name" {
	head -c 64M /dev/urandom >"$LIMA_HOME/data.raw"
	limactl-c disk import data "$LIMA_HOME/data.raw"
	(cat "$LIMA_HOME/lean.yaml"; echo "additionalDisks: [data]") >"$LIMA_HOME/l.yaml"
	is_degraded "disk data: /dev/vdb cannot be mounted: mount ended with exit code "
	limactl-c delete -f l
	limactl-c disk delete data
}

@test "no network card: degraded, and the channel needs none" {
	sed 's/^guest:.*/guest: {init: lean, kernelArgs: [module_blacklist=virtio_net]}/' "$LIMA_HOME/lean.yaml" >"$LIMA_HOME/l.yaml"
	is_degraded "network: there is no network card"
}

@test "no root disk: the module that is missing is named" {
	sed 's/^guest:.*/guest: {init: lean, kernelArgs: [module_blacklist=virtio_blk]}/' "$LIMA_HOME/lean.yaml" >"$LIMA_HOME/l.yaml"
	fails_with "there is no disk /dev/vda (modprobe: ERROR: could not insert 'virtio_blk': Operation not permitted)" "$LIMA_HOME/l.yaml"
}

@test "nothing to mount the root with" {
	sed 's/^guest:.*/guest: {init: lean, kernelArgs: [module_blacklist=ext4]}/' "$LIMA_HOME/lean.yaml" >"$LIMA_HOME/l.yaml"
	fails_with "mount: mounting /dev/vda on /sysroot failed: No such device (modprobe: ERROR: could not insert 'ext4': Operation not permitted)" "$LIMA_HOME/l.yaml"
}

@test "a root disk with nothing on it; the instance starts again when its disk is back" {
	limactl-c create --tty=false --name=l "$LIMA_HOME/lean.yaml"
	mv "$LIMA_HOME/l/disk" "$LIMA_HOME/l/disk.kept"
	qemu-img create -q -f qcow2 "$LIMA_HOME/l/disk" 2G
	fails_with "mount: mounting /dev/vda on /sysroot failed: Invalid argument" l
	mv "$LIMA_HOME/l/disk.kept" "$LIMA_HOME/l/disk"
	limactl-c start l
}

@test "a root without an init" {
	limactl-c start --tty=false --name=l "$LIMA_HOME/lean.yaml"
	l sudo mv /sbin/init /sbin/init.away
	limactl-c stop l
	fails_with "the disk has no /sbin/init" l
}

@test "an init that cannot be run: the kernel panics, and its words are the start's" {
	limactl-c start --tty=false --name=l "$LIMA_HOME/lean.yaml"
	l sudo sh -c 'mv /sbin/init /sbin/init.away && printf "\177ELF garbage" >/sbin/init && chmod 755 /sbin/init'
	limactl-c stop l
	no_start "the guest's kernel panicked: Kernel panic - not syncing: Attempted to kill init!" l
}

@test "a kernel that panics when everything of ours is up" {
	boot_script <<<'echo c >/proc/sysrq-trigger'
	no_start "the guest's kernel panicked: Kernel panic - not syncing: sysrq triggered crash" "$LIMA_HOME/l.yaml"
}

@test "a guest that resets its machine at each boot" {
	boot_script <<<'echo b >/proc/sysrq-trigger'
	no_start "the guest has reset the machine 5 times and its agent does not answer; its console ends with: " "$LIMA_HOME/l.yaml"
}

@test "a kernel that panics while the instance runs: it boots again, which log and status tell, and stop works" {
	limactl-c start --tty=false --name=l "$LIMA_HOME/lean.yaml"
	equals "$(control l GET status | jq .degraded)" false
	run ! l sudo sh -c 'echo c >/proc/sysrq-trigger'
	local words="the guest's kernel panicked, and the guest booted again: Kernel panic - not syncing: sysrq triggered crash"
	wait_until 60 l sh -c 'awk "{ exit \$1 > 60 }" /proc/uptime'
	grep -qF "$words" "$LIMA_HOME/l/ha.stderr.log"
	equals "$(control l GET status | jq -r '.state, .degraded, .errors[]')" "$(printf '%s\n' running true "$words")"
	equals "$(limactl-c list l --json | jq -r '.status, .errors[]')" "$(printf '%s\n' Running "$words")"
	limactl-c stop l
	equals "$(tail -n 1 "$LIMA_HOME/l/ha.stdout.log" | jq .status.errors)" null
}

@test "settings that cannot be read" {
	own_install
	sed -i '2i echo "no settings at all" >/lima/settings' "$LIMA_HOME/_install/share/limactl-c/provision/lean/init"
	fails_with "the guest agent: settings line 1: no '='"
}

@test "no settings at all" {
	own_install
	sed -i '2i /bin/busybox rm /lima/settings' "$LIMA_HOME/_install/share/limactl-c/provision/lean/init"
	fails_with "the initramfs holds no settings"
}

@test "an agent that cannot start" {
	own_install
	# A program of another machine.
	printf '\177ELF garbage' >"$LIMA_HOME/_install/share/limactl-c/lima-guestagent.Linux-x86_64"
	fails_with "the guest agent: "
}

@test "no agent" {
	own_install
	sed -i '2i /bin/busybox rm /lima/agent' "$LIMA_HOME/_install/share/limactl-c/provision/lean/init"
	fails_with "the guest agent: "
	contains "$output" "not found"
	rm "$LIMA_HOME/_install/share/limactl-c/lima-guestagent.Linux-x86_64"
	run -1 limactl-c start --tty=false l
	contains "$output" lima-guestagent.Linux-x86_64
}

@test "an agent that ends at once is tried again with pauses, and says why; start names what is missing" {
	own_install
	# Its port has another name than the host's.
	sed -i 's|^::respawn:/run/lima/agent daemon|& --carrier virtio:io.no-such-port|' \
		"$LIMA_HOME/_install/share/limactl-c/provision/lean/inittab"
	run -1 limactl-c start --tty=false --timeout 40s --name=l "$LIMA_HOME/lean.yaml"
	contains "$output" "the guest agent answers"
	(($(grep -c "io.no-such-port" "$LIMA_HOME/l/serial.log") <= 10))
	grep -q "io.no-such-port" "$LIMA_HOME/l/serial.log"
}
