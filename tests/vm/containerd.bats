# containerd: a Debian guest with it for root and for its user, out of an archive made here; a lean guest with it for root.
. "$BATS_TEST_DIRNAME/../helpers/vm.bash"
bats_require_minimum_version 1.5.0

setup_file() {
	OWN_HOME=$(mktemp -d /tmp/lcc.XXXX)
	export OWN_HOME
	"$BATS_TEST_DIRNAME/../helpers/debian-image"
	"$BATS_TEST_DIRNAME/../helpers/nerdctl-archive"
	make_packages
	make_box
	mkdir "$OWN_HOME/.a folder" "$OWN_HOME/.only"
}
teardown_file() {
	local i
	for i in deb lean; do LIMA_HOME=$OWN_HOME limactl-c delete -f $i >/dev/null 2>&1 || true; done
	rm -rf "$OWN_HOME"
}
setup() { export LIMA_HOME=$OWN_HOME; }

deb() { limactl-c shell deb "$@"; }
cached() { readlink -f "${XDG_CACHE_HOME:-$HOME/.cache}/limactl-c/names/$1"; }
has_nerdctl() { tar -tzf "$(cached nerdctl-full-x86_64.tar.gz)" | grep -q '^./bin/nerdctl$'; }
needs_nerdctl() { has_nerdctl || skip "no Go to build nerdctl with"; }

# A disk of packages that the guest installs: none is to be had from it.
make_packages() {
	"$BATS_TEST_DIRNAME/../helpers/nerdctl-archive" --packages "$OWN_HOME/_packages"
	mke2fs -q -t ext4 -d "$OWN_HOME/_packages" "$OWN_HOME/_packages.img" 16M
	LIMA_HOME=$OWN_HOME limactl-c disk import packages "$OWN_HOME/_packages.img"
}

# An image of busybox alone, box:1, as docker save writes them.
make_box() (
	mkdir -p "$OWN_HOME/_box/root/bin"
	cd "$OWN_HOME/_box"
	cp "$(cached busybox-x86_64)" root/bin/busybox
	ln -s busybox root/bin/sh
	tar -cf layer.tar --owner=0 --group=0 -C root .
	cat >config.json <<-JSON
		{"architecture": "amd64", "os": "linux", "config": {"Env": ["PATH=/bin"], "Cmd": ["/bin/sh"]},
		 "rootfs": {"type": "layers", "diff_ids": ["sha256:$(sha256sum <layer.tar | cut -d ' ' -f 1)"]}}
	JSON
	echo '[{"Config": "config.json", "RepoTags": ["docker.io/library/box:1"], "Layers": ["layer.tar"]}]' >manifest.json
	tar -cf ../_box.tar manifest.json config.json layer.tar
)

archives="[{location: \"cache:nerdctl-full-x86_64.tar.gz\", arch: x86_64}]"

template() {
	debian_template
	cat <<-YAML
		user: {name: ada, uid: 4711, home: /home/ada.guest, shell: /bin/bash}
		additionalDisks: [{name: packages, format: false}]
		provision: [{mode: dependency, script: "#!/bin/sh\ndpkg -i /mnt/lima-packages/*.deb"}]
		mountType: reverse-sshfs
		mounts:
		- {location: "$OWN_HOME/.a folder", writable: true, sshfs: {cache: false}}
		- {location: "$OWN_HOME/.only", mountPoint: "/srv/only to read"}
		containerd: {system: true, user: $(has_nerdctl && echo true || echo false), archives: $archives}
	YAML
}

@test "a Debian guest reaches READY with both" {
	template >"$LIMA_HOME/deb.yaml"
	local from=$SECONDS
	run limactl-c start --tty=false --timeout=20m "$LIMA_HOME/deb.yaml"
	[ "$status" = 0 ] || { tail -n 40 "$LIMA_HOME/deb/serial.log"; deb sudo tail -n 80 /var/log/cloud-init-output.log; false; }
	echo "# READY after $((SECONDS - from)) s" >&3
	[[ $output != *degraded* ]] || { echo "$output"; deb sudo tail -n 80 /var/log/cloud-init-output.log; false; }
}

@test "for root: ctr answers, and runs an image made here" {
	contains "$(deb sudo ctr version)" "Version:  1.6.20"
	equals "$(deb systemctl is-active containerd)" active
	deb sudo ctr image import - <"$OWN_HOME/_box.tar"
	equals "$(deb sudo ctr run --rm docker.io/library/box:1 one /bin/busybox echo hello)" hello
}

