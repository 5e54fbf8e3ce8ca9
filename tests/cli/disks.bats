# disks: named extra disks, the commands on them and the instances that share them.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup() { cli_setup; }
teardown() { cli_teardown; }

D() { limactl-c disk "$@"; }

# with NAME DISKS: an instance that names these disks.
with() {
	printf 'additionalDisks: %s\n' "$2" | cat "$LIMA_HOME/fake.yaml" - >"$LIMA_HOME/$1.yaml"
	limactl-c create --tty=false --name "$1" "$LIMA_HOME/$1.yaml"
}
user_of() { D list --json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["instance"])'; }
json() { D list --json "$1" | python3 -c "import json, sys; print(json.load(sys.stdin)['$2'])"; }
is_used_by() { equals "$(user_of "$1")" "$2"; }

@test "create, list, resize, delete as Lima's" {
	run -0 --separate-stderr limactl-c disk list
	equals "$output" "NAME    SIZE    FORMAT    DIR    IN-USE-BY"
	contains "$stderr" 'No disk found. Run `limactl-c disk create DISK --size SIZE` to create a disk.'
	run -0 --separate-stderr limactl-c disk ls --json
	equals "$output$stderr" ""
	run -0 D create one --size 10GiB
	contains "$output" 'Creating qcow2 disk \"one\" with size 10GiB'
	D create two --size 1.5g --format=raw
	run -1 D create one --size 1GiB
	contains "$output" "disk \\\"one\\\" exists already ($LIMA_HOME/_disks/one)"
	run -0 --separate-stderr limactl-c disk ls
	equals "${lines[1]}" "one     10GiB     qcow2     $LIMA_HOME/_disks/one    "
	equals "${lines[2]}" "two     1.5GiB    raw       $LIMA_HOME/_disks/two    "
	run -0 --separate-stderr limactl-c disk list --json two none
	equals "$output" "{\"name\":\"two\",\"size\":1610612736,\"format\":\"raw\",\"dir\":\"$LIMA_HOME/_disks/two\",\"instance\":\"\",\"instanceDir\":\"\",\"mountPoint\":\"/mnt/lima-two\"}"
	contains "$stderr" 'No disk matching none found.'
	equals "$(stat -c %s "$LIMA_HOME/_disks/two/datadisk")" 1610612736
	((1024 * $(stat -c %b "$LIMA_HOME/_disks/two/datadisk") < 1000000))
	D resize one --size 20GiB
	D resize two --size 2GiB
	equals "$(json one size) $(json two size)" "21474836480 2147483648"
	run -1 D resize one --size 5GiB
	contains "$output" 'cannot be made smaller: it has 20GiB, 5GiB are asked for'
	run -0 D delete one two three
	contains "$output" 'Ignoring non-existent disk \"three\"'
	equals "$(ls -A "$LIMA_HOME/_disks")" ""
}

@test "what is wrong with a disk is said" {
	run -1 D create no
	contains "$output" '--size is needed'
	run -1 D create no --size 0
	run -1 D create no --size 1 --format vdi
	contains "$output" 'none of qcow2|raw'
	run -1 D create ../no --size 1
	run -1 D create no.yaml --size 1
	run -1 D resize no --size 1
	contains "$output" 'disk \"no\" does not exist: `limactl-c disk create no --size SIZE` makes it'
	[ ! -e "$LIMA_HOME/_disks" ]
	mkdir -p "$LIMA_HOME/_disks/odd"
	run -0 D list
	contains "$output" 'disk \"odd\" does not exist'
}

