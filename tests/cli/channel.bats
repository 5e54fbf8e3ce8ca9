# The channel on the fake driver: shell, ports in order, sockets, restarts of either end. The "guest" is the native agent
# in a network namespace of its own, so its ports are not the host's.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup_file() {
	export HELPER=$BATS_FILE_TMPDIR/helper
	build_helper "$HELPER"
	export PATH=$BATS_FILE_TMPDIR:$PATH
}
setup() {
	cli_setup
	sed "s|^guest:.*|guest: {init: lean}\nportForwards: [{guestSocket: $LIMA_HOME/standin, hostSocket: standin.sock}]|" \
		"$LIMA_HOME/fake.yaml" >"$LIMA_HOME/channel.yaml"
	limactl-c start --tty=false --name=a "$LIMA_HOME/channel.yaml"
}
teardown() { cli_teardown; }

ask() { echo "$1" | socat -t 10 - "UNIX-CONNECT:$LIMA_HOME/a/sock/standin.sock"; }

@test "shell: exit status, both outputs, input, arguments" {
	run -42 guest sh -c 'exit 42'
	run -0 --separate-stderr guest sh -c 'echo out; echo err >&2'
	equals "$output" out
	equals "$stderr" err
	equals "$(printf 'x' | guest wc -c | tr -d ' ')" 1
	equals "$(guest printf '<%s>' 'a b' '' "it's" '$HOME')" "<a b><><it's><\$HOME>"
}

@test "1 GiB through a pipe unchanged, both ways" {
	local sum
	head -c 1073741824 /dev/urandom >"$BATS_FILE_TMPDIR/big"
	equals "$(stat -c %s "$BATS_FILE_TMPDIR/big")" 1073741824
	sum=$(guest cat <"$BATS_FILE_TMPDIR/big" | sha256sum)
	equals "$sum" "$(sha256sum <"$BATS_FILE_TMPDIR/big")"
	rm "$BATS_FILE_TMPDIR/big"
}

# In a namespace of their own, where 10 000 ports are free.
@test "10000 rounds against a stand-in for the daemon: answered means open, closed means free, with connections lingering" {
	limactl-c stop a
	run -0 unshare -n bash -c "ip link set lo up && limactl-c start a &&
		limactl-c shell a sh -c '$HELPER answer $LIMA_HOME/standin 20000 0 >/dev/null 2>&1 &' &&
		until [ -S $LIMA_HOME/standin ]; do sleep 0.05; done &&
		python3 $BATS_TEST_DIRNAME/../helpers/rounds.py $LIMA_HOME/a/sock/standin.sock 10000"
	contains "$output" "10000 rounds, 0 failures"
}

@test "no dump is made a chunk: bytes through docker.sock ask the kernel for no list of sockets" {
	guest sh -c "socat UNIX-LISTEN:$LIMA_HOME/standin,fork EXEC:'head -c 30000000 /dev/zero' >/dev/null 2>&1 &"
	wait_until 10 test -S "$LIMA_HOME/standin"
	strace -f -qq -e trace=sendto,sendmsg,write,writev -o "$BATS_TEST_TMPDIR/calls" -p "$(agent_pid)" &
	local tracer=$!
	wait_until 10 grep -q "^TracerPid:.*[1-9]" "/proc/$(agent_pid)/status"
	equals "$(socat -u "UNIX-CONNECT:$LIMA_HOME/a/sock/standin.sock" - | wc -c)" 30000000
	kill "$tracer"
	wait "$tracer" || true
	# Requests to NETLINK_SOCK_DIAG are sends of 72 bytes, four a dump. Other programs of this machine may cause a few.
	local chunks requests
	chunks=$(grep -c 'write' "$BATS_TEST_TMPDIR/calls")
	requests=$(grep -cE 'send.*, 72, ' "$BATS_TEST_TMPDIR/calls" || true)
	echo "$chunks chunks, $requests requests"
	((chunks > 100 && requests * 10 < chunks))
}

@test "half-close both ways, 50 times" {
	guest sh -c "$HELPER half 23000 >/dev/null 2>&1 &"
	wait_until 10 open_port 23000
	local i
	for i in $(seq 50); do
		equals "$(head -c 10000 /dev/zero | socat -t 10 - TCP:127.0.0.1:23000)" "GOT 10000"
	done
}

@test "the host agent killed and started again: the machine is adopted, 20 times" {
	local i vm
	vm=$(agent_pid)
	# At once: the killed one may still hold its lock for a moment.
	for i in $(seq 20); do
		kill -9 "$(ha_pid a)"
		limactl-c start a
		equals "$(guest echo "round $i")" "round $i"
		equals "$(agent_pid)" "$vm"
	done
}

@test "nothing to do: no system call in 10 s, host agent and guest agent" {
	guest true
	local pid
	for pid in "$(ha_pid a)" "$(agent_pid)"; do
		timeout 10 strace -f -o "$BATS_TEST_TMPDIR/idle" -p "$pid" || true
		cat "$BATS_TEST_TMPDIR/idle"
		# The one call it was waiting in when the tracer came is shown once, and again when the tracer goes.
		(($(grep -cvE '^[0-9]+ +(\+\+\+|---|<\.\.\.)' "$BATS_TEST_TMPDIR/idle") <= 1))
	done
}

@test "two instances want one port: one warning, and it heals when the holder goes" {
	guest sh -c "$HELPER echo 23500 >/dev/null 2>&1 &"
	wait_until 10 open_port 23500
	sed "s|standin|standin2|" "$LIMA_HOME/channel.yaml" >"$LIMA_HOME/two.yaml"
	limactl-c start --tty=false --name=b "$LIMA_HOME/two.yaml"
	limactl-c shell b sh -c "$HELPER half 23500 >/dev/null 2>&1 &"
	failed() { jq -es 'map(select(.status.portForward.type == "failed")) | length >= 1' "$LIMA_HOME/b/ha.stdout.log"; }
	wait_until 10 failed
	limactl-c stop a
	answered() { [ "$(echo 12345 | socat -t 5 - TCP:127.0.0.1:23500)" = "GOT 6" ]; }
	wait_until 5 answered
}
