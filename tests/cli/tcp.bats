# TCP through the channel on the fake driver: ends, resets, stalled clients, many connections. One instance, started under a
# soft limit of 1024 files; its "guest" is the native agent in a network namespace of its own.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup_file() {
	export HELPER=$BATS_FILE_TMPDIR/tcp
	gcc -O1 -static -Wall -Wextra -Werror -o "$HELPER" "$BATS_TEST_DIRNAME/../helpers/tcp.c"
	cli_setup
	(ulimit -Sn 1024 && limactl-c start --tty=false --name=a "$LIMA_HOME/fake.yaml")
}
teardown_file() { cli_teardown; }

rss() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; }
no_connections() { [ "$(control a GET status | jq .connections)" = 0 ]; }

# serve KIND PORT: in the guest, until it is open on the host.
serve_tcp() {
	guest sh -c "$HELPER $1 $2 >/dev/null 2>&1 &"
	wait_until 10 open_port "$2"
}

@test "a server that closes first is seen, with what it said" {
	serve_tcp hello 23100
	equals "$(timeout 10 socat -u TCP:127.0.0.1:23100 -)" hello
}

@test "a reset behind an answer: the answer, then the reset" {
	serve_tcp bye 23101
	run -0 python3 - <<-'PY'
		import socket
		for _ in range(50):
		    s = socket.create_connection(("127.0.0.1", 23101), 10)
		    s.sendall(b"x")
		    assert s.recv(10) == b"bye"
		    try:
		        assert False, s.recv(10)
		    except ConnectionResetError:
		        pass
	PY
}

@test "who nobody answers in the guest gets a reset" {
	local pid
	serve_tcp hello 23102
	pid=$(agent_pid)
	# The server goes while its port is still open on the host.
	kill -STOP "$pid"
	pkill -f "^$HELPER hello 23102"
	python3 - >"$BATS_TEST_TMPDIR/seen" <<-'PY' &
		import socket
		s = socket.create_connection(("127.0.0.1", 23102), 10)
		print("connected", flush=True)
		try:
		    print(s.recv(1))
		except ConnectionResetError:
		    print("reset")
	PY
	local client=$!
	wait_until 10 grep -q connected "$BATS_TEST_TMPDIR/seen"
	kill -CONT "$pid"
	wait "$client"
	equals "$(tail -n 1 "$BATS_TEST_TMPDIR/seen")" reset
}

@test "urgent bytes come through in their place, and nothing hangs" {
	serve_tcp echo 23103
	run -0 python3 - <<-'PY'
		import socket
		s = socket.create_connection(("127.0.0.1", 23103), 10)
		s.sendall(b"ab"); s.send(b"!", socket.MSG_OOB); s.sendall(b"cd"); s.shutdown(socket.SHUT_WR)
		got = b""
		while True:
		    b = s.recv(100)
		    if not b: break
		    got += b
		assert got == b"ab!cd", got
	PY
}

@test "one client stands still, 200 others go on; then it gets all of its bytes" {
	serve_tcp echo 23104
	run -0 "$HELPER" stall 23104 200
	equals "${lines[0]}" "200 others done"
	equals "${lines[1]}" "the stalled one has all of its bytes"
}

@test "10500 connections at once under a soft limit of 1024 files, in at most 64 MiB on each side" {
	serve_tcp echo 23105
	mkfifo "$BATS_TEST_TMPDIR/go"
	"$HELPER" many 23105 10500 <"$BATS_TEST_TMPDIR/go" >"$BATS_TEST_TMPDIR/many" &
	local clients=$! pid
	exec 5>"$BATS_TEST_TMPDIR/go"
	wait_until 120 grep -q "10500 open" "$BATS_TEST_TMPDIR/many"
	for pid in "$(ha_pid a)" "$(agent_pid)"; do
		echo "$(fds "$pid") descriptors, $(rss "$pid") kB"
		(($(fds "$pid") > 10500 && $(rss "$pid") <= 65536))
	done
	# A command still starts, and gets the limit it would have had without them.
	equals "$(guest sh -c 'ulimit -Sn')" 1024
	exec 5>&-
	wait "$clients"
	wait_until 60 no_connections
}

@test "100000 short connections leave no descriptor and no memory behind" {
	local before=() pid
	serve_tcp echo 23106
	run -0 "$HELPER" short 23106 10000 50
	wait_until 60 no_connections
	for pid in "$(ha_pid a)" "$(agent_pid)"; do before+=("$(fds "$pid")" "$(rss "$pid")"); done
	run -0 "$HELPER" short 23106 100000 50
	echo "$output"
	wait_until 60 no_connections
	for pid in "$(ha_pid a)" "$(agent_pid)"; do
		echo "before: ${before[0]} descriptors, ${before[1]} kB; after: $(fds "$pid"), $(rss "$pid") kB"
		equals "$(fds "$pid")" "${before[0]}"
		(($(rss "$pid") * 100 <= before[1] * 105 && $(rss "$pid") * 100 >= before[1] * 95))
		before=("${before[@]:2}")
	done
}

# Only keep-alive tells of it. The last test: the guest's settings stay.
@test "a server that vanished without a word is noticed: both relays ask whether the other end is there" {
	guest sh -c 'cd /proc/sys/net/ipv4 && echo 1 | tee tcp_keepalive_time tcp_keepalive_intvl tcp_keepalive_probes' >/dev/null
	cat >"$BATS_TEST_TMPDIR/vanish.py" <<-'PY'
		import socket, sys
		s = socket.create_server(("127.0.0.1", 23107))
		c, _ = s.accept()
		c.sendall(b"x")
		sys.stdin.read(1)
		TCP_REPAIR = 19
		c.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
		c.close()
		sys.stdin.read()
	PY
	mkfifo "$BATS_TEST_TMPDIR/go"
	guest python3 "$BATS_TEST_TMPDIR/vanish.py" <"$BATS_TEST_TMPDIR/go" &
	local server=$!
	exec 5>"$BATS_TEST_TMPDIR/go"
	wait_until 10 sh -c 'ss -Htnl sport = :23107 | grep -q .'
	python3 - >"$BATS_TEST_TMPDIR/seen" <<-'PY' &
		import socket
		s = socket.create_connection(("127.0.0.1", 23107), 10)
		s.settimeout(60)
		print(s.recv(1), flush=True)
		try:
		    print("end", s.recv(1))
		except ConnectionError as e:
		    print("end", type(e).__name__)
	PY
	local client=$!
	wait_until 10 grep -q x "$BATS_TEST_TMPDIR/seen"
	ss -Htno state established "sport = :23107" | grep -q 'timer:(keepalive'
	guest ss -Htno state established "dport = :23107" | grep -q 'timer:(keepalive'
	echo >&5
	wait "$client"
	equals "$(tail -n 1 "$BATS_TEST_TMPDIR/seen")" "end ConnectionResetError"
	exec 5>&-
	wait "$server"
}
