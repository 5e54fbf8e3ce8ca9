# cache: images by way of create (QEMU's driver, nothing is started) - fetched once, offline, pruned.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup() {
	cli_setup
	unset LIMACTL_C_DRIVER
	W=$LIMA_HOME/.www
	mkdir "$W"
	qemu-img create -q -f raw "$W/disk.raw" 8M
	qemu-io -f raw -c 'write -P 7 1M 1M' "$W/disk.raw" >/dev/null
	qemu-img convert -f raw -O qcow2 "$W/disk.raw" "$W/disk.qcow2"
	head -c 300000 /dev/urandom >"$W/kernel"
	head -c 3000 /dev/urandom | gzip -n >"$W/initrd"
	serve "$W"
	template disk.qcow2
}
teardown() { cli_teardown; }

served() { grep -c "GET /$1 .* 200" "$LIMA_HOME/.served" || true; }

# template DISK [DIGEST]
template() {
	cat >"$LIMA_HOME/t.yaml" <<-YAML
		images:
		- location: "$URL/$1"
		  arch: $(uname -m)
		  ${2:+digest: "$2"}
		  kernel: {location: "$URL/kernel"}
		  initrd: {location: "$URL/initrd"}
		memory: 512MiB
		disk: 1GiB
		mounts: []
		guest: {init: lean}
	YAML
}
new() { limactl-c create --tty=false --name "$1" "$LIMA_HOME/${2:-t.yaml}"; }
backing() { qemu-img info --output json "$LIMA_HOME/$1/disk" | python3 -c 'import json, sys; print(json.load(sys.stdin)["full-backing-filename"])'; }
objects() { find "$XDG_CACHE_HOME/limactl-c/objects" -type f | wc -l; }
digest() { echo "$1:$("$1sum" "$W/$2" | cut -d ' ' -f 1)"; }

@test "five creates at once fetch each file once; packed ones too" {
	local n pids=() kind
	for kind in gz xz bz2 zst; do
		case $kind in
		gz) gzip -k "$W/disk.qcow2" ;;
		xz) xz -k "$W/disk.qcow2" ;;
		bz2) bzip2 -k "$W/disk.qcow2" ;;
		zst) zstd -q -k "$W/disk.qcow2" ;;
		esac
	done
	template disk.qcow2.zst "$(digest sha384 disk.qcow2.zst)"
	for n in 1 2 3 4 5; do
		new "i$n" >"$LIMA_HOME/out$n" 2>&1 3>&- &
		pids+=($!)
	done
	for n in "${pids[@]}"; do
		wait "$n" || { cat "$LIMA_HOME"/out?; false; }
	done
	equals "$(served disk.qcow2.zst) $(served kernel) $(served initrd)" "1 1 1"
	for kind in gz xz bz2; do
		template "disk.qcow2.$kind" "$(digest sha512 "disk.qcow2.$kind")"
		new "$kind"
		equals "$(backing "$kind")" "$(backing i1)"
	done
	qemu-img compare "$LIMA_HOME/gz/disk" "$W/disk.raw" | grep -q identical
	equals "$(objects)" 3
	equals "$(ls "$XDG_CACHE_HOME/limactl-c/tmp" "$XDG_CACHE_HOME/limactl-c/partial" | grep -c '[0-9a-f]\{8\}')" 0
}

@test "what is cached needs no network, not even to look" {
	template disk.qcow2 "$(digest sha256 disk.qcow2)"
	new one
	serve_stop
	# Without any network: a look would fail at once, a name server's silence would be waited for.
	unshare -n timeout 10 limactl-c create --tty=false --name two "$LIMA_HOME/t.yaml"
	template disk.qcow2
	unshare -n timeout 10 limactl-c create --tty=false --name three "$LIMA_HOME/t.yaml"
	equals "$(backing two)" "$(backing one)"
	equals "$(backing three)" "$(backing one)"
	run -1 unshare -n timeout 10 limactl-c create --tty=false --name four --set ".images[0].location = \"$URL/other\"" "$LIMA_HOME/t.yaml"
	contains "$output" "cannot download $URL/other"
}

@test "a digest is enforced on what lies in the cache" {
	template disk.qcow2 "$(digest sha256 disk.qcow2)"
	new one
	chmod 644 "$(backing one)"
	printf x | dd of="$(backing one)" bs=1 seek=5000 conv=notrunc status=none
	chmod 444 "$(backing one)"
	new two
	equals "$(served disk.qcow2)" 2
	equals "$(sha256sum <"$(backing two)" | cut -d ' ' -f 1)" "$(sha256sum <"$W/disk.qcow2" | cut -d ' ' -f 1)"
	template disk.qcow2 "sha256:$(printf '%064d' 7)"
	run -1 new three
	contains "$output" 'wrong digest'
	[ ! -e "$LIMA_HOME/three" ]
}

