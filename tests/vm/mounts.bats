# mounts: folders of the host in a real guest, and in its containers.
bats_require_minimum_version 1.5.0
. "$BATS_TEST_DIRNAME/../helpers/vm.bash"

setup_file() {
	OWN_HOME=$(mktemp -d /tmp/lm.XXXX)
	W=$OWN_HOME/work ODD="$OWN_HOME/odd, it's \"so\"" DB=$OWN_HOME/db LIMA_HOME=$OWN_HOME/home
	DOCKER=$(command -v docker || echo "${XDG_CACHE_HOME:-$HOME/.cache}/limactl-c/names/docker-client-x86_64")
	DOCKER_HOST=unix://$LIMA_HOME/m/sock/docker.sock
	export OWN_HOME W ODD DB LIMA_HOME DOCKER DOCKER_HOST
	mkdir -p "$W/ev" "$ODD" "$OWN_HOME/other" "$LIMA_HOME"
	build_helper "$W/helper"
	gcc -O1 -static -o "$W/watch" tests/helpers/watch.c
	echo host >"$W/file"
	echo one >"$W/ev/f"
	echo '#!/bin/sh' >"$W/ev/run" && chmod 755 "$W/ev/run"
	echo odd >"$ODD/file"
	echo other >"$OWN_HOME/other/file"
	sed '/^mounts:/d; s|when: noContainers|when: never|' templates/minimal-docker-offline.yaml >"$LIMA_HOME/m.yaml"
	cat >>"$LIMA_HOME/m.yaml" <<-YAML
		mountInotify: true
		mounts:
		- {location: "$OWN_HOME/other", mountPoint: "$W/inner"}
		- {location: "$W", writable: true}
		- {location: "${ODD//\"/\\\"}"}
		- {location: "$DB", writable: true, 9p: {securityModel: mapped-xattr}}
	YAML
	limactl-c start --tty=false --name=m "$LIMA_HOME/m.yaml"
	vm_busybox_image m
}
teardown_file() {
	limactl-c delete -f m >/dev/null 2>&1 || true
	rm -rf "$OWN_HOME"
}

m() { limactl-c shell m "$@"; }
# as_root SCRIPT ARGUMENT...: in the guest.
as_root() { m sudo sh -c "$1" sh "${@:2}"; }
run_in() { "$DOCKER" run --rm "$@"; }
descriptors() { fds "$(cat "$LIMA_HOME/m/qemu.pid")"; }

@test "each is where the template says, the inner one in the outer one, whatever its name; a missing folder was made" {
	equals "$(m cat "$W/file" "$W/inner/file" "$ODD/file")" $'host\nother\nodd'
	equals "$(m awk '$3 == "9p" { n++ } END { print n }' /proc/mounts)" 4
	equals "$(stat -c %a "$DB")" 700
	run ! m test -s /run/lima/setup.warnings
	equals "$(limactl-c list m --format '{{.Status}}')" Running
}

@test "what is written in the guest is on the host, whole" {
	as_root 'cd "$1" && head -c 3000000 /dev/urandom >big && mkdir -p d/e && ln -s ../big d/link && mv big d/moved && rm file' "$W"
	equals "$(sha256sum <"$W/d/moved")" "$(m sha256sum <<<'' "$W/d/moved" | sed 's/  .*/  -/')"
	equals "$(readlink "$W/d/link")" ../big
	[ ! -e "$W/file" ]
}

@test "a file that grows, is written anew or replaced on the host is so in the guest at once" {
	local i
	head -c 1000000 /dev/urandom >"$W/grows"
	m sha256sum "$W/grows"
	head -c 5000000 /dev/urandom >>"$W/grows"
	equals "$(m stat -c %s "$W/grows")" 6000000
	equals "$(m cat "$W/grows" | sha256sum)" "$(sha256sum <"$W/grows")"
	# Faster than the time of a file can tell.
	for i in {10..24}; do
		echo "in place $i" 1<>"$W/text"
		equals "$(m cat "$W/text")" "in place $i"
		echo "replaced $i" >"$W/text.new"
		mv "$W/text.new" "$W/text"
		equals "$(m cat "$W/text")" "replaced $i"
	done
}

