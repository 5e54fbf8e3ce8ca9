# Names: the guest (a native agent in a network namespace of its own) asks its name server, which asks this host's own
# resolver. The host agent runs in a namespace where resolv.conf, hosts and nsswitch.conf are the test's, with two name
# servers that know different things.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup_file() {
	cli_setup
	H=$LIMA_HOME/host
	mkdir "$H"
	printf 'nameserver 127.0.0.2\noptions timeout:2 attempts:1\n' >"$H/resolv.conf"
	printf '127.0.0.1 localhost\n192.0.2.77 only.hosts\n' >"$H/hosts"
	printf 'hosts: files dns\n' >"$H/nsswitch.conf"
	# A host of its own: every command of the test runs in it.
	unshare --net --mount --propagation private sh -c '
		ip link set lo up
		for f in resolv.conf hosts nsswitch.conf; do mount --bind "$1/$f" "/etc/$f" || exit 1; done
		echo $$ >"$1/pid"; exec sleep infinity' sh "$H" 3>&- &
	wait_until 10 test -s "$H/pid"
	export H
	server 127.0.0.2 \
		web.test=A=192.0.2.1 web.test=AAAA=fd00::1 mail.test='MX=10 mx' mail.test=A=192.0.2.2 big.test='TXT*1200=' \
		many.test='A*40=' _x._tcp.test='SRV=1 2 80 web.test' alias.test=CNAME=web.test alias.test=A=192.0.2.1 \
		moved.test=A=192.0.2.10 1.2.0.192.in-addr.arpa=PTR=web.test
	server 127.0.0.3 moved.test=A=192.0.2.20
	cat >>"$LIMA_HOME/fake.yaml" <<-'YAML'
		hostResolver:
		  hosts: {db.test: 192.0.2.7, near.test: db.test, far.test: web.test, six.test: "fd00::7"}
	YAML
	sed 's/^hostResolver:/&\n  ipv6: true/' "$LIMA_HOME/fake.yaml" >"$LIMA_HOME/six.yaml"
	sed 's/^hostResolver:/dns: [192.0.2.53]\n&\n  enabled: false/' "$LIMA_HOME/fake.yaml" >"$LIMA_HOME/off.yaml"
	wait_until 10 on_host python3 "$BATS_TEST_DIRNAME/../helpers/dns.py" ask 127.0.0.2 web.test A
	wait_until 10 on_host python3 "$BATS_TEST_DIRNAME/../helpers/dns.py" ask 127.0.0.3 moved.test A
	on_host limactl-c start --tty=false --name=a "$LIMA_HOME/fake.yaml"
}
teardown_file() {
	on_host limactl-c stop -f a || true
	on_host limactl-c stop -f b || true
	xargs kill <"$H/servers" || true
	kill "$(cat "$H/pid")" || true
	cli_teardown
}

