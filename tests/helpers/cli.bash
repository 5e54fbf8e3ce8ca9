# cli.bash - the real programs on the fake driver: the native guest agent, in a network namespace of its own, is "the VM".
bats_require_minimum_version 1.5.0
. "$BATS_TEST_DIRNAME/../helpers/common.bash"

cli_setup() {
	# Short on purpose: a unix socket path has at most 107 bytes.
	LIMA_HOME=$(mktemp -d /tmp/lc.XXXX)
	export LIMA_HOME LIMACTL_C_DRIVER=fake
	export XDG_CACHE_HOME=$LIMA_HOME/.cache
	cat >"$LIMA_HOME/fake.yaml" <<-'YAML'
		vmType: fake
		images: [{location: "/dev/null"}]
		cpus: 1
		memory: 512MiB
		disk: 1GiB
		guest: {init: lean}
		tuning: {fstrim: []}
		idle: {when: never}
	YAML
}

# Stops what still runs there; nothing a test started outlives it.
cli_teardown() {
	local dir
	for dir in "$LIMA_HOME"/*/; do
		[ -e "$dir/ha.lock" ] || continue
		limactl-c stop -f "$(basename "$dir")" >/dev/null 2>&1 || true
	done
	rm -rf "$LIMA_HOME"
}