@test "import keeps the format; what names another file, or is of another format, is refused" {
	qemu-img create -q -f qcow2 "$LIMA_HOME/a.qcow2" 64M
	qemu-io -c 'write -P 7 1M 64k' "$LIMA_HOME/a.qcow2" >/dev/null
	qemu-img convert -O raw "$LIMA_HOME/a.qcow2" "$LIMA_HOME/a.raw"
	run -0 D import a "$LIMA_HOME/a.qcow2"
	contains "$output" 'Imported a with size 64MiB'
	D import b "$LIMA_HOME/a.raw"
	xz -k "$LIMA_HOME/a.raw"
	D import c "$LIMA_HOME/a.raw.xz"
	equals "$(json a format) $(json b format) $(json c format)" "qcow2 raw raw"
	for d in a b c; do
		qemu-img compare "$LIMA_HOME/_disks/$d/datadisk" "$LIMA_HOME/a.raw"
	done
	head -c 1000 /dev/urandom >"$LIMA_HOME/odd.raw"
	D import odd "$LIMA_HOME/odd.raw"
	equals "$(json odd size)" 1024
	run -1 D import a "$LIMA_HOME/a.raw"
	contains "$output" 'exists already'
	qemu-img create -q -f qcow2 -b "$LIMA_HOME/a.raw" -F raw "$LIMA_HOME/b.qcow2"
	run -1 D import no "$LIMA_HOME/b.qcow2"
	contains "$output" 'refers to another file'
	qemu-img create -q -f vmdk "$LIMA_HOME/a.vmdk" 64M
	run -1 D import no "$LIMA_HOME/a.vmdk"
	contains "$output" 'VMDK'
	run -1 D import no "$LIMA_HOME/nothing"
	[ ! -e "$LIMA_HOME/_disks/no" ]
}

@test "a disk that nobody says who uses is another process's" {
	D create data --size 1GiB
	exec 5>"$LIMA_HOME/_disks/data/lock"
	flock 5
	run -1 D delete data
	contains "$output" 'cannot delete disk \"data\" in use by another process'
	run -1 D resize data --size 2GiB
	contains "$output" 'disk \"data\" cannot be resized: another process uses it; stop that first'
	run -0 D unlock data
	contains "$output" 'Cannot unlock disk \"data\" used by another process'
	with one '[data]'
	run -1 limactl-c start --tty=false one
	contains "$output" 'disk \"data\" is in use by another process'
	is_used_by data ""
	exec 5>&-
}

@test "a raw disk stays raw, whatever the guest wrote on it" {
	D create one --size 64MiB --format raw
	qemu-img create -q -f qcow2 -b /etc/passwd -F raw "$LIMA_HOME/evil" 64M
	dd if="$LIMA_HOME/evil" of="$LIMA_HOME/_disks/one/datadisk" conv=notrunc status=none
	equals "$(json one format) $(json one size)" "raw 67108864"
}

@test "an instance's disks are its own while it runs, and free when it has stopped" {
	D create data --size 1GiB
	with one '[data]'
	with two '[{name: data, format: false}]'
	limactl-c start --tty=false one
	is_used_by data one
	equals "$(readlink "$LIMA_HOME/_disks/data/in_use_by")" "$LIMA_HOME/one"
	run -1 limactl-c start --tty=false two
	contains "$output" 'disk \"data\" is in use by instance \"one\"'
	run -1 D delete data
	contains "$output" 'cannot delete disk \"data\" in use by instance \"one\"'
	run -1 D resize data --size 2GiB
	contains "$output" 'instance \"one\" uses it'
	run -0 D unlock data
	contains "$output" 'Cannot unlock disk \"data\" used by running instance \"one\"'
	limactl-c stop one
	is_used_by data ""
	[ ! -L "$LIMA_HOME/_disks/data/in_use_by" ]
	limactl-c start --tty=false two
	is_used_by data two
	limactl-c stop -f two
	is_used_by data ""
	run -0 D delete data
	contains "$output" 'Skipping deleting disk \"data\", disk is referenced by one or more non-running instances: one, two'
	contains "$output" 'disk delete --force data'
	D delete -f data
	run -0 D list
	contains "$output" 'No disk found'
}

