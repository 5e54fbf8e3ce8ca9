# Rules of ports and sockets on the fake driver: what listens on the host, for whom, and what is said of what does not.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup_file() {
	export HELPER=$BATS_FILE_TMPDIR/helper
	build_helper "$HELPER"
}
setup() {
	cli_setup
}
teardown() {
	[ -z "${HOLDER:-}" ] || kill "$HOLDER" 2>/dev/null || true
	cli_teardown
}

# template NAME: the fake template and portForwards from stdin
template() { { cat "$LIMA_HOME/fake.yaml"; echo "portForwards:"; cat; } >"$LIMA_HOME/$1.yaml"; }
start() { limactl-c start --tty=false --name="$1" "$LIMA_HOME/$1.yaml"; }
# in_guest ARGUMENTS: the helper, in the background of the guest
in_guest() { guest sh -c "$HELPER $* >/dev/null 2>&1 &"; }

@test "a reverse socket: the guest reaches the host's, which stays when the instance goes" {
	template a <<-YAML
		- {guestSocket: $LIMA_HOME/in-guest/r.sock, hostSocket: $LIMA_HOME/own.sock, reverse: true, socket: {mode: "0666"}}
	YAML
	socat "UNIX-LISTEN:$LIMA_HOME/own.sock,fork" SYSTEM:'tr a-z A-Z' 3>&- &
	HOLDER=$!
	wait_until 5 test -S "$LIMA_HOME/own.sock"
	start a
	wait_until 5 test -S "$LIMA_HOME/in-guest/r.sock"
	equals "$(stat -c %a "$LIMA_HOME/in-guest/r.sock")" 666
	# The answer comes after the end of the question: half-close travels.
	equals "$(guest sh -c "echo hello | socat -t 10 - UNIX-CONNECT:$LIMA_HOME/in-guest/r.sock")" HELLO
	kill -9 "$(ha_pid a)"
	limactl-c start a
	equals "$(guest sh -c "echo again | socat -t 10 - UNIX-CONNECT:$LIMA_HOME/in-guest/r.sock")" AGAIN
	limactl-c stop a
	test ! -e "$LIMA_HOME/in-guest/r.sock"
	equals "$(echo own | socat -t 10 - "UNIX-CONNECT:$LIMA_HOME/own.sock")" OWN
}

@test "sockets and ports lead to each other; a relative path lies below sock/, private unless it says otherwise" {
	local one two
	one=$(free_port)
	two=$(free_port)
	template a <<-YAML
		- {guestSocket: $LIMA_HOME/g.sock, hostPort: $one}
		- {guestPort: $two, hostSocket: app/p.sock}
		- {guestSocket: $LIMA_HOME/g.sock, hostSocket: $LIMA_HOME/wide.sock, socket: {mode: "0660", group: daemon}}
	YAML
	start a
	guest sh -c "socat UNIX-LISTEN:$LIMA_HOME/g.sock,fork SYSTEM:'echo from the guest' >/dev/null 2>&1 &"
	wait_until 5 test -S "$LIMA_HOME/g.sock"
	in_guest echo "$two"
	equals "$(socat -t 10 - "TCP:127.0.0.1:$one" </dev/null)" "from the guest"
	equals "$(socat -t 10 - "UNIX-CONNECT:$LIMA_HOME/wide.sock" </dev/null)" "from the guest"
	answers() { [ "$(echo x | socat -t 10 - "UNIX-CONNECT:$LIMA_HOME/a/sock/app/p.sock")" = x ]; }
	wait_until 5 answers
	equals "$(stat -c '%a' "$LIMA_HOME/a/sock/app/p.sock" "$LIMA_HOME/a/sock/app" | xargs)" "600 700"
	equals "$(stat -c '%a %G' "$LIMA_HOME/wide.sock")" "660 daemon"
	# The port that has a socket is not forwarded as a port too.
	closed_port "$two"
}

@test "static: open before and after the guest's program, also when plain" {
	local port
	port=$(free_port)
	template a <<-YAML
		- {guestPort: 23100, hostPort: $port, static: true}
		- {guestPort: 23101, hostPort: $((port + 1))}
	YAML
	# Lean: our agent is the first program of a plain guest too.
	echo "plain: true" >>"$LIMA_HOME/a.yaml"
	start a
	wait_until 5 open_port "$port"
	run -1 bash -c "exec 3<>/dev/tcp/127.0.0.1/$port && cat <&3"
	contains "$output" "Connection reset by peer"
	in_guest echo 23100
	in_guest echo 23101
	answers() { [ "$(echo x | socat -t 10 - "TCP:127.0.0.1:$port")" = x ]; }
	wait_until 5 answers
	closed_port $((port + 1))
	closed_port 23101
	equals "$(ss -Htln "sport = :$port" | wc -l)" 1
}

