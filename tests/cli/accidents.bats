# What users and accidents leave behind or do at the same time: an answer in words, soon, and nothing lost.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup() { cli_setup; }
teardown() { cli_teardown; }

# soon COMMAND...: any exit status, but within three seconds.
soon() {
	run timeout -k 1 3 "$@"
	[ "$status" -lt 124 ] || {
		echo "hangs or crashes ($status): $*" >&2
		return 1
	}
}

@test "a pipe in place of a file of the folder hangs no command" {
	local file
	for file in lima.yaml plan.json ha.lock vm.lock ha.stdout.log ha.stderr.log driver.stderr.log lima-version; do
		limactl-c create --tty=false --name=a "$LIMA_HOME/fake.yaml"
		rm -f "$LIMA_HOME/a/$file"
		mkfifo "$LIMA_HOME/a/$file"
		soon limactl-c list
		soon limactl-c list --json
		soon limactl-c shell a -- true
		soon limactl-c start a
		soon limactl-c stop -f a
		soon limactl-c delete -f a
		equals "$status" 0
	done
}

@test "a template may come through a pipe" {
	run -0 limactl-c create --tty=false --name=a <(cat "$LIMA_HOME/fake.yaml")
}

@test "closed standard descriptors: no other file takes their place" {
	limactl-c start --tty=false --name=a "$LIMA_HOME/fake.yaml" >&- 2>&-
	contains "$(cat "$LIMA_HOME/a/ha.stdout.log")" '"running":true'
	contains "$(cat "$LIMA_HOME/a/ha.stderr.log")" '"msg"'
	run -0 timeout 3 bash -c 'limactl-c shell a -- cat <&-'
	equals "$output" ""
	run -0 timeout 3 bash -c 'limactl-c shell a -- echo hi <&-'
	equals "$output" hi
	run ! timeout 3 bash -c 'limactl-c list >&-'
	contains "$output" "standard output"
	run ! timeout 3 bash -c 'limactl-c create --tty=false --name=b - <&-'
	contains "$output" "standard input"
}

@test "delete while it is being started: there as a whole, or gone" {
	local n start
	for n in {0..9} {0..9} {0..9}; do
		[ -d "$LIMA_HOME/a" ] || limactl-c create --tty=false --name=a "$LIMA_HOME/fake.yaml"
		limactl-c start a &
		start=$!
		sleep "0.00$n"
		limactl-c delete -f a
		wait "$start" || true
		[ -f "$LIMA_HOME/a/lima.yaml" ] || [ ! -e "$LIMA_HOME/a" ] || {
			ls -l "$LIMA_HOME/a"
			return 1
		}
	done
}

@test "a start that another command stops says so" {
	sed 's/^guest:.*/guest: {init: lean}\nportForwards: [{guestSocket: \/run\/never\/docker.sock, hostSocket: docker.sock}]/' \
		"$LIMA_HOME/fake.yaml" >"$LIMA_HOME/waits.yaml"
	limactl-c start --tty=false --name=a "$LIMA_HOME/waits.yaml" 2>"$LIMA_HOME/said.yaml" &
	local start=$! code=0
	wait_until 10 test -S "$LIMA_HOME/a/ha.sock"
	limactl-c stop a
	wait "$start" || code=$?
	equals "$code" 1
	contains "$(cat "$LIMA_HOME/said.yaml")" "was stopped before it was ready"
}

@test "a file where a forwarded socket belongs is kept, and said" {
	echo precious >"$LIMA_HOME/precious.yaml"
	{
		cat "$LIMA_HOME/fake.yaml"
		echo "portForwards: [{guestSocket: /run/x.sock, hostSocket: $LIMA_HOME/precious.yaml}]"
	} >"$LIMA_HOME/sock.yaml"
	run -1 limactl-c start --tty=false --name=a "$LIMA_HOME/sock.yaml"
	contains "$output" "precious.yaml is there and is not a socket"
	equals "$(cat "$LIMA_HOME/precious.yaml")" precious
	equals "$(limactl-c list --json | jq -r .status)" Stopped
}

