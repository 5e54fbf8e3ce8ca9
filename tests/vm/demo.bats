# make demo on a machine that has everything: no network, reuse, a port that is taken.
bats_require_minimum_version 1.5.0
. "$BATS_TEST_DIRNAME/../helpers/vm.bash"

# A network namespace with nothing but a loopback: what asks for a registry fails, port 8080 is ours to take.
setup_file() {
	export NETNS=lima-test-$$
	ip netns add "$NETNS"
	ip -n "$NETNS" link set lo up
	export DEMO_HOME=$LIMA_HOME/_demo
}
teardown_file() {
	ip netns exec "$NETNS" env LIMA_HOME="$DEMO_HOME" limactl-c delete -f demo >/dev/null 2>&1 || true
	ip netns delete "$NETNS"
}
demo() { ip netns exec "$NETNS" .ci/demo; }

@test "without network: an answer from port 8080, the context line and how to stop" {
	run -0 demo
	contains "$output" "http://127.0.0.1:8080/"
	contains "$output" "docker context create"
	contains "$output" "stop demo"
	equals "$(ip netns exec "$NETNS" curl -sS -o /dev/null -w '%{http_code}' http://127.0.0.1:8080/)" 200
}

@test "again: what is there is used" {
	local before=$SECONDS
	run -0 demo
	contains "$output" "http://127.0.0.1:8080/"
	((SECONDS - before < 20))
}

@test "port 8080 taken: the next free one, and it says so" {
	LIMA_HOME=$DEMO_HOME ip netns exec "$NETNS" limactl-c delete -f demo
	ip netns exec "$NETNS" python3 -c 'import signal, socket; s = socket.create_server(("127.0.0.1", 8080)); signal.pause()' 3>&- &
	local holder=$!
	wait_until 10 ip netns exec "$NETNS" bash -c 'exec 4<>/dev/tcp/127.0.0.1/8080'
	run -0 demo
	kill "$holder"
	contains "$output" 8081
	contains "$output" 8080
}
