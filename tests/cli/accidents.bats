# What users and accidents leave behind or do at the same time: an answer in words, soon, and nothing lost.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup() { cli_setup; }
teardown() { cli_teardown; }

# soon COMMAND...: any exit status, but within three seconds.
soon() {
	run timeout -k 1 3 "$@"
	[ "$status" -lt 124 ] || {
		echo "hangs or crashes ($status): $*" >&2
		return 1
	}
}

@test "a pipe in place of a file of the folder hangs no command" {
	local file
	for file in lima.yaml plan.json ha.lock vm.lock ha.stdout.log ha.stderr.log driver.stderr.log lima-version; do
		limactl-c create --tty=false --name=a "$LIMA_HOME/fake.yaml"
		rm -f "$LIMA_HOME/a/$file"
		mkfifo "$LIMA_HOME/a/$file"
		soon limactl-c list
		soon limactl-c list --json
		soon limactl-c shell a -- true
		soon limactl-c start a
		soon limactl-c stop -f a
		soon limactl-c delete -f a
		equals "$status" 0
	done
}

@test "a template may come through a pipe" {
	run -0 limactl-c create --tty=false --name=a <(cat "$LIMA_HOME/fake.yaml")
}

@test "closed standard descriptors: no other file takes their place" {
	limactl-c start --tty=false --name=a "$LIMA_HOME/fake.yaml" >&- 2>&-
	contains "$(cat "$LIMA_HOME/a/ha.stdout.log")" '"running":true'
	contains "$(cat "$LIMA_HOME/a/ha.stderr.log")" '"msg"'
	run -0 timeout 3 bash -c 'limactl-c shell a -- cat <&-'
	equals "$output" ""
	run -0 timeout 3 bash -c 'limactl-c shell a -- echo hi <&-'
	equals "$output" hi
	run ! timeout 3 bash -c 'limactl-c list >&-'
	contains "$output" "standard output"
	run ! timeout 3 bash -c 'limactl-c create --tty=false --name=b - <&-'
	contains "$output" "standard input"
}
