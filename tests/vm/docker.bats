# The main job: a real engine in the real guest, a real client on the host.
bats_require_minimum_version 1.5.0
. "$BATS_TEST_DIRNAME/../helpers/vm.bash"

setup_file() {
	vm_restore
	DOCKER=$(command -v docker || echo "${XDG_CACHE_HOME:-$HOME/.cache}/limactl-c/names/docker-client-x86_64")
	export DOCKER DOCKER_HOST=unix://$LIMA_HOME/vm/sock/docker.sock
}
teardown_file() { vm_stop; }

# The code and the addresses that the host's resolver is told.
ask() { python3 "$BATS_TEST_DIRNAME/../helpers/names.py" ask "$(limactl-c list vm --json | jq .dnsLocalPort)" "$@"; }
unknown() { [ "$(ask "$1")" = nxdomain ]; }

@test "docker.sock is private and answers" {
	equals "$(stat -c %a "$LIMA_HOME/vm/sock/docker.sock")" 600
	equals "$(stat -c %a "$LIMA_HOME/vm")" 700
	equals "$(curl -sS --unix-socket "$LIMA_HOME/vm/sock/docker.sock" http://docker/_ping)" OK
}

@test "the engine has the proxies the host had, as the guest reaches them; what is here is asked without" {
	run -0 "$DOCKER" info --format '{{.HTTPSProxy}} {{.NoProxy}}'
	equals "$output" "http://10.0.2.2:1 .corp,localhost,127.0.0.1,::1,10.0.2.15,10.0.2.2,host.lima.internal,host.docker.internal,gateway.docker.internal"
}

@test "docker run -p returned: the host port accepts; once the container listens its answer comes" {
	"$DOCKER" run -d --name web -p 8090:80 busybox /bin/busybox httpd -f -p 80 -h /www
	open_port 8090
	wait_until 30 "$DOCKER" exec web /bin/busybox wget -qO- http://127.0.0.1/
	equals "$(curl -sS http://127.0.0.1:8090/)" "hello from the container"
	equals "$(curl -sS 'http://[::1]:8090/')" "hello from the container"
	equals "$(ask web.vm.local)" "ok 127.0.0.1"
	equals "$(ask web.vm.local AAAA)" "ok ::1"
}

@test "docker rm -f returned: another program can take the port" {
	"$DOCKER" rm -f web
	closed_port 8090
	wait_until 10 unknown web.vm.local
	# As servers do: connections that linger in TIME_WAIT are no obstacle for a socket with SO_REUSEADDR.
	python3 -c "import socket; socket.create_server(('127.0.0.1', 8090))"
}

@test "docker run -p with udp: each client gets its own answer, on the port asked for and on one the engine chose" {
	local port
	client() { python3 "$BATS_TEST_DIRNAME/../helpers/udp.py" "$@"; }
	"$DOCKER" run -d --name echo -v /usr/local/bin/helper:/helper -p 8053:53/udp -p 54/udp busybox \
		/bin/sh -c '/helper udp 53 4 & until /bin/busybox grep -q :0035 /proc/net/udp; do :; done; exec /helper udp 54'
	port=$("$DOCKER" port echo 54/udp | sed -n '1s/.*://p')
	equals "$(ss -Hlun '( sport = :8053 )' | wc -l)" 2
	equals "$(ss -Hlun "( sport = :$port )" | wc -l)" 2
	client again 127.0.0.1 "$port" 0 30
	client again ::1 "$port" 0 30
	# Not 0 bytes, which docker-proxy does not pass on, nor four of the longest at once, which its socket does not hold.
	client four 127.0.0.1 8053 1 512 1472 9000
	"$DOCKER" rm -f echo
	equals "$(ss -Hlun "( sport = :8053 or sport = :$port )")" ""
}

@test "5 rounds of run and stop, through docker.sock and by shell, connections lingering: no retry, no failure" {
	run -0 python3 "$BATS_TEST_DIRNAME/../helpers/docker_rounds.py" vm 8091 5
	contains "$output" "5 rounds, 0 failures"
}

@test "docker exec: output, exit status and end of input travel" {
	local i
	"$DOCKER" run -d --name idle busybox /bin/busybox sleep 1000
	run -7 "$DOCKER" exec idle /bin/sh -c 'echo out; exit 7'
	equals "$output" out
	for i in $(seq 10); do
		equals "$(echo "through $i" | "$DOCKER" exec -i idle /bin/busybox cat)" "through $i"
		equals "$("$DOCKER" exec idle /bin/busybox echo "out $i")" "out $i"
	done
	"$DOCKER" rm -f idle
}

