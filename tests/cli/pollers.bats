# Tools that ask Docker the same every few seconds do not wake a machine up that sleeps, nor keep it awake: on the fake driver,
# with a stand-in for Docker that writes down what it is asked.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup() {
	cli_setup
	SOCK=$LIMA_HOME/a/sock/docker.sock
	echo '[]' >"$LIMA_HOME/list"
	python3 "$BATS_TEST_DIRNAME/../helpers/docker_standin.py" "$LIMA_HOME" 3>&- &
	ENGINE=$!
	sed -i 's/^idle:.*/idle: {when: noConnections, pauseAfter: 1s, suspendAfter: 0}/' "$LIMA_HOME/fake.yaml"
	printf 'portForwards: [{guestSocket: "%s", hostSocket: docker.sock}]\n' "$LIMA_HOME/engine" >>"$LIMA_HOME/fake.yaml"
	limactl-c start --tty=false --name=a "$LIMA_HOME/fake.yaml"
}
teardown() {
	[ -z "$POLLER" ] || kill "$POLLER" 2>/dev/null || true
	cli_teardown
	kill "$ENGINE" 2>/dev/null || true
}

state() { control a GET status | jq -r .state; }
is() { [ "$(state)" = "$1" ]; }
naps() { control a GET status | jq .idle.naps; }
ask() { curl -sS -m 20 --unix-socket "$SOCK" "$@"; }
asked() { grep -c "$1" "$LIMA_HOME/asked"; }
# The questions of a status bar, over and over.
poll() {
	while :; do
		for path in _ping version v1.41/info v1.41/containers/json?all=1 images/json volumes networks containers/x/json; do
			ask "http://d/$path" >/dev/null || echo "$path" >>"$LIMA_HOME/failed"
		done
		sleep 0.2
	done 3>&-
}

@test "what is asked again and again is answered while it sleeps, and does not wake it up; anything else does, once" {
	local before
	poll &
	POLLER=$!
	wait_until 20 is paused
	before=$(asked .)
	sleep 3
	is paused
	equals "$(naps)" 1
	equals "$(asked .)" "$before"
	[ ! -e "$LIMA_HOME/failed" ]
	equals "$(ask http://d/_ping)" OK
	# One that was not asked before.
	equals "$(ask http://d/volumes/data)" OK
	is running
	wait_until 20 is paused
	ask -X POST http://d/containers/x/start
	is running
	wait_until 20 is paused
	equals "$(naps)" 3
	(($(asked .) > before))
	[ ! -e "$LIMA_HOME/failed" ]
}

@test "an answer is not given again when Docker has told of a change, nor when somebody used the guest" {
	local list="http://d/containers/json"
	for _ in 1 2 3; do equals "$(ask $list)" '[]'; done
	echo '["new"]' >"$LIMA_HOME/list"
	echo '{"status":"die"}' >>"$LIMA_HOME/events"
	wait_until 20 is paused
	equals "$(ask $list)" '["new"]'
	wait_until 20 is paused
	equals "$(ask $list)" '["new"]'
	is paused
	guest true
	echo '["newer"]' >"$LIMA_HOME/list"
	wait_until 20 is paused
	equals "$(ask $list)" '["newer"]'
	is running
}

@test "a connection that stays open is answered from memory too, and wakes it up with its first real request" {
	run -0 timeout 60 python3 - "$SOCK" "$OUT/bin/limactl-c" <<-'PY'
		import http.client, json, socket, subprocess, sys, time
		c = http.client.HTTPConnection("d")
		c.sock = socket.socket(socket.AF_UNIX)
		c.sock.connect(sys.argv[1])
		def ask(method, path):
		    c.request(method, path)
		    r = c.getresponse()
		    return r.read()
		def status():
		    return subprocess.run([sys.argv[2], "list", "a", "--format", "{{.Status}}"], stdout=subprocess.PIPE, text=True).stdout.strip()
		for _ in range(3):
		    assert ask("GET", "/_ping") == b"OK"
		while status() != "Paused":
		    time.sleep(0.1)
		for _ in range(20):
		    assert ask("GET", "/_ping") == b"OK"
		    time.sleep(0.05)
		assert status() == "Paused"
		# In pieces: nothing is wanted before it is clear what.
		c.sock.sendall(b"GET /_p")
		time.sleep(0.3)
		assert status() == "Paused"
		c.sock.sendall(b"ing HTTP/1.1\r\nHost: other\r\n\r\n")
		assert c.sock.recv(9) == b"HTTP/1.1 "
		assert status() == "Running"
		time.sleep(0.5)
		c.sock.recv(65536)
		while status() != "Paused":
		    time.sleep(0.1)
		assert ask("POST", "/containers/x/start") == b"{}"
		assert status() == "Running"
	PY
}

@test "who connects and goes again, or speaks no HTTP, harms nobody; the first is no use" {
	wait_until 20 is paused
	python3 -c 'import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.close()' "$SOCK"
	is paused
	printf 'nonsense\r\n\r\n' | timeout 5 socat -t 2 - "UNIX-CONNECT:$SOCK" || true
	is running
	equals "$(ask http://d/_ping)" OK
}
