# A machine that sleeps while nobody uses it, on the fake driver: it is paused by SIGSTOP of the native agent that is "the VM".
# Docker is a stand-in.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup_file() {
	export HELPER=$BATS_FILE_TMPDIR/helper
	build_helper "$HELPER"
}
setup() {
	cli_setup
	SOCK=$LIMA_HOME/a/sock/docker.sock
	containers '[]'
	python3 "$BATS_TEST_DIRNAME/../helpers/docker_standin.py" "$LIMA_HOME" 3>&- &
	ENGINE=$!
	sed -i 's/^idle:.*/idle: {pauseAfter: 1s, suspendAfter: 0}/' "$LIMA_HOME/fake.yaml"
	printf 'portForwards: [{guestSocket: "%s", hostSocket: docker.sock}]\n' "$LIMA_HOME/engine" >>"$LIMA_HOME/fake.yaml"
}
teardown() {
	cli_teardown
	kill "$ENGINE" 2>/dev/null || true
}

begin() { limactl-c start --tty=false --name=a "$@" "$LIMA_HOME/fake.yaml"; }
containers() { echo "$1" >"$LIMA_HOME/list.new" && mv "$LIMA_HOME/list.new" "$LIMA_HOME/list"; }
event() { echo "{\"status\":\"$1\"}" >>"$LIMA_HOME/events"; }
state() { control a GET status | jq -r .state; }
is() { [ "$(state)" = "$1" ]; }
why() { [ "$(control a GET status | jq -r .idle.why)" = "$1" ]; }
naps() { control a GET status | jq .idle.naps; }
# asleep: it pauses in time, and the machine stands still.
asleep() {
	wait_until 10 is paused
	grep -q '^State:.*T (stopped)' "/proc/$(limactl-c list a --format '{{.DriverPID}}')/status"
}
# awake_for_good: what keeps it awake is $1, after more than the time in which it would have slept.
awake_for_good() {
	wait_until 5 why "$1"
	sleep 1.5
	why "$1"
	is running
}
ping() { curl -sS -m 20 --unix-socket "$SOCK" http://d/_ping; }

@test "quiet, it is paused; docker.sock wakes it up and is answered, again and again; list and idle say so" {
	begin
	for round in 1 2; do
		asleep
		equals "$(limactl-c list a --format '{{.Status}}')" Paused
		equals "$(limactl-c list a --json | jq -r .status)" Paused
		contains "$(limactl-c idle a)" "a: paused for"
		equals "$(ping)" OK
		contains "$(limactl-c idle a)" "woken up last by a connection to a forwarded socket"
		equals "$(naps)" $round
	done
	contains "$(limactl-c list)" Running
	contains "$(limactl-c idle a)" "a: awake: it was used"
	# Looking is no use of it.
	asleep
	limactl-c list a >/dev/null
	limactl-c idle a >/dev/null
	limactl-c info >/dev/null
	is paused
}

@test "shell, copy, a port, an open connection, ssh's port and a datagram wake it up; nothing of what they send is lost" {
	local port udp
	port=$(free_port)
	udp=$(free_port)
	begin --ssh-port="$(free_port)" --idle=noConnections
	guest sh -c "$HELPER echo $port >/dev/null 2>&1 & $HELPER udp $udp >/dev/null 2>&1 &"
	wait_until 10 open_port "$port"
	exec 7<>"/dev/tcp/127.0.0.1/$port"
	asleep
	equals "$(guest echo hello)" hello
	asleep
	echo file >"$LIMA_HOME/file"
	limactl-c copy "$LIMA_HOME/file" a:"$LIMA_HOME/copied"
	equals "$(cat "$LIMA_HOME/copied")" file
	asleep
	equals "$(echo question | timeout 20 socat -t 20 - "TCP:127.0.0.1:$port")" question
	asleep
	echo "into an open connection" >&7
	equals "$(timeout 20 head -n 1 <&7)" "into an open connection"
	asleep
	open_port "$(limactl-c list a --format '{{.SSHLocalPort}}')"
	wait_until 5 is running
	asleep
	python3 "$BATS_TEST_DIRNAME/../helpers/udp.py" echo 127.0.0.1 "$udp"
	is running
}

@test "50 clients at once wake it up once, and each is answered; so is who comes on its way down" {
	local before
	begin
	asleep
	before=$(naps)
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
	equals "$(naps)" "$before"
	# Every moment of falling asleep: clients come at once with the command.
	for _ in {1..15}; do
		control a POST pause '{"untilUsed":true}' >/dev/null &
		equals "$(ping)" OK
		wait $!
		control a POST pause '{"untilUsed":true}' >/dev/null || true
		equals "$(ping)" OK
	done
}

@test "noContainers: one that runs keeps it awake until it ends; with the label, or paused, it does not" {
	containers '[{"Names": ["/web"], "State": "running"}, {"Names": ["/db"], "State": "running"}]'
	begin
	awake_for_good containers
	contains "$(limactl-c idle a)" "a: awake: 2 containers run in it: web, db"
	# Docker is asked once, and tells: nothing is polled.
	equals "$(grep -c 'GET /containers/json' "$LIMA_HOME/asked")" 1
	containers '[{"Names": ["/db"], "State": "running"}]'
	event die
	awake_for_good containers
	equals "$(grep -c 'GET /containers/json' "$LIMA_HOME/asked")" 2
	containers '[]'
	event die
	asleep
	containers '[{"Names": ["/x"], "State": "running", "Labels": {"io.limactl-c.idle": "ignore"}}, {"Names": ["/y"], "State": "paused"}]'
	ping
	asleep
	# Once for containers' ends, once for the answers that are kept (pollers.bats).
	equals "$(grep -c 'GET /events' "$LIMA_HOME/asked")" 2
}

@test "noConnections: containers do not count, a silent stream does not, its bytes do" {
	local port
	port=$(free_port)
	containers '[{"Names": ["/web"], "State": "running"}]'
	begin --idle=noConnections
	guest sh -c "$HELPER echo $port >/dev/null 2>&1 &"
	wait_until 10 open_port "$port"
	exec 7<>"/dev/tcp/127.0.0.1/$port" 8<>"/dev/tcp/127.0.0.1/$port"
	curl -sSN --unix-socket "$SOCK" http://d/events >"$LIMA_HOME/seen" 3>&- &
	local follower=$!
	asleep
	equals "$(grep -c 'GET /containers/json' "$LIMA_HOME/asked")" 0
	# Both go on.
	echo one >&7
	equals "$(timeout 20 head -n 1 <&7)" one
	event start
	wait_until 5 grep -q start "$LIMA_HOME/seen"
	for _ in 1 2 3 4 5; do
		echo bytes >&8
		equals "$(timeout 1 head -n 1 <&8)" bytes
		is running
		sleep 0.6
	done
	asleep
	kill $follower
}

@test "never: it does not sleep; paused by hand it does, until it is used" {
	begin --idle=never
	awake_for_good off
	contains "$(limactl-c idle a)" 'a: awake: idle.when is "never"'
	limactl-c pause a
	asleep
	equals "$(guest echo hello)" hello
	awake_for_good off
	limactl-c pause a
	limactl-c pause a
	asleep
	limactl-c resume a
	limactl-c resume a
	is running
	# Told so by its own socket, it waits for a command.
	control a POST pause
	contains "$(limactl-c idle a)" "wakes it up"
	ping &
	local client=$!
	sleep 1
	is paused
	limactl-c start a
	wait $client
	is running
}

@test "a build that says nothing, and a command of shell, keep it awake" {
	begin
	curl -sS -m 60 --unix-socket "$SOCK" -X POST http://d/build >"$LIMA_HOME/out" 3>&- &
	local build=$!
	awake_for_good requests
	contains "$(limactl-c idle a)" "Docker works on 1 request"
	touch "$LIMA_HOME/built"
	wait $build
	equals "$(cat "$LIMA_HOME/out")" begunbuilt
	asleep
	limactl-c shell a sleep 1000 3>&- &
	local shell=$!
	wait_until 5 why commands
	awake_for_good commands
	kill $shell
	wait $shell || true
	asleep
}

@test "without a docker.sock nobody knows of containers: it stays awake, and says why; a Docker that does not answer likewise" {
	sed -i '/^portForwards/d' "$LIMA_HOME/fake.yaml"
	begin
	awake_for_good noEngine
	contains "$(limactl-c idle a)" "no docker.sock is forwarded"
	limactl-c delete -f a
	printf 'portForwards: [{guestSocket: "%s", hostSocket: docker.sock}]\n' "$LIMA_HOME/engine" >>"$LIMA_HOME/fake.yaml"
	begin
	kill -STOP "$ENGINE"
	wait_until 10 why noAnswer
	is running
	kill -CONT "$ENGINE"
	ping
	asleep
}

@test "a Docker whose events end at once is not asked again and again" {
	containers '[{"Names": ["/web"], "State": "running"}]'
	touch "$LIMA_HOME/restless"
	begin
	wait_until 10 grep -q 'GET /containers/json' "$LIMA_HOME/asked"
	sleep 2
	is running
	equals "$(grep -c 'GET /containers/json' "$LIMA_HOME/asked")" 1
}

# voluntary switches of the host agent, which is one thread
switches() { awk '/^voluntary_ctxt_switches/ { print $2 }' "/proc/$(ha_pid a)/status"; }

@test "asleep, the host agent does not wake up, nor does it while it is kept awake" {
	local before
	begin
	asleep
	before=$(switches)
	sleep 3
	equals "$(switches)" "$before"
	containers '[{"Names": ["/web"], "State": "running"}]'
	ping
	wait_until 10 why containers
	before=$(switches)
	sleep 3
	(($(switches) - before <= 1)) # the answer to the question
}

@test "stopped and killed while it sleeps, it ends as ever; adopted, it runs" {
	begin
	asleep
	limactl-c stop a
	equals "$(limactl-c list a --format '{{.Status}}')" Stopped
	run ! limactl-c pause a
	contains "$output" "is stopped"
	run ! limactl-c idle a
	limactl-c start a
	asleep
	kill -KILL "$(ha_pid a)"
	wait_until 5 gone "$(cat "$LIMA_HOME/a/ha.pid")"
	limactl-c start a
	is running
	equals "$(ping)" OK
	asleep
}
