# shell: exit status, byte-exact streams, terminal and window size, users.
bats_require_minimum_version 1.5.0
. "$BATS_TEST_DIRNAME/../helpers/vm.bash"

setup_file() { vm_restore; }
teardown_file() { vm_stop; }

@test "the command's exit status is shell's" {
	run -0 guest true
	run -1 guest false
	run -42 guest sh -c 'exit 42'
	run -143 guest sh -c 'kill -TERM $$'
	run -127 guest no-such-command
}

@test "arguments arrive as they were written" {
	equals "$(guest printf '<%s>' 'a b' '' "it's" '$HOME' '"' '\')" "<a b><><it's><\$HOME><\"><\\>"
}

@test "standard output and standard error stay apart" {
	run -0 --separate-stderr guest sh -c 'echo out; echo err >&2'
	equals "$output" out
	equals "$stderr" err
}

@test "64 MiB go through unchanged, both ways at once" {
	local sum
	head -c 67108864 /dev/urandom >"$BATS_FILE_TMPDIR/big"
	sum=$(guest cat <"$BATS_FILE_TMPDIR/big" | sha256sum)
	equals "$sum" "$(sha256sum <"$BATS_FILE_TMPDIR/big")"
}

@test "the end of the input travels" {
	equals "$(printf 'x' | guest wc -c)" 1
	equals "$(guest wc -c </dev/null)" 0
}

@test "a terminal when there is one, with its size" {
	run -0 script -qec "stty rows 33 cols 101; limactl-c shell vm sh -c 'tty; stty size'" /dev/null
	contains "$output" /dev/pts/
	contains "$output" "33 101"
	run -1 guest sh -c 'tty >/dev/null'
}

@test "Ctrl-C in the terminal ends the remote command, and the terminal is as it was" {
	run script -qec "stty -a >$BATS_FILE_TMPDIR/before; (sleep 2; printf '\003') | limactl-c shell --tty=true vm sleep 100; stty -a >$BATS_FILE_TMPDIR/after" /dev/null
	cmp "$BATS_FILE_TMPDIR/before" "$BATS_FILE_TMPDIR/after"
	wait_until 10 guest sh -c '! pgrep -x sleep'
}

@test "a command left in the background does not hold shell" {
	run -0 timeout 20 limactl-c shell vm sh -c 'sleep 300 & echo started'
	equals "$output" started
	guest pkill sleep
}

@test "40 shells at once" {
	local i pids=()
	for i in $(seq 40); do
		guest sh -c "echo $i; exit $i" >"$BATS_FILE_TMPDIR/out.$i" &
		pids[i]=$!
	done
	for i in $(seq 40); do
		local status=0
		wait "${pids[i]}" || status=$?
		equals "$status" "$i"
		equals "$(cat "$BATS_FILE_TMPDIR/out.$i")" "$i"
	done
}

@test "the login shell, and sudo" {
	equals "$(echo 'echo "$0"' | limactl-c shell vm)" -sh
	equals "$(guest sudo -n id -u)" 0
	equals "$(guest cat /proc/self/personality)" 00000000 # addresses are random, emulated or not
	contains "$(guest sudo -n sh -c 'echo "by $SUDO_USER"')" "by $(guest id -un)"
}

@test "tunnel: a name only the guest knows, looked up there" {
	local port
	guest sudo sh -c 'echo "127.0.0.1 only-here" >>/etc/hosts'
	guest sh -c 'while :; do printf "HTTP/1.0 200 OK\r\n\r\nfrom the guest" | nc -l -p 18099; done >/dev/null 2>&1 &'
	port=$(socks_port vm)
	ask() { curl -sS -m 20 --noproxy '' --socks5-hostname "127.0.0.1:$port" "http://$1:18099/"; }
	wait_until 20 eval '[ "$(ask only-here)" = "from the guest" ]'
	run -97 ask not-there
	contains "$output" "(4)"
}

@test "copy: a tree to the guest and back is the same, and is the user's there" {
	local src=$BATS_FILE_TMPDIR/src
	mkdir -p "$src/sub"
	head -c 5000000 /dev/urandom >"$src/big"
	printf 'odd' >"$src/sub/$(printf 'a\nb \xff*')"
	truncate -s 20M "$src/sparse"
	ln -s sub/none "$src/link"
	touch -d '2001-02-03 04:05:06.123456789' "$src/big"
	chmod 640 "$src/big"
	limactl-c copy -r "$src" vm:tree
	equals "$(guest stat -c '%U %a %Y' tree/big)" "$(guest id -un) 640 981173106"
	equals "$(guest readlink tree/link)" sub/none
	equals "$(guest sha256sum tree/big | cut -d ' ' -f 1)" "$(sha256sum <"$src/big" | cut -d ' ' -f 1)"
	(($(guest du -k tree/sparse | cut -f 1) < 1000))
	limactl-c copy -r vm:tree "$BATS_FILE_TMPDIR/back"
	diff -r --no-dereference "$src" "$BATS_FILE_TMPDIR/back"
	equals "$(stat -c '%a %y' "$BATS_FILE_TMPDIR/back/big")" "$(stat -c '%a %y' "$src/big")"
}
