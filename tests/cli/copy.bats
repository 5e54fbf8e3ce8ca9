# limactl-c copy on the fake driver: the "guest" is the native agent, so both ends are folders of this machine.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup() {
	cli_setup
	limactl-c start --tty=false --name=a "$LIMA_HOME/fake.yaml"
	H=$LIMA_HOME/h G=$LIMA_HOME/g # the host's, the guest's
	mkdir "$H" "$G"
	cd "$H" || return
}
teardown() {
	standin_stop
	while umount -l "$G/small" 2>/dev/null || umount -l "$H/small" 2>/dev/null; do :; done
	cd /
	cli_teardown
}

copy() { limactl-c copy "$@"; }

# standin WHAT [ARGUMENT]: instead of the control socket (files_standin.py).
standin() {
	python3 "$BATS_TEST_DIRNAME/../helpers/files_standin.py" "$LIMA_HOME/a/ha.sock" "$@" 3>&- &
	STANDIN=$!
	wait_until 10 test -S "$LIMA_HOME/a/ha.sock.real"
	wait_until 10 test -S "$LIMA_HOME/a/ha.sock"
}
standin_stop() {
	[ -n "${STANDIN:-}" ] || return 0
	kill "$STANDIN"
	wait "$STANDIN" || true
	STANDIN=
	mv "$LIMA_HOME/a/ha.sock.real" "$LIMA_HOME/a/ha.sock"
}

# A file in the making in a folder.
part() { compgen -G "$1/.limactl-c-*.part"; }
no_part() { ! part "$1"; }

# What a tree is, byte for byte and nanosecond for nanosecond.
tree() {
	(cd "$1" && find . -printf '%p %y %m %l %s ' \( -type l -o -printf '%T@' \) -printf '\0' | sort -z | sha256sum
		find . -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum)
}

make_tree() {
	mkdir -p "$1/sub/empty" "$1/read only"
	printf 'x' >"$1/read only/x"
	printf 'odd' >"$1/$(printf 'new\nline \xff*"$')"
	head -c 3000000 /dev/urandom >"$1/big"
	truncate -s 64M "$1/sparse"
	printf 'mid' | dd of="$1/sparse" bs=1 seek=20000000 conv=notrunc status=none
	ln -s ../no/where "$1/link"
	ln -s sub "$1/to-sub"
	chmod 640 "$1/big"
	touch -d '2001-02-03 04:05:06.123456789' "$1/big" "$1/sub"
	chmod 555 "$1/read only"
}

@test "trees are the same afterwards: to the guest, from it, from guest to guest" {
	limactl-c start --tty=false --name=b "$LIMA_HOME/fake.yaml"
	make_tree "$H/src"
	copy -r src "a:$G"
	equals "$(tree "$G/src")" "$(tree "$H/src")"
	copy -r "a:$G/src" back
	equals "$(tree back)" "$(tree src)"
	limactl-c cp --recursive "a:$G/src" "b:$G/there"
	equals "$(tree "$G/there")" "$(tree src)"
	limactl-c cp --backend=scp "a:$G/src/big" "a:$G/big"
	cmp src/big "$G/big"
	(($(du -k back/sparse | cut -f1) < 1000))
	# Once more over what is there.
	copy -r src "a:$G"
	equals "$(tree "$G/src")" "$(tree "$H/src")"
}

@test "several sources, patterns in the guest, home, and what the target means" {
	echo 1 >one
	echo 2 >two
	mkdir "$G/d"
	echo 3 >"$G/three"
	copy one "a:$G/three" two "a:$G/d"
	equals "$(cat "$G/d/one" "$G/d/two" "$G/d/three")" $'1\n2\n3'
	copy "a:$G/d/*" "$H"
	copy one "a:$G/d/" && copy one "a:$G/new"
	equals "$(cat "$G/new")" 1
	HOME_NAME=.limactl-c-test.$$
	copy one "a:~/$HOME_NAME"
	copy "a:$HOME_NAME" from-home
	limactl-c shell a rm "$HOME_NAME"
	equals "$(cat from-home)" 1
	copy a:/proc/version version
	equals "$(cat version)" "$(cat /proc/version)"
	run -1 copy one two "a:$G/none"
	contains "$output" "$G/none is no folder: several things can be copied into a folder only"
	mkdir folder
	run -1 copy folder "a:$G/d"
	contains "$output" "folder: is a folder: copied with --recursive (-r) only"
	run -1 copy one two
	contains "$output" "one and two are both on the host; a path in a guest is INSTANCE:PATH"
	run -1 copy one c:x
	contains "$output" 'instance \"c\" does not exist'
	run -1 copy "a:$G/nothing" "$H"
	contains "$output" "$G/nothing: No such file or directory"
	run -1 copy one
	contains "$output" "is missing"
	run -0 copy -v one two "a:$G/d"
	contains "$output" "msg=one"
	contains "$output" "msg=two"
	limactl-c stop a
	run -1 copy one a:x
	contains "$output" 'instance \"a\" is stopped'
}

@test "what cannot be copied is named, the rest is copied" {
	mkdir src
	echo 1 >src/one
	echo 2 >src/two
	mkdir -p "$G/src/one"
	run -1 copy -r src "a:$G"
	contains "$output" "$G/src/one: Is a directory"
	equals "$(cat "$G/src/two")" 2
	mkfifo src/fifo
	rmdir "$G/src/one"
	run -0 copy -r src "a:$G"
	contains "$output" "src/fifo: is neither file, folder nor link: left out"
}