# The guest's name server is this host's own resolver; nothing takes the port 53 that a container may want.
@test "names of the host in the machine, in a container, in a network of the user's; a container's own port 53" {
	guest ip link show lima-dns
	equals "$(guest cat /etc/resolv.conf | grep -c '^nameserver 10.0.2.3$')" 1
	contains "$(guest nslookup host.docker.internal)" "Address: 10.0.2.2"
	contains "$(guest nslookup localhost 10.0.2.3)" "Address: 127.0.0.1"
	"$DOCKER" network create names
	"$DOCKER" run -d --name ns -p 53:53/udp busybox /bin/busybox sleep 3600
	local name
	for name in host.docker.internal gateway.docker.internal host.lima.internal; do
		contains "$("$DOCKER" run --rm busybox /bin/busybox nslookup $name)" "10.0.2.2"
		contains "$("$DOCKER" run --rm --network names busybox /bin/busybox nslookup $name)" "10.0.2.2"
	done
	"$DOCKER" rm -f ns
	"$DOCKER" network rm names
}

@test "docker run attached: input, output and end travel; who follows events sees it begin and end" {
	"$DOCKER" events --format '{{.Action}} {{.Actor.Attributes.name}}' >"$BATS_TEST_TMPDIR/events" &
	local events=$!
	# It is there when it has seen something.
	seen() { "$DOCKER" tag busybox seen && grep -q '^tag' "$BATS_TEST_TMPDIR/events"; }
	wait_until 30 seen
	equals "$(printf 'one\ntwo\n' | "$DOCKER" run -i --rm --name attached busybox /bin/busybox wc -l | tr -d ' ')" 2
	ended() { grep -q '^start attached' "$BATS_TEST_TMPDIR/events" && grep -q '^destroy attached' "$BATS_TEST_TMPDIR/events"; }
	wait_until 30 ended
	kill "$events"
	wait "$events" || true
}

@test "docker build: its context goes in, its steps come out" {
	mkdir "$BATS_TEST_TMPDIR/context"
	head -c 3000000 /dev/urandom >"$BATS_TEST_TMPDIR/context/big"
	printf 'FROM busybox\nCOPY big /big\nRUN /bin/busybox sha256sum </big >/sum\n' >"$BATS_TEST_TMPDIR/context/Dockerfile"
	DOCKER_BUILDKIT=0 run -0 "$DOCKER" build -t built "$BATS_TEST_TMPDIR/context"
	contains "$output" "Successfully tagged built"
	equals "$("$DOCKER" run --rm built /bin/busybox cat /sum)" "$(sha256sum <"$BATS_TEST_TMPDIR/context/big")"
}

@test "a container that has docker.sock mounted reaches the engine" {
	run -0 "$DOCKER" run --rm -i -v /var/run/docker.sock:/docker.sock -v /usr/local/bin/helper:/helper \
		busybox /helper unix /docker.sock <<<$'GET /containers/json?all=1 HTTP/1.0\r\n\r'
	contains "$output" "200 OK"
	contains "$output" "/helper unix /docker.sock"
}

@test "50 followers of the engine's events beside 1000 short calls: none fails" {
	run -0 python3 "$BATS_TEST_DIRNAME/../helpers/sockets.py" engine "$LIMA_HOME/vm/sock/docker.sock"
	equals "$output" "0 of 1000 calls failed"
	equals "$(find "$LIMA_HOME/vm/sock" -name 'docker.sock*')" "$LIMA_HOME/vm/sock/docker.sock"
}

@test "without docker's userland proxy: the same, one port and no other" {
	local old
	old=$(guest pgrep -xo dockerd)
	restarted() { [ "$(guest pgrep -xo dockerd)" != "$old" ] && "$DOCKER" info >/dev/null; }
	guest sudo sh -c 'mkdir -p /etc/docker && echo "{\"userland-proxy\": false}" >/etc/docker/daemon.json && kill '"$old"
	wait_until 90 restarted
	"$DOCKER" run -d --name direct -p 8092:80 busybox /bin/busybox httpd -f -p 80 -h /www
	open_port 8092
	run ! guest pgrep docker-proxy
	wait_until 30 "$DOCKER" exec direct /bin/busybox wget -qO- http://127.0.0.1/
	equals "$(curl -sS -m 10 http://127.0.0.1:8092/)" "hello from the container"
	"$DOCKER" rm -f direct
	closed_port 8092
}
