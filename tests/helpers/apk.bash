# apk.bash - an apk repository made in the guest of vm.bash, served by this host, and a guest image that asks there
# instead of Alpine's servers. Everything lies in $APK_DIR.
# shellcheck source=tests/helpers/vm.bash
. "$(dirname "${BASH_SOURCE[0]}")/vm.bash"

apk_cache=${XDG_CACHE_HOME:-$HOME/.cache}/limactl-c/names

# The repositories, fetched out of the running instance `vm` into $APK_DIR/www/alpine/v3.23, and the key to check them.
apk_repository() {
	mkdir -p "$APK_DIR/www/alpine/v3.23"
	openssl genrsa -traditional -out "$APK_DIR/key" 2048 2>/dev/null || return 1
	openssl rsa -in "$APK_DIR/key" -pubout -out "$APK_DIR/test.rsa.pub" 2>/dev/null || return 1
	# Made in memory: the disk of the machine is no part of this.
	limactl-c shell vm sudo sh -c 'cat >/dev/shm/key' <"$APK_DIR/key" || return 1
	limactl-c shell vm sudo sh -c 'cat >/dev/shm/apk-repo.sh' <tests/helpers/apk-repo.sh || return 1
	limactl-c shell vm sudo sh /dev/shm/apk-repo.sh /dev/shm/apk /dev/shm/key || return 1
	limactl-c shell vm sudo tar -C /dev/shm/apk -c . | tar -x -C "$APK_DIR/www/alpine/v3.23"
}

# Serves it on a free port of the loopback, which QEMU's user network shows the guest as 10.0.2.2.
apk_serve() {
	APK_PORT=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
	"$apk_cache/busybox-$(uname -m)" httpd -f -p "127.0.0.1:$APK_PORT" -h "$APK_DIR/www" 3>&- &
	echo $! >"$APK_DIR/httpd.pid"
	wait_until 10 open_port "$APK_PORT"
}

# Alpine's image with another address in /etc/apk/repositories and the key of our repository: $APK_DIR/image.raw.
apk_image() {
	local was=$APK_DIR/repositories.alpine now=$APK_DIR/repositories image=$APK_DIR/image.raw
	qemu-img convert -O raw "$apk_cache/alpine-3.23-$(uname -m).qcow2" "$image" || return 1
	debugfs -R "dump /etc/apk/repositories $was" "$image" 2>/dev/null || return 1
	sed "s|https://dl-cdn.alpinelinux.org/|http://10.0.2.2:$APK_PORT/|" "$was" >"$now"
	cmp -s "$was" "$now" && return 1
	debugfs -w -f - "$image" >/dev/null 2>&1 <<-DEBUGFS
		rm /etc/apk/repositories
		write $now /etc/apk/repositories
		write $APK_DIR/test.rsa.pub /etc/apk/keys/test.rsa.pub
	DEBUGFS
	equals "$(debugfs -R 'cat /etc/apk/repositories' "$image" 2>/dev/null)" "$(cat "$now")"
}

apk_remove() {
	kill "$(cat "$APK_DIR/httpd.pid")" 2>/dev/null || true
	rm -rf "$APK_DIR"
}
