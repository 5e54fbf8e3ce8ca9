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
	gcc -O1 -static -o "$VM_STASH/helper" tests/helpers/guest.c || return 1
	# The shipped template, and one more socket for the stand-in of order.bats.
	sed 's|^portForwards:|&\n- {guestSocket: /run/standin.sock, hostSocket: standin.sock}|' \
		templates/minimal-docker-offline.yaml >"$VM_STASH/vm.yaml"
	limactl-c start --tty=false --name=vm "$VM_STASH/vm.yaml" || return 1
	limactl-c shell vm sh -c 'cat >/usr/local/bin/helper && chmod 755 /usr/local/bin/helper' <"$VM_STASH/helper" || return 1
	vm_busybox_image || return 1
	# The disk belongs to the state only when nothing is in flight.
	limactl-c shell vm sync || return 1
	control vm POST save || return 1
	cp "$LIMA_HOME/vm/disk" "$VM_STASH/disk" || return 1
	cp "$LIMA_HOME/vm/vm.state" "$LIMA_HOME/vm/vm.state.json" "$VM_STASH" || return 1
	limactl-c stop -f vm
}

# Loads Debian's static busybox, which `make image` fetched, as the image `busybox` into the guest's engine.
vm_busybox_image() { busybox_root | limactl-c shell vm docker import - busybox; }

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

# The template of a small Alpine guest without the engine, which boots in a third of the time; what a test wants besides is added.
alpine_template() {
	cat <<-'YAML'
		images:
		- location: cache:alpine-3.23-x86_64.qcow2
		  arch: x86_64
		  kernel: {location: "cache:alpine-3.23-x86_64.kernel"}
		  initrd: {location: "cache:alpine-3.23-x86_64.initrd"}
		cpus: 2
		memory: 512MiB
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

# A copy of the saved machine, running again within a second or two.
vm_restore() {
	limactl-c stop -f vm >/dev/null 2>&1 || true
	cp "$VM_STASH/disk" "$LIMA_HOME/vm/disk"
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
