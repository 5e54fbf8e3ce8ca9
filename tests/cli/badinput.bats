# Bad input: one clear sentence, a non-zero exit, nothing left behind, nothing lost.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup() { cli_setup; }
teardown() { cli_teardown; }

nothing_left() {
	equals "$(find "$LIMA_HOME" -mindepth 1 -maxdepth 1 ! -name '*.yaml' ! -name '.cache' ! -name '_*')" ""
}

@test "missing and unreadable template" {
	run -1 limactl-c start --tty=false "$LIMA_HOME/none.yaml"
	contains "$output" none.yaml
	mkdir "$LIMA_HOME/dir.yaml"
	run -1 limactl-c start --tty=false "$LIMA_HOME/dir.yaml"
	contains "$output" dir.yaml
	install -m 600 /dev/null "$LIMA_HOME/secret.yaml"
	chmod 711 "$LIMA_HOME"
	run -1 setpriv --reuid 1000 --regid 1000 --clear-groups -- env HOME=/tmp/nobody limactl-c validate "$LIMA_HOME/secret.yaml"
	contains "$output" "Permission denied"
	run -1 limactl-c start --tty=false template:no-such
	contains "$output" minimal-docker
	nothing_left
}

@test "YAML syntax error: file, line and column" {
	printf 'cpus: 2\nmemory: [1\n' >"$LIMA_HOME/bad.yaml"
	run -1 limactl-c start --tty=false "$LIMA_HOME/bad.yaml"
	[[ $output =~ bad\.yaml:[0-9]+:[0-9]+: ]]
	nothing_left
}

@test "a typo does not hide the real mistake" {
	cat >"$LIMA_HOME/typo.yaml" <<-'YAML'
		images: [{location: "/srv/test/alpine.img"}]
		memroy: "1GiB"
		vmOpts: {qemu: {cpuTyp: "host"}}
		vmType: qemuu
		cpus: 2
		cpus: 4
	YAML
	run -1 limactl-c validate "$LIMA_HOME/typo.yaml"
	contains "$output" memroy
	contains "$output" 'memory'
	contains "$output" cpuTyp
	contains "$output" qemuu
	contains "$output" "typo.yaml:6:1"
	contains "$output" "line 5"
}

@test "unknown instance" {
	local cmd
	for cmd in "start" "stop" "shell" "restart"; do
		run -1 limactl-c $cmd nope
		contains "$output" nope
	done
	nothing_left
}

@test "name already taken" {
	limactl-c create --tty=false --name=a "$LIMA_HOME/fake.yaml"
	run -1 limactl-c create --tty=false --name=a "$LIMA_HOME/fake.yaml"
	contains "$output" a
	equals "$(limactl-c list -q)" a
}

@test "bad names" {
	local name
	for name in "a b" "../x" "-x" "x." "a.yaml" "$(printf 'x%.0s' {1..80})"; do
		run ! limactl-c create --tty=false --name="$name" "$LIMA_HOME/fake.yaml"
	done
	nothing_left
}

qemu_yaml() {
	cat >"$LIMA_HOME/q.yaml" <<-YAML
		images:
		- location: "$1"
		  digest: "$2"
		  kernel: {location: "$LIMA_HOME/kernel.yaml"}
		  initrd: {location: "$LIMA_HOME/kernel.yaml"}
		memory: 256MiB
		disk: 1GiB
		cpus: 1
		guest: {init: lean}
	YAML
	[ -n "$2" ] || sed -i '/digest/d' "$LIMA_HOME/q.yaml"
	touch "$LIMA_HOME/kernel.yaml"
	unset LIMACTL_C_DRIVER
}

@test "missing image" {
	qemu_yaml "$LIMA_HOME/no-such.qcow2" ""
	run -1 limactl-c create --tty=false --name=a "$LIMA_HOME/q.yaml"
	contains "$output" no-such.qcow2
	nothing_left
	qemu_yaml cache:no-such ""
	run -1 limactl-c create --tty=false --name=a "$LIMA_HOME/q.yaml"
	contains "$output" "make image"
	nothing_left
}

@test "wrong digest" {
	qemu-img create -q -f qcow2 "$LIMA_HOME/i.yaml" 10M
	qemu_yaml "$LIMA_HOME/i.yaml" "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	run -1 limactl-c create --tty=false --name=a "$LIMA_HOME/q.yaml"
	contains "$output" sha256
	nothing_left
}

