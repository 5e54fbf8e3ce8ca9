# The ordering promise: an answer of the daemon's socket never overtakes the port it speaks of.
bats_require_minimum_version 1.5.0
. "$BATS_TEST_DIRNAME/../helpers/vm.bash"

setup_file() { vm_restore; }
teardown_file() { vm_stop; }

@test "200 rounds: answered means the host port accepts, closed means it is free, without any retry" {
	guest sudo sh -c 'helper answer /run/standin.sock 20000 0 >/dev/null 2>&1 &'
	wait_until 10 guest test -S /run/standin.sock
	run -0 python3 "$BATS_TEST_DIRNAME/../helpers/rounds.py" "$LIMA_HOME/vm/sock/standin.sock" 200
	contains "$output" "200 rounds, 0 failures"
}

@test "an exec's exit status does not overtake the port it opened" {
	local round
	for round in $(seq 20); do
		guest sh -c "helper echo $((21000 + round)) >/dev/null 2>&1 & until nc -z 127.0.0.1 $((21000 + round)); do :; done"
		open_port $((21000 + round))
	done
}
