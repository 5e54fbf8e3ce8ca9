#!/usr/bin/env bash
# File events: how long a change on the host takes to a watcher in the guest and back, a burst, and what it costs to watch 100 000
# files where nothing happens; for 9p and virtiofs.
. "$(dirname "$0")/lib.bash"
. tests/helpers/vm.bash
bench_begin events
share=$LIMA_HOME/.share
samples=$LIMA_HOME/.samples
mkdir -p "$share/w"
echo >"$share/w/file"
gcc -O1 -static -o "$share/watch" tests/helpers/watch.c
(cd "$share" && for i in {1..500}; do mkdir -p "tree/d$i/e" && touch "tree/d$i/"{1..100} "tree/d$i/e/"{1..100}; done)

template() {
	alpine_template 1GiB
	cat <<-YAML
		guest: {init: lean}
		mountType: $1
		mountInotify: true
		mounts: [{location: $share, writable: true}]
	YAML
}

# in_guest COMMAND...: with the process of the guest agent that wakes as $p.
in_guest() { limactl-c shell bench sudo sh -c "p=\$(grep -lx file-events /proc/*/comm | cut -d / -f 3); $*"; }
# ticks: processor time of the watcher and of that process so far, in hundredths of a second.
ticks() { cat "/proc/$watcher/stat" <(in_guest 'cat /proc/$p/stat') | awk '{ n += $14 + $15 } END { print n }'; }
knows_all() { [ "$(in_guest 'cat /proc/$p/fdinfo/*' | grep -c ^inotify)" -ge 1002 ]; }

for type in 9p virtiofs; do
	template $type >"$LIMA_HOME/$type.yaml"
	began=$(now)
	limactl-c start --tty=false --name=bench "$LIMA_HOME/$type.yaml" >/dev/null
	wait_until 120 knows_all
	raw "$type: 1 002 folders with 100 000 files are known to the guest $(minus "$(now)" "$began") s after its start began"
	watcher=$(pgrep -f "libexec/limactl-c/watcher 0=$share")
	for run in $(seq "$RUNS"); do
		rm -f "$share/w/"{burst*,last}
		while read -r line; do
			raw "run $run: $type: $line"
			echo "$type $line" >>"$samples"
		done < <(python3 bench/events.py "$share/w" 200 1000 limactl-c shell bench sudo "$share/watch" "$share/w")
	done
	before=$(ticks)
	sleep 20
	raw "$type: idle with 100 000 files: $(($(ticks) - before)) ticks in 20 s; $(awk '/VmRSS/ { print $2 }' "/proc/$watcher/status") KiB on the host, $(in_guest 'cat /proc/$p/status' | awk '/VmRSS/ { print $2 }') KiB in the guest"
	limactl-c delete -f bench
	mapfile -t values < <(awk -v t="$type" '$1 == t && $2 == "latency" { print $3 }' "$samples")
	summary "$type: a change, there and back" ms 50 "${values[@]}"
	raw "$type: 99th percentile $(printf '%s\n' "${values[@]}" | sort -g | awk '{ v[NR] = $1 } END { print v[int(NR * 0.99 + 0.5)] }') ms"
	mapfile -t values < <(awk -v t="$type" '$1 == t && $2 == "burst" { print $3 }' "$samples")
	summary "$type: 1 000 files made" ms - "${values[@]}"
	mapfile -t values < <(awk -v t="$type" '$1 == t && $2 == "burst" { print $4 + $5 }' "$samples")
	summary "$type: lost or told twice" files 0 "${values[@]}"
done
