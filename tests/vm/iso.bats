# An ISO laid out as alpine-lima's (tests/helpers/alpine-iso), diskless: its root is in memory, what is to stay lies on a disk
# of its own. Started without its loader and with it, as one instance that keeps its data.
bats_require_minimum_version 1.5.0
. "$BATS_TEST_DIRNAME/../helpers/common.bash"

setup_file() {
	OWN_HOME=$(mktemp -d /tmp/ld.XXXX)
	NAMES=${XDG_CACHE_HOME:-$HOME/.cache}/limactl-c/names
	DOCKER=$(command -v docker || echo "$NAMES/docker-client-x86_64")
	PORT=$(free_port)
	export OWN_HOME NAMES DOCKER DOCKER_HOST=unix://$OWN_HOME/iso/sock/docker.sock PORT
	"$BATS_TEST_DIRNAME/../helpers/alpine-iso"
	openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=test -keyout /dev/null -out "$OWN_HOME/cert.pem" 2>/dev/null
	cat >"$OWN_HOME/iso.yaml" <<-'YAML'
		images: [{location: "cache:alpine-lima-x86_64.iso", arch: x86_64}]
		cpus: 2
		memory: 2GiB
		disk: 8GiB
		mounts: []
		user: {name: dev, comment: Dev L. Oper, uid: 1234, home: /home/dev.guest}
		timezone: Europe/Berlin
		hostResolver: {enabled: false}
		dns: [192.168.5.3, 192.0.2.53]
		guest: {engineDisk: "cache:docker-engine-{{.Arch}}.squashfs"}
		portForwards: [{guestSocket: /run/docker.sock, hostSocket: docker.sock}]
		provision:
		- {mode: boot, script: "#!/bin/sh\necho boot >>/var/lib/ran\n"}
		- {mode: system, script: "#!/bin/sh\necho system >>/var/lib/ran\n"}
		- {mode: user, script: "#!/bin/sh\necho \"user $(id -un)\" >>~/ran\n"}
		caCerts:
		  removeDefaults: true
		  certs:
		  - |
	YAML
	sed 's/^/    /' "$OWN_HOME/cert.pem" >>"$OWN_HOME/iso.yaml"
}
teardown_file() {
	LIMA_HOME=$OWN_HOME limactl-c delete -f iso >/dev/null 2>&1 || true
	rm -rf "$OWN_HOME"
}
setup() { export LIMA_HOME=$OWN_HOME; }
# What failed is in these logs, which go with the instance. The next test finds it stopped.
teardown() {
	[ -n "${BATS_TEST_COMPLETED:-}" ] && return
	tail -n 25 "$LIMA_HOME/iso/ha.stderr.log" "$LIMA_HOME/iso/serial.log" >&2 || true
	limactl-c stop -f iso >/dev/null 2>&1 || true
}

iso() { limactl-c shell iso "$@"; }
cmdline() { limactl-c list iso --json | jq -r .kernelCmdline; }

# timed_start WHAT ARGUMENT...
timed_start() {
	local what=$1 begin=$EPOCHREALTIME
	shift
	limactl-c start --tty=false "$@"
	echo "# $what: READY with Docker after $(awk -v b="$begin" -v e="$EPOCHREALTIME" 'BEGIN { printf "%.1f", e - b }') s" >&3
	# Nothing failed: neither a step of `agent setup` nor one of the boot scripts.
	equals "$(iso sudo sh -c 'cat /run/lima/setup.warnings 2>/dev/null; grep -B3 warning /var/log/lima-init.log')" ""
}

# The root is in memory; each folder that is to stay is one of the volume's.
is_diskless() {
	local folder
	equals "$(iso awk '$2 == "/" { print $3 }' /proc/mounts)" tmpfs
	for folder in /mnt/data $folders; do
		equals "$folder $(iso awk -v f=$folder '$2 == f { print $1, $3 }' /proc/mounts)" "$folder /dev/vda ext4"
	done
}

# What each of the folders is to keep over a restart.
folders="/etc /home /root /tmp /usr/local /var/lib"
is_kept() {
	local folder
	for folder in $folders; do
		equals "$folder $(iso sudo cat "$folder/file")" "$folder kept"
	done
	run ! iso test -e /opt/file
	equals "$(volume)" "$(cat "$OWN_HOME/volume")"
}

# in_iso PATH: a file of the ISO.
in_iso() { bsdtar -xOf "$NAMES/alpine-lima-x86_64.iso" "$1"; }

certificates() { iso grep -c BEGIN /etc/ssl/certs/ca-certificates.crt; }

# By the guest itself: one that had to be killed is said in the log.
stop_cleanly() {
	limactl-c stop iso
	run ! grep -q "did not power off in time" "$LIMA_HOME/iso/ha.stderr.log"
}

# Of the file system: another one was made when this is another.
volume() { iso sudo blkid /dev/vda | tr ' ' '\n' | grep -E '^(LABEL|UUID)='; }

# run_web NAME: a container whose port is published answers on the host.
run_web() {
	"$DOCKER" run -d --name "$1" -p "$PORT:80" busybox /bin/busybox httpd -f -p 80 -h /www
	wait_until 60 "$DOCKER" exec "$1" /bin/busybox wget -qO- http://127.0.0.1/
	equals "$(curl -sS http://127.0.0.1:$PORT/)" "hello from the container"
	"$DOCKER" rm -f "$1"
	closed_port "$PORT"
}

