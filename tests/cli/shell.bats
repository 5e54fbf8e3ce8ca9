# shell on the fake driver: what ends a command, what it takes along, what becomes of the terminal.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup_file() {
	cli_setup
	sed 's|^guest:.*|&\nuser: {name: root, uid: 0, shell: /bin/sh, home: "'"$LIMA_HOME"'/home of a"}|' "$LIMA_HOME/fake.yaml" >"$LIMA_HOME/a.yaml"
	mkdir "$LIMA_HOME/home of a"
	HERE=$(mktemp -d /tmp/lc.XXXX)
	export HERE
	limactl-c start --tty=false --name=a "$LIMA_HOME/a.yaml"
}
teardown_file() { cli_teardown; rm -rf "$HERE"; }

# on_tty STEPS COMMAND...
on_tty() { python3 "$BATS_TEST_DIRNAME/../helpers/terminal.py" "$@"; }
# Below, the login shell is one that stays beside what it runs: `exec` takes its place, so that signals find nobody else.

# has_mounts ARRAY: what lima.yaml of the instance says of them.
has_mounts() { sed -i '/^mounts:/d' "$LIMA_HOME/a/lima.yaml" && echo "mounts: $1" >>"$LIMA_HOME/a/lima.yaml"; }

# ended_by SIGNAL STATUS: our end gets it, and the command in the guest is gone.
ended_by() {
	local status=0 pid
	rm -f "$BATS_TEST_TMPDIR/out"
	heeds_interrupts limactl-c shell a sh -c 'echo $$; exec sleep 1000' >"$BATS_TEST_TMPDIR/out" 3>&- &
	wait_until 10 test -s "$BATS_TEST_TMPDIR/out"
	pid=$(cat "$BATS_TEST_TMPDIR/out")
	kill -"$1" $!
	wait $! || status=$?
	equals "$status" "$2"
	wait_until 10 gone "$pid"
}

@test "what ends our end ends the command, and says so" {
	ended_by INT 130
	ended_by TERM 143
	ended_by HUP 129
	ended_by QUIT 131
	ended_by USR1 138
	ended_by KILL 137
}

@test "a command that handles a signal goes on, and one that ignores our end's death is killed" {
	local pid status=0
	limactl-c shell a exec sh -c 'trap "echo got it; exit 7" USR2; echo ready; while :; do sleep 0.05; done' >"$BATS_TEST_TMPDIR/out" 3>&- &
	wait_until 10 grep ready "$BATS_TEST_TMPDIR/out"
	kill -USR2 $!
	wait $! || status=$?
	equals "$status" 7
	equals "$(tail -n 1 "$BATS_TEST_TMPDIR/out")" "got it"
	limactl-c shell a exec sh -c 'trap "" HUP; echo $$; while :; do sleep 0.05; done' >"$BATS_TEST_TMPDIR/out" 3>&- &
	wait_until 10 test -s "$BATS_TEST_TMPDIR/out"
	pid=$(cat "$BATS_TEST_TMPDIR/out")
	kill -KILL $!
	wait_until 10 gone "$pid"
}

@test "started by nohup, it lives on" {
	run -0 timeout 20 bash -c 'trap "" HUP; limactl-c shell a sh -c "echo up; sleep 0.3; echo still" >"$0" & until grep -q up "$0"; do :; done; kill -HUP $!; wait $!' "$BATS_TEST_TMPDIR/out"
	equals "$(tail -n 1 "$BATS_TEST_TMPDIR/out")" still
}

@test "a reader that has enough ends the writer in the guest" {
	local pid
	equals "$(guest sh -c 'echo $$ >&2; exec yes' 2>"$BATS_TEST_TMPDIR/pid" | head -n 1)" y
	pid=$(cat "$BATS_TEST_TMPDIR/pid")
	wait_until 10 gone "$pid"
}

@test "exit codes are exact, a hundred times" {
	local i
	for i in $(seq 50); do
		run -42 guest sh -c 'exit 42'
		run -1 guest false
	done
}

