# A machine that is kept in a file while nobody uses it, on the fake driver: its native agent is killed and started anew, so
# open connections are lost, which those of tests/vm/suspend.bats are not. Docker is a stand-in.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup() {
	cli_setup
	SOCK=$LIMA_HOME/a/sock/docker.sock
	echo '[]' >"$LIMA_HOME/list"
	python3 "$BATS_TEST_DIRNAME/../helpers/docker_standin.py" "$LIMA_HOME" 3>&- &
	ENGINE=$!
	sed -i 's/^idle:.*/idle: {pauseAfter: 1s, suspendAfter: 2s}/' "$LIMA_HOME/fake.yaml"
	printf 'portForwards: [{guestSocket: "%s", hostSocket: docker.sock}]\n' "$LIMA_HOME/engine" >>"$LIMA_HOME/fake.yaml"
}
teardown() {
	cli_teardown
	kill "$ENGINE" 2>/dev/null || true
}

begin() { limactl-c start --tty=false --name=a "$@" "$LIMA_HOME/fake.yaml"; }
is() { [ "$(control a GET status | jq -r .state)" = "$1" ]; }
listed() { limactl-c list a --format '{{.Status}}'; }
kept() { [ -e "$LIMA_HOME/a/vm.state" ] && [ -e "$LIMA_HOME/a/vm.state.json" ]; }
ping() { curl -sS -m 20 --unix-socket "$SOCK" http://d/_ping; }

@test "quiet for longer, it is suspended: no machine is left; docker.sock wakes it up and is answered, again and again" {
	begin
	for _ in 1 2; do
		wait_until 10 is saved
		equals "$(listed)" Suspended
		equals "$(limactl-c list a --format '{{.DriverPID}}')" 0
		kept
		contains "$(limactl-c idle a)" "a: suspended for"
		equals "$(ping)" OK
		is running
		run ! kept
	done
	contains "$(limactl-c idle a)" "woken up last by a connection to a forwarded socket"
}

@test "suspended by hand, resumed and started; stop powers it off; stop --suspend keeps it for the next start" {
	begin --idle=never
	limactl-c suspend a
	limactl-c suspend a
	equals "$(listed)" Suspended
	limactl-c resume a
	is running
	limactl-c suspend a
	limactl-c start a
	is running
	limactl-c suspend a
	limactl-c stop a
	equals "$(listed)" Stopped
	run ! kept
	run -1 limactl-c stop --suspend a
	contains "$output" "is not running"
	run -1 limactl-c stop --suspend --force a
	contains "$output" "exclude each other"
	limactl-c start a
	guest sh -c "echo here >$LIMA_HOME/a/fake/note"
	limactl-c stop --suspend a
	equals "$(listed)" Suspended
	kept
	limactl-c start a
	grep -q "the saved machine is restored" "$LIMA_HOME/a/ha.stderr.log"
	equals "$(cat "$LIMA_HOME/a/fake/note")" here
}

@test "its host agent killed while it is suspended: list says so, and start goes on with it" {
	begin --idle=never
	limactl-c suspend a
	kill -KILL "$(ha_pid a)"
	wait_until 5 gone "$(cat "$LIMA_HOME/a/ha.pid")"
	equals "$(listed)" Suspended
	limactl-c start a
	grep -q "the saved machine is restored" "$LIMA_HOME/a/ha.stderr.log"
	equals "$(ping)" OK
}

@test "a state that is damaged, of another program or of another disk: the guest boots afresh for who comes, which is said" {
	local damage
	begin --idle=never
	for damage in 'truncate -s 3 vm.state' 'rm vm.state' 'echo {} >vm.state.json' 'sed -i s/the.fake/the.lost/ vm.state'; do
		limactl-c suspend a
		(cd "$LIMA_HOME/a" && eval "$damage")
		equals "$(ping)" OK
		wait_until 10 is running
		run ! kept
		contains "$(control a GET status | jq -r '.errors[]')" "could not go on and the guest has booted afresh"
	done
	limactl-c stop --suspend a
	truncate -s 3 "$LIMA_HOME/a/vm.state"
	limactl-c start a
	grep -q "the saved machine is given up and the guest boots afresh: .*not as long as it was" "$LIMA_HOME/a/ha.stderr.log"
	equals "$(ping)" OK
}

@test "50 clients at once wake it up once, and each is answered; so is who comes at any moment of its way down" {
	begin --idle=never
	limactl-c suspend a
	python3 - "$SOCK" <<-'PY'
		import socket, sys
		clients = []
		for _ in range(50):
		    s = socket.socket(socket.AF_UNIX); s.settimeout(20); s.connect(sys.argv[1]); clients.append(s)
		for s in clients: s.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
		for s in clients:
		    got = b""
		    while (b := s.recv(4096)): got += b
		    assert got.endswith(b"OK"), got
	PY
	equals "$(grep -c "the saved machine is restored" "$LIMA_HOME/a/ha.stderr.log")" 1
	for moment in 0 0.001 0.002 0.005 0.01 0.02 0.05; do
		equals "$(ping)" OK
		control a POST save '{"untilUsed":true}' >/dev/null &
		sleep "$moment"
		equals "$(ping)" OK
		wait $!
	done
}

@test "the host is short of memory: what is paused is suspended at once" {
	sed -i 's/suspendAfter: 2s/suspendAfter: 1h/' "$LIMA_HOME/fake.yaml"
	# A file of the kernel's that tells of an event as the one of memory does: the name of a host of its own.
	LIMACTL_C_PRESSURE_FILE=/proc/sys/kernel/hostname begin_apart
	wait_until 10 is paused
	nsenter --uts --target "$(ha_pid a)" hostname short
	wait_until 10 is saved
	grep -q "the host is short of memory" "$LIMA_HOME/a/ha.stderr.log"
	equals "$(ping)" OK
	# Awake, it stays awake.
	nsenter --uts --target "$(ha_pid a)" hostname shorter
	is running
}
begin_apart() { unshare --uts limactl-c start --tty=false --name=a "$LIMA_HOME/fake.yaml"; }

@test "one that cannot be suspended stays paused, and says so; the next use wakes it up, and it is tried again" {
	begin
	mkdir "$LIMA_HOME/a/vm.state.tmp"
	wait_until 10 failed
	wait_until 10 is paused
	contains "$(limactl-c idle a)" "paused for"
	contains "$(limactl-c idle a)" "could not be suspended"
	grep -q "vm.state.tmp" "$LIMA_HOME/a/ha.stderr.log"
	sleep 3 # more than the time until it is suspended
	is paused
	rmdir "$LIMA_HOME/a/vm.state.tmp"
	equals "$(ping)" OK
	wait_until 10 is saved
	equals "$(ping)" OK
}
failed() { [ "$(control a GET status | jq -r .idle.why)" = failed ]; }
