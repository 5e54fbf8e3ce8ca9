# cloud.bash - an instance `box` with a seed volume, and what that does to a guest's root (cloud-root).
# shellcheck source=tests/helpers/cli.bash
. "$(dirname "${BASH_SOURCE[0]}")/cli.bash"

# QEMU's driver, with which nothing is started; an empty disk; a key of the user's.
cloud_setup() {
	cli_setup
	unset LIMACTL_C_DRIVER
	truncate -s 1M "$LIMA_HOME/disk.img"
	mkdir "$LIMA_HOME/_config"
	echo 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB lima' >"$LIMA_HOME/_config/user.pub"
}

# The machine of a template; its user and what it provides are the test's.
box_template() {
	cat <<-YAML
		images: [{location: "$LIMA_HOME/disk.img"}]
		arch: x86_64
		firmware: {legacyBIOS: true}
		cpus: 1
		memory: 512MiB
		disk: 1GiB
		mounts: []
	YAML
}

make() { limactl-c create --tty=false --name box "$LIMA_HOME/box.yaml"; }

# in_guest COMMAND...: one after the other, in the guest's root. What they have written stays for the next ones.
in_guest() {
	unshare --mount --pid --net --uts --ipc --fork --kill-child --propagation private \
		"$BATS_TEST_DIRNAME/../helpers/cloud-root" "$LIMA_HOME/guest" "$LIMA_HOME/box/cidata.iso" "$@"
}
