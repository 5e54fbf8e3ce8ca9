# Commands, exit codes and output as Lima's, on the fake driver.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup() { cli_setup; }
teardown() { cli_teardown; }

@test "--version and --help, everywhere" {
	run -0 limactl-c --version
	[[ $output =~ ^limactl-c\ version\ [0-9]+\.[0-9]+ ]]
	run -0 limactl-c --help
	local cmd
	for cmd in create start stop restart shell list delete validate; do
		contains "$output" "$cmd"
		run -0 --separate-stderr limactl-c "$cmd" --help
		contains "$output" "$cmd"
		equals "$stderr" ""
		run -0 limactl-c --help
	done
}

@test "an unknown command or flag is an error that says so" {
	run -1 limactl-c bogus
	contains "$output" bogus
	run -1 limactl-c list --bogus
	contains "$output" bogus
}

@test "create, list, start, stop, delete: one life" {
	run -0 limactl-c create --tty=false --name=a "$LIMA_HOME/fake.yaml"
	equals "$(limactl-c list -q)" a
	equals "$(limactl-c list --json | jq -r .status)" Stopped
	run -0 limactl-c start a
	contains "$output" READY
	equals "$(limactl-c list --json | jq -r .status)" Running
	run -0 limactl-c stop a
	equals "$(limactl-c list --json | jq -r .status)" Stopped
	run -0 limactl-c delete a
	[ ! -e "$LIMA_HOME/a" ]
}

@test "start makes the instance when given a file, names it after the file, and takes it from standard input" {
	cp "$LIMA_HOME/fake.yaml" "$LIMA_HOME/fromfile.yaml"
	run -0 limactl-c start --tty=false "$LIMA_HOME/fromfile.yaml"
	equals "$(limactl-c list -q)" fromfile
	limactl-c start --tty=false --name=piped - <"$LIMA_HOME/fake.yaml"
	equals "$(limactl-c list piped --json | jq -r .status)" Running
}

@test "flags end up in the instance's YAML, its comments kept" {
	{ echo "# kept comment"; cat "$LIMA_HOME/fake.yaml"; } >"$LIMA_HOME/c.yaml"
	limactl-c create --tty=false --name=a --cpus=3 --memory=1.5 --disk=7 "$LIMA_HOME/c.yaml"
	equals "$(limactl-c list a --json | jq -c '[.cpus, .memory, .disk]')" "[3,1610612736,7516192768]"
	contains "$(cat "$LIMA_HOME/a/lima.yaml")" "# kept comment"
}

@test "starting twice and stopping twice are said, and are no errors" {
	limactl-c start --tty=false --name=a "$LIMA_HOME/fake.yaml"
	run -0 limactl-c start a
	contains "$output" running
	limactl-c stop a
	run -0 limactl-c stop a
	contains "$output" "a"
}

@test "start --foreground stays until it is told to end, which stops the instance" {
	limactl-c start --tty=false --foreground --name=a "$LIMA_HOME/fake.yaml" &
	local job=$!
	running() { limactl-c list --json | jq -e '.status == "Running"' && control a GET status | jq -e '.state == "running"'; }
	wait_until 20 running
	kill -0 "$job"
	kill -TERM "$job"
	wait_until 20 gone "$job"
	equals "$(limactl-c list --json | jq -r .status)" Stopped
}

@test "restart" {
	limactl-c start --tty=false --name=a "$LIMA_HOME/fake.yaml"
	local before
	before=$(ha_pid a)
	run -0 limactl-c restart a
	[ "$(ha_pid a)" != "$before" ]
	equals "$(limactl-c list --json | jq -r .status)" Running
}

@test "list: one JSON object a line, Lima's fields, only data on stdout" {
	limactl-c create --tty=false --name=a "$LIMA_HOME/fake.yaml"
	limactl-c create --tty=false --name=b "$LIMA_HOME/fake.yaml"
	run -0 --separate-stderr limactl-c list --json
	equals "${#lines[@]}" 2
	local line
	for line in "${lines[@]}"; do
		jq -e 'has("name") and has("hostname") and has("status") and has("dir") and has("vmType") and has("arch") and
			has("cpus") and has("memory") and has("disk") and has("protected") and has("limaVersion")' <<<"$line"
	done
	run -0 limactl-c list
	contains "${lines[0]}" "NAME"
	contains "${lines[0]}" "STATUS"
	contains "${lines[0]}" "DIR"
}

@test "list: nothing there is no error; an unknown name is" {
	run -0 --separate-stderr limactl-c list
	equals "$output" ""
	run -1 limactl-c list nope
	contains "$output" nope
}

@test "list with rubble in the folder" {
	mkdir -p "$LIMA_HOME/half" "$LIMA_HOME/bad" "$LIMA_HOME/_disks"
	echo ': [' >"$LIMA_HOME/bad/lima.yaml"
	touch "$LIMA_HOME/.DS_Store" "$LIMA_HOME/note.txt"
	limactl-c create --tty=false --name=ok "$LIMA_HOME/fake.yaml"
	run -0 --separate-stderr limactl-c list --json
	jq -es 'map(select(.name == "ok")) | length == 1' <<<"$output"
	equals "$(jq -rs 'map(select(.name == "bad" or .name == "half").status) | unique | join(",")' <<<"$output")" Broken
}

@test "delete: running is refused without -f, missing is a warning" {
	limactl-c start --tty=false --name=a "$LIMA_HOME/fake.yaml"
	run -1 limactl-c delete a
	[ -d "$LIMA_HOME/a" ]
	run -0 limactl-c delete -f a
	[ ! -e "$LIMA_HOME/a" ]
	run -0 limactl-c delete a
	contains "$output" a
}

@test "stop leaves no socket and no process behind" {
	limactl-c start --tty=false --name=a "$LIMA_HOME/fake.yaml"
	local pid
	pid=$(ha_pid a)
	limactl-c stop a
	equals "$(find "$LIMA_HOME/a" -type s)" ""
	wait_until 2 gone "$pid"
}

@test "events: Lima's lines, running when READY, at the end exiting" {
	limactl-c start --tty=false --name=a "$LIMA_HOME/fake.yaml"
	head -n 1 "$LIMA_HOME/a/ha.stdout.log" | jq -e '.time and .status'
	jq -es 'map(select(.status.running)) | length >= 1' "$LIMA_HOME/a/ha.stdout.log"
	limactl-c stop a
	tail -n 1 "$LIMA_HOME/a/ha.stdout.log" | jq -e .status.exiting
}

@test "ha.sock answers GET /v1/info" {
	limactl-c start --tty=false --name=a "$LIMA_HOME/fake.yaml"
	control a GET info | jq -e 'has("sshLocalPort")'
	equals "$(control a GET status | jq -r .state)" running
	run -0 curl -sS -o /dev/null -w '%{http_code}' --unix-socket "$LIMA_HOME/a/ha.sock" http://lima/v1/nothing
	equals "$output" 404
}
