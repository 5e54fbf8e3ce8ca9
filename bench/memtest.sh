#!/usr/bin/env bash
# Memory that the guest used and freed goes back to the host: resident size of the mapping that is the guest's RAM (QEMU's
# smaps), at the start, after 1 GiB of anonymous memory, after 1 GiB of page cache, and after PRESSURE seconds (40) in which
# QEMU may have less memory on the host than it uses. Then what a balloon would give besides: inflated by hand to what the guest
# says is available, and let go again.
. "$(dirname "$0")/lib.bash"
bench_begin memtest
PRESSURE=${PRESSURE:-40}
LIMIT_MB=64
MEMORY_KB=2097152

limactl-c start --tty=false --name=bench --idle=never templates/minimal-docker-offline.yaml >/dev/null
guest() { limactl-c shell bench sudo sh -c "$1"; }
qemu=$(limactl-c list bench --format '{{.DriverPID}}')

# field NAME: of the mapping of the guest's RAM, in MB.
field() {
	awk -v want="$1:" -v size="$MEMORY_KB" '
		/^[0-9a-f]+-[0-9a-f]+ / { ram = 0 }
		/^Size:/ { ram = $2 == size }
		ram && $1 == want { printf "%.1f\n", $2 / 1024; exit }' "/proc/$qemu/smaps"
}
rss() { field Rss; }

# trim: as when a container has ended, which is told by the removal of its control group; waits until it is done.
trim() {
	guest 'rm -f /run/lima/trim.last; mkdir /sys/fs/cgroup/docker/bench; rmdir /sys/fs/cgroup/docker/bench
		until [ -s /run/lima/trim.last ]; do sleep 1; done'
}
balloon() {
	python3 - "$LIMA_HOME/bench/qmp.sock" "$1" <<-'PY'
		import json, socket, sys
		s = socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[1])
		f = s.makefile("rw")
		f.readline()
		for m in ({"execute": "qmp_capabilities"}, {"execute": "balloon", "arguments": {"value": int(sys.argv[2])}}):
		    f.write(json.dumps(m) + "\n")
		    f.flush()
		    while not {"return", "error"} & (a := json.loads(f.readline())).keys():
		        pass
		    assert "return" in a, a
	PY
}
meminfo() { guest "awk '/^$1:/ { print \$2 * 1024 }' /proc/meminfo"; }
anonymous() { guest 'dd if=/dev/zero of=/dev/null bs=1024M count=1 iflag=fullblock 2>/dev/null'; }
# Of the disk itself, so nothing is written for it; the root's being mounted keeps it.
cached() { guest 'dd if=/dev/vda of=/dev/null bs=1M count=1024 2>/dev/null'; }

# squeeze: for PRESSURE seconds QEMU shares a control group with a reader of more files than the group may hold, so that every
# page the guest makes QEMU touch has to be won from it; without swap nothing harder would leave QEMU alive. Says how it went.
squeeze() {
	local group limit=$((1024 * 1048576)) file end reader
	if group=/sys/fs/cgroup/memory/lima-bench.$$ && mkdir "$group" 2>/dev/null; then
		file=memory.limit_in_bytes
	elif group=/sys/fs/cgroup/lima-bench.$$ && mkdir "$group" 2>/dev/null && [ -e "$group/memory.high" ]; then
		file=memory.high
	else
		raw "pressure: not run, no control group for memory can be made here"
		return
	fi
	squeezed=$group
	echo "$limit" >"$group/$file"
	# Pages count for the group in which they were touched first: what QEMU uses from now on.
	echo "$qemu" >"$group/cgroup.procs"
	truncate -s 2G "$LIMA_HOME/_sparse"
	sh -c 'echo $$ >"$1/cgroup.procs"; while cat "$2" >/dev/null; do :; done' - "$group" "$LIMA_HOME/_sparse" &
	reader=$!
	end=$((SECONDS + PRESSURE))
	while [ $SECONDS -lt $end ]; do
		guest 'dd if=/dev/zero of=/dev/null bs=500M count=1 iflag=fullblock 2>/dev/null; dd if=/dev/vda of=/dev/null bs=1M count=100 2>/dev/null'
	done
	kill "$reader"
	wait "$reader" 2>/dev/null || true
	raw "pressure: $PRESSURE s with $file of $((limit >> 20)) MB, limit met $(cat "$group/memory.failcnt" 2>/dev/null || echo "?") times, killed $(
		cat "$group/memory.oom_control" "$group/memory.events" 2>/dev/null | awk '$1 == "oom_kill" { print $2; exit }')"
	echo -1 >"$group/$file" 2>/dev/null || echo max >"$group/$file"
}

anon=() cache=() after=() more=()
for run in $(seq "$RUNS"); do
	trim
	sleep 10
	start=$(rss)
	anonymous
	used=$(rss)
	sleep 10
	freed=$(rss)
	cached
	filled=$(rss)
	trim
	sleep 10
	trimmed=$(rss)
	available=$(meminfo MemAvailable)
	total=$(meminfo MemTotal)
	balloon $((MEMORY_KB * 1024 - available + 67108864))
	sleep 5
	inflated=$(rss)
	balloon $((MEMORY_KB * 1024))
	sleep 5
	anon+=("$(minus "$freed" "$start")")
	cache+=("$(minus "$trimmed" "$start")")
	more+=("$(minus "$trimmed" "$inflated")")
	raw "run $run: MB of guest RAM resident: start $start; 1 GiB anonymous used, 10 s after the free $freed (was $used at its end);" \
		"1 GiB of page cache $filled, 10 s after a trim $trimmed; balloon inflated to all but 64 MB of what is available $inflated;" \
		"the guest itself uses $(((total - available) >> 20))"
done
squeezed=
squeeze
trim
sleep 10
after+=("$(minus "$(rss)" "$start")")
raw "after pressure and a trim: $(rss) MB of guest RAM resident, $(field Swap) MB swapped; killed in the guest: $(guest "awk '/^oom_kill / { print \$2 }' /proc/vmstat")"
raw "QEMU beside the guest's RAM: $(awk -v ram="$(rss)" '/^VmRSS/ { printf "%.0f", $2 / 1024 - ram }' "/proc/$qemu/status") MB, with $(jq -r .tb_size "$LIMA_HOME/bench/plan.json") MiB at most of translated code (0: none is kept); devices without use: $(tr '\0' '\n' <"/proc/$qemu/cmdline" | grep -ciE '^(usb|vga|-vga|virtio-gpu|qxl|-usb)' || true)"
summary "anonymous, 10 s after the free, above the start" MB $LIMIT_MB "${anon[@]}"
summary "page cache, 10 s after a trim, above the start" MB $LIMIT_MB "${cache[@]}"
summary "after pressure of the host, above the start" MB $LIMIT_MB "${after[@]}"
summary "a balloon would give besides" MB - "${more[@]}"
bench_end
[ -z "$squeezed" ] || rmdir "$squeezed" 2>/dev/null || true