@test "QEMU not installed, and QEMU dying at once: its own words are shown" {
	qemu-img create -q -f qcow2 "$LIMA_HOME/i.yaml" 10M
	qemu_yaml "$LIMA_HOME/i.yaml" ""
	limactl-c create --tty=false --name=a "$LIMA_HOME/q.yaml"
	QEMU_SYSTEM_X86_64=/no/such/qemu run -1 limactl-c start a
	contains "$output" /no/such/qemu
	equals "$(limactl-c list --json | jq -r .status)" Stopped
	printf '#!/bin/sh\necho "qemu: the hypervisor of doom is missing" >&2\nexit 1\n' >"$LIMA_HOME/dying.yaml"
	chmod +x "$LIMA_HOME/dying.yaml"
	QEMU_SYSTEM_X86_64=$LIMA_HOME/dying.yaml run -1 limactl-c start a
	contains "$output" "hypervisor of doom"
	equals "$(limactl-c list --json | jq -r .status)" Stopped
	equals "$(find "$LIMA_HOME/a" -type s)" ""
}

@test "no free disk" {
	mkdir "$LIMA_HOME/_full"
	mount -t tmpfs -o size=64k tmpfs "$LIMA_HOME/_full"
	dd if=/dev/zero of="$LIMA_HOME/_full/fill" bs=4k 2>/dev/null || true
	LIMA_HOME=$LIMA_HOME/_full run ! limactl-c create --tty=false --name=a "$LIMA_HOME/fake.yaml"
	umount "$LIMA_HOME/_full"
	contains "$output" "space"
}

@test "socket path too long: said at create, with the number of bytes" {
	local deep=$LIMA_HOME/_$(printf 'd%.0s' {1..90})
	mkdir "$deep"
	LIMA_HOME=$deep run -1 limactl-c create --tty=false --name=a "$LIMA_HOME/fake.yaml"
	contains "$output" bytes
	equals "$(ls "$deep")" ""
}

@test "Ctrl-C during start: the created instance stays, Stopped" {
	sed 's/^guest:.*/guest: {init: lean}\nportForwards: [{guestSocket: \/run\/never\/docker.sock, hostSocket: docker.sock}]/' \
		"$LIMA_HOME/fake.yaml" >"$LIMA_HOME/waits.yaml"
	limactl-c start --tty=false --name=a "$LIMA_HOME/waits.yaml" &
	local job=$!
	wait_until 20 test -S "$LIMA_HOME/a/ha.sock"
	kill -INT "$job"
	local code=0
	wait "$job" || code=$?
	((code != 0))
	stopped() { [ "$(limactl-c list --json | jq -r .status)" = Stopped ]; }
	wait_until 20 stopped
}

@test "a start that takes too long names the stage it waited for and leaves no machine" {
	sed 's/^guest:.*/guest: {init: lean}\nportForwards: [{guestSocket: \/run\/never\/docker.sock, hostSocket: docker.sock}]/' \
		"$LIMA_HOME/fake.yaml" >"$LIMA_HOME/waits.yaml"
	run -1 limactl-c start --tty=false --timeout=2s --name=a "$LIMA_HOME/waits.yaml"
	contains "$output" docker.sock
	equals "$(limactl-c list --json | jq -r .status)" Stopped
}

@test "start killed: never a lasting Starting, the next start works" {
	limactl-c start --tty=false --name=a "$LIMA_HOME/fake.yaml" &
	local job=$!
	wait_until 20 test -e "$LIMA_HOME/a/lima.yaml"
	kill -9 "$job" || true # it may be that fast
	wait "$job" || true
	settled() { [[ $(limactl-c list --json | jq -r .status) =~ ^(Running|Stopped)$ ]]; }
	wait_until 5 settled
	run -0 limactl-c start a
}

@test "a host agent that stands still: start says so within 3 s, stop -f ends it" {
	limactl-c start --tty=false --name=a "$LIMA_HOME/fake.yaml"
	kill -STOP "$(ha_pid a)"
	run -1 timeout 3 limactl-c start a
	contains "$output" "stop -f a"
	run -0 limactl-c stop -f a
	equals "$(limactl-c list --json | jq -r .status)" Stopped
}
