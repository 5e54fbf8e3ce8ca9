# Snapshots of an instance that stands still, on a disk made by qemu-img; no machine is started. Of one that runs: tests/vm.
load ../helpers/cli

setup() {
	cli_setup
	unset LIMACTL_C_DRIVER
	cd "$LIMA_HOME" || return 1
	qemu-img create -q -f qcow2 "$LIMA_HOME/.image.qcow2" 64M
	cat >t.yaml <<-YAML
		images: [{location: "$LIMA_HOME/.image.qcow2"}]
		firmware: {legacyBIOS: true}
		cpus: 1
		memory: 512MiB
		disk: 1GiB
	YAML
	limactl-c create --tty=false --name=a t.yaml 2>/dev/null
}
teardown() { cli_teardown; }

put() { qemu-io -f qcow2 -c "write -q -P $1 0 64k" "$LIMA_HOME/a/disk"; }
has() { qemu-io -f qcow2 -c "read -q -P $1 0 64k" "$LIMA_HOME/a/disk" | wc -c | grep -qx 0; }
tags() { limactl-c snapshot list -q a | tr '\n' ' '; }

@test "create, list, apply, delete" {
	put 1
	limactl-c snapshot create a --tag one
	put 2
	limactl-c snapshot save a --tag=2nd
	put 3
	equals "$(tags)" "one 2nd "
	equals "$(limactl-c snapshot ls a)" "$(qemu-img snapshot -l "$LIMA_HOME/a/disk" | tail -n +2)"
	limactl-c snapshot apply a --tag one
	has 1
	limactl-c snapshot load a --tag 2nd
	has 2
	limactl-c snapshot delete a --tag one
	limactl-c snapshot del a --tag 2nd
	equals "$(limactl-c snapshot list a)" ""
	has 2
	qemu-img check -q "$LIMA_HOME/a/disk"
}

@test "a tag that is another one's id is not taken for it" {
	put 1
	limactl-c snapshot create a --tag 2
	put 2
	limactl-c snapshot create a --tag 1
	limactl-c snapshot apply a --tag 2
	has 1
	limactl-c snapshot delete a --tag 1
	equals "$(tags)" "2 "
}

@test "tags: one of each, without odd bytes; nothing is done else" {
	limactl-c snapshot create a --tag one
	run -1 limactl-c snapshot create a --tag one
	contains "$output" "already"
	run -1 limactl-c snapshot create a
	contains "$output" "--tag is needed"
	for tag in "" "a b" "../x" ".x" "-x" $'a\nb' "a/b" "ä" "$(printf 'x%.0s' {1..77})"; do
		run -1 limactl-c snapshot create a --tag="$tag"
		contains "$output" "tag"
	done
	for what in apply delete; do
		run -1 limactl-c snapshot $what a --tag two
		contains "$output" "there is no snapshot \\\"two\\\" (there are: one)"
	done
	run -1 limactl-c snapshot list b
	contains "$output" "does not exist"
	equals "$(tags)" "one "
}

@test "tags that others made, with any bytes, are shown plainly and can be gone back to" {
	put 1
	qemu-img snapshot -c $'o\e[1mdd' "$LIMA_HOME/a/disk"
	put 2
	contains "$(limactl-c snapshot list a)" 'o?[1mdd'
	limactl-c snapshot apply a --tag $'o\e[1mdd'
	has 1
}

@test "a disk made larger since stays as large" {
	limactl-c snapshot create a --tag small
	qemu-img resize -q "$LIMA_HOME/a/disk" 2G
	limactl-c snapshot apply a --tag small
	equals "$(qemu-img info --output json "$LIMA_HOME/a/disk" | jq '."virtual-size"')" 2147483648
}

@test "a saved machine is in the way of one, and does not outlive going back; nor does the kernel of the disk as it was" {
	limactl-c snapshot create a --tag one
	touch "$LIMA_HOME/a/vm.state" "$LIMA_HOME/a/vm.state.json"
	mkdir "$LIMA_HOME/a/harvest"
	run -1 limactl-c snapshot create a --tag two
	contains "$output" "has a saved machine"
	limactl-c snapshot apply a --tag one
	[ ! -e "$LIMA_HOME/a/vm.state" ] && [ ! -e "$LIMA_HOME/a/vm.state.json" ] && [ ! -e "$LIMA_HOME/a/harvest" ]
}