@test "read-only is read-only: root in the guest cannot write, mounted anew or not" {
	local script
	script='cd "$1" || exit 9; for c in "touch new" "rm file" "chmod 777 file" "mv file other" "mkdir d" "ln -s a l" "truncate -s 0 file" \
		"sh -c \": >file\"" "touch file"; do eval "$c" 2>/dev/null && echo "$c"; done; exit 0'
	equals "$(as_root "$script" "$ODD")" ""
	run ! as_root 'mount -o remount,rw "$1" && touch "$1/new"' "$ODD"
	equals "$(as_root 'tag=$(awk -v p=odd "\$2 ~ p { print \$1 }" /proc/mounts); umount "$1" && mkdir -p /mnt/again &&
		mount -t 9p -o rw,trans=virtio,version=9p2000.L "$tag" /mnt/again && cat /mnt/again/file' "$ODD")" odd
	equals "$(as_root "$script" /mnt/again)" ""
	equals "$(ls "$ODD")" file
	equals "$(cat "$ODD/file")" odd
}

@test "containers find host folders at the same place; docker.sock too; a named volume is none of it" {
	echo from the host >"$W/c"
	equals "$(run_in -v "$W:$W" -w "$W" busybox /bin/busybox cat c)" "from the host"
	run_in -v "$W:/src" busybox /bin/sh -c 'echo from a container >/src/c2'
	# On a busy host it was seen to be empty for a moment.
	wait_until 20 grep -qx "from a container" "$W/c2"
	equals "$(run_in -v "$W/inner:/in:ro" busybox /bin/busybox cat /in/file)" other
	run -0 run_in -i -v /var/run/docker.sock:/var/run/docker.sock -v "$W:/w" busybox /w/helper unix /var/run/docker.sock \
		<<<$'GET /_ping HTTP/1.0\r\n\r'
	contains "$output" "200 OK"
	"$DOCKER" volume create kept
	run_in -v kept:/v busybox /bin/sh -c 'echo volume >/v/file && /bin/busybox chown 999 /v/file'
	equals "$(run_in -v kept:/v busybox /bin/busybox stat -c %u /v/file)" 999
	equals "$(as_root 'stat -f -c %T /var/lib/docker/volumes/kept/_data')" "$(as_root 'stat -f -c %T /')"
	"$DOCKER" volume rm kept
}

