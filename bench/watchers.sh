#!/usr/bin/env bash
# What real programs that watch files see in the guest of what the host does: node's chokidar and webpack, python's watchdog; for
# 9p and virtiofs. They come from npm and PyPI; node and python are the host's, in a root of their own in the guest.
. "$(dirname "$0")/lib.bash"
. tests/helpers/vm.bash
bench_begin watchers
share=$LIMA_HOME/.share
root=$LIMA_HOME/.root
mkdir -p "$share" "$root"/{tmp,proc,dev,app,share,usr/bin,usr/lib}

# with_libraries PROGRAM: into the root, at the same place.
with_libraries() {
	cp -L "$1" "$root/usr/bin/"
	ldd "$(realpath "$1")" | grep -o '/[^ ]*' | while read -r lib; do
		mkdir -p "$root$(dirname "$lib")"
		cp -L "$lib" "$root$lib"
	done
}

with_libraries "$(command -v node)"
with_libraries /usr/bin/python3
for module in /usr/lib/python3.[0-9]*/lib-dynload/_ctypes.*; do with_libraries "$module"; done
cp -r /usr/lib/python3 /usr/lib/python3.[0-9]* "$root/usr/lib/" 2>/dev/null || true
cp bench/watchers/* "$root/app/"
npm install --silent --no-audit --no-fund --prefix "$root/app" chokidar webpack
python3 -m pip install --quiet --target "$root/app" watchdog
raw "node $(node --version), $(/usr/bin/python3 --version)"
for package in chokidar webpack watchpack; do
	raw "$package $(jq -r .version "$root/app/node_modules/$package/package.json")"
done
raw "$(basename "$root"/app/watchdog-*.dist-info)"

template() {
	alpine_template 1GiB
	cat <<-YAML
		guest: {init: lean}
		mountType: $1
		mountInotify: true
		mounts: [{location: $share, writable: true}]
	YAML
}

begin() {
	rm -rf "${share:?}"/*
	echo 'import "./sub/f.js"' >"$share/f.js"
	mkdir "$share/sub"
	echo 1 >"$share/sub/f.js"
	sleep 3 # nothing of this is told any more, and times of files are older than the watchers' start
}

# what is done, a line each: WORDS that say it, and the command
actions=(
	'content changed|echo "console.log(2)" >>f.js'
	'same, below|echo 2 >>sub/f.js'
	'saved as editors do|cp f.js f.tmp && echo >>f.tmp && mv f.tmp f.js'
	'changed after that|echo "console.log(3)" >>f.js'
	'new file|echo >n.js'
	'renamed|mv n.js m.js'
	'removed|rm m.js'
	'new folder|mkdir d'
	'new file in it|echo 1 >d/x.js'
	'changed|echo 2 >>d/x.js'
	'folder removed|rm -r d'
	'removed, below|rm sub/f.js'
)

# watch TYPE NAME COMMAND...: what it says after each action.
watch() {
	local heard=$LIMA_HOME/.heard-$1-$2 lines action
	begin
	: >"$heard"
	limactl-c shell bench sudo chroot /root/r sh -c 'cd /share && exec "$@"' sh "${@:3}" >"$heard" 2>&1 &
	wait_until 300 grep -q '^ready' "$heard"
	sleep 5
	lines=$(wc -l <"$heard")
	for action in "${actions[@]}"; do
		(cd "$share" && eval "${action#*|}")
		sleep 5
		raw "$1: $2: ${action%%|*}: $(tail -n "+$((lines + 1))" "$heard" | paste -s -d ,)"
		lines=$(wc -l <"$heard")
	done
	kill %%
	wait || true
}

for type in 9p virtiofs; do
	template $type >"$LIMA_HOME/$type.yaml"
	limactl-c start --tty=false --name=bench "$LIMA_HOME/$type.yaml" >/dev/null
	tar -C "$root" -c . | limactl-c shell bench sudo sh -c "mkdir /root/r && tar -C /root/r -x && cp -a /bin /lib /root/r/ &&
		mount --bind '$share' /root/r/share && mount -t proc proc /root/r/proc && mount --bind /dev /root/r/dev"
	watch $type chokidar node /app/chokidar.mjs
	watch $type webpack node /app/webpack.mjs
	watch $type watchdog python3 /app/say_watchdog.py
	limactl-c delete -f bench
done
