# The template minimal-docker on the real Alpine guest with its own init: Docker installed by the template's script with
# apk, from a repository made for the test. What differs from the shipped template is the image, which asks that
# repository, the disk's size and the user's name.
bats_require_minimum_version 1.5.0
. "$BATS_TEST_DIRNAME/../helpers/apk.bash"

setup_file() {
	APK_DIR=$(mktemp -d "$LIMA_HOME/_apk.XXXX")
	DOCKER=$(command -v docker || echo "$apk_cache/docker-client-$(uname -m)")
	export APK_DIR DOCKER DOCKER_HOST=unix://$LIMA_HOME/fl/sock/docker.sock
	vm_restore
	apk_repository
	vm_stop
	apk_serve
	apk_image
	timed first --name=fl --set "$(images)" --set '.disk = "4GiB" | .user.name = "dev"' template:minimal-docker
}
teardown_file() {
	limactl-c delete -f fl >/dev/null 2>&1 || true
	apk_remove
}

images() {
	local boot
	boot=$(printf '"%s": {"location": "cache:alpine-3.23-%s.%s"}, ' kernel "$(uname -m)" kernel initrd "$(uname -m)" initrd)
	echo ".images = [{${boot}\"location\": \"$APK_DIR/image.raw\", \"arch\": \"$(uname -m)\"}]"
}

# timed NAME ARGS...: limactl-c start; the seconds until each stage, and QEMU's processor time by then, in $APK_DIR/NAME.
timed() {
	local log=$APK_DIR/$1.log begin=$EPOCHREALTIME starter
	local stages=$APK_DIR/$1
	shift
	limactl-c start --tty=false --timeout=15m "$@" >"$log" 2>&1 3>&- &
	starter=$!
	stage agent grep -q 'the guest agent answers' "$log"
	stage READY grep -q READY "$log"
	stage docker curl -sS -m 60 --unix-socket "$LIMA_HOME/fl/sock/docker.sock" http://docker/_ping
	wait "$starter" || { cat "$log" >&2 && return 1; }
}
stage() {
	local name=$1
	shift
	wait_until 900 "$@" || { cat "$log" >&2 && return 1; }
	awk -v b="$begin" -v e="$EPOCHREALTIME" -v hz="$(getconf CLK_TCK)" -v name="$name" '
		{ sub(/.*\) /, ""); printf "%s %.1f (%.1f)\n", name, e - b, ($12 + $13) / hz }
	' "/proc/$(cat "$LIMA_HOME/fl/qemu.pid")/stat" >>"$stages"
}
# Of processor time, which the machine's other work changes less; in tenths.
spent() { awk -v s="$2" '$1 == s { print int(substr($3, 2) * 10) }' "$APK_DIR/$1"; }

fl() { limactl-c shell fl "$@"; }
check() { fl sudo /run/lima/agent setup --check; }
answers() { [ "$(curl -sS -m 5 "http://127.0.0.1:$1/")" = "hello from the container" ]; }
boot_id() { fl cat /proc/sys/kernel/random/boot_id; }
rebooted() {
	local now
	now=$(boot_id) && [ "$now" != "$1" ]
}

# A template's text as far as it is the shipped one's own: the base with the images comes last.
own_text() { sed -e '/^images:/,$d' -e '/^disk:/d' -e '/^  name: dev$/d' "$1"; }
own_script() { sed -n '/^  script: |$/,/^$/{s/^    //p}' "$1" | sed 's/{{.User}}/dev/'; }

@test "the instance is the shipped template to the letter, but for image, size and user" {
	limactl-c template copy --embed-all template:minimal-docker "$APK_DIR/shipped.yaml"
	equals "$(own_text "$LIMA_HOME/fl/lima.yaml")" "$(own_text "$APK_DIR/shipped.yaml")"
	contains "$(own_script "$APK_DIR/shipped.yaml")" "apk add --no-cache docker"
	equals "$(fl sudo cat /run/lima/provision/00)" "$(own_script "$APK_DIR/shipped.yaml")"
}

@test "READY: apk installed Docker out of the repository, OpenRC keeps it, the user may use it" {
	equals "$(control fl GET status | jq -c '[.state, .degraded, .errors]')" '["running",false,[]]'
	contains "$(fl sudo cat /var/log/lima-provision.log)" "Installing docker-engine"
	fl apk info -e docker docker-engine docker-openrc
	contains "$(fl rc-update show default)" "docker |"
	fl rc-service docker status
	contains "$(fl docker version -f '{{.Server.Version}}')" 20.10
	run ! fl test -e /run/lima/setup.warnings
	run ! fl sh -c 'find / -xdev -name "*.apk-new" 2>/dev/null | grep .'
}

@test "a container of the host's client, its published port answers here" {
	contains "$("$DOCKER" info)" "Alpine Linux v3.23"
	busybox_root | "$DOCKER" import - busybox
	"$DOCKER" run -d --init --name web --restart unless-stopped -p 8091:80 busybox /bin/busybox httpd -f -p 80 -h /www
	wait_until 600 answers 8091
}

@test "every tuning is in force, Docker's and cache-trim too" {
	equals "$("$DOCKER" inspect -f '{{json .HostConfig.LogConfig.Config}}' web)" '{"max-file":"2","max-size":"10m"}'
	wait_until 600 check
	run -0 check
	[[ $output != *"NOT in force"* && $output != *": off"* ]]
	contains "$(fl logread)" "page cache dropped"
}

@test "the guest's own reboot: Docker and its containers come back, nothing is installed" {
	local before
	before=$(boot_id)
	fl sudo reboot || true
	wait_until 900 rebooted "$before"
	wait_until 600 answers 8091
	run ! fl sudo grep Installing /var/log/lima-provision.log
}

@test "the next start installs nothing and costs less; it upgrades what has a later version" {
	local boot main
	"$DOCKER" rm -f web
	fl sudo apk add greeting
	equals "$(fl cat /usr/share/greeting)" "as installed"
	limactl-c stop fl
	main=$APK_DIR/www/alpine/v3.23/main/$(uname -m)
	mv "$main/APKINDEX.later.tar.gz" "$main/APKINDEX.tar.gz"
	timed second fl --set '.upgradePackages = true'
	equals "$(fl cat /usr/share/greeting)" "as upgraded"
	run ! fl sudo grep Installing /var/log/lima-provision.log
	contains "$("$DOCKER" images)" busybox
	for boot in first second; do
		echo "# $boot start: seconds (of QEMU's processor time): $(tr '\n' ' ' <"$APK_DIR/$boot")" >&3
	done
	(($(spent second READY) < $(spent first READY)))
}