@test "extra disks, raw disks and damaged ones are refused in words" {
	limactl-c disk create data --size 1MiB
	limactl-c create --tty=false --name=b --set '.additionalDisks = ["data"]' t.yaml
	run -1 limactl-c snapshot create b --tag one
	contains "$output" "extra disk \\\"data\\\""
	cp "$LIMA_HOME/a/disk" .keep
	printf '\377\377\377\377' | dd of="$LIMA_HOME/a/disk" bs=1 seek=60 conv=notrunc status=none
	run -1 limactl-c snapshot list a
	contains "$output" "snapshots"
	truncate -s 0 "$LIMA_HOME/a/disk"
	run -1 limactl-c snapshot create a --tag one
	contains "$output" "no qcow2 image"
	mv .keep "$LIMA_HOME/a/disk"
	limactl-c snapshot create a --tag one
}

@test "another command works on it, or it runs: nothing is done" {
	limactl-c snapshot create a --tag one
	exec 7>"$LIMA_HOME/a/vm.lock"
	flock 7
	run -1 limactl-c snapshot create a --tag two
	contains "$output" "without its host agent"
	flock -u 7
	exec 7>"$LIMA_HOME/a/hold.lock"
	flock 7
	for what in "create --tag two" "apply --tag one" "delete --tag one"; do
		# shellcheck disable=SC2086
		run -1 limactl-c snapshot $what a
		contains "$output" "another command is working"
	done
	exec 7>&-
	equals "$(tags)" "one "
}

@test "the fake driver's machine has none while it runs" {
	LIMACTL_C_DRIVER=fake limactl-c start --tty=false --name=f "$LIMA_HOME/fake.yaml"
	run -1 limactl-c snapshot create f --tag one
	contains "$output" "has no snapshots: stop the instance first"
	equals "$(limactl-c list f --json | jq -r .status)" Running
}

# saved: a machine that stands saved; saved_is_there: nothing of it is lost.
saved() { echo memory >"$LIMA_HOME/a/vm.state" && echo '{"version": 1, "machine": "m"}' >"$LIMA_HOME/a/vm.state.json"; }
saved_is_there() { equals "$(cat "$LIMA_HOME/a/vm.state")$(jq -r .machine "$LIMA_HOME/a/vm.state.json")" memorym; }

@test "killed before the disk is set back, a saved machine is as it was; killed after that, it does not fit any more" {
	put 1
	limactl-c snapshot create a --tag one
	put 2
	mkdir bin
	printf '#!/bin/sh\nkill -9 $PPID\n' >bin/qemu-img
	chmod 755 bin/qemu-img
	saved
	PATH=$PWD/bin:$PATH run -137 limactl-c snapshot apply a --tag one
	has 2
	saved_is_there
	before=$(jq -r .root "$LIMA_HOME/a/vm.state.json")
	printf '#!/bin/sh\n%s "$@"; kill -9 $PPID\n' "$(command -v qemu-img)" >bin/qemu-img
	PATH=$PWD/bin:$PATH run -137 limactl-c snapshot apply a --tag one
	has 1
	saved_is_there
	equals "$(jq -r .root "$LIMA_HOME/a/vm.state.json")" "$before"
	saved
	limactl-c snapshot apply a --tag one
	[ ! -e "$LIMA_HOME/a/vm.state" ]
	saved
	PATH=$PWD/bin:$PATH run -137 limactl-c snapshot apply a --tag one
	[ "$(jq -r .root "$LIMA_HOME/a/vm.state.json")" != "$before" ]
}

# A qemu-img that tells the test it is there, and waits to be killed with its caller.
@test "killed in the middle: the disk is whole, and the next one does it" {
	put 1
	limactl-c snapshot create a --tag one
	mkdir bin
	cat >bin/qemu-img <<-'SH'
		#!/bin/sh
		echo $PPID $$ >"$LIMA_HOME/.there"
		exec sleep 60
	SH
	chmod 755 bin/qemu-img
	for what in "create --tag two" "apply --tag one" "delete --tag one"; do
		rm -f .there
		# shellcheck disable=SC2086
		PATH=$PWD/bin:$PATH limactl-c snapshot $what a 3>&- &
		wait_until 20 test -s .there
		# shellcheck disable=SC2046
		kill -9 $(cat .there)
		wait $! || true
		equals "$(tags)" "one "
		has 1
		qemu-img check -q "$LIMA_HOME/a/disk"
	done
	limactl-c snapshot create a --tag two
	equals "$(tags)" "one two "
}