# forwards INSTANCE FILTER: what GET /v1/forwards has, one a line
forwards() { control "$1" GET forwards | jq -r ".forwards[] | $2"; }
# port_events INSTANCE TYPE PORT: how many event lines say that of a host port
port_events() {
	jq -rs --arg type "$2" --arg port ":$3" '[.[].status.portForward | select(. != null) |
		select(.type == $type and (.hostAddr | endswith($port)))] | length' "$LIMA_HOME/$1/ha.stdout.log"
}

@test "every forward has a state and counts what goes through it; watch tells of all of it" {
	local port
	port=$(free_port)
	template a <<-YAML
		- {guestPort: 23100, hostPort: $port}
		- {guestSocket: $LIMA_HOME/g.sock, hostSocket: g.sock}
	YAML
	start a
	limactl-c watch --json a >"$LIMA_HOME/json" 2>/dev/null 3>&- &
	HOLDER=$!
	limactl-c watch >"$LIMA_HOME/text" 2>/dev/null 3>&- &
	local text=$!
	# What is there already is told first.
	wait_until 5 grep -q "forwarding unix $LIMA_HOME/g.sock to $LIMA_HOME/a/sock/g.sock" "$LIMA_HOME/text"
	wait_until 5 grep -q '"instance":"a","event":{"time":' "$LIMA_HOME/json"
	in_guest echo 23100
	wait_until 5 open_port "$port"
	equals "$(printf 12345678 | socat -t 10 - "TCP:127.0.0.1:$port")" 12345678
	counted() { [ "$(forwards a 'select(.protocol == "tcp") | "\(.state) \(.connections) \(.connectionsTotal) \(.bytesToGuest) \(.bytesToHost)"')" = "forwarding 0 $1 8 8" ]; }
	wait_until 5 counted 2
	wait_until 5 grep -q "a | forwarding tcp 0.0.0.0:23100 to 127.0.0.1:$port" "$LIMA_HOME/text"
	guest pkill -x -f "$HELPER echo 23100"
	wait_until 5 grep -q "a | stopping forwarding tcp 0.0.0.0:23100 (connections: 0 now, 2 in all; bytes: 8 to the guest, 8 to the host)" \
		"$LIMA_HOME/text"
	jq -es 'any(.event.status.portForward | .type == "stopping" and .bytesToGuest == 8)' "$LIMA_HOME/json"
	# Stopped and started again, and one that was not there before: the same call goes on telling.
	limactl-c stop a
	wait_until 5 grep -q "a | exiting" "$LIMA_HOME/text"
	limactl-c start a
	limactl-c start --tty=false --name=late "$LIMA_HOME/fake.yaml"
	wait_until 5 grep -q "late | running" "$LIMA_HOME/text"
	wait_until 5 grep -q "a | running" "$LIMA_HOME/text"
	kill "$HOLDER" "$text"
	# Nothing twice.
	equals "$(grep -c "a | exiting" "$LIMA_HOME/text")" 1
	equals "$(grep -c "late | running" "$LIMA_HOME/text")" 1
	run -124 timeout 2 limactl-c watch --history late
	contains "$output" "late | running"
	run -1 limactl-c watch nobody
	contains "$output" 'does not exist (there are: a, late)'
}