# server ADDRESS ENTRY...: by helpers/dns.py.
server() {
	nsenter -t "$(cat "$H/pid")" -n python3 "$BATS_TEST_DIRNAME/../helpers/dns.py" serve "$@" 3>&- &
	echo $! >>"$H/servers"
}
on_host() { nsenter -t "$(cat "$H/pid")" -n -m -r --wd="$PWD" "$@"; }
agent_pid() { on_host curl -sS --unix-socket "$LIMA_HOME/$1/ha.sock" http://lima/v1/status | jq -r .agent.pid; }
# The resolver of an instance; nothing while there is none.
resolver() { pgrep -P "$(pgrep -P "$(ha_pid "$1")" | head -n 1)" resolver; }
asks() { nsenter -t "$(agent_pid "$1")" -n python3 "$BATS_TEST_DIRNAME/../helpers/dns.py" ask 10.0.2.3 "${@:2}"; }

# answers NAME TYPE...: what the guest gets; the first line is what is said of it.
answers() {
	run -0 asks a "$@"
	output=$(sed 's/  */ /g; s/ size=.*//' <<<"$output")
}

@test "the name server of the guest is no port of the host's" {
	ports() { on_host curl -sS --unix-socket "$LIMA_HOME/a/ha.sock" http://lima/v1/status | jq -c '[.ports[].guestAddr]'; }
	answers db.test A
	# As soon as a port that came later is told, everything before it was.
	on_host limactl-c shell a sh -c 'python3 -m http.server 8053 >/dev/null 2>&1 & echo $!' >"$BATS_TEST_TMPDIR/pid"
	told() { [[ $(ports) == *:8053* ]]; }
	wait_until 20 told
	equals "$(ports)" '["0.0.0.0:8053"]'
	kill "$(cat "$BATS_TEST_TMPDIR/pid")"
}

@test "names of the template and of the host, as addresses" {
	answers db.test A
	equals "$output" $'NOERROR RA edns=0\ndb.test 5 A 192.0.2.7'
	answers near.test A
	equals "$output" $'NOERROR RA edns=0\nnear.test 5 A 192.0.2.7'
	answers far.test A
	equals "$output" $'NOERROR RA edns=0\nfar.test 5 CNAME web.test\nweb.test 5 A 192.0.2.1'
	local name
	for name in host.lima.internal host.docker.internal gateway.docker.internal; do
		answers $name A
		equals "$output" $'NOERROR RA edns=0\n'"$name 5 A 10.0.2.2"
	done
	answers lima-a A
	contains "$output" "lima-a 5 A 10.0.2.15"
	answers 2.2.0.10.in-addr.arpa PTR
	contains "$output" "PTR host.lima.internal"
}

@test "what the host resolves: its hosts file, its name server; what it does not is told as it is" {
	answers only.hosts A
	equals "$output" $'NOERROR RA edns=0\nonly.hosts 5 A 192.0.2.77'
	answers only.hosts MX
	equals "$output" "NOERROR RA edns=0"
	answers WEB.test A
	equals "$output" $'NOERROR RA edns=0\nWEB.test 5 A 192.0.2.1'
	answers 1.2.0.192.in-addr.arpa PTR
	contains "$output" "PTR web.test"
	answers gone.test A
	equals "$output" "NXDOMAIN RA edns=0"
	answers gone.test TXT
	equals "$output" "NXDOMAIN RA edns=0"
	answers big.test A
	equals "$output" "NOERROR RA edns=0"
	answers web.test MX
	equals "$output" "NOERROR RA edns=0"
	answers web.test AXFR
	equals "$output" "REFUSED RA edns=0"
}

@test "MX, SRV, CNAME; a TXT of 1200 bytes and 40 addresses by TCP, and by a datagram that is large enough" {
	answers mail.test MX
	contains "$output" "MX 10 mx.mail.test"
	answers _x._tcp.test SRV
	contains "$output" "SRV 1 2 80 web.test"
	answers alias.test CNAME
	contains "$output" "CNAME web.test"
	answers big.test TXT
	equals "$output" "NOERROR TC RA edns=0"
	answers big.test TXT tcp
	contains "$output" "TXT 1200 characters"
	answers big.test TXT edns=1500
	equals "$(head -n 1 <<<"$output")" "NOERROR RA edns=1"
	contains "$output" "TXT 1200 characters"
	# As many whole addresses as there is room for, and word that there are more.
	answers many.test A
	equals "$(head -n 1 <<<"$output")" "NOERROR TC RA edns=0"
	equals "$(grep -c 192.0.2. <<<"$output")" 30
	answers many.test A tcp
	equals "$(head -n 1 <<<"$output")" "NOERROR RA edns=0"
	equals "$(grep -c 192.0.2. <<<"$output")" 40
}

@test "IPv6 addresses only where the template wants them; another name server without asking; off" {
	answers web.test AAAA
	equals "$output" "NOERROR RA edns=0"
	answers six.test AAAA
	equals "$output" "NOERROR RA edns=0"
	on_host limactl-c start --tty=false --name=b "$LIMA_HOME/six.yaml"
	contains "$(asks b web.test AAAA)" "AAAA fd00::1"
	contains "$(asks b six.test AAAA)" "AAAA fd00::7"
	on_host limactl-c delete -f b
	on_host limactl-c start --tty=false --name=b "$LIMA_HOME/off.yaml"
	on_host limactl-c shell b true
	run nsenter -t "$(agent_pid b)" -n ip -br link show lima-dns
	contains "$output" "does not exist"
	on_host limactl-c delete -f b
}

@test "the host's resolv.conf changes: the next question goes to the new name server" {
	answers moved.test A
	contains "$output" "A 192.0.2.10"
	# In place: it is mounted there.
	sed 's/127.0.0.2/127.0.0.3/' "$H/resolv.conf" >"$H/new"
	cat "$H/new" >"$H/resolv.conf"
	answers moved.test A
	contains "$output" "A 192.0.2.20"
	answers moved.test MX
	equals "$output" "NOERROR RA edns=0"
	answers web.test A
	equals "$output" "NXDOMAIN RA edns=0"
	# Nobody answers at all.
	sed 's/127.0.0.2/127.0.0.4/; s/timeout:2/timeout:1/' "$H/resolv.conf" | sed 's/127.0.0.3/127.0.0.4/' >"$H/new"
	cat "$H/new" >"$H/resolv.conf"
	answers moved.test A
	equals "$output" "SERVFAIL RA edns=0"
	answers db.test A
	contains "$output" "A 192.0.2.7"
	printf 'nameserver 127.0.0.2\noptions timeout:2 attempts:1\n' >"$H/resolv.conf"
	answers moved.test A
	contains "$output" "A 192.0.2.10"
}

@test "200 questions at once, by UDP and by one TCP connection" {
	answers web.test A many=200
	contains "$output" "web.test 5 A 192.0.2.1"
	answers web.test A tcp many=200
	contains "$output" "web.test 5 A 192.0.2.1"
}

@test "resolver, host agent and guest agent killed: names are answered again" {
	local pid guest
	answers web.test A
	pid=$(resolver a)
	kill -9 "$pid"
	again() { asks a web.test A | grep -q "A 192.0.2.1"; }
	wait_until 10 again
	guest=$(agent_pid a)
	route() { nsenter -t "$guest" -n ip route show to exact 10.0.2.3; }
	contains "$(route)" lima-dns
	kill -9 "$(ha_pid a)"
	wait_until 10 gone "$pid"
	# The network's own name server has its address back until the next host agent is there.
	away() { [ -z "$(route)" ]; }
	wait_until 10 away
	on_host limactl-c start a
	answers db.test A
	contains "$output" "A 192.0.2.7"
	# With the agent goes the address: nothing of ours is left in the way of the network's own name server.
	nsenter -t "$(agent_pid a)" -n ip -br link show lima-dns
}

@test "bytes that are no question: no answer, or that they are malformed, and everything goes on" {
	nsenter -t "$(agent_pid a)" -n python3 - <<-'PY'
		import os, random, socket
		random.seed(6)
		u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		u.connect(("10.0.2.3", 53))
		for n in list(range(0, 40)) * 20:
		    u.send(random.randbytes(n))
		for i in range(100):
		    t = socket.create_connection(("10.0.2.3", 53), 10)
		    t.sendall(random.randbytes(random.randrange(1, 2000)))
		    t.close() if i % 2 else t.shutdown(socket.SHUT_WR)
		# 64 connections at most, the next are closed at once; a question in pieces is one.
		held = [socket.create_connection(("10.0.2.3", 53), 10) for _ in range(80)]
		for t in held[:60]:
		    t.close()
	PY
	answers web.test A
	contains "$output" "A 192.0.2.1"
	answers web.test A tcp
	contains "$output" "A 192.0.2.1"
}
