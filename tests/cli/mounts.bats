# mounts on the command line: what flags and templates make of the plan, and what is refused.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup() {
	cli_setup
	mkdir "$LIMA_HOME/.a" "$LIMA_HOME/.b it's \"b\""
}
teardown() { cli_teardown; }

# create ARGUMENT...: an instance made of fake.yaml; what it mounts is in $output, "HOST GUEST WRITABLE TYPE CACHE" a line.
create() {
	limactl-c delete -f box >/dev/null 2>&1 || true
	limactl-c create --tty=false --name box "$@" "$LIMA_HOME/fake.yaml" || return
	output=$(plan_mounts)
}
plan_mounts() { jq -r '.mounts[] | "\(.host_path) \(.guest_path) \(.writable) \(.type) \(.options)"' "$LIMA_HOME/box/plan.json"; }
OPTIONS="trans=virtio,version=9p2000.L,msize=131072,cache=mmap"

@test "flags say what is mounted" {
	local a=$LIMA_HOME/.a b="$LIMA_HOME/.b it's \"b\""
	create --mount "$a:w" --mount "$b"
	equals "$output" "$a $a true 9p $OPTIONS
$b $b false 9p $OPTIONS"
	create --mount "$b" --mount-writable --mount-type virtiofs
	equals "$output" "$b $b true virtiofs "
	create --mount "$b" --mount-type reverse-sshfs --set '.mounts[0].sshfs.sftpDriver = "openssh-sftp-server"'
	equals "$output" "$b $b false reverse-sshfs "
	printf 'mounts: [{location: "~"}]\n' >>"$LIMA_HOME/fake.yaml"
	HOME=$a create
	equals "$output" "$a $a false 9p $OPTIONS"
	HOME=$a create --mount-only "$b:w"
	equals "$output" "$b $b true 9p $OPTIONS"
	create --mount-none
	equals "$output" ""
	limactl-c edit box --mount "$a:w"
	limactl-c start --tty=false box
	equals "$(plan_mounts)" "$a $a true 9p $OPTIONS"
	limactl-c stop -f box
	limactl-c start --tty=false box --mount-none
	equals "$(plan_mounts)" ""
}

@test "variables and ~ in paths; overlapping ones from outside in; what is missing is made for its owner only" {
	cat >>"$LIMA_HOME/fake.yaml" <<-YAML
		param: {sub: deep}
		mounts:
		- {location: "{{.Home}}/x/{{.Param.sub}}", mountPoint: "/srv/{{.Param.sub}}/in/ner"}
		- {location: "~/y", mountPoint: /srv/deep, writable: true}
	YAML
	mkdir "$LIMA_HOME/.home"
	HOME=$LIMA_HOME/.home create
	equals "$output" "$LIMA_HOME/.home/y /srv/deep true 9p $OPTIONS
$LIMA_HOME/.home/x/deep /srv/deep/in/ner false 9p $OPTIONS"
	equals "$(stat -c %a "$LIMA_HOME/.home/y" "$LIMA_HOME/.home/x" "$LIMA_HOME/.home/x/deep" | sort -u)" 700
}

@test "all that is wrong is said in one run, and nothing is made" {
	: >"$LIMA_HOME/.file"
	printf 'mounts: [{location: x}, {location: "%s"}, {location: /proc/none/a, mountPoint: /usr}]\n' "$LIMA_HOME/.file" >>"$LIMA_HOME/fake.yaml"
	run ! create
	contains "$output" "mounts[0].location: must be an absolute path"
	contains "$output" "mounts[1].location: must be a folder"
	contains "$output" "mounts[2].mountPoint: must not be /usr"
	sed -i 's|^mounts:.*|mounts: [{location: /proc/none/a}, {location: /proc/none/b}]|' "$LIMA_HOME/fake.yaml"
	run ! create
	contains "$output" "/proc/none/a: create folder /proc/none"
	contains "$output" "/proc/none/b: create folder /proc/none"
	[ ! -e "$LIMA_HOME/box" ]
}

# watchers FOLDER...: programs that watch exactly these.
watchers() { pgrep -f "libexec/limactl-c/watcher $*\$"; }

@test "--mount-inotify: a program watches the writable folders as long as the instance runs; others say that they cannot be" {
	local a=$LIMA_HOME/.a b="$LIMA_HOME/.b it's \"b\""
	run -0 create --mount "$a:w" --mount "$b" --mount-inotify
	contains "$output" "mountInotify cannot wake those who watch files in a read-only folder"
	limactl-c start --tty=false box
	wait_until 10 watchers "0=$a"
	equals "$(limactl-c list box --format '{{.Status}}')" Running
	limactl-c stop box
	wait_until 10 eval '! watchers "0=$LIMA_HOME/.a"'
	limactl-c edit --tty=false --mount-inotify=false box
	limactl-c start --tty=false box
	run ! watchers "0=$a"
}