@test "100 shells at once" {
	local i status pids=()
	for i in $(seq 100); do
		guest sh -c "cat; exit $i" <<<"$i" >"$BATS_TEST_TMPDIR/out.$i" 3>&- &
		pids[i]=$!
	done
	for i in $(seq 100); do
		status=0
		wait "${pids[i]}" || status=$?
		equals "$status" "$i"
		equals "$(cat "$BATS_TEST_TMPDIR/out.$i")" "$i"
	done
}

@test "the working folder: home without mounts, else as the mounts say, silently home when it is not there" {
	local home=$LIMA_HOME/home\ of\ a odd=$HERE/it\'s\ a\ \"folder\"
	mkdir -p "$odd" "$HERE/there/sub" "$HERE/unknown"
	cd "$odd"
	run -0 --separate-stderr guest pwd
	equals "$output" "$home"
	equals "$stderr" ""
	has_mounts "[{location: \"$HERE/unknown\", mountPoint: \"$HERE/there\"}]"
	equals "$(guest pwd)" "$odd"
	mkdir "$HERE/unknown/sub" "$HERE/unknown/not there"
	cd "$HERE/unknown/sub"
	equals "$(guest pwd)" "$HERE/there/sub"
	cd "$HERE/unknown/not there"
	run -0 --separate-stderr guest pwd
	equals "$output" "$home"
	equals "$stderr" ""
	rmdir "$HERE/unknown/not there"
	run -0 --separate-stderr guest pwd
	equals "$output" "$home"
	equals "$stderr" ""
	cd "$HERE/there"
	has_mounts "[]"
}

@test "--workdir is where the command runs, or it does not" {
	mkdir -p "$HERE/a b"
	equals "$(limactl-c shell --workdir "$HERE/a b" a pwd)" "$HERE/a b"
	equals "$(limactl-c shell --workdir "" a pwd)" "$(guest pwd)"
	run -1 --separate-stderr limactl-c shell --workdir "$HERE/nowhere" a sh -c 'echo ran'
	equals "$output" ""
	equals "$stderr" "limactl-c: $HERE/nowhere: No such file or directory"
}

@test "--shell: a path or a name; one that is not there is told" {
	equals "$(limactl-c shell --shell bash a type -t '[[')" keyword
	equals "$(limactl-c shell --shell /bin/bash a type -t '[[')" keyword
	run -127 guest type -t '[['
	run -127 limactl-c shell --shell no-such-shell a true
	contains "$output" "no-such-shell: No such file or directory"
	run -255 limactl-c shell --shell /no/such a true
	contains "$output" 'the guest has no shell \"/no/such\"'
}

@test "--preserve-env: all but what is blocked, or what is allowed alone" {
	export ONE=1 TWO="a  b'c\"" LD_ODD=x SHLVL=77
	equals "$(guest sh -c 'echo "$ONE$TWO$LD_ODD"')" ""
	equals "$(limactl-c shell --preserve-env a sh -c 'echo "$ONE$TWO$LD_ODD"')" "1a  b'c\""
	equals "$(LIMA_SHELLENV_BLOCK=+T* limactl-c shell --preserve-env a sh -c 'echo "$ONE$TWO$LD_ODD"')" 1
	equals "$(LIMA_SHELLENV_ALLOW=LD_*,TWO limactl-c shell --preserve-env a sh -c 'echo "$ONE$TWO$LD_ODD"')" "a  b'c\"x"
	LIMA_SHELLENV_ALLOW='a b' run -1 limactl-c shell --preserve-env a true
	contains "$output" "LIMA_SHELLENV_ALLOW: pattern"
	equals "$(COLORTERM=truecolor guest sh -c 'echo "$COLORTERM"')" truecolor
}

