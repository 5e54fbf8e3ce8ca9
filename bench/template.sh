#!/usr/bin/env bash
# What templates cost on the command line: checking the largest one shipped, embedding it, listing 100 stopped instances.
# Wall time, processor time (which other load disturbs less), peak memory, and instructions counted by callgrind
# (valgrind), which compare between revisions.
# With PEER=/path/to/limactl (and PEER_USER, who runs it) that program does the same beside ours, in turn.
: "${RUNS:=20}"
. "$(dirname "$0")/lib.bash"
bench_begin template
INSTANCES=100
PEER_USER=${PEER_USER:-nobody}

work=$LIMA_HOME/.work
mkdir "$work"
make -s OUT="$OUT" bench-tools
cp "$OUT/bench/peak" "$work/peak" # PEER_USER may not reach ours
chmod 711 "$LIMA_HOME" "$work"
limactl_c=$(command -v limactl-c)

# The largest template as one file that stands alone: what is measured is reading it, not finding its bases.
largest=
for t in templates/*.yaml; do
	limactl-c template copy --embed-all "$t" "$work/t.yaml"
	if [ -z "$largest" ] || [ "$(stat -c %s "$work/t.yaml")" -gt "$(stat -c %s "$work/largest.yaml")" ]; then
		largest=$t
		mv "$work/t.yaml" "$work/largest.yaml"
	fi
done
raw "scheduling: $(chrt -p $$ | sed -n 's/.*policy: //p'), nice $(nice)"
raw "largest template: $largest, embedded $(stat -c %s "$work/largest.yaml") bytes, $(wc -l <"$work/largest.yaml") lines"

# Instances as create leaves them, and what another program would leave: lima.yaml alone, without our plan.
for i in $(seq "$INSTANCES"); do
	LIMACTL_C_DRIVER=fake limactl-c create --tty=false --name="i$i" --set '.vmType = "fake"' "$work/largest.yaml" 2>/dev/null
	mkdir -p "$work/bare/i$i"
	cp "$work/largest.yaml" "$work/bare/i$i/lima.yaml"
	cp "$LIMA_HOME/i$i/lima-version" "$work/bare/i$i/"
done
[ "$(limactl-c list -q | wc -l)" = "$INSTANCES" ]

# measure NAME MS_LIMIT MB_LIMIT COMMAND...
measure() {
	local name=$1 ms_limit=$2 mb_limit=$3 ms=() cpu=() mb=() m c k
	shift 3
	while read -r m c k; do
		ms+=("$m")
		cpu+=("$c")
		mb+=("$(awk -v k="$k" 'BEGIN { printf "%.3f", k / 1024 }')")
	done < <("${AS[@]}" "$work/peak" "$RUNS" "$@")
	[ "${#ms[@]}" = "$RUNS" ] || { echo "$name: it failed: $*" >&2; exit 1; }
	raw "run $name, ms: ${ms[*]}"
	summary "$name" ms "$ms_limit" "${ms[@]}"
	summary "… processor time" ms - "${cpu[@]}"
	summary "… peak memory" MB "$mb_limit" "${mb[@]}"
}

# instructions NAME COMMAND...
instructions() {
	local name=$1 count
	shift
	count=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 >/dev/null | awk '/Collected/ { print $NF }')
	raw "$(printf '%-44s %s instructions' "$name" "$count")"
}

# The same of another program, as its user, on instances that this user owns.
peer() {
	local home=$work/peer
	[ "$(id -u)" = 0 ] || { echo "PEER: its user is changed to, which takes root" >&2; exit 1; }
	mkdir -p "$home"
	cp -r "$work/bare" "$home/.lima"
	cp "$work/largest.yaml" "$home/largest.yaml"
	chown -R "$PEER_USER" "$home"
	AS=(setpriv "--reuid=$PEER_USER" --clear-groups env "HOME=$home" "LIMA_HOME=$home/.lima")
	raw "peer: $("${AS[@]}" "$PEER" --version)"
	measure "peer: validate the largest template" - - "$PEER" validate "$home/largest.yaml"
	measure "peer: list $INSTANCES instances" - - "$PEER" list
	measure "peer: list $INSTANCES instances, --json" - - "$PEER" list --json
	measure "peer: template copy --embed-all" - - "$PEER" template copy --embed-all "$home/largest.yaml" -
}

AS=(env)
measure "validate the largest template" 5 6 "$limactl_c" validate "$work/largest.yaml"
measure "list $INSTANCES instances" 20 - "$limactl_c" list
measure "list $INSTANCES instances, --json" - - "$limactl_c" list --json
measure "list $INSTANCES instances of another program" - - env "LIMA_HOME=$work/bare" "$limactl_c" list
measure "template copy --embed-all, with its bases" - - "$limactl_c" template copy --embed-all "$largest" -
measure "for scale: /bin/true" - - /bin/true
[ -z "${PEER:-}" ] || peer

if command -v valgrind >/dev/null; then
	instructions "validate the largest template" "$limactl_c" validate "$work/largest.yaml"
	instructions "list $INSTANCES instances" "$limactl_c" list
	instructions "list $INSTANCES instances, --json" "$limactl_c" list --json
	instructions "template copy --embed-all, with its bases" "$limactl_c" template copy --embed-all "$largest" -
else
	raw "no instructions: valgrind is not installed"
fi