@test "a killed fetch leaves one partial file, which the next goes on with or replaces" {
	python3 - "$LIMA_HOME/.port2" 3>&- <<-'PY' &
		import socket, sys, time
		s = socket.create_server(("127.0.0.1", 0))
		open(sys.argv[1], "w").write(str(s.getsockname()[1]))
		while True:
		    c, _ = s.accept()
		    c.recv(4096)
		    c.sendall(b"HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 5000)
		    time.sleep(60)
	PY
	local slow=$! n
	has_begun() { find "$XDG_CACHE_HOME/limactl-c/partial" -size +3 -type f | grep -q .; }
	wait_until 20 test -s "$LIMA_HOME/.port2"
	sed -i "s|location: \"$URL/disk.qcow2\"|location: \"http://127.0.0.1:$(cat "$LIMA_HOME/.port2")/disk.qcow2\"|" "$LIMA_HOME/t.yaml"
	for n in 1 2; do
		"$(dirname "$LIMACTL")/../libexec/limactl-c/image" get "http://127.0.0.1:$(cat "$LIMA_HOME/.port2")/disk.qcow2" 3>&- &
		wait_until 20 has_begun
		kill -9 $!
		wait $! || true
	done
	kill "$slow"
	equals "$(find "$XDG_CACHE_HOME/limactl-c/partial" -type f ! -name '*.of' | wc -l)" 1
	equals "$(objects)" 0
	equals "$(find "$XDG_CACHE_HOME/limactl-c/tmp" -type f | wc -l)" 0
}

@test "what Lima has downloaded is used without a download" {
	local dir
	template disk.qcow2 "$(digest sha512 disk.qcow2)"
	dir=$XDG_CACHE_HOME/lima/download/by-url-sha256/$(printf %s "$URL/disk.qcow2" | sha256sum | cut -d ' ' -f 1)
	mkdir -p "$dir"
	cp "$W/disk.qcow2" "$dir/data"
	new one
	equals "$(served disk.qcow2) $(served kernel)" "0 1"
	qemu-img compare "$LIMA_HOME/one/disk" "$W/disk.raw" | grep -q identical
	# Half of it is not it.
	rm -rf "$XDG_CACHE_HOME/limactl-c"
	head -c 100 "$W/disk.qcow2" >"$dir/data"
	new two
	equals "$(served disk.qcow2)" 1
}

@test "prune removes what no instance lies on, of any LIMA_HOME that used the cache" {
	local other one
	new one
	one=$(backing one)
	other=$(mktemp -d /tmp/lo.XXXX)
	qemu-img create -q -f qcow2 "$W/other.qcow2" 16M
	template other.qcow2
	LIMA_HOME=$other limactl-c create --tty=false --name two "$LIMA_HOME/t.yaml"
	qemu-img create -q -f qcow2 "$W/third.qcow2" 24M
	template third.qcow2
	new three
	limactl-c delete three
	mkdir -p "$XDG_CACHE_HOME/limactl-c/partial"
	touch -d '8 days ago' "$XDG_CACHE_HOME/limactl-c/partial/"{old,old.of}
	touch "$XDG_CACHE_HOME/limactl-c/partial/"{new,new.of}
	equals "$(objects)" 5
	run -0 --separate-stderr limactl-c prune
	equals "$output" ""
	contains "$stderr" "Removed $(digest sha256 third.qcow2)"
	contains "$stderr" 'Removed a download that was not finished'
	contains "$stderr" 'Freed '
	equals "$(objects)" 4
	equals "$(ls "$XDG_CACHE_HOME/limactl-c/partial" | tr '\n' ' ')" "new new.of "
	qemu-img compare "$LIMA_HOME/one/disk" "$W/disk.raw" | grep -q identical
	# The other home goes, and with it what it needed; one whose plan is lost is known by its disk.
	rm -rf "$other" "$LIMA_HOME/one/plan.json"
	limactl-c prune
	[ -e "$one" ]
	equals "$(objects)" 1
	equals "$(find "$XDG_CACHE_HOME/limactl-c" -xtype l | wc -l)" 0
	equals "$(find "$XDG_CACHE_HOME/limactl-c/homes" -type l | wc -l)" 1
	limactl-c delete one
	limactl-c prune
	equals "$(objects)" 0
}

@test "prune --keep-referred keeps what a lima.yaml or a template names" {
	new one
	"$(dirname "$LIMACTL")/../libexec/limactl-c/image" import named.qcow2 "$W/disk.raw"
	"$(dirname "$LIMACTL")/../libexec/limactl-c/image" import lost.qcow2 "$W/kernel"
	mkdir "$LIMA_HOME/_templates"
	sed -e "s|$URL/disk.qcow2|cache:named.qcow2|" -e '/kernel:/d' -e '/initrd:/d' -e '/^guest:/d' "$LIMA_HOME/t.yaml" >"$LIMA_HOME/_templates/mine.yaml"
	rm -rf "$LIMA_HOME/one/"{plan.json,disk}
	# Of a template that cannot be read nobody knows what it names: nothing is removed.
	echo 'base: ./none.yaml' >"$LIMA_HOME/_templates/bad.yaml"
	run -1 limactl-c prune --keep-referred
	contains "$output" none.yaml
	equals "$(objects)" 4
	rm "$LIMA_HOME/_templates/bad.yaml"
	limactl-c prune --keep-referred
	equals "$(objects)" 4 # kernel is lost.qcow2 too
	rm -r "$LIMA_HOME/_templates"
	run -0 limactl-c prune --keep-referred
	contains "$output" 'Removed named.qcow2'
	equals "$(objects)" 3
	limactl-c prune
	equals "$(objects)" 0
}

# As a create does. By a process that stays: in a process namespace /proc/locks has neither a lock whose taker is gone nor who
# waits for it.
hold_cache() {
	flock --shared --no-fork "$XDG_CACHE_HOME/limactl-c/use.lock" sleep 600 3>&- &
	holder=$!
	is_held() { ! flock --nonblock "$XDG_CACHE_HOME/limactl-c/use.lock" true; }
	wait_until 10 is_held
}

@test "prune --keep-referred keeps its list while it waits for a create that publishes" {
	local held holder
	new one
	hold_cache
	# One that was killed is no longer there to remove its list.
	touch "$XDG_CACHE_HOME/limactl-c/keep.4000000.tmp"
	limactl-c prune --keep-referred 3>&- &
	held=$!
	wait_until 20 waits_for_lock "$held"
	"$(dirname "$LIMACTL")/../libexec/limactl-c/image" import named.qcow2 "$W/disk.raw"
	kill "$holder"
	wait "$held"
	equals "$(objects)" 3
	equals "$(find "$XDG_CACHE_HOME/limactl-c" -name 'keep.*')" ""
}

@test "prune waits for a create, and leaves what a running machine has open" {
	local held holder machine=q35
	[ "$(uname -m)" = x86_64 ] || machine=virt
	new one
	mv "$LIMA_HOME/one" "$LIMA_HOME/.one"
	# A create between image and plan.
	hold_cache
	limactl-c prune 3>&- &
	held=$!
	wait_until 20 waits_for_lock "$held"
	kill -0 "$held"
	equals "$(objects)" 3
	mv "$LIMA_HOME/.one" "$LIMA_HOME/one"
	kill "$holder"
	wait "$held"
	equals "$(objects)" 3
	# By hand, beside any plan: QEMU's own lock is heeded.
	mv "$LIMA_HOME/one/disk" "$LIMA_HOME/.disk" && rm "$LIMA_HOME/one/plan.json"
	qemu-system-"$(uname -m)" -machine "$machine" -accel tcg -m 64 -S -nodefaults -display none -monitor none \
		-drive "file=$LIMA_HOME/.disk,format=qcow2,if=virtio" 3>&- &
	held=$!
	wait_until 20 grep -q "qemu-system" "/proc/$held/cmdline"
	wait_until 20 bash -c "ls -l /proc/$held/fd | grep -q objects"
	limactl-c prune
	kill "$held"
	equals "$(objects)" 1
	mv "$LIMA_HOME/.disk" "$LIMA_HOME/one/disk"
}

@test "many creates and prunes at once: no instance loses its image" {
	local n pids=()
	for n in 1 2 3 4; do
		(for k in 1 2 3; do new "i$n-$k"; done) >"$LIMA_HOME/out$n" 2>&1 3>&- &
		pids+=($!)
		(for k in 1 2 3; do limactl-c prune; done) >"$LIMA_HOME/outp$n" 2>&1 3>&- &
		pids+=($!)
	done
	for n in "${pids[@]}"; do
		wait "$n" || { cat "$LIMA_HOME"/out*; false; }
	done
	for n in "$LIMA_HOME"/i*/disk; do
		qemu-img compare "$n" "$W/disk.raw" | grep -q identical
	done
	equals "$(ls -d "$LIMA_HOME"/i* | wc -l)" 12
}

@test "a full disk while fetching leaves nothing half" {
	mkdir -p "$XDG_CACHE_HOME/limactl-c"
	mount -t tmpfs -o size=900k tmpfs "$XDG_CACHE_HOME/limactl-c"
	run -1 new one
	contains "$output" 'no free disk space'
	[ ! -e "$LIMA_HOME/one" ]
	equals "$(find "$XDG_CACHE_HOME/limactl-c/tmp" -type f | wc -l)" 0
	umount "$XDG_CACHE_HOME/limactl-c"
}
