# clone and rename: who a clone is, and what is there when they are killed at any moment.
load ../helpers/cli

setup() { cli_setup; }
teardown() { cli_teardown; }

# A template whose instances have a seed and are never started: QEMU's, with a disk of nothing.
seeded() {
	unset LIMACTL_C_DRIVER
	qemu-img create -q -f qcow2 "$LIMA_HOME/.image.qcow2" 16M
	cat >"$LIMA_HOME/.seeded.yaml" <<-YAML
		images: [{location: "$LIMA_HOME/.image.qcow2"}]
		firmware: {legacyBIOS: true}
		disk: 1GiB
	YAML
	limactl-c create --tty=false --name=a "$LIMA_HOME/.seeded.yaml" 2>/dev/null
}
plan() { jq -r "$2" "$LIMA_HOME/$1/plan.json"; }
machine_id() { plan "$1" '.settings[]? | select(.key == "machineId") | .value'; }
from_seed() { bsdtar -xOf "$LIMA_HOME/$1/cidata.iso" meta-data | sed -n "s/^$2: //p"; }
differ() { [ -n "$2" ] && [ "$1" != "$2" ]; }

@test "a clone is somebody else: machine id, host name, address, instance id; so is a clone of it; a renamed one stays who it is" {
	seeded
	limactl-c clone a b
	limactl-c clone b c
	equals "$(machine_id a)" ""
	equals "$(machine_id b | tr -d '0-9a-f' | wc -c)" 1
	differ "$(machine_id b)" "$(machine_id c)"
	for of in a b; do
		differ "$(plan $of .mac)" "$(plan c .mac)"
		differ "$(from_seed $of instance-id)" "$(from_seed c instance-id)"
		equals "$(from_seed $of local-hostname)" "lima-$of"
	done
	id=$(machine_id b)
	limactl-c rename b d
	equals "$(machine_id d)" "$id"
	equals "$(cat "$LIMA_HOME/d/machine-id")" "$id"
	echo "rm -rf /; $id" >"$LIMA_HOME/d/machine-id"
	limactl-c rename d e
	equals "$(machine_id e)" ""
}

@test "the guest of a clone is told who it is" {
	limactl-c create --tty=false --name=a "$LIMA_HOME/fake.yaml"
	limactl-c clone --start a b
	grep -qx "machineId=$(cat "$LIMA_HOME/b/machine-id")" "$LIMA_HOME/b/fake/settings"
	limactl-c stop b
	limactl-c factory-reset b
	[ ! -e "$LIMA_HOME/b/machine-id" ]
}

# Runs it again and again, killed at its first, second, … change to the file system, until it is not killed; check each time.
CALLS=mkdir,rename,renameat2,unlinkat,fsync,ftruncate
killed_everywhere() {
	local check=$1 n
	shift
	for ((n = 1; n < 400; n++)); do
		if strace -qq -o "$LIMA_HOME/.calls" -e "trace=$CALLS" -e "inject=$CALLS:signal=KILL:when=$n" "$@" 2>"$LIMA_HOME/.said"; then
			return 0
		fi
		grep -q 'killed by SIGKILL' "$LIMA_HOME/.calls"
		$check
	done
	false
}
names() { limactl-c list -q | tr '\n' ' '; }
whole() { # an instance of that name, with all that a had
	equals "$(limactl-c list "$1" --json | jq -r .status)" Stopped
	equals "$(sha256sum <"$LIMA_HOME/$1/disk")" "$SUM"
	cmp "$LIMA_HOME/$1/lima.yaml" "$LIMA_HOME/.yaml"
}
content() {
	limactl-c create --tty=false --name=a "$LIMA_HOME/fake.yaml"
	cp "$LIMA_HOME/a/lima.yaml" "$LIMA_HOME/.yaml"
	head -c 3M /dev/urandom >"$LIMA_HOME/a/disk"
	SUM=$(sha256sum <"$LIMA_HOME/a/disk")
}
nothing_left() { equals "$(find "$LIMA_HOME" -maxdepth 1 -name '.*.*' ! -name .yaml)$(find "$LIMA_HOME" -name '*.tmp')" ""; }

clone_checked() {
	whole a
	if [ "$(names)" != "a " ]; then
		whole b
		limactl-c delete b 2>/dev/null
	fi
}
@test "clone, killed anywhere: the new one is there with everything or not at all" {
	content
	killed_everywhere clone_checked limactl-c clone a b
	whole a
	whole b
	nothing_left
}

# Either name has it; the first time it has the new one it is started, whatever its plan says.
rename_checked() {
	if [ "$(names)" = "b " ]; then
		whole b
		if [ ! -e "$LIMA_HOME/.started" ]; then
			limactl-c start --tty=false b 2>/dev/null
			limactl-c stop b 2>/dev/null
			touch "$LIMA_HOME/.started"
		fi
		limactl-c rename b a 2>/dev/null
	fi
	equals "$(names)" "a "
	whole a
}
@test "rename, killed anywhere: it has the one name or the other" {
	content
	killed_everywhere rename_checked limactl-c rename a b
	equals "$(names)" "b "
	whole b
	nothing_left
}

@test "a clone whose copy was interrupted before it had a plan of its own has none of the other's disk" {
	seeded
	limactl-c clone a b
	cp "$LIMA_HOME/a/plan.json" "$LIMA_HOME/b/plan.json"
	limactl-c snapshot create b --tag one
	equals "$(limactl-c snapshot list -q a)" ""
	equals "$(limactl-c snapshot list -q b)" one
}
