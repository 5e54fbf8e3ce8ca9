# UDP forwards on the fake driver: the "guest" is the native agent in a network namespace of its own.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup_file() {
	export HELPER=$BATS_FILE_TMPDIR/helper
	build_helper "$HELPER"
}
setup() {
	cli_setup
	PORT=$(free_port)
	# What must be short in a test: 90 s until a flow that is quiet ends.
	export LIMACTL_C_UDP_IDLE_SECONDS=3
	printf 'portForwards: [{guestPort: 7999, hostIP: "0.0.0.0", hostPort: %s, proto: udp}]\n' "$PORT" >>"$LIMA_HOME/fake.yaml"
	limactl-c start --tty=false --name=a "$LIMA_HOME/fake.yaml"
}
teardown() { cli_teardown; }

client() { python3 "$BATS_TEST_DIRNAME/../helpers/udp.py" "$@"; }
# serve_udp PORT [COUNT]: in the guest; its process is $SERVER_PID there and here.
serve_udp() {
	guest sh -c "$HELPER udp $* >/dev/null 2>&1 & echo \$!" >"$BATS_TEST_TMPDIR/server"
	SERVER_PID=$(cat "$BATS_TEST_TMPDIR/server")
	wait_until 10 forwarded "$1"
}
# forwarded PORT: UDP of the guest's port, by the control socket.
forwarded() {
	control a GET status | jq -e --arg port ":$1" \
		'[.ports[] | select(.protocol == "udp" and .state == "forwarding" and (.guestAddr | endswith($port)))] | length >= 1'
}
not_forwarded() { ! forwarded "$1"; }
at_most() { (($("${@:2}") <= $1)); }

@test "four clients at once, 0 to 65507 bytes, answered last first; told as udp" {
	serve_udp "$PORT" 4
	client four 127.0.0.1 "$PORT" 0 1 512 1472 9000 65507 0 65507
	counted() {
		control a GET forwards | jq -e --arg port ":$PORT" '.forwards[] | select(.hostAddr == "127.0.0.1" + $port and .protocol == "udp") |
			.datagramsToGuest == 32 and .datagramsToHost == 32 and .datagramsDropped == 0'
	}
	wait_until 10 counted
	run -0 jq -r 'select(.status.portForward.protocol == "udp") | .status.portForward | "\(.type) \(.guestAddr) \(.hostAddr)"' \
		"$LIMA_HOME/a/ha.stdout.log"
	equals "$output" "forwarding 0.0.0.0:$PORT 127.0.0.1:$PORT"
	kill "$SERVER_PID"
	wait_until 10 not_forwarded "$PORT"
	equals "$(ss -Hlun "src 127.0.0.1:$PORT")" ""
}

@test "a server on 0.0.0.0 and one on [::] are reached by 127.0.0.1 and ::1" {
	serve_udp "$PORT"
	guest sh -c "socat UDP6-RECVFROM:$PORT,fork,ipv6only=1 EXEC:cat >/dev/null 2>&1 &"
	both() { client echo 127.0.0.1 "$PORT" && client echo ::1 "$PORT"; }
	wait_until 20 both
	equals "$(ss -Hlun "sport = :$PORT" | wc -l)" 2
	equals "$(jq -s 'map(select(.status.portForward.type == "failed")) | length' "$LIMA_HOME/a/ha.stdout.log")" 0
}

@test "the answer leaves from the address that was asked" {
	serve_udp 7999
	client echo 127.0.0.2 "$PORT"
	client echo 127.0.0.1 "$PORT"
}

@test "the server started again 10 times, one client all the time" {
	local i source
	source=$(free_port)
	for i in $(seq 10); do
		serve_udp "$PORT"
		client again 127.0.0.1 "$PORT" "$source" 10
		kill "$SERVER_PID"
	done
}

@test "a port that another program has: told once, and taken when it is free" {
	"$HELPER" bind "$PORT" &
	local holder=$!
	bound() { [ -n "$(ss -Hlun "sport = :$PORT")" ]; }
	wait_until 10 bound
	guest sh -c "$HELPER udp $PORT >/dev/null 2>&1 &"
	failures() { jq -s 'map(select(.status.portForward.type == "failed" and .status.portForward.protocol == "udp")) | length' \
		"$LIMA_HOME/a/ha.stdout.log"; }
	failed() { [ "$(failures)" = 1 ]; }
	wait_until 10 failed
	kill "$holder"
	wait_until 10 forwarded "$PORT"
	client echo 127.0.0.1 "$PORT"
	equals "$(failures)" 1
}

@test "5000 clients: no more flows than the limit, and all are gone when they are quiet" {
	local agent before
	serve_udp "$PORT"
	agent=$(agent_pid)
	before=$(fds "$agent")
	mkfifo "$BATS_TEST_TMPDIR/hold"
	client crowd 127.0.0.1 "$PORT" 5000 <"$BATS_TEST_TMPDIR/hold" >"$BATS_TEST_TMPDIR/got" &
	local crowd=$!
	exec 7>"$BATS_TEST_TMPDIR/hold"
	local most=0 now
	until [ -s "$BATS_TEST_TMPDIR/got" ]; do
		now=$(fds "$agent")
		((now <= most)) || most=$now
	done
	cat "$BATS_TEST_TMPDIR/got"
	(($(cat "$BATS_TEST_TMPDIR/got") > 4000))
	((most > before + 500 && most <= before + 1024))
	wait_until 20 at_most "$before" fds "$agent"
	exec 7>&-
	wait "$crowd"
	# The host agent has no flow left either, and no timer: nothing is asked of the system.
	timeout 2 strace -f -o "$BATS_TEST_TMPDIR/idle" -p "$(ha_pid a)" || true
	(($(grep -cvE '^[0-9]+ +(\+\+\+|---|<\.\.\.)' "$BATS_TEST_TMPDIR/idle") <= 1))
}

@test "neither the DHCP client's port nor sockets of clients become ports of the host" {
	guest sh -c "$HELPER bind 68 >/dev/null 2>&1 & $HELPER bind 0 >/dev/null 2>&1 & $HELPER bind 0 >/dev/null 2>&1 &"
	# One of those the kernel chooses from, asked for by its number: it comes after the others.
	serve_udp 45678
	run -0 jq -r 'select(.status.portForward.type == "forwarding") | .status.portForward.guestAddr' "$LIMA_HOME/a/ha.stdout.log"
	equals "$output" 0.0.0.0:45678
	equals "$(control a GET status | jq '.ports | length')" 1
}