@test "folders of the host by sshfs, in the guest and in containers; mounted again when an agent comes anew" {
	local a="$OWN_HOME/.a folder"
	echo host >"$a/file"
	contains "$(deb cat /proc/mounts)" "$OWN_HOME/.a\040folder fuse.sshfs rw"
	deb sudo ctr run --rm --mount "type=bind,src=$a,dst=$a,options=rbind:rw" docker.io/library/box:1 two \
		/bin/busybox sh -c 'cd "$1" && busybox grep -qx host file && echo guest >new && busybox mv new "of the guest"' sh "$a"
	equals "$(cat "$a/of the guest")" guest
	echo only >"$OWN_HOME/.only/file"
	equals "$(deb cat "/srv/only to read/file")" only
	run ! deb sudo sh -c 'mount -o remount,rw "$1"; echo >"$1/new" || rm -f "$1/file"' sh "/srv/only to read"
	equals "$(ls "$OWN_HOME/.only")" file

	read_again() { [ "$(deb cat "$a/file")" = "$1" ] && [ "$(deb cat "/srv/only to read/file")" = only ]; }
	kill -KILL "$(ha_pid deb)"
	limactl-c start --tty=false deb
	echo 2 >"$a/file"
	wait_until 120 read_again 2
	deb sudo systemctl restart lima-guestagent || true # it runs behind the agent itself
	echo 3 >"$a/file"
	wait_until 120 read_again 3
	equals "$(deb grep -c fuse.sshfs /proc/mounts)" 2
}

@test "for root: nerdctl runs it too" {
	needs_nerdctl
	equals "$(deb sudo nerdctl run --rm --net none box:1 /bin/busybox echo hello)" hello
}

@test "for the user: nerdctl runs what the user has loaded, without root's rights" {
	needs_nerdctl
	contains "$(deb nerdctl info)" rootless
	equals "$(deb nerdctl images -q)" ""
	# nerdctl's own `load` wants a newer containerd than Debian's.
	deb containerd-rootless-setuptool.sh nsenter -- ctr image import - <"$OWN_HOME/_box.tar"
	equals "$(deb nerdctl run --rm --net none box:1 /bin/busybox id -u)" 0
	# Its processes are the user's.
	contains "$(deb ps -o user= -C containerd)" ada
}

# Debian's programs in Alpine: their C library is in the archive.
lean_template() {
	alpine_template 1GiB
	cat <<-YAML
		arch: x86_64
		mounts: []
		guest: {init: lean}
		provision:
		- mode: boot
		  script: |
		    #!/bin/sh
		    mkdir -p /lib64
		    ln -sfn /usr/local/glibc/ld-linux-x86-64.so.2 /lib64/ld-linux-x86-64.so.2
		    ln -sfn /usr/local/glibc /lib/x86_64-linux-gnu
		containerd: {system: true, archives: [{location: "$LIMA_HOME/nerdctl-full.tar.gz"}]}
	YAML
}
seen='.provision += [{"mode": "system", "script": "#!/bin/sh\nctr version >/run/seen"}]'
lean() { limactl-c shell lean "$@"; }

@test "a lean guest: what is no archive makes it degraded at once, in words; the next start has the archive" {
	echo "nothing packed" >"$LIMA_HOME/nerdctl-full.tar.gz"
	lean_template >"$LIMA_HOME/lean.yaml"
	run -1 limactl-c start --tty=false --timeout=5m "$LIMA_HOME/lean.yaml"
	contains "$output" 'did not succeed: exit code 1: the archive cannot be unpacked; hint: '
	limactl-c stop lean
	ln -sf "$(cached nerdctl-full-x86_64.tar.gz)" "$LIMA_HOME/nerdctl-full.tar.gz"
	limactl-c edit lean --tty=false --set "$seen"
	run -0 limactl-c start --tty=false --timeout=15m lean
	[[ $output != *degraded* ]]
	# There for the template's own scripts.
	contains "$(lean sudo cat /run/seen)" "Version:  1.6.20"
	lean sudo ctr image import - <"$OWN_HOME/_box.tar"
	equals "$(lean sudo ctr run --rm docker.io/library/box:1 one /bin/busybox echo hello)" hello
}

@test "its own init keeps it as a service" {
	lean sudo touch /usr/local/bin/kept
	limactl-c stop lean
	limactl-c edit lean --tty=false --set '.guest.init = "openrc"'
	run -0 limactl-c start --tty=false --timeout=15m lean
	[[ $output != *degraded* ]]
	contains "$(lean sudo cat /run/seen)" "Version:  1.6.20"
	contains "$(lean rc-status --all)" nerdctl-containerd
	lean ls /usr/local/bin/kept
	contains "$(lean ps -o args)" "/usr/local/bin/containerd"
}
