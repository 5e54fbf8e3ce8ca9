# Ports that only a packet filter rule publishes: the native agent's network namespace with a "container" behind a veth
# pair and the rule that CNI's portmap makes.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup() { cli_setup; }
teardown() {
	kill "$(cat "$LIMA_HOME/.container" 2>/dev/null)" 2>/dev/null || true
	cli_teardown
}

# in_guest COMMAND...: in the agent's network namespace.
in_guest() { nsenter -t "$(limactl-c list one --format '{{.DriverPID}}')" -n "$@"; }

# A network namespace at 10.4.0.2 where something answers on TCP and UDP port 80.
container() {
	unshare -n python3 -c '
import socket, threading
def udp():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("", 80))
    while True:
        d, a = s.recvfrom(2048); s.sendto(b"the container got " + d, a)
threading.Thread(target=udp, daemon=True).start()
l = socket.create_server(("", 80))
while True:
    c = l.accept()[0]; c.sendall(b"the container\n"); c.close()' 3>&- &
	echo $! >"$LIMA_HOME/.container"
	wait_until 10 other_net $!
	in_guest ip link set lo up
	in_guest ip link add veth0 type veth peer name eth0 netns $!
	in_guest ip addr add 10.4.0.1/24 dev veth0
	in_guest ip link set veth0 up
	nsenter -t $! -n ip addr add 10.4.0.2/24 dev eth0
	nsenter -t $! -n ip link set eth0 up
}

other_net() { [ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]; }
says() { [ "$(timeout 5 bash -c "exec 3<>/dev/tcp/127.0.0.1/$1 && cat <&3")" = "the container" ]; }
udp_says() { [ "$(echo hello | timeout 5 socat -t 2 - "UDP:127.0.0.1:$1")" = "the container got hello" ]; }

@test "a rule of nftables and rules of iptables publish ports, and take them back; what has a socket is left alone" {
	limactl-c start --tty=false --name=one "$LIMA_HOME/fake.yaml"
	container
	in_guest nft -f - <<-'NFT'
		table ip portmap {
			chain prerouting {
				type nat hook prerouting priority -100
				tcp dport 8080 dnat to 10.4.0.2:80
			}
		}
	NFT
	wait_until 5 says 8080
	# A command's exit status does not overtake the port it published.
	for port in 8084 8085 8086 8087; do
		limactl-c shell one nft add rule ip portmap prerouting tcp dport "$port" dnat to 10.4.0.2:80
		says "$port"
	done
	in_guest iptables-nft -t nat -N CNI-DN-1
	# No address of ours: a service of a cluster. It would be told before those that follow.
	in_guest iptables-nft -t nat -A CNI-DN-1 -d 10.43.0.1/32 -p tcp --dport 8083 -j DNAT --to-destination 10.4.0.2:80
	in_guest iptables-nft -t nat -A CNI-DN-1 -p tcp -m tcp --dport 8081 -j DNAT --to-destination 10.4.0.2:80
	in_guest iptables-nft -t nat -A CNI-DN-1 -p udp -m udp --dport 8082 -j DNAT --to-destination 10.4.0.2:80
	wait_until 5 says 8081
	wait_until 5 udp_says 8082
	run ! grep 8083 "$LIMA_HOME/one/ha.stdout.log"
	# dockerd's: the rule and a socket.
	nsenter -t "$(limactl-c list one --format '{{.DriverPID}}')" -n python3 -c '
import socket
l = socket.create_server(("", 8081))
while True:
    c = l.accept()[0]; c.sendall(b"the proxy\n"); c.close()' 3>&- &
	wait_until 5 by_proxy
	in_guest iptables-nft -t nat -F CNI-DN-1
	in_guest nft delete table ip portmap
	wait_until 5 closed_port 8080
	by_proxy
	kill $!
	wait_until 5 closed_port 8081
}

by_proxy() { [ "$(timeout 5 bash -c 'exec 3<>/dev/tcp/127.0.0.1/8081 && cat <&3')" = "the proxy" ]; }
