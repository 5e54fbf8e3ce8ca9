# vm.bash - one real guest for all files of tests/vm: booted once, saved through the product's own control socket with
# its disk beside it, restored for each file. tests/run calls vm_prepare before and vm_remove after; a bats file calls
# vm_restore in setup_file and vm_stop in teardown_file.
# shellcheck source=tests/helpers/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

# Boots the instance `vm`, loads what the tests need into it, saves it and keeps state and disk in $VM_STASH.
vm_prepare() {
	LIMA_HOME=$(mktemp -d /tmp/lv.XXXX)
	VM_STASH=$LIMA_HOME/_stash
	export LIMA_HOME VM_STASH
	mkdir "$VM_STASH"
	build_helper "$VM_STASH/helper" || return 1
	# The shipped template, with one more socket for the stand-in of order.bats; it sleeps where a test wants it to.
	sed 's|^portForwards:|&\n- {guestSocket: /run/standin.sock, hostSocket: standin.sock}|; s|when: noContainers|when: never|' \
		templates/minimal-docker-offline.yaml >"$VM_STASH/vm.yaml"
	# A proxy that nobody can reach: nothing asks it on the way to READY.
	https_proxy=http://localhost:1 no_proxy=.corp limactl-c start --tty=false --name=vm "$VM_STASH/vm.yaml" || return 1
	limactl-c shell vm sh -c 'cat >/usr/local/bin/helper && chmod 755 /usr/local/bin/helper' <"$VM_STASH/helper" || return 1
	vm_busybox_image vm || return 1
	# The disk belongs to the state only when nothing is in flight.
	limactl-c shell vm sync || return 1
	control vm POST save || return 1
	cp -p "$LIMA_HOME/vm/disk" "$VM_STASH/disk" || return 1
	cp "$LIMA_HOME/vm/vm.state" "$LIMA_HOME/vm/vm.state.json" "$VM_STASH" || return 1
	limactl-c stop -f vm
}

# vm_busybox_image INSTANCE: loads Debian's static busybox, which `make image` fetched, as the image `busybox` into its engine.
vm_busybox_image() { busybox_root | limactl-c shell "$1" docker import - busybox; }

# A container's root with it and a page to serve, as tar.
busybox_root() {
	local root
	root=$(mktemp -d)
	mkdir -p "$root/bin" "$root/www"
	cp "${XDG_CACHE_HOME:-$HOME/.cache}/limactl-c/names/busybox-$(uname -m)" "$root/bin/busybox"
	ln -s busybox "$root/bin/sh"
	echo "hello from the container" >"$root/www/index.html"
	tar -C "$root" -c .
	local status=$?
	rm -rf "$root"
	return $status
}

# alpine_template [MEMORY]: of a small guest without the engine, which boots in a third of the time; what is wanted besides
# is added.
alpine_template() {
	cat <<-YAML
		images:
		- location: cache:alpine-3.23-x86_64.qcow2
		  arch: x86_64
		  kernel: {location: "cache:alpine-3.23-x86_64.kernel"}
		  initrd: {location: "cache:alpine-3.23-x86_64.initrd"}
		cpus: 2
		memory: ${1:-512MiB}
		disk: 2GiB
	YAML
}

# The template of the Debian guest that tests/helpers/debian-image makes, likewise.
debian_template() {
	cat <<-'YAML'
		images: [{location: "cache:debian-12-x86_64.qcow2", arch: x86_64}]
		arch: x86_64
		firmware: {legacyBIOS: true}
		cpus: 2
		memory: 1GiB
		disk: 3GiB
	YAML
}

# put_sshd INSTANCE: this host's SSH server with its libraries, for a guest that has none and cannot fetch one; started by start_sshd.
put_sshd() {
	# shellcheck disable=SC2046 # words
	tar -ch /usr/sbin/sshd /usr/bin/ssh-keygen $(ldd /usr/sbin/sshd /usr/bin/ssh-keygen | grep -o '/[^ :]* (' | tr -d '(' | sort -u) 2>/dev/null |
		limactl-c shell "$1" sudo tar -x -C /
}
start_sshd() {
	limactl-c shell "$1" sudo sh -c 'mkdir -p /run/sshd /etc/ssh && ssh-keygen -q -t ed25519 -N "" -f /etc/ssh/ssh_host_ed25519_key &&
		/usr/sbin/sshd -f /dev/null -o Subsystem="sftp internal-sftp"'
}

# A copy of the saved machine, running again within a second or two.
vm_restore() {
	limactl-c stop -f vm >/dev/null 2>&1 || true
	cp -p "$VM_STASH/disk" "$LIMA_HOME/vm/disk"
	cp "$VM_STASH/vm.state" "$VM_STASH/vm.state.json" "$LIMA_HOME/vm/"
	limactl-c start vm
}

vm_stop() { limactl-c stop -f vm >/dev/null 2>&1 || true; }

vm_remove() {
	limactl-c delete -f vm >/dev/null 2>&1 || true
	rm -rf "$LIMA_HOME"
}

# guest COMMAND...: in the guest, as the instance's user.
guest() { limactl-c shell vm "$@"; }

# listen COMMAND...: what inotify tells in the guest is heard, until quiet. COMMAND runs tests/helpers/watch.c there.
listen() {
	HEARD=$(mktemp -p "$BATS_TEST_TMPDIR")
	"$@" >"$HEARD" 3>&- &
	LISTENER=$!
	wait_until 30 grep -q ready "$HEARD"
}
heard() { sed 1d "$HEARD" | cut -d ' ' -f 2- | sed 's/ $//'; }
has_heard() { heard | grep -xF "$1"; }
# hears LINE: it comes, and with it all that was told before.
hears() { wait_until 60 has_heard "$1"; }
quiet() {
	kill "$LISTENER" || true # it may have ended
	wait "$LISTENER" || true
}
