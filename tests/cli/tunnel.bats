# tunnel on the fake driver: SOCKS clients of the host, connections of the guest.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup_file() {
	cli_setup
	limactl-c start --tty=false --name=a "$LIMA_HOME/fake.yaml"
	PORT=$(free_port)
	echo "from the guest" >"$LIMA_HOME/page"
	limactl-c shell a sh -c "cd $LIMA_HOME; python3 -m http.server --bind 127.0.0.1 $PORT >/dev/null 2>&1 &"
	export PORT
	wait_until 20 limactl-c shell a curl -sf "http://127.0.0.1:$PORT/page"
}
teardown_file() { cli_teardown; }

through() { curl -sS -m 20 --noproxy '' --socks5-hostname "127.0.0.1:$1" "$2"; }

@test "curl through it reaches what only the guest has, by name and by address" {
	local port
	port=$(socks_port a)
	control a GET forwards | jq -e '[.forwards[] | select(.hostAddr == "127.0.0.1:'"$port"'")] == []'
	equals "$(through "$port" "http://localhost:$PORT/page")" "from the guest"
	equals "$(through "$port" "http://127.0.0.1:$PORT/page")" "from the guest"
	equals "$(curl -sS -m 20 --noproxy '' --socks5 "127.0.0.1:$port" "http://127.0.0.1:$PORT/page")" "from the guest"
	run -97 through "$port" http://127.0.0.1:1/
	contains "$output" "(5)"
}

@test "a big page arrives whole, many clients at once" {
	local port i pids=() sum
	port=$(socks_port a)
	head -c 20000000 /dev/urandom >"$LIMA_HOME/big"
	sum=$(sha256sum <"$LIMA_HOME/big")
	for i in {1..10}; do
		through "$port" "http://localhost:$PORT/big" 2>&1 3>&- | sha256sum >"$BATS_TEST_TMPDIR/$i" 3>&- &
		pids+=($!)
	done
	wait "${pids[@]}"
	for i in {1..10}; do equals "$(cat "$BATS_TEST_TMPDIR/$i")" "$sum"; done
}

@test "the same one is named again; another port is another" {
	local first other
	first=$(socks_port a)
	equals "$(socks_port a)" "$first"
	other=$(free_port)
	equals "$(socks_port --socks-port "$other" a)" "$other"
	equals "$(socks_port --type socks --socks-port "$other" a)" "$other"
	equals "$(through "$other" "http://localhost:$PORT/page")" "from the guest"
	run -1 limactl-c tunnel --socks-port 70000 a
	run -1 limactl-c tunnel --type http a
	python3 -c 'import socket, sys, time
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); print(s.getsockname()[1], flush=True); time.sleep(60)' >"$BATS_TEST_TMPDIR/busy" 3>&- &
	wait_until 10 test -s "$BATS_TEST_TMPDIR/busy"
	run -1 limactl-c tunnel --socks-port "$(cat "$BATS_TEST_TMPDIR/busy")" a
	contains "$output" "Address already in use"
	kill $!
}

@test "it ends with the instance, and needs one that runs" {
	local port
	limactl-c start --tty=false --name=b "$LIMA_HOME/fake.yaml"
	port=$(socks_port b)
	open_port "$port"
	limactl-c stop b
	closed_port "$port"
	run -1 limactl-c tunnel b
	contains "$output" 'instance \"b\" is stopped'
	limactl-c delete b
}
