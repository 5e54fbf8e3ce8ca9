# common.bash - waiting for conditions, strict checks. Loaded by every bats file through cli.bash or vm.bash.

# wait_until SECONDS COMMAND...: polls until it succeeds; fails with the command's text at the deadline.
wait_until() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		if ((SECONDS >= end)); then
			echo "not within the deadline: $*" >&2
			return 1
		fi
		sleep 0.05
	done
}

# contains TEXT PATTERN: a failing check that shows what was there.
contains() {
	[[ $1 == *"$2"* ]] || {
		printf 'expected to contain: %s\nbut it is: %s\n' "$2" "$1" >&2
		return 1
	}
}

equals() {
	[ "$1" = "$2" ] || {
		printf 'expected: %s\nbut it is: %s\n' "$2" "$1" >&2
		return 1
	}
}

# control INSTANCE METHOD PATH [BODY]: one request to the host agent's control socket.
control() {
	curl -sS -m "${CONTROL_TIMEOUT:-60}" --unix-socket "$LIMA_HOME/$1/ha.sock" -X "$2" ${4:+-d "$4"} "http://lima/v1/$3"
}

# build_helper FILE: helpers/guest.c; static, so that it runs in every guest.
build_helper() { gcc -O1 -static -o "$1" "$(dirname "${BASH_SOURCE[0]}")/guest.c"; }

# socks_port ARGUMENT...: of the SOCKS server that `tunnel` tells.
socks_port() { limactl-c tunnel "$@" | sed -n 's/.*127.0.0.1:\([0-9]*\).*/\1/p' | head -n 1; }

# fds PID: how many descriptors it has.
fds() { find "/proc/$1/fd" -mindepth 1 | wc -l; }

ha_pid() { cat "$LIMA_HOME/$1/ha.pid"; }

# closed_port PORT / open_port PORT: whether something accepts on 127.0.0.1:PORT.
open_port() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
closed_port() { ! open_port "$1"; }

# free_port: one nothing listens on, below those the system hands out by itself.
free_port() {
	local port
	for _ in {1..100}; do
		port=$((20000 + RANDOM % 10000))
		[ -n "$(ss -Htuln "sport = :$port")" ] || { echo $port; return; }
	done
	echo "no free port" >&2
	return 1
}

# waits_for_lock PID: it, or a child of it, waits for a lock of flock().
waits_for_lock() {
	awk -v pids=" $1 $(pgrep -d ' ' -P "$1") " '$2 == "->" && $3 == "FLOCK" && index(pids, " " $6 " ") { found = 1 }
		END { exit !found }' /proc/locks
}

# gone PID: no such process, or one that only waits to be reaped (a container's first process may never do that).
gone() { ! awk '/^State:/ { exit $2 ~ /[ZX]/ }' "/proc/$1/status" 2>/dev/null; }
