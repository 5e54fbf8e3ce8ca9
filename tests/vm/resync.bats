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
