# The ordering promise: an answer of the daemon's socket never overtakes the port it speaks of.
bats_require_minimum_version 1.5.0
. "$BATS_TEST_DIRNAME/../helpers/vm.bash"

setup_file() { vm_restore; }
teardown_file() { vm_stop; }

# ask TEXT: one request to the stand-in through the forwarded socket; prints its answer.
ask() { echo "$1" | socat -t 10 - "UNIX-CONNECT:$LIMA_HOME/vm/sock/standin.sock"; }

@test "200 rounds: answered means the host port accepts, closed means it is free, without any retry" {
	guest sh -c 'helper answer /run/standin.sock 20000 0 >/dev/null 2>&1 &'
	wait_until 10 guest test -S /run/standin.sock
	local round port bad=0
	for round in $(seq 200); do
		port=$(ask open)
		open_port "$port" || { echo "round $round: port $port refused"; bad=$((bad + 1)); }
		equals "$(ask "-$port")" "-$port"
		python3 -c "import socket; s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(('127.0.0.1', $port)); s.listen()" ||
			{ echo "round $round: port $port still taken"; bad=$((bad + 1)); }
	done
	equals "$bad" 0
}

@test "an exec's exit status does not overtake the port it opened" {
	local round
	for round in $(seq 20); do
		guest sh -c "helper echo $((21000 + round)) >/dev/null 2>&1 & until nc -z 127.0.0.1 $((21000 + round)); do :; done"
		open_port $((21000 + round))
	done
}