@test "connections that say nothing keep nobody out of the control socket" {
	limactl-c start --tty=false --name=a "$LIMA_HOME/fake.yaml"
	python3 - "$LIMA_HOME/a/ha.sock" <<-'PY'
		import socket, subprocess, sys
		held = []
		for n in range(1000):
		    s = socket.socket(socket.AF_UNIX)
		    s.connect(sys.argv[1])
		    s.send(b"GET /v1/in" if n % 2 else b"")
		    held.append(s)
		for command in (["list", "a"], ["shell", "a", "--", "true"], ["stop", "a"]):
		    subprocess.run(["limactl-c"] + command, check=True, timeout=10)
	PY
	equals "$(limactl-c list --json | jq -r .status)" Stopped
}

@test "a host agent that stands still: shell says so, stop -f ends it" {
	limactl-c start --tty=false --name=a "$LIMA_HOME/fake.yaml"
	local pid
	pid=$(ha_pid a)
	kill -STOP "$pid"
	soon limactl-c shell a -- true
	contains "$output" "does not answer"
	soon limactl-c list
	run -0 timeout 10 limactl-c stop -f a
	wait_until 2 gone "$pid"
}

@test "a guest that stands still: shell can be ended" {
	limactl-c start --tty=false --name=a "$LIMA_HOME/fake.yaml"
	local machine shell n
	machine=$(limactl-c list --json | jq -r .driverPID)
	kill -STOP "$machine"
	limactl-c shell a -- true </dev/null &
	shell=$!
	connected() { [ "$(control a GET status | jq .connections)" = 1 ]; }
	wait_until 10 connected
	ended() { kill -TERM "$shell" && false || gone "$shell"; }
	wait_until 10 ended
	kill -CONT "$machine"
}

@test "restart: what could not start again is not stopped" {
	limactl-c start --tty=false --name=a "$LIMA_HOME/fake.yaml"
	echo ': [' >"$LIMA_HOME/a/lima.yaml"
	run -1 limactl-c restart a
	contains "$output" "lima.yaml:1:"
	equals "$(limactl-c list a --json | jq -r .status)" Running
}

@test "a home that is not UTF-8 is refused when an instance is made" {
	local home=$LIMA_HOME/_$'\xff'
	mkdir "$home"
	LIMA_HOME=$home run -1 limactl-c create --tty=false --name=a "$LIMA_HOME/fake.yaml"
	contains "$output" "not UTF-8"
	equals "$(ls "$home")" ""
}

@test "a folder in the place of a lock does not keep an instance from being deleted" {
	limactl-c create --tty=false --name=a "$LIMA_HOME/fake.yaml"
	mkdir "$LIMA_HOME/a/ha.lock" "$LIMA_HOME/a/vm.lock" "$LIMA_HOME/a/hold.lock"
	run -0 limactl-c delete -f a
	[ ! -e "$LIMA_HOME/a" ]
}

@test "shell: a command too long is a mistake in the call, said before anything runs" {
	limactl-c start --tty=false --name=a "$LIMA_HOME/fake.yaml"
	run -1 limactl-c shell a -- printf %s "$(printf 'x%.0s' {1..30000})"
	contains "$output" "too long"
}

@test "what a killed delete has left goes with the next one; one still at work is let alone" {
	local n
	for n in a b; do limactl-c create --tty=false --name=$n "$LIMA_HOME/fake.yaml"; done
	bash -c 'exit' &
	wait $!
	mv "$LIMA_HOME/b" "$LIMA_HOME/.b.$!.deleted"
	mkdir "$LIMA_HOME/.c.$$.deleted" "$LIMA_HOME/.d.deleted"
	limactl-c delete a
	[ ! -e "$LIMA_HOME/.b.$!.deleted" ]
	[ -e "$LIMA_HOME/.c.$$.deleted" ]
	[ -e "$LIMA_HOME/.d.deleted" ]
}

@test "the folder of a running instance removed: host agent and machine end" {
	local agent machine
	limactl-c start --tty=false --name=a "$LIMA_HOME/fake.yaml"
	agent=$(ha_pid a)
	machine=$(limactl-c list --json | jq -r .driverPID)
	rm -rf "$LIMA_HOME/a"
	wait_until 5 gone "$machine"
	wait_until 5 gone "$agent"
}