@test "--instance, --start and --reconnect" {
	equals "$(limactl-c shell --instance a echo b c)" "b c"
	equals "$(limactl-c shell --reconnect --instance=a -- echo b)" b
	run -1 limactl-c shell
	contains "$output" "INSTANCE is missing"
	run -1 --separate-stderr limactl-c shell nobody true
	limactl-c create --tty=false --name=b "$LIMA_HOME/fake.yaml"
	run -1 limactl-c shell b true
	contains "$output" 'instance \"b\" is stopped'
	equals "$(limactl-c shell --start b echo up 2>/dev/null)" up
	run -0 --separate-stderr limactl-c shell --start b echo up
	equals "$output" up
	equals "$stderr" ""
	limactl-c delete -f b
	run -127 guest start
	contains "$output" "Perhaps you meant"
}

@test "a terminal: keys, size, signals of the keyboard, and the modes as they were" {
	on_tty 'see ready
		raw
		size 33 101
		see 33 101
		type \x03
		see int
		type \x1c
		end 5' limactl-c shell a exec bash -c 'trap "stty size" WINCH; trap "echo int" INT; trap "exit 5" QUIT; echo ready; while :; do sleep 0.05; done'
	on_tty 'see ready
		type abc\x04
		see abcabc
		type \x04
		end 0' limactl-c shell a sh -c 'echo ready; exec cat'
}

@test "a terminal is given back whatever ends us" {
	local sig
	for sig in ALRM ABRT SEGV XCPU PIPE; do
		on_tty "see ready
			raw
			kill $sig
			end -$(kill -l $sig)" limactl-c shell a sh -c 'echo ready; sleep 1000'
	done
	for sig in TERM HUP; do
		on_tty "see ready
			raw
			kill $sig
			end $((128 + $(kill -l $sig)))" limactl-c shell a sh -c 'echo ready; exec sleep 1000'
	done
}

@test "a terminal: stopped and continued, with and without a word" {
	on_tty 'see ready
		raw
		kill TSTP
		stopped
		cooked
		size 10 20
		kill CONT
		raw
		see 10 20
		kill STOP
		stopped
		reset
		kill CONT
		raw
		type \x03
		end 3' limactl-c shell a exec bash -c 'trap "stty size" WINCH; trap "exit 3" INT; echo ready; while :; do sleep 0.05; done'
}

@test "a terminal is given back when the host agent or the machine dies" {
	limactl-c start --tty=false --name=c "$LIMA_HOME/fake.yaml"
	on_tty 'see ready
		raw
		run kill -KILL $(cat $LIMA_HOME/c/ha.pid)
		see the connection to the guest was lost
		end 255' limactl-c shell c sh -c 'echo ready; sleep 1000'
	limactl-c start --tty=false c
	on_tty 'see ready
		raw
		run kill -KILL $(limactl-c list c --json | jq -r .driverPID)
		see the connection to the guest was lost
		end 255' limactl-c shell c sh -c 'echo ready; sleep 1000'
	limactl-c delete -f c
}

@test "lima: the instance, shell and folder that the environment names" {
	mkdir -p "$HERE/w d"
	equals "$(LIMA_INSTANCE=a lima echo b c)" "b c"
	equals "$(LIMA_INSTANCE=a LIMA_WORKDIR="$HERE/w d" LIMA_SHELL=bash lima sh -c 'pwd; echo "$1"' - "it's")" "$HERE/w d"$'\n'"it's"
	equals "$(LIMA_INSTANCE=a LIMA_SHELL=bash lima type -t '[[')" keyword
	equals "$(LIMA_INSTANCE=a lima --workdir / pwd)" /
	run -42 env LIMA_INSTANCE=a lima sh -c 'exit 42'
	run -1 lima true
	contains "$output" 'instance \"default\" does not exist'
	run -0 env LIMACTL=echo LIMA_INSTANCE=x lima a 'b  c'
	equals "$output" "shell --instance x a b  c"
	equals "$(lima --version)" "$(limactl-c --version)"
	contains "$(lima --help)" LIMA_WORKDIR
	ln -s "$(command -v limactl-c)" "$HERE/limactl-c"
	cp "$(command -v lima)" "$HERE/lima"
	PATH=/usr/bin:/bin equals "$("$HERE/lima" --version)" "$(limactl-c --version)"
}
