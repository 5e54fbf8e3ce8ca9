# The serial port has no connection state: both ends find each other again after either side restarted.
bats_require_minimum_version 1.5.0
. "$BATS_TEST_DIRNAME/../helpers/vm.bash"

setup_file() { vm_restore; }
teardown_file() { vm_stop; }

# Kills the host agent, with bytes under way, and lets start adopt the running machine.
restart_host_agent() {
	limactl-c shell vm cat /dev/zero >/dev/null 2>&1 &
	local busy=$!
	kill -9 "$(ha_pid vm)"
	wait_until 5 gone "$(ha_pid vm)"
	wait "$busy" 2>/dev/null || true
	limactl-c start vm >/dev/null 2>&1
}

@test "200 restarts of the host agent on the real port: it answers each time" {
	local round vm_pid
	vm_pid=$(cat "$LIMA_HOME/vm/qemu.pid")
	for round in $(seq 200); do
		restart_host_agent
		equals "$(guest echo "round $round")" "round $round"
	done
	equals "$(cat "$LIMA_HOME/vm/qemu.pid")" "$vm_pid"
}

@test "20 restarts of the guest agent: it answers each time" {
	local round
	for round in $(seq 20); do
		guest sudo pkill -9 -f 'agent daemon' || true
		wait_until 20 guest true
	done
}

@test "docker.sock works after all of that" {
	equals "$(curl -sS -m 30 --unix-socket "$LIMA_HOME/vm/sock/docker.sock" http://docker/_ping)" OK
}

# --- docker.sock heals by itself ---

qmp() { printf '{"execute":"qmp_capabilities"}\n{"execute":"%s"}\n' "$1" | socat -t 2 - "UNIX-CONNECT:$LIMA_HOME/vm/qmp.sock"; }
# One call; it must not hang, whatever becomes of it.
call() {
	local status=0
	curl -sS -m "${1:-5}" -o /dev/null --unix-socket "$LIMA_HOME/vm/sock/docker.sock" http://docker/_ping || status=$?
	[ "$status" -ne 28 ] || touch "$BATS_TEST_TMPDIR/hung"
	return "$status"
}
agent_pid() { control vm GET status | jq -r .agent.pid; }
# The guest is silent by now: calls fail and do not hang.
calls_fail() { ! call && ! call && [ ! -e "$BATS_TEST_TMPDIR/hung" ]; }
# Answers are back, and the socket is one file.
healed() {
	wait_until "${1:-10}" call
	equals "$(find "$LIMA_HOME/vm/sock" -name 'docker.sock*')" "$LIMA_HOME/vm/sock/docker.sock"
}

@test "the machine stopped and continued behind our back: calls fail, then are answered" {
	call
	qmp stop
	calls_fail
	qmp cont
	healed
}

@test "the guest agent stopped for 15 s: calls fail, then are answered" {
	call
	guest sudo sh -c '(sleep 1; pkill -STOP -f "[a]gent daemon"; sleep 15; pkill -CONT -f "[a]gent daemon") >/dev/null 2>&1 &'
	wait_until 10 calls_fail
	healed 30
}

@test "the guest agent killed: calls do not hang, then are answered" {
	call
	local before
	before=$(agent_pid)
	guest sudo sh -c '(sleep 0.1; pkill -9 -f "[a]gent daemon") >/dev/null 2>&1 &'
	# Not before it was killed, which is only about to happen.
	anew() { call || true; [ "$(agent_pid)" != "$before" ]; }
	wait_until 30 anew
	healed 20
	[ ! -e "$BATS_TEST_TMPDIR/hung" ]
}

@test "the serial port reconnected 100 times: no call fails" {
	local before
	descriptors() { fds "$(ha_pid vm)"; }
	call 30
	before=$(descriptors)
	run -0 python3 "$BATS_TEST_DIRNAME/../helpers/sockets.py" cut "$LIMA_HOME/vm/sock/docker.sock" "$(ha_pid vm)" \
		"$LIMA_HOME/vm/agent.sock" 100 engine
	equals "$output" "cut 100 times"
	no_more() { (($(descriptors) <= before)); }
	wait_until 10 no_more
}

@test "the engine restarted: its socket is answered again" {
	call 30
	guest sudo pkill -9 dockerd
	healed 60
}
