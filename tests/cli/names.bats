# Names of containers for the host, with a stand-in for Docker: the "guest" is the native agent in a network namespace of its own.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

NAMES=$BATS_TEST_DIRNAME/../helpers/names.py

setup() {
	cli_setup
	echo '[]' >"$LIMA_HOME/list"
	python3 "$NAMES" docker "$LIMA_HOME/engine" "$LIMA_HOME/list" >"$LIMA_HOME/asked" 3>&- &
	ENGINE=$!
	printf 'portForwards: [{guestSocket: "%s", hostSocket: docker.sock}]\n' "$LIMA_HOME/engine" >>"$LIMA_HOME/fake.yaml"
	limactl-c start --tty=false --name=a "$LIMA_HOME/fake.yaml"
	PORT=$(control a GET info | jq .dnsLocalPort)
}
teardown() {
	cli_teardown
	kill "$ENGINE" 2>/dev/null || true
}

ask() { python3 "$NAMES" ask "$PORT" "$@"; }
containers() { echo "$1" >"$LIMA_HOME/list.new" && mv "$LIMA_HOME/list.new" "$LIMA_HOME/list"; }
says() { [ "$(ask "$1" "$2")" = "$3" ]; }

@test "a container's name is where its ports are published; Docker is asked when somebody asks, never else" {
	local port
	port=$(free_port)
	equals "$(cat "$LIMA_HOME/asked")" ""
	equals "$(ask web.a.local)" nxdomain
	containers "[{\"Names\": [\"/web\"], \"Ports\": [{\"PublicPort\": $port}]}, {\"Names\": [\"/shop-db-1\"],
		\"Labels\": {\"com.docker.compose.service\": \"db\"}}]"
	equals "$(ask web.a.local)" "ok 127.0.0.1"
	equals "$(ask web.a.local AAAA)" ok
	equals "$(ask db.a.local)" "ok 127.0.0.1"
	limactl-c shell a sh -c "socat TCP6-LISTEN:$port,fork,reuseaddr EXEC:'echo hello' >/dev/null 2>&1 &"
	wait_until 10 says web.a.local AAAA "ok ::1"
	equals "$(socat -u "TCP:$(ask web.a.local | cut -d ' ' -f 2):$port" - </dev/null)" hello
	equals "$(ask Web.A.Local MX)" ok
	equals "$(ask a.local)" "ok 127.0.0.1"
	equals "$(ask web.b.local)" refused
	containers '[]'
	wait_until 10 says web.a.local A nxdomain
}

@test "the port is the instance's: told by list and status, the same after a restart; another's is no error" {
	equals "$(limactl-c list a --json | jq .dnsLocalPort)" "$PORT"
	equals "$(control a GET status | jq -c .names)" "{\"domain\":\"a.local\",\"address\":\"127.0.0.1:$PORT\"}"
	limactl-c stop a
	equals "$(limactl-c list a --json | jq .dnsLocalPort)" "$PORT"
	run ! ask a.local
	python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("127.0.0.1", int(sys.argv[1]))); print("bound", flush=True); time.sleep(600)' \
		"$PORT" >"$LIMA_HOME/bound" 3>&- &
	local other=$!
	wait_until 10 test -s "$LIMA_HOME/bound"
	run -0 limactl-c start --tty=false a
	kill $other
	wait $other || true
	equals "$(control a GET status | jq -r '.degraded, .names.error')" $'false\nAddress already in use'
	contains "$(cat "$LIMA_HOME/a/ha.stderr.log")" "names of containers are not served at 127.0.0.1:$PORT: Address already in use"
	limactl-c stop a
	limactl-c start --tty=false a
	equals "$(ask a.local)" "ok 127.0.0.1"
}
