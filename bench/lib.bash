# lib.bash - what the bench scripts share: an instance of their own, statistics, and results with machine facts.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
OUT=$(realpath -m "${OUT:-out}")
PATH=$OUT/bin:$PATH
RUNS=${RUNS:-5}

bench_begin() {
	mkdir -p results
	bench_name=$1
	bench_started=$(date -u +%Y-%m-%dT%H:%M:%SZ)
	bench_raw=results/$(date -u +%Y-%m-%d)-$bench_name.txt
	LIMA_HOME=$(mktemp -d /tmp/lb.XXXX)
	export LIMA_HOME
	bench_samples=$LIMA_HOME/_samples
	trap bench_end EXIT
	{
		echo "# bench/$bench_name.sh, $bench_started, $RUNS runs"
		echo "# commit $(git rev-parse --short HEAD 2>/dev/null || echo none)"
		echo "# $(awk -F ': ' '/model name/ { print $2; exit }' /proc/cpuinfo), $(nproc) cores, $(awk '/MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo), kernel $(uname -r)"
		echo "# $(qemu-system-x86_64 --version | head -n 1), accelerator $(grep -qE ' (vmx|svm) ' /proc/cpuinfo && echo kvm or tcg || echo tcg), load at the start $(cut -d ' ' -f 1-3 /proc/loadavg)"
	} >"$bench_raw"
}

bench_end() {
	local dir
	for dir in "$LIMA_HOME"/*/; do
		[ -d "$dir" ] && limactl-c delete -f "$(basename "$dir")" >/dev/null 2>&1 || true
	done
	rm -rf "$LIMA_HOME"
}

# raw TEXT: a line of raw output, shown and kept.
raw() { echo "$*" | tee -a "$bench_raw"; }

# keep RUN KIND: stages of bench/stages.py from standard input into the samples, as lines RUN, KIND, STAGE, SECONDS, PROCESSOR
# SECONDS divided by tabs, and into the raw results.
keep() {
	local stage seconds processor
	while IFS=$'\t' read -r stage seconds processor; do
		printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$stage" "$seconds" "$processor" >>"$bench_samples"
		raw "run $1: $2: $stage at $seconds s, processor $processor s"
	done
}

samples() { cat "$bench_samples"; }
# column KIND STAGE NUMBER: that column of all runs.
column() { samples | awk -F '\t' -v k="$1" -v s="$2" -v n="$3" '$2 == k && $3 == s { print $n }'; }

# seconds since 1970, with a fraction
now() { date +%s.%N; }

minus() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", a - b }'; }

# median VALUE...
median() { printf '%s\n' "$@" | sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

# summary NAME UNIT LIMIT VALUE...: median, spread and whether the median keeps the limit: N at most, ">N" at least, "-" none.
summary() {
	local name=$1 unit=$2 limit=$3
	shift 3
	[ $# -gt 0 ] || { raw "$name: nothing measured"; return; }
	printf '%s\n' "$@" | sort -g | awk -v name="$name" -v unit="$unit" -v limit="$limit" -v m="$(median "$@")" '
		{ v[NR] = $1 }
		END {
			least = limit ~ /^>/
			bound = substr(limit, 1 + least) + 0
			verdict = limit == "-" ? "" : "  (limit " limit ": " ((least ? m >= bound : m <= bound) ? "kept" : "MISSED") ")"
			printf "%-44s median %8.3f %-4s [%.3f - %.3f] n=%d%s\n", name, m, unit, v[1], v[NR], NR, verdict
		}' | tee -a "$bench_raw"
}

# timed N COMMAND...: wall milliseconds of N runs after one warm-up, one a line.
timed() {
	local n=$1
	shift
	python3 - "$n" "$@" <<-'PY'
		import os, subprocess, sys, time
		n, cmd = int(sys.argv[1]), sys.argv[2:]
		null = open(os.devnull, "r+b")
		for i in range(n + 1):
		    t = time.perf_counter()
		    subprocess.run(cmd, stdin=null, stdout=null, stderr=null, check=True)
		    if i:
		        print("%.3f" % ((time.perf_counter() - t) * 1000))
	PY
}

# bare_qemu CMDLINE: program, CPU model, memory and images of the plan of the instance `bench`, and nothing but a
# power-off to do.
bare_qemu() {
	local plan=$LIMA_HOME/bench/plan.json
	"${bare_by[@]}" "$(jq -r .qemu "$plan")" -nodefaults -no-user-config -display none \
		-machine "$(jq -r .machine "$plan")" -accel tcg,thread=single -cpu "$(jq -r .cpu "$plan")" \
		-m "$(($(jq -r .memory "$plan") / 1048576))" -smp "$(jq -r .cpus "$plan")" \
		-kernel "$(jq -r .kernel "$plan")" -initrd "$(jq -r .initrd "$plan")" \
		-append "$1 rdinit=/bin/busybox -- poweroff -f"
}
bare_by=() # what runs it, when not the shell itself