@test "compose finds what its file names, beside it on the host; its published port is at localhost" {
	local port
	port=$(free_port)
	mkdir -p "$W/app/site"
	echo composed >"$W/app/site/page"
	cat >"$W/app/docker-compose.yml" <<-YAML
		version: "3"
		services:
		  web:
		    image: busybox
		    command: [/bin/busybox, httpd, -f, -p, "80", -h, /site]
		    ports: ["$port:80"]
		    volumes: ["./site:/site"]
	YAML
	compose() (cd "$W/app" && docker-compose "$@")
	compose up -d
	served() { [ "$(curl -fsS "http://localhost:$port/page")" = composed ]; }
	wait_until 60 served
	compose exec -T web /bin/busybox cp /site/page /site/copy
	wait_until 20 grep -qx composed "$W/app/site/copy"
	compose down -t 0
	wait_until 20 closed_port "$port"
}

@test "testcontainers finds a folder of the host, and its container on a port of the host" {
	python3 -m pip install -q --target "$OWN_HOME/python" testcontainers || skip "pip has no testcontainers"
	mkdir -p "$W/tested"
	echo asked >"$W/tested/of-host"
	# Its reaper's image would come from a registry. Where the tests run in a container it would take the engine for a sibling's.
	run -0 --separate-stderr env PYTHONPATH="$OWN_HOME/python" TESTCONTAINERS_RYUK_DISABLED=true \
		TESTCONTAINERS_CONNECTION_MODE=docker_host TESTCONTAINERS_HOST_OVERRIDE=localhost python3 "$BATS_TEST_DIRNAME/../helpers/containers.py" "$W/tested"
	equals "$output" asked
	equals "$(cat "$W/tested/of-container")" written
}

@test "a database owns its folder in the guest, and not on the host" {
	run_in -v "$DB:/data" busybox /bin/sh -c '/bin/busybox touch /data/f && /bin/busybox chown 999:998 /data /data/f && /bin/busybox chmod 600 /data/f'
	equals "$(run_in -v "$DB:/data" busybox /bin/busybox stat -c '%u:%g %a' /data /data/f)" $'999:998 700\n999:998 600'
	equals "$(stat -c '%u:%g' "$DB" "$DB/f" | sort -u)" "$(id -u):$(id -g)"
}

# In the order of the PostgreSQL image's entry point: root gives the folder away, the database refuses one that others may enter,
# writes beside a file, syncs and renames. Twice: the second start finds what is there.
@test "what a database's image does at its start works there, and again" {
	local i own='cd /data && busybox mkdir -p pg && busybox chmod 00700 pg && busybox find . ! -user 999 -exec busybox chown 999:998 {} +'
	local work='cd /data/pg && [ "$(busybox stat -c "%u %a" .)" = "999 700" ] && busybox mkdir -p wal &&
		echo $1 | busybox dd of=wal/new conv=fsync && busybox mv wal/new wal/control && busybox sync && busybox chmod 600 wal/control'
	for i in 1 2; do
		run_in -v "$DB:/data" busybox /bin/sh -c "$own"
		run_in -v "$DB:/data" --user 999:998 busybox /bin/sh -c "$work" sh $i
	done
	equals "$(run_in -v "$DB:/data" --user 999 busybox /bin/busybox cat /data/pg/wal/control)" 2
	run ! run_in -v "$DB:/data" --user 1000 busybox /bin/busybox cat /data/pg/wal/control
	equals "$(run_in -v "$DB:/data" busybox /bin/busybox stat -c '%u:%g %a' /data/pg/wal/control)" "999:998 600"
}

@test "a change on the host wakes who watches in the guest and in containers, once, and changes nothing" {
	local before
	listen limactl-c shell m sudo "$W/watch" "$W/ev"
	echo two >>"$W/ev/f" && before=$(stat -c '%y %z' "$W/ev/f")
	hears "MODIFY f"
	echo exit >>"$W/ev/run"
	hears "ATTRIB run"
	echo new >"$W/ev/new"
	hears "MODIFY new"
	mv "$W/ev/new" "$W/ev/newer"
	hears "MODIFY newer"
	rm "$W/ev/newer"
	mkdir "$W/ev/d"
	hears "MODIFY/ d"
	equals "$(heard | grep -v 'MODIFY/$')" $'MODIFY f\nATTRIB run\nMODIFY new\nMODIFY newer\nMODIFY/ d'
	equals "$(heard | grep -c 'MODIFY/$')" 2
	equals "$(stat -c '%y %z' "$W/ev/f")" "$before"
	quiet
	# In a container, and in a folder that was not there when the guest started.
	listen "$DOCKER" run --rm --name watcher -v "$W:/w" busybox /w/watch /w/ev/d
	echo three >"$W/ev/d/f"
	hears "MODIFY f"
	"$DOCKER" rm -f watcher
	quiet
}

@test "of a burst of a thousand none is lost and none comes twice" {
	listen limactl-c shell m sudo "$W/watch" "$W/ev"
	(cd "$W/ev" && seq -f b%g 1000 | xargs touch)
	touch "$W/ev/last"
	hears "MODIFY last"
	equals "$(heard | grep -c '^MODIFY b')" 1000
	equals "$(heard | grep '^MODIFY b' | sort -u | wc -l)" 1000
	quiet
	rm -rf "$W/ev"/b*
}

@test "QEMU keeps no descriptor of each file that was looked at" {
	local before
	mkdir "$W/many"
	(cd "$W/many" && seq 2000 | xargs touch)
	before=$(descriptors)
	equals "$(m find "$W/many" -type f -size 0 | wc -l)" 2000
	(($(descriptors) < before + 50))
	rm -rf "$W/many"
}

@test "the machine can be paused, and hears of changes when it goes on; with a folder in use it is not saved, which is said" {
	listen limactl-c shell m sudo "$W/watch" "$W/ev"
	control m POST pause
	echo four >>"$W/ev/f"
	control m POST resume
	hears "MODIFY f"
	quiet
	as_root 'cd "$1" && { sleep 1000 >/dev/null 2>&1 & }' "$W"
	contains "$(control m POST save)" "is in use"
	equals "$(control m GET status | jq -r .state)" running
	m sudo pkill sleep
	equals "$(m cat "$W/inner/file")" other
}

@test "what was written last is there after a stop" {
	as_root 'echo last >"$1/last"' "$W"
	limactl-c stop m
	equals "$(cat "$W/last")" last
}
