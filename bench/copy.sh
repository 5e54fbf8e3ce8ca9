#!/usr/bin/env bash
# What a copy of 1 GiB costs beside the raw channel: the same bytes through `shell` to nowhere (the channel alone), and into
# the same kind of file as the copy makes; in turn, so that ratios hold on a machine that is not quiet. The guest's end is a
# file in its memory (the disk of an emulated guest says nothing about copying). BYTES=… for less.
. "$(dirname "$0")/lib.bash"
. tests/helpers/vm.bash
bench_begin copy
BYTES=${BYTES:-1073741824}
samples=$LIMA_HOME/.samples
big=$LIMA_HOME/.big
head -c "$BYTES" /dev/urandom >"$big"
{ alpine_template 3GiB && echo "guest: {init: lean}"; } >"$LIMA_HOME/copy.yaml"
limactl-c start --tty=false --name=bench "$LIMA_HOME/copy.yaml" >/dev/null
guest() { limactl-c shell bench sudo "$@"; }
guest sh -c 'mkdir -m 777 /mem && mount -t tmpfs -o size=2G,mode=777 none /mem'

# throughput NAME COMMAND...: its throughput in MB/s.
throughput() {
	local name=$1 begun
	shift
	begun=$(now)
	"$@"
	awk -v n="$name" -v b="$BYTES" -v s="$(minus "$(now)" "$begun")" 'BEGIN { printf "%s %.1f\n", n, b / 1e6 / s }' | tee -a "$samples"
}
figures() { awk -v n="$1" '$1 == n { print $2 }' "$samples"; }
ratio() { paste <(figures "$1") <(figures "$2") | awk '{ printf "%.3f\n", $1 / $2 }'; }

to_guest_null() { limactl-c shell bench sh -c 'cat >/dev/null' <"$big"; }
to_guest_raw() { limactl-c shell bench sh -c 'cat >/mem/raw' <"$big"; }
to_guest() { limactl-c copy --tty=false "$big" bench:/mem/copied; }
from_guest_null() { limactl-c shell bench cat /mem/raw >/dev/null; }
from_guest_raw() { limactl-c shell bench cat /mem/raw >"$LIMA_HOME/.raw"; }
from_guest() { limactl-c copy --tty=false bench:/mem/raw "$LIMA_HOME/.copied"; }

ways="to_guest_null to_guest_raw to_guest from_guest_null from_guest_raw from_guest"
for run in $(seq "$RUNS"); do
	line=
	for way in $ways; do
		case $way in
		to_guest) guest rm -f /mem/copied /mem/raw ;;
		from_guest_null) guest mv /mem/copied /mem/raw ;;
		esac
		line="$line $(throughput "$way" "$way")"
		rm -f "$LIMA_HOME/.raw" "$LIMA_HOME/.copied"
	done
	raw "run $run:$line MB/s"
done
for way in $ways; do
	mapfile -t v < <(figures "$way")
	summary "$way" MB/s - "${v[@]}"
done
for way in to_guest from_guest; do
	for than in null raw; do
		mapfile -t v < <(ratio $way ${way}_$than)
		summary "$way / ${way}_$than" ratio ">0.8" "${v[@]}"
	done
done
