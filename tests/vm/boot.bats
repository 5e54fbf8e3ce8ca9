# Boots of its own: another user, environment, hostname, provisioning that works and that fails.
bats_require_minimum_version 1.5.0
. "$BATS_TEST_DIRNAME/../helpers/vm.bash"

setup_file() {
	alpine_template >"$LIMA_HOME/small.yaml"
	cat >>"$LIMA_HOME/small.yaml" <<-'YAML'
		user: {name: dev, uid: 1000, home: /home/dev}
		env: {GREETING: "hello, it's \"me\""}
		guest: {init: lean}
	YAML
}
teardown() {
	limactl-c delete -f small bad >/dev/null 2>&1 || true
}

@test "user, sudo, environment, hostname, disk and scripts are as the template says; twice" {
	cat - "$LIMA_HOME/small.yaml" >"$LIMA_HOME/small-ok.yaml" <<-'YAML'
		provision:
		- mode: boot
		  script: |
		    #!/bin/sh
		    echo "$(id -un)" >>/root/boot-ran
		- mode: system
		  script: |
		    #!/bin/sh
		    echo "$GREETING" >>/root/system-ran
	YAML
	limactl-c start --name=small "$LIMA_HOME/small-ok.yaml"
	equals "$(limactl-c shell small id -un)" dev
	equals "$(limactl-c shell small id -u)" 1000
	equals "$(limactl-c shell small pwd)" /home/dev
	equals "$(limactl-c shell small sudo id -u)" 0
	equals "$(limactl-c shell small hostname)" lima-small
	equals "$(limactl-c shell small sh -c 'echo "$GREETING"')" "hello, it's \"me\""
	equals "$(limactl-c shell small sudo cat /root/boot-ran)" root
	equals "$(limactl-c shell small sudo cat /root/system-ran)" "hello, it's \"me\""
	(($(limactl-c shell small df -k / | awk 'END { print $2 }') > 1800000))
	limactl-c restart small
	equals "$(limactl-c shell small sudo cat /root/boot-ran | wc -l)" 2
	equals "$(limactl-c shell small sudo cat /root/system-ran | wc -l)" 2
	# For the SSH server that somebody may install; once.
	equals "$(limactl-c shell small stat -c '%a %U' .ssh/authorized_keys)" "600 dev"
	equals "$(limactl-c shell small cat .ssh/authorized_keys)" "$(cat "$LIMA_HOME/_config/user.pub")"
}

# as_dev COMMAND...: as the host user dev with uid 1000, known by that name in a mount namespace of its own.
as_dev() {
	# First, since the machine may have a user with that uid.
	(echo "dev:x:1000:1000:Dev:$LIMA_HOME/_dev:/bin/sh"; cat /etc/passwd) >"$LIMA_HOME/passwd"
	unshare -m sh -c 'mount --bind "$0" /etc/passwd && exec setpriv --reuid 1000 --regid 1000 --clear-groups -- "$@"' \
		"$LIMA_HOME/passwd" env HOME="$LIMA_HOME/_dev" USER=dev LIMA_HOME="$LIMA_HOME/_dev/lima" \
		XDG_CACHE_HOME="$LIMA_HOME/_dev/cache" "$@"
}

@test "a host user with uid 1000: the guest's user has the same name and uid, and sudo" {
	chmod 711 "$LIMA_HOME"
	mkdir -p "$LIMA_HOME/_dev/cache"
	cp -a "${XDG_CACHE_HOME:-$HOME/.cache}/limactl-c" "$LIMA_HOME/_dev/cache/"
	sed '/^user:/d' "$LIMA_HOME/small.yaml" >"$LIMA_HOME/_dev/own.yaml"
	chown -R 1000:1000 "$LIMA_HOME/_dev"
	as_dev limactl-c start --name=own "$LIMA_HOME/_dev/own.yaml"
	equals "$(as_dev limactl-c shell own sh -c 'id -un; id -u; pwd; sudo id -u' | tr '\n' ' ')" "dev 1000 /home/dev.guest 0 "
	as_dev limactl-c stop own
	as_dev limactl-c delete own
}

@test "a failing script: start says which, its code and its last lines; the machine runs, shown as degraded" {
	cat - "$LIMA_HOME/small.yaml" >"$LIMA_HOME/bad.yaml" <<-'YAML'
		provision:
		- mode: system
		  script: |
		    #!/bin/sh
		    exit 0
		- mode: system
		  script: |
		    #!/bin/sh
		    echo "the disk of doom is missing"
		    exit 7
	YAML
	run -1 limactl-c start --name=bad "$LIMA_HOME/bad.yaml"
	contains "$output" "provision"
	contains "$output" "7"
	contains "$output" "the disk of doom is missing"
	equals "$(limactl-c list bad --json | jq -r .status)" Running
	contains "$(limactl-c list bad --json | jq -r '.errors[]')" 7
	equals "$(limactl-c shell bad echo alive)" alive
}

@test "a user's program may reboot the guest from a script: start waits through it" {
	cat - "$LIMA_HOME/small.yaml" >"$LIMA_HOME/reboot.yaml" <<-'YAML'
		provision:
		- mode: system
		  script: |
		    #!/bin/sh
		    [ -e /var/once ] || { touch /var/once; sync; reboot; sleep 100; }
	YAML
	limactl-c start --name=small "$LIMA_HOME/reboot.yaml"
	limactl-c shell small test -e /var/once
}

@test "a larger disk: it grows at the next start, the root file system with it; it never shrinks" {
	limactl-c start --tty=false --name=small "$LIMA_HOME/small.yaml"
	limactl-c shell small sudo sh -c 'echo kept >/root/file && sync'
	limactl-c stop small
	limactl-c start --tty=false --disk=3 small
	(($(limactl-c shell small df -k / | awk 'END { print $2 }') > 2800000))
	equals "$(limactl-c shell small sudo cat /root/file)" kept
	limactl-c stop small
	run -1 limactl-c start --tty=false --disk=2 small
	contains "$output" "cannot be made smaller"
	contains "$(qemu-img info "$LIMA_HOME/small/disk")" "virtual size: 3 GiB"
}
