# The main job: a real engine in the real guest, a real client on the host.
bats_require_minimum_version 1.5.0
. "$BATS_TEST_DIRNAME/../helpers/vm.bash"

setup_file() {
	vm_restore
	DOCKER=$(command -v docker || echo "${XDG_CACHE_HOME:-$HOME/.cache}/limactl-c/names/docker-client-x86_64")
	export DOCKER DOCKER_HOST=unix://$LIMA_HOME/vm/sock/docker.sock
}
teardown_file() { vm_stop; }

@test "docker.sock is private and answers" {
	equals "$(stat -c %a "$LIMA_HOME/vm/sock/docker.sock")" 600
	equals "$(stat -c %a "$LIMA_HOME/vm")" 700
	equals "$(curl -sS --unix-socket "$LIMA_HOME/vm/sock/docker.sock" http://docker/_ping)" OK
}

@test "docker run -p returned: the host port accepts; once the container listens its answer comes" {
	"$DOCKER" run -d --name web -p 8090:80 busybox /bin/busybox httpd -f -p 80 -h /www
	open_port 8090
	wait_until 30 "$DOCKER" exec web /bin/busybox wget -qO- http://127.0.0.1/
	equals "$(curl -sS http://127.0.0.1:8090/)" "hello from the container"
	equals "$(curl -sS 'http://[::1]:8090/')" "hello from the container"
}

@test "docker rm -f returned: another program can take the port" {
	"$DOCKER" rm -f web
	closed_port 8090
	# As servers do: connections that linger in TIME_WAIT are no obstacle for a socket with SO_REUSEADDR.
	python3 -c "import socket; socket.create_server(('127.0.0.1', 8090))"
}

@test "docker exec: output, exit status and end of input travel" {
	"$DOCKER" run -d --name idle busybox /bin/busybox sleep 1000
	run -7 "$DOCKER" exec idle /bin/sh -c 'echo out; exit 7'
	equals "$output" out
	equals "$(echo through | "$DOCKER" exec -i idle /bin/busybox cat)" through
	"$DOCKER" rm -f idle
}