@test "a disk is not deleted while nobody can tell who wants it" {
	D create data --size 1MiB --format raw
	D create more --size 1MiB --format raw
	with one '[data]'
	cp "$LIMA_HOME/one/lima.yaml" "$LIMA_HOME/.yaml"
	for text in 'cpus: [' 'cpus: none' ''; do
		printf %s "$text" >"$LIMA_HOME/one/lima.yaml"
		[ -n "$text" ] || rm "$LIMA_HOME/one/lima.yaml"
		run -1 D delete data more
		contains "$output" 'disk \"data\" is not deleted, for nobody knows whether an instance wants it'
		contains "$output" "$LIMA_HOME/one/lima.yaml"
		contains "$output" 'limactl-c disk delete --force data'
		equals "$(wc -l <<<"$output")" 1
	done
	run -0 D delete none
	D delete --force more
	mv "$LIMA_HOME/.yaml" "$LIMA_HOME/one/lima.yaml"
	run -0 D delete data
	contains "$output" 'referenced by one or more non-running instances: one'
	equals "$(ls "$LIMA_HOME/_disks")" data
}

@test "each lima.yaml is read once, however many disks are deleted" {
	D create a --size 1MiB --format raw
	D create b --size 1MiB --format raw
	D create c --size 1MiB --format raw
	with one '[c]'
	strace -f -o "$LIMA_HOME/.calls" limactl-c disk delete a b c
	equals "$(ls "$LIMA_HOME/_disks")" c
	equals "$(grep -c 'open.*/one/lima.yaml"' "$LIMA_HOME/.calls")" 1
}

@test "the machine holds its disks without its host agent; what a crash leaves is no lock" {
	local qemu
	D create data --size 1GiB
	with one '[data]'
	with two '[data]'
	limactl-c start --tty=false one
	kill -9 "$(ha_pid one)"
	wait_until 10 gone "$(ha_pid one)"
	run -1 limactl-c start --tty=false two
	contains "$output" 'disk \"data\" is in use by instance \"one\"'
	limactl-c start --tty=false one
	is_used_by data one
	limactl-c stop one
	is_used_by data ""
	# Everything at once: only the mark stays, and the next who comes by removes it.
	limactl-c start --tty=false one
	qemu=$(control one GET status | python3 -c 'import json, sys; print(json.load(sys.stdin)["vmPid"])')
	kill -9 "$(ha_pid one)" "$qemu"
	wait_until 10 gone "$qemu"
	[ -L "$LIMA_HOME/_disks/data/in_use_by" ]
	run -0 D unlock data
	contains "$output" 'Unlocked disk \"data\"'
	[ ! -L "$LIMA_HOME/_disks/data/in_use_by" ]
	run -0 D unlock data
	contains "$output" 'Ignoring unlocked disk'
	ln -s "$LIMA_HOME/one" "$LIMA_HOME/_disks/data/in_use_by"
	limactl-c start --tty=false two
	is_used_by data two
}

@test "a disk that an instance of Lima has is left to it" {
	local lima
	D create data --size 1GiB
	with one '[data]'
	sleep 600 3>&- &
	lima=$!
	mkdir "$LIMA_HOME/theirs"
	echo "$lima" >"$LIMA_HOME/theirs/ha.pid"
	ln -s "$LIMA_HOME/theirs" "$LIMA_HOME/_disks/data/in_use_by"
	is_used_by data theirs
	run -1 limactl-c start --tty=false one
	contains "$output" 'disk \"data\" is in use by instance \"theirs\"'
	run -1 D delete data
	kill "$lima"
	wait "$lima" || true
	is_used_by data ""
	limactl-c start --tty=false one
	is_used_by data one
}

@test "many who want the same disk: one gets it" {
	local n pids=()
	D create data --size 1GiB
	for n in 1 2 3 4; do
		with "i$n" '[data]'
	done
	for n in 1 2 3 4; do
		limactl-c start --tty=false "i$n" >"$LIMA_HOME/out$n" 2>&1 3>&- &
		pids+=($!)
	done
	for n in "${pids[@]}"; do
		wait "$n" || true
	done
	equals "$(limactl-c list --format '{{.Status}}' | grep -c Running)" 1
	equals "$(grep -l 'is in use by instance' "$LIMA_HOME"/out? | wc -l)" 3
}

