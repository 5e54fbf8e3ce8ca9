# A real machine kept in a file while nobody uses it: what goes on when it is woken up, what cannot, and folders of the host.
bats_require_minimum_version 1.5.0
. "$BATS_TEST_DIRNAME/../helpers/vm.bash"

setup_file() {
	DOCKER=$(command -v docker || echo "${XDG_CACHE_HOME:-$HOME/.cache}/limactl-c/names/docker-client-x86_64")
	DOCKER_HOST=unix://$LIMA_HOME/vm/sock/docker.sock
	export DOCKER DOCKER_HOST
}
teardown_file() {
	vm_stop
	limactl-c delete -f s >/dev/null 2>&1 || true
}

ping_docker() { curl -sS -m 300 --unix-socket "$LIMA_HOME/vm/sock/docker.sock" http://docker/_ping; }
listed() { limactl-c list "$1" --format '{{.Status}}'; }
in_container() { "$DOCKER" exec "$@"; }
# What goes through the connection between the two containers comes back.
heard_by_client() { in_container client busybox sh -c "busybox grep -q $1 /out || { echo $1 >/in; busybox sleep 1; busybox grep -q $1 /out; }"; }

@test "suspended with silent followers, a session in a container, one between containers and exec -i: all of them go on" {
	vm_restore
	"$DOCKER" network create apart >/dev/null
	"$DOCKER" run -d --name server --network apart -p 18090:7000 -v /usr/local/bin/helper:/helper busybox /helper echo 7000 >/dev/null
	"$DOCKER" run -d --name client --network apart busybox busybox sh -c \
		'busybox mkfifo /in && exec 3<>/in && busybox nc server 7000 <&3 >/out' >/dev/null
	wait_until 20 heard_by_client before
	wait_until 20 open_port 18090
	exec 7<>/dev/tcp/127.0.0.1/18090
	echo one >&7
	equals "$(timeout 20 head -n 1 <&7)" one
	curl -sSN --unix-socket "$LIMA_HOME/vm/sock/docker.sock" http://docker/events >"$BATS_TEST_TMPDIR/events" 3>&- 7>&- &
	local events=$!
	mkfifo "$BATS_TEST_TMPDIR/in"
	"$DOCKER" exec -i client busybox cat <"$BATS_TEST_TMPDIR/in" >"$BATS_TEST_TMPDIR/out" 3>&- 7>&- &
	local session=$!
	exec 8>"$BATS_TEST_TMPDIR/in"
	echo first >&8
	wait_until 20 grep -q first "$BATS_TEST_TMPDIR/out"
	local machine
	machine=$(cat "$LIMA_HOME/vm/qemu.pid")
	for round in 1 2; do
		limactl-c suspend vm
		equals "$(listed vm)" Suspended
		gone "$machine"
		if [ $round = 1 ]; then
			equals "$(ping_docker)" OK
		else
			echo two >&7
			equals "$(timeout 60 head -n 1 <&7)" two
		fi
		machine=$(cat "$LIMA_HOME/vm/qemu.pid")
	done
	echo second >&8
	wait_until 20 grep -q second "$BATS_TEST_TMPDIR/out"
	exec 8>&-
	wait "$session"
	heard_by_client after || wait_until 20 heard_by_client after
	equals "$(in_container client busybox grep -c before /out)" 1
	"$DOCKER" rm -f server >/dev/null
	wait_until 20 grep -q '"die"' "$BATS_TEST_TMPDIR/events"
	kill "$events"
}

@test "woken up, its clock is right within the second, its random numbers are others, and it had got ready" {
	local before guest_now after
	vm_restore
	limactl-c suspend vm
	sleep 3 # which the guest is to miss
	limactl-c resume vm
	guest true
	before=$(date +%s%N)
	guest_now=$(guest helper now)
	after=$(date +%s%N)
	((guest_now > before / 1000 - 100000 && guest_now < after / 1000 + 100000))
	contains "$(guest dmesg)" "crng reseeded"
	contains "$(guest dmesg)" "drop_caches: 1"
}

@test "damaged while it is a file, the guest boots afresh for who comes, and has what was written" {
	vm_restore
	guest sudo sh -c 'echo kept >/root/kept'
	limactl-c suspend vm
	truncate -s 30000000 "$LIMA_HOME/vm/vm.state"
	equals "$(ping_docker)" OK
	wait_until 120 running
	contains "$(limactl-c list vm 2>&1)" "booted afresh"
	equals "$(guest sudo cat /root/kept)" kept
}
running() { [ "$(control vm GET status | jq -r .state)" = running ]; }

@test "one that QEMU itself refuses boots afresh too" {
	vm_restore
	limactl-c suspend vm
	printf 'nonsense' | dd of="$LIMA_HOME/vm/vm.state" bs=1 seek=100 conv=notrunc status=none
	limactl-c resume vm
	running
	contains "$(limactl-c list vm 2>&1)" "booted afresh"
	equals "$(ping_docker)" OK
}

@test "its host agent killed, start goes on with it, connections apart" {
	vm_restore
	guest sh -c 'sleep 1000 >/dev/null 2>&1 & echo $! >/tmp/pid'
	limactl-c suspend vm
	kill -9 "$(ha_pid vm)"
	wait_until 5 gone "$(ha_pid vm)"
	equals "$(listed vm)" Suspended
	limactl-c start vm
	guest sh -c 'kill -0 $(cat /tmp/pid)'
	equals "$(ping_docker)" OK
}

@test "folders by 9p: those that nobody uses are unmounted meanwhile; one in use keeps it from being suspended, which is said" {
	local dir=$BATS_FILE_TMPDIR/shared
	vm_stop
	mkdir -p "$dir"
	echo host >"$dir/file"
	{ alpine_template; echo "idle: {when: never}"; echo "mountInotify: true"
	  echo "mounts: [{location: $dir, mountPoint: /shared, writable: true}]"; } >"$LIMA_HOME/s.yaml"
	limactl-c start --tty=false --name=s "$LIMA_HOME/s.yaml"
	s() { limactl-c shell --workdir / s "$@"; }
	equals "$(s cat /shared/file)" host
	for round in 1 2; do
		limactl-c suspend s
		equals "$(listed s)" Suspended
		echo "$round" >"$dir/file"
		limactl-c resume s
		wait_until 10 shared_says "$round"
	done
	s sh -c 'cd /shared && sleep 1000 >/dev/null 2>&1 & echo $!' >"$BATS_TEST_TMPDIR/pid"
	run -1 limactl-c suspend s
	contains "$output" "/shared, a folder of the host, is in use"
	equals "$(listed s)" Running
	equals "$(s cat /shared/file)" 2
	s sudo kill "$(cat "$BATS_TEST_TMPDIR/pid")"
	limactl-c suspend s
	limactl-c start s
	wait_until 10 shared_says 2
}
shared_says() { [ "$(limactl-c shell --workdir / s cat /shared/file)" = "$1" ]; }
