#!/usr/bin/env bash
# What a forwarded port costs, all ways in one run, in turn, so that ratios hold on a machine that is not quiet:
#   direct    loopback
#   relays    two empty relays, TCP to unix socket to TCP: the floor of anything that has two agents
#   ours      host agent and guest agent on this machine, over a unix socket (fake driver)
#   hostfwd   QEMU's own forward into an emulated guest
#   guest     ours into the same guest, to the same server
#   inside    loopback within that guest: what an agent there pays on top of its way to the host
#   floor     a program of a few lines in that guest that is told by a port of its own to connect over loopback to the same server:
#             the floor of every agent that does so; its "bare" is that port alone, there and back
#   lima      LIMACTL=/path/to/limactl LIMA_INSTANCE=NAME: its forward into that running instance of it
# ONLY="standalone" or ONLY="guest": that half.
. "$(dirname "$0")/lib.bash"
. tests/helpers/vm.bash
bench_begin forward
ONLY=${ONLY:-standalone guest}
PEER=23000 NOBODY=23005 FLAPS=${FLAPS:-200}
make -s OUT="$OUT" bench-tools
tools=$OUT/bench
samples=$LIMA_HOME/.samples
started=()
end_all() {
	[ ${#started[@]} -eq 0 ] || kill "${started[@]}" 2>/dev/null || true
	bench_end
}
trap end_all EXIT
background() {
	"$@" 3>&- &
	started+=($!)
}

# ask WAY PORT WHAT ARGUMENT...: one measurement; its figures into the samples as lines WAY, NAME, VALUE.
ask() {
	local way=$1 port=$2 what=$3
	shift 3
	"$tools/forward_load" "$what" "$port" "$@" | sed "s/^/$way /" | tee -a "$samples"
}
figures() { awk -v w="$1" -v n="$2" '$1 == w && $2 == n { print $3 }' "$samples"; }
note() { echo "$*" >>"$samples"; }

# One line a run and way in the raw results.
told() {
	local line
	line=$(awk '{ printf " %s %s", $2, $3 }')
	[ -z "$line" ] || raw "run $1: $2:$line"
}

# measure RUN WAY PORT TIMES BYTES: latencies with TIMES connections and four times as many round trips, throughput with BYTES.
measure() {
	{
		ask "$2" "$3" connect "$4"
		ask "$2" "$3" trips $(($4 * 4))
		ask "$2" "$3" up "$5"
		ask "$2" "$3" down "$5"
	} | told "$1" "$2"
}

# datagrams RUN WAY PORT TIMES MS: round trips of short and long ones, and how many a second.
datagrams() {
	local size
	for size in 64 1400; do
		ask "$2" "$3" dgrams $size "$4" "$5"
	done | told "$1" "$2"
}

# --- the two agents: INSTANCE names a process of this machine or, behind "@", the agent of that guest ---

status_of() { curl -sS --unix-socket "$LIMA_HOME/$1/ha.sock" http://lima/v1/status; }
in_guest() { limactl-c shell "$@"; }

# Prints peak resident and present kilobytes of PID; run here, or in a guest.
memory='awk "/^VmHWM/ { h = \$2 } /^VmRSS/ { r = \$2 } END { print h, r }" "/proc/$1/status"'
peak_reset='echo 5 >"/proc/$1/clear_refs"'
switches='echo "$(awk "/^voluntary_ctxt/ { print \$2 }" "/proc/$1/status") $(awk "/^write_bytes/ { print \$2 }" "/proc/$1/io")"'

# at WHERE SCRIPT PID: by the shell of this machine ("-"), or of that instance as root.
at() {
	if [ "$1" = - ]; then
		sh -c "$2" sh "$3"
	else
		in_guest "$1" sudo -n sh -c "$2" sh "$3"
	fi
}

# agents INSTANCE WHERE: sets host and agent, the pids of both, and where the latter is.
agents() {
	host=$(cat "$LIMA_HOME/$1/ha.pid")
	agent=$(status_of "$1" | jq .agent.pid)
	where=$2
}
mb() { awk -v k="$1" 'BEGIN { printf "%.3f", k / 1024 }'; }

# memories WAY RUN NAME
memories() {
	local h a
	h=$(at - "$memory" "$host")
	a=$(at "$where" "$memory" "$agent")
	note "$1" "host_$3" "$(mb "${h% *}")"
	note "$1" "agent_$3" "$(mb "${a% *}")"
	raw "run $2: $1: peak resident $3: host agent $(mb "${h% *}") MB, guest agent $(mb "${a% *}") MB"
}
forget_peaks() {
	at - "$peak_reset" "$host"
	at "$where" "$peak_reset" "$agent"
}

# Both with 100 connections at full throughput, and with MANY open.
loads() {
	local run=$1 way=$2 port=$3 many=$4 fifo=$LIMA_HOME/.hold
	forget_peaks
	ask "$way" "$port" many 100 3000 | told "$run" "$way"
	memories "$way" "$run" busy
	forget_peaks
	rm -f "$fifo"
	mkfifo "$fifo"
	"$tools/forward_load" hold "$port" "$many" <"$fifo" >"$fifo.out" &
	local job=$!
	exec 4>"$fifo"
	until grep -q '^hold_s' "$fifo.out" || ! kill -0 $job 2>/dev/null; do sleep 0.1; done
	memories "$way" "$run" open
	exec 4>&-
	wait $job
	sed "s/^/$way /" "$fifo.out" | tee -a "$samples" | told "$run" "$way"
}

# quiet WAY SECONDS: switches and bytes written of both agents while nothing happens. Looking into a guest is something that
# happens, so one look there takes both samples and says both at its end.
quiet() {
	local way=$1 s=$2 h0 h1 a
	a=$(mktemp)
	at "$where" "sleep 2; a=\$($switches); sleep $s; b=\$($switches); echo \$a \$b" "$agent" >"$a" &
	local job=$!
	sleep 3
	h0=$(at - "$switches" "$host")
	sleep $((s - 2))
	h1=$(at - "$switches" "$host")
	wait $job
	note "$way" host_wakeups "$(awk -v s=$((s - 2)) '{ print ($3 - $1) / s }' <<<"$h0 $h1")"
	note "$way" host_written "$(awk '{ print $4 - $2 }' <<<"$h0 $h1")"
	note "$way" agent_wakeups "$(awk -v s="$s" '{ print ($3 - $1) / s }' "$a")"
	note "$way" agent_written "$(awk '{ print $4 - $2 }' "$a")"
	rm -f "$a"
}

# --- results ---

of() { mapfile -t v < <(figures "$1" "$2"); }

# ways WAY...: the figures every way has; only ours on this machine has limits of its own
ways() {
	local way v conns mbps
	for way; do
		conns=- mbps=-
		[ "$way" != ours ] || conns='>4000' mbps='>1000'
		of "$way" connects_per_s; summary "$way: connections" /s "$conns" "${v[@]}"
		of "$way" connect_ms_p50; summary "$way: connect and echo, p50" ms - "${v[@]}"
		of "$way" connect_ms_p99; summary "$way: connect and echo, p99" ms - "${v[@]}"
		of "$way" trip_ms_p50; summary "$way: round trip, p50" ms - "${v[@]}"
		of "$way" trip_ms_p99; summary "$way: round trip, p99" ms - "${v[@]}"
		of "$way" up_MBps; summary "$way: to the server" MB/s "$mbps" "${v[@]}"
		of "$way" down_MBps; summary "$way: from the server" MB/s "$mbps" "${v[@]}"
	done
}

# udps WAY...
udps() {
	local way size v
	for way; do
		for size in 64 1400; do
			of "$way" udp${size}_per_s; summary "$way: UDP echoes of $size B" /s - "${v[@]}"
			of "$way" udp${size}_ms_p50; summary "$way: UDP round trip of $size B, p50" ms - "${v[@]}"
			of "$way" udp${size}_ms_p99; summary "$way: UDP round trip of $size B, p99" ms - "${v[@]}"
			of "$way" udp${size}_lost; summary "$way: UDP datagrams of $size B lost" "" - "${v[@]}"
		done
	done
}

# ports WAY: how soon the host's port follows the guest's
ports() {
	local v limits=("${@:2}")
	of "$1" port_open_ms_p50; summary "$1: port there after listen(), p50" ms - "${v[@]}"
	of "$1" port_open_ms_p99; summary "$1: port there after listen(), p99" ms "${limits[0]:--}" "${v[@]}"
	of "$1" port_gone_ms_p50; summary "$1: port gone after close, p50" ms - "${v[@]}"
	of "$1" port_gone_ms_p99; summary "$1: port gone after close, p99" ms "${limits[1]:--}" "${v[@]}"
}

# ratio FIGURE WAY OTHER: WAY's figures divided by OTHER's of the same run
ratio() {
	paste <(figures "$2" "$1") <(figures "$3" "$1") | awk 'NF == 2 && $2 > 0 { printf "%.3f\n", $1 / $2 }'
}

# ratios WAY OTHER LIMIT FIGURE...
ratios() {
	local way=$1 other=$2 limit=$3 name v
	for name in "${@:4}"; do
		mapfile -t v < <(ratio "$name" "$way" "$other"); summary "$name, $way / $other" "" "$limit" "${v[@]}"
	done
}

# costs WAY: what only our own way has
costs() {
	local way=$1 v side
	ports "$way" 20 50
	of "$way" refused_ms_p50; summary "$way: nobody listens in the guest, reset, p50" ms 100 "${v[@]}"
	of "$way" refused_ms_worst; summary "$way: nobody listens in the guest, reset, worst" ms 100 "${v[@]}"
	of "$way" many_up_MBps; summary "$way: 100 connections, to the server" MB/s - "${v[@]}"
	of "$way" many_down_MBps; summary "$way: 100 connections, from the server" MB/s - "${v[@]}"
	for side in host agent; do
		of "$way" ${side}_busy; summary "$way: $side, peak resident, 100 connections" MB 8 "${v[@]}"
		of "$way" ${side}_open; summary "$way: $side, peak resident, thousands open" MB 64 "${v[@]}"
		of "$way" ${side}_wakeups; summary "$way: $side, wakeups a second, idle" /s 0 "${v[@]}"
		of "$way" ${side}_written; summary "$way: $side, bytes written, idle" B 0 "${v[@]}"
	done
	of "$way" held; summary "$way: connections open at once" "" - "${v[@]}"
}

# --- the two halves ---

standalone() {
	local run own=$((PEER + 1)) front=$((PEER + 2))
	cat >"$LIMA_HOME/own.yaml" <<-YAML
		vmType: fake
		images: [{location: "/dev/null"}]
		cpus: 1
		memory: 512MiB
		disk: 1GiB
		guest: {init: lean}
		tuning: {fstrim: []}
		idle: {when: never}
		portForwards: [{guestPort: $NOBODY, hostPort: $NOBODY, static: true}]
	YAML
	LIMACTL_C_DRIVER=fake limactl-c start --tty=false --name=own "$LIMA_HOME/own.yaml" >/dev/null 2>&1
	in_guest own sh -c "$tools/forward_peer $PEER >/dev/null 2>&1 &"
	background "$tools/forward_peer" $own
	background "$tools/forward_relay" $front "$LIMA_HOME/.relay"
	background "$tools/forward_relay" "$LIMA_HOME/.relay" $own
	await $own $front $PEER
	agents own -
	for run in $(seq "$RUNS"); do
		measure "$run" direct $own 2000 1000000000
		measure "$run" relays $front 2000 1000000000
		measure "$run" ours $PEER 2000 1000000000
		datagrams "$run" direct $own 2000 2000
		datagrams "$run" ours $PEER 2000 2000
		ask ours $PEER flap $((PEER + 10)) "$FLAPS" | told "$run" ours
		ask ours $NOBODY refused 200 | told "$run" ours
		loads "$run" ours $PEER 9500
	done
	quiet ours 12
	limactl-c stop -f own >/dev/null 2>&1
	ways direct relays ours
	ratios ours relays 1.3 trip_ms_p50
	udps direct ours
	costs ours
}

await() {
	local port i
	for port; do
		for i in $(seq 100); do
			(exec 5<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
			[ "$i" -lt 100 ] || { raw "nothing listens on port $port"; exit 1; }
			sleep 0.1
		done
	done
}

# hmp COMMAND: at the monitor of the instance vm.
hmp() {
	jq -nc --arg c "$1" '{execute: "qmp_capabilities"}, {execute: "human-monitor-command", arguments: {"command-line": $c}}' |
		socat -t 2 - "UNIX-CONNECT:$LIMA_HOME/vm/qmp.sock" >/dev/null
}

inside() {
	local what
	for what in "trips 800" "up $((64 << 20))" "down $((64 << 20))"; do
		# shellcheck disable=SC2086 # words
		in_guest vm ./load ${what% *} $PEER ${what#* } | sed 's/^/inside /' | tee -a "$samples"
	done | told "$1" inside
}

# A QEMU with a second port beside ours, of the same bus.
floor_qemu() {
	cat >"$LIMA_HOME/.qemu" <<-SH
		#!/bin/bash
		case "\$*" in
		*max_ports=*) set -- "\${@/max_ports=?/max_ports=8}" -chardev "socket,id=floor,path=$LIMA_HOME/.floor,server=on,wait=off" \
			-device virtserialport,bus=serial0.0,chardev=floor,name=floor ;;
		esac
		exec qemu-system-x86_64 "\$@"
	SH
	chmod 755 "$LIMA_HOME/.qemu"
	export QEMU_SYSTEM_X86_64=$LIMA_HOME/.qemu
}

# In the guest the program that listens to it.
floor_begin() {
	in_guest vm sh -c 'cat >floor && chmod 755 floor' <"$tools/forward_floor"
	# shellcheck disable=SC2016 # of the guest's shell
	in_guest vm sudo -n sh -c 'for p in /sys/class/virtio-ports/*; do
		[ "$(cat $p/name)" != floor ] || { ./floor agent /dev/${p##*/} $0 >/dev/null 2>&1 & exit 0; }; done; exit 1' $PEER
}

floor() {
	local what
	for what in "connect 200" "trips 800" "bare 800"; do
		# shellcheck disable=SC2086 # words
		"$tools/forward_floor" ${what% *} "$LIMA_HOME/.floor" ${what#* } | sed 's/^/floor /' | tee -a "$samples"
	done | told "$1" floor
}

guest() {
	local run extra=$((PEER + 3))
	{ alpine_template 1GiB && cat; } >"$LIMA_HOME/vm.yaml" <<-YAML
		user: {name: dev, uid: 1000, home: /home/dev}
		guest: {init: lean}
		idle: {when: never}
		portForwards: [{guestPort: $NOBODY, hostPort: $NOBODY, static: true}]
	YAML
	floor_qemu
	limactl-c start --tty=false --name=vm "$LIMA_HOME/vm.yaml" >/dev/null 2>&1
	in_guest vm sh -c 'cat >peer && chmod 755 peer' <"$tools/forward_peer"
	in_guest vm sh -c 'cat >load && chmod 755 load' <"$tools/forward_load"
	in_guest vm sudo -n sh -c "ulimit -n 20000; ./peer $PEER >/dev/null 2>&1 &"
	hmp "hostfwd_add net0 tcp:127.0.0.1:$extra-:$PEER"
	hmp "hostfwd_add net0 udp:127.0.0.1:$extra-:$PEER"
	floor_begin
	await $PEER $extra
	agents vm vm
	for run in $(seq "$RUNS"); do
		measure "$run" hostfwd $extra 200 $((64 << 20))
		measure "$run" guest $PEER 200 $((256 << 20))
		inside "$run"
		floor "$run"
		datagrams "$run" hostfwd $extra 400 2000
		datagrams "$run" guest $PEER 400 2000
		ask guest $PEER flap $((PEER + 10)) "$FLAPS" | told "$run" guest
		ask guest $NOBODY refused 200 | told "$run" guest
		loads "$run" guest $PEER "$([ "$run" = 1 ] && echo 9500 || echo 1000)"
	done
	quiet guest 12
	limactl-c stop -f vm >/dev/null 2>&1
	ways hostfwd guest
	ratios guest hostfwd ">3" up_MBps down_MBps
	ratios guest hostfwd ">1" connects_per_s
	ratios guest hostfwd 1 connect_ms_p50 connect_ms_p99 trip_ms_p50 trip_ms_p99
	local v
	of inside trip_ms_p50; summary "inside the guest: round trip, p50" ms - "${v[@]}"
	of inside up_MBps; summary "inside the guest: one way" MB/s - "${v[@]}"
	of floor bare_ms_p50; summary "floor: the port alone, round trip, p50" ms - "${v[@]}"
	of floor trip_ms_p50; summary "floor: round trip, p50" ms - "${v[@]}"
	of floor connects_per_s; summary "floor: connections" /s - "${v[@]}"
	of floor connect_ms_p50; summary "floor: connect and echo, p50" ms - "${v[@]}"
	ratios inside hostfwd - trip_ms_p50
	ratios floor hostfwd - connects_per_s connect_ms_p50 trip_ms_p50
	ratios guest floor - connects_per_s connect_ms_p50 trip_ms_p50
	udps hostfwd guest
	ratios guest hostfwd - udp64_per_s udp64_ms_p50 udp1400_per_s udp1400_ms_p50
	costs guest
}

lima() {
	local run port=$((PEER + 4)) its_home=${LIMA_OWN_HOME:-$HOME/.lima}
	theirs() { LIMA_HOME=$its_home "$LIMACTL" shell --workdir / "$LIMA_INSTANCE" "$@"; }
	theirs sh -c 'cat >/tmp/peer && chmod 755 /tmp/peer' <"$tools/forward_peer"
	theirs sh -c "/tmp/peer $port >/dev/null 2>&1 </dev/null &"
	await $port
	for run in $(seq "$RUNS"); do
		measure "$run" lima $port 100 $((16 << 20))
		ask lima $port flap $((PEER + 20)) 5 | told "$run" lima
	done
	theirs sh -c 'pkill -x peer' || true
	ways lima
	ports lima
}

for half in $ONLY; do "$half"; done
[ -z "${LIMACTL:-}" ] || lima
[ -n "${LIMACTL:-}" ] || raw "LIMACTL is not set: Lima's own forwarder is left out"
