#!/usr/bin/env bash
# How long a second start takes until READY (dockerd answers), beside bare QEMU booting the same kernel and initramfs to
# power-off, in turn; and what the command line itself costs.
. "$(dirname "$0")/lib.bash"
bench_begin start

# took COMMAND...: seconds it takes
took() {
	local t0 t1
	t0=$(now)
	"$@" >/dev/null 2>&1
	t1=$(now)
	minus "$t1" "$t0"
}
over() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }

limactl-c start --tty=false --name=bench --idle=never templates/minimal-docker-offline.yaml >/dev/null
limactl-c stop bench >/dev/null 2>&1

# What the instance's kernel is told, but for its first program: init_on_free=1 zeroes all memory at boot.
same=$(jq -r .cmdline "$LIMA_HOME/bench/plan.json" | sed 's/ rdinit=[^ ]*//')
ready=() agent=() plain=() bare=() ratio=() ratio_plain=()
for run in $(seq "$RUNS"); do
	ready+=("$(took limactl-c start bench)")
	agent+=("$(curl -sS --unix-socket "$LIMA_HOME/bench/ha.sock" http://lima/v1/status | jq -r '.agent.answeredAfterMs / 1000')")
	limactl-c stop bench >/dev/null 2>&1
	plain+=("$(took bare_qemu "console=ttyS0 quiet")")
	bare+=("$(took bare_qemu "$same")")
	ratio+=("$(over "${ready[-1]}" "${bare[-1]}")")
	ratio_plain+=("$(over "${ready[-1]}" "${plain[-1]}")")
	raw "run $run: ready ${ready[-1]} s, agent ${agent[-1]} s, bare QEMU ${bare[-1]} s (ratio ${ratio[-1]}), with few arguments ${plain[-1]} s (${ratio_plain[-1]}), load $(cut -d ' ' -f 1 /proc/loadavg)"
done
summary "start to READY (second start)" s 25 "${ready[@]}"
summary "start to the agent's answer" s 8 "${agent[@]}"
summary "bare QEMU to power-off, same arguments" s - "${bare[@]}"
summary "bare QEMU to power-off, few arguments" s - "${plain[@]}"
summary "READY / bare QEMU, same arguments" "" 5 "${ratio[@]}"
summary "READY / bare QEMU, few arguments" "" 5 "${ratio_plain[@]}"

limactl-c start bench >/dev/null 2>&1
mapfile -t ms < <(timed 25 limactl-c shell bench -- true)
summary "shell -- true" ms 50 "${ms[@]}"
limactl-c stop bench >/dev/null 2>&1

for i in $(seq 19); do
	limactl-c create --tty=false --name="i$i" templates/minimal-docker-offline.yaml >/dev/null 2>&1
done
mapfile -t ms < <(timed 25 limactl-c list)
summary "list, 20 instances" ms 10 "${ms[@]}"
mapfile -t ms < <(timed 25 limactl-c --version)
summary "--version" ms 3 "${ms[@]}"
mapfile -t ms < <(timed 25 /bin/true)
summary "for scale: /bin/true" ms - "${ms[@]}"