@test "a collision is one warning, seen by list and events, and heals within 2 s; a second instance likewise" {
	local port i
	port=$(free_port)
	template a <<-YAML
		- {guestPort: 23100, hostPort: $port}
	YAML
	cp "$LIMA_HOME/a.yaml" "$LIMA_HOME/b.yaml"
	python3 -c "
import socket, time
s = [socket.create_server(('127.0.0.1', $port)), socket.create_server(('::1', $port), family=socket.AF_INET6)]
time.sleep(60)" 3>&- &
	HOLDER=$!
	wait_until 5 open_port "$port"
	start a
	in_guest echo 23100 ::
	told() { [ "$(port_events a failed "$port")" -ge 1 ]; }
	wait_until 5 told
	# Other ports come and go meanwhile: it is tried again and not told again.
	for i in 1 2 3; do in_guest echo $((23110 + i)); wait_until 5 open_port $((23110 + i)); done
	equals "$(port_events a failed "$port")" 1
	equals "$(grep -c "not forwarding TCP.*:$port" "$LIMA_HOME/a/ha.stderr.log")" 1
	equals "$(limactl-c list --json a | jq -r "[.portForwards[] | select(.state == \"failed\") | .error] | unique[]")" \
		"Address already in use"
	contains "$(limactl-c list --json a | jq -r '.errors[]')" "is not forwarded to 127.0.0.1:$port: Address already in use"
	kill "$HOLDER"
	healed() { [ "$(echo x | socat -t 2 - "TCP:127.0.0.1:$port")" = x ] && [ "$(echo x | socat -t 2 - "TCP6:[::1]:$port")" = x ]; }
	wait_until 3 healed
	equals "$(limactl-c list --json a | jq -c .errors)" null
	start b
	limactl-c shell b sh -c "$HELPER half 23100 >/dev/null 2>&1 &"
	taken() { [ "$(port_events b failed "$port")" = 1 ]; }
	wait_until 5 taken
	limactl-c stop a
	answered() { [ "$(echo 12345 | socat -t 2 - "TCP:127.0.0.1:$port")" = "GOT 6" ]; }
	wait_until 3 answered
}

# listening PORT: where something listens there, "127.0.0.1 ::1", sorted
listening() { ss -Htuln "sport = :$1" | awk '{ sub(/:[0-9]+$/, "", $5); gsub(/[][]/, "", $5); print $5 }' | sort -u | xargs; }
listens() { [ "$(listening "$1")" = "$2" ]; }
# The guest's programs, then what the host makes of them.
case_10() {
	guest sh -c "socat TCP-LISTEN:27010,bind=127.0.0.1,fork EXEC:cat >/dev/null 2>&1 &"
	in_guest echo 27011
	in_guest echo 27012 ::
	[ "$1" = any ] || in_guest udp 68 # there the rule itself asks for it
}

@test "who may see the port: addresses, ignore, an empty list" {
	local name
	template none <<<"" && sed -i '/^portForwards:/d' "$LIMA_HOME/none.yaml"
	template ignore <<<"- {guestPortRange: [1, 65535], ignore: true}"
	template any <<<'- {guestIP: "0.0.0.0", guestIPMustBeZero: true, guestPortRange: [1, 65535], hostIP: "0.0.0.0"}'
	template six <<<'- {guestPort: 27012, hostIP: "::1"}'
	sed 's/^guest:/portForwards: []\n&/' "$LIMA_HOME/fake.yaml" >"$LIMA_HOME/empty.yaml"
	run -0 limactl-c validate "$LIMA_HOME/empty.yaml"
	contains "$output" "forwards every port of the guest; write [{guestPortRange: [1, 65535], ignore: true}] to forward none"
	for name in none empty ignore any six; do
		cp "$LIMA_HOME/$name.yaml" "$LIMA_HOME/a.yaml"
		start a
		case_10 $name
		case $name in
		none | empty)
			wait_until 5 listens 27012 "127.0.0.1 ::1"
			wait_until 5 listens 27011 127.0.0.1
			wait_until 5 listens 27010 127.0.0.1
			;;
		ignore)
			# Nothing is to come: what came last has been seen when the guest has all of it.
			wait_until 5 guest sh -c 'ss -Htuln | grep -q :27012 && ss -Htuln | grep -q :68'
			guest true
			for port in 27010 27011 27012; do listens $port ""; done
			;;
		any)
			wait_until 5 listens 27011 0.0.0.0
			wait_until 5 listens 27010 127.0.0.1
			wait_until 5 listens 27012 "0.0.0.0 ::"
			;;
		six)
			wait_until 5 listens 27012 ::1
			equals "$(echo x | socat -t 5 - "TCP6:[::1]:27012")" x
			;;
		esac
		equals "$(forwards a 'select(.hostAddr | endswith(":68"))')" ""
		limactl-c stop -f a
		limactl-c delete -f a
	done
}

@test "0.0.0.0 and [::] of one port: one listener on 127.0.0.1 and one on ::1, also after 100 times" {
	template a <<<"" && sed -i '/^portForwards:/d' "$LIMA_HOME/a.yaml"
	start a
	guest sh -c "i=0; while [ \$i -lt 100 ]; do $HELPER echo 27020 & a=\$!; $HELPER echo 27020 :: & b=\$!; sleep 0.01
		kill \$a \$b; wait \$a \$b; i=\$((i + 1)); done 2>/dev/null"
	wait_until 5 listens 27020 ""
	in_guest echo 27020
	in_guest echo 27020 ::
	wait_until 5 listens 27020 "127.0.0.1 ::1"
	equals "$(ss -Htln "sport = :27020" | wc -l)" 2
	equals "$(echo x | socat -t 5 - TCP:127.0.0.1:27020)" x
	equals "$(echo x | socat -t 5 - "TCP6:[::1]:27020")" x
}
