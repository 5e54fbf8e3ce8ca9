# A forwarded socket as a daemon's clients use it, and that it heals by itself, on the fake driver: a stand-in for the Docker
# daemon behind the native guest agent.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup() {
	cli_setup
	{
		cat "$LIMA_HOME/fake.yaml"
		echo "portForwards: [{guestSocket: $LIMA_HOME/daemon, hostSocket: docker.sock}]"
	} >"$LIMA_HOME/sock.yaml"
	SOCK=$LIMA_HOME/a/sock/docker.sock
	serve_daemon
	limactl-c start --tty=false --name=a "$LIMA_HOME/sock.yaml"
	AGENT=$(limactl-c list --json | jq -r .driverPID)
}
teardown() {
	kill -CONT "$AGENT" || true
	kill "$DAEMON" || true
	cli_teardown
}

sockets() { python3 "$BATS_TEST_DIRNAME/../helpers/sockets.py" "$@"; }
serve_daemon() {
	python3 "$BATS_TEST_DIRNAME/../helpers/sockets.py" serve "$LIMA_HOME/daemon" 3>&- &
	DAEMON=$!
	wait_until 10 test -S "$LIMA_HOME/daemon"
}
ping() { [ "$(curl -sS -m 5 --unix-socket "$SOCK" http://d/_ping)" = OK ]; }
# What is made once, for the first connection that waits for something, is no growth.
warm() { sockets attach "$SOCK" 1; }
descriptors() { find "/proc/$(ha_pid a)/fd" "/proc/$AGENT/fd" -mindepth 1 | wc -l; }
# The socket is one file, and nothing is left open on either side.
as_before() {
	equals "$(find "$LIMA_HOME/a/sock" -mindepth 1 -printf '%y %f\n')" "s docker.sock"
	no_more() { (($(descriptors) <= $1)); }
	wait_until 5 no_more "$1"
}

@test "50 followers of /events beside 1000 short calls: none fails, no line is missing" {
	local before
	warm
	before=$(descriptors)
	run -0 sockets crowd "$SOCK"
	equals "$output" "0 of 1000 calls failed"
	as_before "$before"
}

@test "hijacked streams: the end travels both ways, 200 times" {
	local before
	warm
	before=$(descriptors)
	run -0 sockets attach "$SOCK" 200
	as_before "$before"
}

@test "the carrier cut 100 times: no call fails, a follower misses nothing" {
	local before
	warm
	before=$(descriptors)
	run -0 sockets cut "$SOCK" "$(ha_pid a)" "$LIMA_HOME/a/agent.sock" 100
	equals "$output" "cut 100 times"
	equals "$(grep -c "the link to the guest is lost" "$LIMA_HOME/a/ha.stderr.log")" 100
	as_before "$before"
}

@test "a guest agent that stands still: calls fail and do not hang, then all goes on" {
	local before
	warm
	before=$(descriptors)
	run -0 sockets silent "$SOCK" "$AGENT"
	contains "$output" "3 of 3 calls failed"
	as_before "$before"
}

@test "the daemon restarted: calls fail at once, then are answered" {
	local before
	warm
	before=$(descriptors)
	kill "$DAEMON"
	wait "$DAEMON" || true
	run ! curl -sS -m 5 --unix-socket "$SOCK" http://d/_ping
	[ "$status" -ne 28 ] # it did not hang
	serve_daemon
	wait_until 3 ping
	as_before "$before"
}

@test "the host agent killed and started again: calls fail at once, then are answered, 10 times" {
	local before i
	warm
	before=$(descriptors)
	for i in {1..10}; do
		kill -9 "$(ha_pid a)"
		wait_until 3 gone "$(ha_pid a)"
		run ! curl -sS -m 5 --unix-socket "$SOCK" http://d/_ping
		[ "$status" -ne 28 ]
		limactl-c start a
		ping
	done
	as_before "$before"
}

@test "paused: who calls waits, and is answered after" {
	control a POST pause
	ping &
	local call=$!
	connected() { [ "$(control a GET status | jq .connections)" = 1 ]; }
	wait_until 3 connected
	control a POST resume
	wait "$call"
}
