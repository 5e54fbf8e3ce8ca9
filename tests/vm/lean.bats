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
teardown() { limactl-c delete -f l >/dev/null 2>&1 || true; }
teardown_file() { vm_stop; }

l() { limactl-c shell l "$@"; }

# An installation of our own, to be damaged.
own_install() {
	rm -rf "$LIMA_HOME/_install"
	mkdir "$LIMA_HOME/_install"
	cp -a "$(dirname "$(command -v limactl-c)")/../"{bin,libexec,share} "$LIMA_HOME/_install/"
	PATH=$LIMA_HOME/_install/bin:$PATH
}

# fails_with WORDS [FILE]: the start of l ends by itself, soon, with these words of the guest.
fails_with() {
	local begun=$SECONDS
	run -1 limactl-c start --tty=false --name=l "${2:-$LIMA_HOME/lean.yaml}"
	contains "$output" "the guest powered itself off before it was ready; it says: the guest cannot boot: $1"
	((SECONDS - begun < 90))
	equals "$(limactl-c list l --json | jq -r .status)" Stopped
}

@test "what a lean guest has: loopback, IPv6, cgroup2, random numbers, no second of needless work" {
	cat "$LIMA_HOME/lean.yaml" - >"$LIMA_HOME/l.yaml" <<-'YAML'
		provision:
		- mode: boot
		  script: |
		    #!/bin/sh
		    cat /proc/net/if_inet6 >/root/early
	YAML
	limactl-c start --tty=false --name=l "$LIMA_HOME/l.yaml"
	contains "$(l ip -4 addr show lo)" 127.0.0.1
	contains "$(l ip -6 addr show lo)" ::1
	contains "$(l ip -6 addr show eth0)" fe80:
	equals "$(l cat /proc/sys/net/ipv6/conf/eth0/accept_ra)" 2
	contains "$(l cat /sys/fs/cgroup/cgroup.subtree_control)" memory
	l sudo dmesg | grep -q "crng init done"
	equals "$(l sh -c 'ps -o comm | grep -c "^crond$"' || true)" 0
	run ! l test -e /run/lima/setup.warnings
	# What nobody waits for is taken away by init.
	l sh -c '(sleep 0.1 & exec sh -c "exit 0") & sleep 1'
	equals "$(l sh -c 'ps -o stat | grep -c "^Z"' || true)" 0
}

@test "the agent takes less than a mebibyte, and sleeps while nothing happens" {
	limactl-c start --tty=false --name=l "$LIMA_HOME/lean.yaml"
	local pid before after
	pid=$(l pgrep -f 'agent daemon')
	(($(l awk '/^VmRSS/ { print $2 }' "/proc/$pid/status") <= 1024))
	# In one command, which costs the agent nothing while it sleeps.
	read -r before after < <(l sh -c "f=/proc/$pid/status; n() { awk '/^voluntary/ { print \$2 }' \$f; }; a=\$(n); sleep 5; echo \$a \$(n)")
	equals "$before" "$after"
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
