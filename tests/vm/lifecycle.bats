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

# The guest's clock lies between before and after the call, give or take 100 ms.
clock_right() {
	local before guest_now after
	before=$(date +%s%N)
	guest_now=$(guest helper now)
	after=$(date +%s%N)
	((guest_now > before / 1000 - 100000 && guest_now < after / 1000 + 100000))
}

@test "a clock set in the guest, and a machine that somebody stopped for a while: right again, without a real-time clock" {
	qmp() { printf '{"execute":"qmp_capabilities"}\n{"execute":"%s"}\n' "$1" | socat -t 2 - "UNIX-CONNECT:$LIMA_HOME/vm/qmp.sock"; }
	guest sudo sh -c 'rm -f /dev/rtc*'
	wait_until 10 clock_right
	guest sudo sh -c 'date -s "@$(($(date +%s) - 28800))"'
	wait_until 10 clock_right
	guest sudo sh -c 'date -s "@$(($(date +%s) + 120))"'
	wait_until 10 clock_right
	qmp stop
	sleep 3 # the time that the guest is to miss
	qmp cont
	wait_until 10 clock_right
	# However often it is set, it ends right, and neither agent says a word or is kept busy.
	guest sudo sh -c 'for i in $(seq 20); do date -s "@$(($(date +%s) - 3600))"; done'
	wait_until 40 clock_right
	run ! grep -i "clock\|the time" "$LIMA_HOME/vm/ha.stderr.log"
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

# A connection that answers when it was there in the snapshot too, else ends: it never hangs.
ends_or_answers() {
	local status=0
	(echo again >&"$1") 2>/dev/null || return 0
	timeout 20 head -n 1 <&"$1" >/dev/null || status=$?
	[ "$status" -ne 124 ]
}

@test "snapshots: of the machine while it runs, gone back to again and again, and of its disk while it does not" {
	guest sh -c 'helper echo 22002 >/dev/null 2>&1 &'
	guest sudo sh -c 'echo one >/root/what; sync'
	wait_until 10 open_port 22002
	exec 7<>/dev/tcp/127.0.0.1/22002
	echo first >&7
	equals "$(timeout 10 head -n 1 <&7)" first
	limactl-c snapshot create vm --tag before
	echo second >&7
	equals "$(timeout 10 head -n 1 <&7)" second
	for round in 1 2 3; do
		guest sudo sh -c 'echo two >/root/what; sync'
		guest sh -c 'helper echo 22003 >/dev/null 2>&1 &'
		wait_until 10 open_port 22003
		exec 8<>/dev/tcp/127.0.0.1/22003
		if [ $round = 3 ]; then
			kill -9 "$(ha_pid vm)"
			wait_until 3 gone "$(ha_pid vm)"
			limactl-c start vm
		fi
		limactl-c snapshot apply vm --tag before
		equals "$(guest sudo cat /root/what)" one
		wait_until 10 clock_right
		wait_until 10 closed_port 22003
		ends_or_answers 8
		ends_or_answers 7
		exec 7<>/dev/tcp/127.0.0.1/22002
		echo anew >&7
		equals "$(timeout 10 head -n 1 <&7)" anew
		equals "$(ping_docker)" OK
	done
	equals "$(guest docker run --rm busybox busybox echo contained)" contained
	guest sudo sh -c 'echo two >/root/what; sync'
	limactl-c stop vm
	limactl-c snapshot create vm --tag still
	equals "$(limactl-c snapshot list -q vm | tr '\n' ' ')" "before still "
	limactl-c snapshot apply vm --tag before
	limactl-c start vm
	equals "$(guest sudo cat /root/what)" one
	equals "$(ping_docker)" OK
	run -1 limactl-c snapshot apply vm --tag still
	contains "$output" "stop the instance"
	limactl-c snapshot delete vm --tag before
	equals "$(guest sudo cat /root/what)" one
	limactl-c stop vm
	limactl-c snapshot apply vm --tag still
	qemu-img check -q "$LIMA_HOME/vm/disk"
	qemu-img convert -O raw "$LIMA_HOME/vm/disk" "$BATS_TEST_TMPDIR/raw"
	equals "$(debugfs -R 'cat /root/what' "$BATS_TEST_TMPDIR/raw" 2>/dev/null)" two
}

# sleeps WHEN: the restored machine, which sleeps after two seconds of quiet, and its engine.
sleeps() {
	vm_stop
	limactl-c edit --tty=false vm --idle="$1" --set '.idle.pauseAfter = "2s"'
	vm_restore
}
is() { [ "$(control vm GET status | jq -r .state)" = "$1" ]; }
why() { [ "$(control vm GET status | jq -r .idle.why)" = "$1" ]; }
docker_api() { curl -sS -m 60 --unix-socket "$LIMA_HOME/vm/sock/docker.sock" "http://docker/$1" "${@:2}"; }

@test "nobody uses it: it is paused, and Docker is answered as if it never slept; a container that runs keeps it awake" {
	sleeps noContainers
	wait_until 20 is paused
	# Its processors stand still.
	local before pid
	pid=$(cat "$LIMA_HOME/vm/qemu.pid")
	before=$(awk '{ print $14 + $15 }' "/proc/$pid/stat")
	sleep 2
	(($(awk '{ print $14 + $15 }' "/proc/$pid/stat") - before <= 2))
	equals "$(ping_docker)" OK
	wait_until 20 is paused
	docker_api containers/create?name=nap -H 'Content-Type: application/json' -d '{"Image": "busybox", "Cmd": ["/bin/busybox", "sleep", "1000"]}'
	docker_api containers/nap/start -X POST
	wait_until 20 why containers
	is running
	contains "$(limactl-c idle vm)" "1 container runs in it: nap"
	# Its end is told by Docker.
	guest sudo pkill -KILL -f '^/bin/busybox sleep 1000'
	wait_until 20 is paused
	limactl-c stop vm
	limactl-c edit --tty=false vm --idle=never
}

@test "noConnections: open streams that are silent do not keep it awake, and go on; the clock is right" {
	local follower guest_now before after
	sleeps noConnections
	guest sh -c 'helper echo 22005 >/dev/null 2>&1 &'
	wait_until 10 open_port 22005
	exec 7<>/dev/tcp/127.0.0.1/22005
	curl -sSN --unix-socket "$LIMA_HOME/vm/sock/docker.sock" http://docker/events >"$BATS_TEST_TMPDIR/events" 3>&- &
	follower=$!
	wait_until 30 is paused
	sleep 3
	is paused
	echo "after a nap" >&7
	equals "$(timeout 20 head -n 1 <&7)" "after a nap"
	before=$(date +%s%N)
	guest_now=$(guest helper now)
	after=$(date +%s%N)
	(((before + after) / 2000 - guest_now < 500000 && guest_now - (before + after) / 2000 < 500000))
	docker_api containers/create?name=after -H 'Content-Type: application/json' -d '{"Image": "busybox", "Cmd": ["/bin/true"]}'
	wait_until 20 grep -q '"create"' "$BATS_TEST_TMPDIR/events"
	kill $follower
	limactl-c stop vm
	limactl-c edit --tty=false vm --idle=never
}