@test "on a terminal: percentages that are true, and a clear line at the end" {
	truncate -s 300M big
	head -c 20M /dev/urandom | dd of=big conv=notrunc status=none
	run -0 script -qec "limactl-c copy big a:$G/big" /dev/null
	contains "$output" "% of 300.0 MiB"
	contains "$output" $'\r\033[K'
	cmp big "$G/big"
}

@test "to the guest: cut in the middle, the old content stays; the next copy sends the rest" {
	head -c 24M /dev/urandom >big
	echo old >"$G/big"
	standin cut 16000000
	run -1 copy big "a:$G/big"
	contains "$output" 'the connection to instance \"a\" was lost; the same command goes on where this one ended'
	standin_stop
	equals "$(cat "$G/big")" old
	wait_until 10 part "$G"
	wait_until 10 flock -n "$(part "$G")" true
	standin count "$H/count"
	copy big "a:$G/big"
	cmp big "$G/big"
	equals "$(ls -A "$G")" big
	wait_until 10 test -s count
	read -r sent _ <count
	((sent > 5000000 && sent < 15000000))
	# The same again: nothing needs to be sent.
	rm count
	copy big "a:$G/big"
	wait_until 10 test -s count
	read -r sent _ <count
	((sent < 5000))
}

@test "from the guest: cut in the middle, the old content stays; the next copy goes on" {
	head -c 24M /dev/urandom >"$G/big"
	echo old >big
	standin cut 16000000
	run -1 copy "a:$G/big" big
	contains "$output" "was lost"
	equals "$(cat big)" old
	standin_stop
	standin count "$H/count"
	copy "a:$G/big" big
	cmp big "$G/big"
	wait_until 10 test -s count
	read -r _ got <count
	((got > 5000000 && got < 15000000))
	equals "$(ls -A)" $'big\ncount'
}

# interrupted SIGNAL FROM TO: a copy that the signal ends.
interrupted() {
	local copying code=0
	heeds_interrupts limactl-c copy "$2" "$3" 3>&- &
	copying=$!
	wait_until 20 part "$(dirname "${3#a:}")"
	kill "-$1" "$copying"
	wait "$copying" || code=$?
	equals "$code" $((128 + $(kill -l "$1")))
}

@test "interrupted: it ends by the signal, and leaves nothing of a small file at either end" {
	head -c 900k /dev/urandom >small
	echo old >"$G/small"
	standin stall 400000
	interrupted INT small "a:$G/small"
	standin_stop
	wait_until 10 no_part "$G"
	equals "$(ls -A "$G")$(cat "$G/small")" smallold
	cp small "$G/other"
	standin stall 400000
	interrupted TERM "a:$G/other" "$H/other"
	equals "$(ls -A)" small
}

@test "a guest that means harm writes nothing outside of the target" {
	mkdir target outside
	echo mine >outside/file
	standin evil
	run -1 copy -r a:x target
	contains "$output" "away: there is something else than a folder in its place"
	run -1 copy -r a:x target
	contains "$output" "does not keep to the protocol of copying"
	run -1 copy -r a:x target
	contains "$output" "does not keep to the protocol of copying"
	# Nor what was not asked for, in it.
	run -1 copy -r a:x target
	contains "$output" 'the other side sends \".profile\", which it was not asked for'
	equals "$(ls -A outside)" file
	equals "$(cat outside/file)" mine
	equals "$(cat target/x/file target/x/good)" $'evil\nevil'
	equals "$(stat -c %a target/x/good)" 755
	equals "$(ls -A target/x)" $'away\nfile\ngood'
	equals "$(ls -A target)" x
	equals "$(ls -A)" $'outside\ntarget'
}

@test "a guest that answers with junk and then keeps silent: the copy to it ends" {
	truncate -s 2M big
	standin junk
	for _ in 1 2 3; do
		run -1 timeout 20 limactl-c copy big a:x
		contains "$output" "does not keep to the protocol of copying"
	done
}

@test "two copies to one name at once: the second says so and changes nothing" {
	limactl-c start --tty=false --name=b "$LIMA_HOME/fake.yaml"
	head -c 4M /dev/urandom >"$G/big"
	head -c 4M /dev/urandom >"$G/other"
	standin stall 2000000
	heeds_interrupts limactl-c copy "a:$G/big" big 3>&- &
	local copying=$!
	wait_until 20 part "$H"
	run -1 copy "b:$G/other" big
	contains "$output" "big: another copy is just writing it"
	kill -INT "$copying"
	wait "$copying" || true
	standin_stop
	copy "b:$G/other" big
	cmp "$G/other" big
	equals "$(ls -A)" big
}

@test "a full disk is said, at either end: the old content stays, nothing is left behind" {
	head -c 12M /dev/urandom >"$LIMA_HOME/big"
	local small
	for small in "$G/small" "$H/small"; do
		mkdir "$small"
		mount -t tmpfs -o size=8M none "$small"
		echo old >"$small/big"
	done
	run -1 copy "$LIMA_HOME/big" "a:$G/small"
	contains "$output" "$G/small/big: No space left on device"
	run -1 copy "a:$LIMA_HOME/big" small
	contains "$output" "small/big: No space left on device"
	for small in "$G/small" "$H/small"; do
		equals "$(cat "$small/big")" old
		equals "$(ls -A "$small")" big
	done
}
