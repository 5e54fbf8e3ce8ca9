#!/usr/bin/env bash
# How long a second start takes until READY (dockerd answers), beside bare QEMU booting the same kernel and initramfs to
# power-off, in turn; and what the command line itself costs.
. "$(dirname "$0")/lib.bash"
bench_begin start

# The same program, CPU model, memory and images as the instance's plan says, and nothing but a power-off to do.
bare_qemu() {
	local plan=$LIMA_HOME/bench/plan.json
	"$(jq -r .qemu "$plan")" -nodefaults -no-user-config -display none -machine "$(jq -r .machine "$plan")" \
		-accel tcg,thread=single -cpu "$(jq -r .cpu "$plan")" -m "$(($(jq -r .memory "$plan") / 1048576))" \
		-smp "$(jq -r .cpus "$plan")" -kernel "$(jq -r .kernel "$plan")" -initrd "$(jq -r .initrd "$plan")" \
		-append 'console=ttyS0 quiet rdinit=/bin/busybox -- poweroff -f' >/dev/null 2>&1
}

limactl-c start --tty=false --name=bench templates/minimal-docker-offline.yaml >/dev/null
limactl-c stop bench >/dev/null 2>&1

ready=() agent=() bare=() ratio=()
for run in $(seq "$RUNS"); do
	t0=$(now)
	limactl-c start bench >/dev/null 2>&1
	t1=$(now)
	ready+=("$(minus "$t1" "$t0")")
	agent+=("$(curl -sS --unix-socket "$LIMA_HOME/bench/ha.sock" http://lima/v1/status | jq -r '.agent.answeredAfterMs / 1000')")
	limactl-c stop bench >/dev/null 2>&1
	t0=$(now)
	bare_qemu
	t1=$(now)
	bare+=("$(minus "$t1" "$t0")")
	ratio+=("$(awk -v a="${ready[-1]}" -v b="${bare[-1]}" 'BEGIN { printf "%.2f", a / b }')")
	raw "run $run: ready ${ready[-1]} s, agent ${agent[-1]} s, bare QEMU ${bare[-1]} s, ratio ${ratio[-1]}, load $(cut -d ' ' -f 1 /proc/loadavg)"
done
summary "start to READY (second start)" s 25 "${ready[@]}"
summary "start to the agent's answer" s 8 "${agent[@]}"
summary "bare QEMU, same kernel, to power-off" s - "${bare[@]}"
summary "READY / bare QEMU" "" 5 "${ratio[@]}"

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