load_busybox() {
	local root=$BATS_TEST_TMPDIR/root
	mkdir -p "$root/bin" "$root/www"
	cp "$NAMES/busybox-x86_64" "$root/bin/busybox"
	ln -s busybox "$root/bin/sh"
	echo "hello from the container" >"$root/www/index.html"
	tar -C "$root" -c . | "$DOCKER" import - busybox
}

words='modules=loop,squashfs,sd-mod,usb-storage modloop=/boot/modloop-virt alpine_dev=cdrom:iso9660 console=tty0 console=ttyS0,115200'

@test "the ISO is laid out as alpine-lima's: the guest's kernel, an initramfs, modules as a squashfs" {
	in_iso boot/vmlinuz-virt | cmp - "$NAMES/alpine-3.23-x86_64.kernel"
	in_iso boot/initramfs-virt | bsdtar -tf - init
	equals "$(in_iso boot/modloop-virt | head -c 4)" hsqs
}

@test "without its loader: its own initramfs and words, and ours; the empty disk becomes the data volume; Docker" {
	limactl-c create --tty=false --name=iso "$OWN_HOME/iso.yaml"
	equals "$(cmdline)" "$words quiet psi=1 panic=-1 no_timer_check tsc=reliable norandmaps"
	equals "$(qemu-img map --output=json "$LIMA_HOME/iso/disk" | jq 'map(select(.data))')" "[]"
	timed_start "first start, its kernel started directly" iso
	equals "$(iso cat /proc/cmdline)" "$(cmdline)"
	iso test -e /proc/pressure/memory # psi=1 is in force
	equals "$(iso cat /proc/sys/kernel/randomize_va_space)" 2
	contains "$(iso cat /proc/mounts)" " /.modloop squashfs "
	contains "$(iso readlink /lib/modules)" modloop
	in_iso boot/initramfs-virt | bsdtar -xOf - init | cmp - <(iso cat /usr/share/mkinitfs/initramfs-init </dev/null)
	is_diskless
	contains "$(volume)" 'LABEL="data-volume"'
	volume >"$OWN_HOME/volume"
	iso sudo sh -c "for d in $folders; do echo kept >\$d/file; done; echo lost >/opt/file"
	equals "$(curl -sS --unix-socket "$LIMA_HOME/iso/sock/docker.sock" http://docker/_ping)" OK
	load_busybox
	run_web first
}

@test "what lima-init made of the template: user, key, host name, time zone, name servers, certificates" {
	equals "$(iso grep ^dev: /etc/passwd)" "dev:x:1234:1234:Dev L. Oper:/home/dev.guest:/bin/bash"
	equals "$(iso id -un; iso pwd; iso sudo id -u)" $'dev\n/home/dev.guest\n0'
	equals "$(iso stat -c '%a %U' .ssh/authorized_keys)" "600 dev"
	equals "$(iso cat .ssh/authorized_keys)" "$(cat "$LIMA_HOME/_config/user.pub")"
	equals "$(iso hostname)" lima-iso
	equals "$(iso cat /etc/timezone)" Europe/Berlin
	contains "$(iso date +%Z)" CE
	equals "$(iso sed -n 's/^nameserver //p' /etc/resolv.conf)" $'192.168.5.3\n192.0.2.53'
	equals "$(certificates)" 1
	contains "$(iso cat /etc/ssl/certs/ca-certificates.crt)" "$(cat "$OWN_HOME/cert.pem")"
	equals "$(iso cat /var/lib/ran; iso sh -c 'cat ~/ran')" $'boot\nsystem\nuser dev'
	iso sudo sh -c 'echo Etc/UTC >/etc/timezone'
	stop_cleanly
}

@test "the second start formats nothing and finds what was kept, the engine's images too" {
	timed_start "second start" iso
	is_diskless
	is_kept
	equals "$(iso cat /var/lib/ran | xargs)" "boot system boot system"
	equals "$(iso cat /etc/timezone)" Etc/UTC # the template is the same: what the guest has set stays
	run_web second
	stop_cleanly
}

@test "the same instance by the ISO's own loader and BIOS, its disk grown: the loader's words only, the same data, Docker" {
	timed_start "start by its own loader" --disk=9 --set '.guest.directBoot = false | .firmware.legacyBIOS = true' \
		--set '.timezone = "Asia/Tokyo" | .caCerts.removeDefaults = false | .caCerts.certs = []' iso
	equals "$(iso cat /proc/cmdline | tr ' ' '\n' | grep -v '^\(BOOT_IMAGE\|initrd\)=' | xargs)" "$words norandmaps"
	is_diskless
	is_kept
	(($(iso df -k /mnt/data | awk 'END { print $2 }') > 8700000))
	# The template has changed: what lima-init makes of it counts again.
	equals "$(iso cat /etc/timezone; iso date +%Z)" $'Asia/Tokyo\nJST'
	(($(certificates) > 100))
	[[ $(iso cat /etc/ssl/certs/ca-certificates.crt) != *"$(cat "$OWN_HOME/cert.pem")"* ]]
	run_web third
	stop_cleanly
}
