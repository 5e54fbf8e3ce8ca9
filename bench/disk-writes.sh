#!/usr/bin/env bash
# What the guest deletes leaves the disk image, and an idle guest writes nothing. RUNS times: 400 MB are written and deleted, and the
# blocks that the image has on the host are counted until they are back, with nobody doing anything for it (cache-trim's fstrim), on
# the machine's disk (qcow2) and on an extra one (raw); the same before a stop. Then SECONDS_IDLE (60) seconds without a write,
# guest and host, with a sync before and one at the end (bench/idle.sh).
. "$(dirname "$0")/lib.bash"
bench_begin disk-writes
SECONDS_IDLE=${SECONDS_IDLE:-60}
LIMIT_MB=40

limactl-c disk create data --size 2GiB --format raw >/dev/null
{ cat "${TEMPLATE:-templates/minimal-docker-offline.yaml}"; echo 'additionalDisks: [data]'; } >"$LIMA_HOME/_template.yaml"
limactl-c start --tty=false --name=bench --idle=never "$LIMA_HOME/_template.yaml" >/dev/null
guest() { limactl-c shell bench sudo sh -c "$1"; }
# allocated FILE: MB of blocks on the host.
allocated() { stat -c '%b %B' "$1" | awk '{ printf "%.1f\n", $1 * $2 / 1048576 }'; }
qcow2=$LIMA_HOME/bench/disk raw_disk=$LIMA_HOME/_disks/data/datadisk
# Random, so that neither file system nor image can leave it out.
write() { guest "dd if=/dev/urandom of=$1/bench.fill bs=1M count=400 2>/dev/null; sync"; }

# The run after boot comes first.
until guest '[ -s /run/lima/trim.last ]'; do sleep 2; done
back_qcow2=() back_raw=() back_stop=()
for run in $(seq "$RUNS"); do
	a=$(allocated "$qcow2") b=$(allocated "$raw_disk")
	write /var/tmp
	write /mnt/lima-data
	a1=$(allocated "$qcow2") b1=$(allocated "$raw_disk")
	guest 'rm /var/tmp/bench.fill /mnt/lima-data/bench.fill; sync; : >/run/lima/trim.last'
	begun=$SECONDS
	until [ "$(allocated "$qcow2" | cut -d. -f1)" -lt $((${a1%.*} - 300)) ] || [ $((SECONDS - begun)) -gt 200 ]; do sleep 2; done
	sleep 2
	a2=$(allocated "$qcow2") b2=$(allocated "$raw_disk")
	back_qcow2+=("$(minus "$a2" "$a")") back_raw+=("$(minus "$b2" "$b")")
	raw "run $run: MB allocated: qcow2 $a, with 400 MB more $a1, $((SECONDS - begun)) s after deletion $a2; raw $b, $b1, $b2"
	write /var/tmp
	guest 'rm /var/tmp/bench.fill'
	limactl-c stop bench >/dev/null 2>&1
	back_stop+=("$(minus "$(allocated "$qcow2")" "$a")")
	raw "run $run: after a stop qcow2 $(allocated "$qcow2")"
	limactl-c start --tty=false bench >/dev/null 2>&1
	until guest '[ -s /run/lima/trim.last ]'; do sleep 2; done
done
out=$(bench/idle.sh bench 70 "$SECONDS_IDLE")
while read -r line; do raw "idle: $line"; done <<<"$out"
summary "qcow2: above the start after deletion" MB $LIMIT_MB "${back_qcow2[@]}"
summary "raw: above the start after deletion" MB $LIMIT_MB "${back_raw[@]}"
summary "qcow2: above the start after deletion and a stop" MB $LIMIT_MB "${back_stop[@]}"
summary "written by the idle guest in $SECONDS_IDLE s" B 0 "$(sed -n 's/^guest: .*written \([0-9]*\).*/\1/p' <<<"$out")"
summary "written by QEMU on the host" B 0 "$(sed -n 's/^QEMU: .*), \([0-9]*\) bytes.*/\1/p' <<<"$out")"
summary "written by the host agent" B 0 "$(sed -n 's/^host agent: .*), \([0-9]*\) bytes.*/\1/p' <<<"$out")"
