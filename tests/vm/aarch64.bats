# A guest of the other architecture, under emulation: its kernel unwrapped, our agent from the cross compiler.
bats_require_minimum_version 1.5.0
. "$BATS_TEST_DIRNAME/../helpers/vm.bash"

teardown() { limactl-c delete -f arm >/dev/null 2>&1 || true; }

@test "aarch64 boots lean to READY; its shell, disk and power button work" {
	[ "$(uname -m)" = x86_64 ] || skip "the host is of that architecture itself"
	"$BATS_TEST_DIRNAME/../../provision/image/make-cache" aarch64
	cat >"$BATS_TEST_TMPDIR/arm.yaml" <<-'YAML'
		arch: aarch64
		images:
		- location: cache:alpine-3.23-aarch64.qcow2
		  arch: aarch64
		  kernel: {location: "cache:alpine-3.23-aarch64.kernel"}
		  initrd: {location: "cache:alpine-3.23-aarch64.initrd"}
		cpus: 2
		memory: 512MiB
		disk: 2GiB
		user: {name: dev, uid: 1000, home: /home/dev}
		guest: {init: lean}
	YAML
	limactl-c start --tty=false --name=arm "$BATS_TEST_TMPDIR/arm.yaml"
	equals "$(limactl-c shell arm uname -m)" aarch64
	equals "$(limactl-c shell arm -- id -un)" dev
	(($(limactl-c shell arm df -k / | awk 'END { print $2 }') > 1800000))
	run -0 limactl-c stop arm
	[[ $output != *killed* ]]
}
