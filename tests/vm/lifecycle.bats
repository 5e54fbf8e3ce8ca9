# Pause, resume, save, restore, adoption, deaths and a clean stop of the real machine.
bats_require_minimum_version 1.5.0
. "$BATS_TEST_DIRNAME/../helpers/vm.bash"

setup() { vm_restore; }
teardown_file() { vm_stop; }

ping_docker() { curl -sS -m 30 --unix-socket "$LIMA_HOME/vm/sock/docker.sock" http://docker/_ping; }
stopped() { [ "$(limactl-c list vm --json | jq -r .status)" = Stopped ]; }
no_sockets() { [ -z "$(find "$LIMA_HOME/vm" -type s)" ]; }

@test "paused: the machine stands still; resumed: everything is there" {
	guest sh -c 'helper echo 22000 >/dev/null 2>&1 &'
	wait_until 10 open_port 22000
	exec 7<>/dev/tcp/127.0.0.1/22000
	control vm POST pause
	equals "$(control vm GET status | jq -r .state)" paused
	echo "sent while it stood still" >&7
	run ! timeout 0.5 head -n 1 <&7
	control vm POST resume
	equals "$(timeout 10 head -n 1 <&7)" "sent while it stood still"
	equals "$(ping_docker)" OK
	equals "$(guest echo back)" back
}

@test "a second QMP socket is there for people; QEMU may start nothing" {
	qmp() { printf '{"execute":"qmp_capabilities"}\n{"execute":"%s"}\n' "$1" | socat -t 2 - "UNIX-CONNECT:$LIMA_HOME/vm/qmp.sock"; }
	contains "$(qmp query-status)" '"status": "running"'
	equals "$(control vm GET status | jq -r .state)" running
	contains "$(tr '\0' ' ' <"/proc/$(cat "$LIMA_HOME/vm/qemu.pid")/cmdline")" "spawn=deny"
}

@test "saved: the machine's process is gone, the listeners stay; restored: open connections go on" {
	guest sh -c 'helper echo 22001 >/dev/null 2>&1 &'
	wait_until 10 open_port 22001
	exec 7<>/dev/tcp/127.0.0.1/22001
	echo first >&7
	equals "$(timeout 10 head -n 1 <&7)" first
	local vm_pid
	vm_pid=$(cat "$LIMA_HOME/vm/qemu.pid")
	control vm POST save
	equals "$(control vm GET status | jq -r .state)" saved
	gone "$vm_pid"
	open_port 22001
	echo "sent while it was a file" >&7
	control vm POST restore
	[ ! -e "$LIMA_HOME/vm/vm.state" ]
	equals "$(timeout 10 head -n 1 <&7)" "sent while it was a file"
	equals "$(ping_docker)" OK
}

@test "the guest's clock is right after a restore" {
	local before guest_now after
	control vm POST save
	control vm POST restore
	guest true
	before=$(date +%s%N)
	guest_now=$(guest helper now)
	after=$(date +%s%N)
	(((before + after) / 2000 - guest_now < 500000 && guest_now - (before + after) / 2000 < 500000))
}

@test "the host agent killed: the machine goes on, list says so, start adopts it" {
	local vm_pid
	vm_pid=$(cat "$LIMA_HOME/vm/qemu.pid")
	kill -9 "$(ha_pid vm)"
	wait_until 3 gone "$(ha_pid vm)"
	contains "$(limactl-c list 2>&1)" vm
	limactl-c start vm
	equals "$(cat "$LIMA_HOME/vm/qemu.pid")" "$vm_pid"
	equals "$(ping_docker)" OK
}

@test "the host agent killed: stop -f ends the machine too" {
	local vm_pid
	vm_pid=$(cat "$LIMA_HOME/vm/qemu.pid")
	kill -9 "$(ha_pid vm)"
	wait_until 3 gone "$(ha_pid vm)"
	limactl-c stop -f vm
	gone "$vm_pid"
	stopped
}

@test "QEMU killed: noticed at once, nothing left behind" {
	kill -9 "$(cat "$LIMA_HOME/vm/qemu.pid")"
	wait_until 3 stopped
	wait_until 3 no_sockets
	tail -n 1 "$LIMA_HOME/vm/ha.stdout.log" | jq -e .status.exiting
}

@test "poweroff inside the guest is a clean end" {
	guest sudo poweroff || true
	wait_until 60 stopped
	no_sockets
	tail -n 1 "$LIMA_HOME/vm/ha.stdout.log" | jq -e .status.exiting
}

@test "stop presses the power button and leaves a clean file system" {
	guest sh -c 'dd if=/dev/urandom of=/var/tmp/written bs=1M count=20 2>/dev/null; sha256sum </var/tmp/written' >"$BATS_TEST_TMPDIR/sum"
	run -0 limactl-c stop vm
	stopped
	no_sockets
	qemu-img convert -O raw "$LIMA_HOME/vm/disk" "$BATS_TEST_TMPDIR/raw"
	run -0 e2fsck -fn "$BATS_TEST_TMPDIR/raw"
	equals "$(debugfs -R 'cat /var/tmp/written' "$BATS_TEST_TMPDIR/raw" 2>/dev/null | sha256sum)" "$(cat "$BATS_TEST_TMPDIR/sum")"
}