@test "a saved machine keeps its disk while its host agent lives; one changed meanwhile is not restored" {
	D create data --size 64MiB --format raw
	with one '[data]'
	with two '[data]'
	limactl-c start --tty=false one
	control one POST save
	is_used_by data one
	run -1 limactl-c start --tty=false two
	contains "$output" 'in use by instance \"one\"'
	control one POST restore
	limactl-c stop --suspend one
	wait_until 5 is_used_by data ""
	[ -e "$LIMA_HOME/one/vm.state" ]
	limactl-c start --tty=false two
	# The state waits for the disk.
	run -1 limactl-c start --tty=false one
	contains "$output" 'in use by instance \"two\"'
	[ -e "$LIMA_HOME/one/vm.state" ]
	limactl-c stop two
	echo changed | dd of="$LIMA_HOME/_disks/data/datadisk" conv=notrunc status=none
	limactl-c start --tty=false one
	grep -q 'an extra disk was changed since' "$LIMA_HOME/one/ha.stderr.log"
}

@test "a disk that is not there: create says so, start says what makes it" {
	run -0 with one '[data]'
	contains "$output" 'level=warning'
	contains "$output" 'disk \"data\" does not exist: `limactl-c disk create data --size SIZE` makes it'
	run -1 limactl-c start --tty=false one
	contains "$output" 'additionalDisks[0]: disk \"data\" does not exist: `limactl-c disk create data --size SIZE` makes it'
	run -1 limactl-c start --tty=false --name two "$LIMA_HOME/one.yaml"
	[ ! -e "$LIMA_HOME/two" ]
	D create data --size 64MiB
	limactl-c start --tty=false one
	is_used_by data one
}

@test "a full disk leaves nothing half" {
	[ "$(id -u)" = 0 ]
	mkdir "$LIMA_HOME/_disks"
	mount -t tmpfs -o size=300k tmpfs "$LIMA_HOME/_disks"
	D create one --size 1GiB
	run -1 D create two --size 1GiB
	head -c 1M /dev/urandom >"$LIMA_HOME/a.raw"
	run -1 D import three "$LIMA_HOME/a.raw"
	contains "$output" 'no free disk space'
	equals "$(ls -A "$LIMA_HOME/_disks")" one
	umount "$LIMA_HOME/_disks"
}

@test "protect, unprotect, factory-reset as Lima's" {
	limactl-c create --tty=false --name one "$LIMA_HOME/fake.yaml"
	run -1 limactl-c protect one none
	contains "$output" 'Protected \"one\"'
	contains "$output" 'instance \"none\" does not exist'
	run -0 limactl-c protect one
	contains "$output" 'already protected'
	equals "$(stat -c %a "$LIMA_HOME/one/protected")" 400
	equals "$(limactl-c list --format '{{.Protected}}')" true
	for how in delete "delete -f" factory-reset; do
		# shellcheck disable=SC2086
		run -1 limactl-c $how one
		contains "$output" 'limactl-c unprotect one'
	done
	# It is asked before anything is stopped.
	limactl-c start --tty=false one
	run -1 limactl-c delete -f one
	equals "$(limactl-c list --format '{{.Status}}' one)" Running
	limactl-c stop --tty=false one
	limactl-c unprotect one
	run -0 limactl-c unprotect one
	contains "$output" "isn't protected"
	limactl-c start --tty=false one
	touch "$LIMA_HOME/one/"{disk,own.yaml}
	run -0 limactl-c factory-reset one
	contains "$output" 'Instance \"one\" has been factory reset'
	equals "$(ls "$LIMA_HOME/one" | grep -v '\.lock$' | tr '\n' ' ')" "lima-version lima.yaml own.yaml "
	limactl-c start --tty=false one
	limactl-c stop one
	limactl-c delete one
	run -0 limactl-c factory-reset one
	contains "$output" 'Instance \"one\" not found'
}
