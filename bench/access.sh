#!/usr/bin/env bash
# What the ways into a guest cost.
#   bench/access.sh [PART...]     all parts, or those named
. "$(dirname "$0")/lib.bash"
make -s bench-tools
bench_begin access

start_guest() { limactl-c start --tty=false --timeout=15m "$@" >/dev/null 2>&1; }
# into INSTANCE FILE: to the same name in the guest's /tmp, made executable.
into() { limactl-c shell "$1" sh -c "cat >/tmp/$(basename "$2") && chmod +x /tmp/$(basename "$2")" <"$2"; }
over() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }

# shell -- true beside what starting costs in the guest: of the login shell that runs it (which is what Lima's `shell` starts too),
# and of /bin/true. In turn, so that a busy machine is as busy for all.
part_shell() {
	local above=() all=() bare=() login=() ms shell run
	start_guest --name=bench --idle=never templates/minimal-docker-offline.yaml
	into bench "$OUT/bench/spawn"
	shell=$(limactl-c shell bench sh -c 'echo "$SHELL"')
	for run in $(seq "$RUNS"); do
		bare+=("$(limactl-c shell bench /tmp/spawn 25 /bin/true)")
		login+=("$(limactl-c shell bench /tmp/spawn 25 "$shell" -l -c true)")
		mapfile -t ms < <(timed 25 limactl-c shell bench -- true)
		all+=("$(median "${ms[@]}")")
		above+=("$(minus "${all[-1]}" "${login[-1]}")")
		raw "run $run: shell -- true ${all[-1]} ms, in the guest /bin/true ${bare[-1]} ms, $shell -l -c true ${login[-1]} ms, load $(cut -d ' ' -f 1 /proc/loadavg)"
	done
	summary "shell -- true" ms - "${all[@]}"
	summary "fork and exec of /bin/true in the guest" ms - "${bare[@]}"
	summary "fork and exec of $shell -l -c true there" ms - "${login[@]}"
	summary "shell -- true above the latter" ms 15 "${above[@]}"
	limactl-c delete -f bench >/dev/null 2>&1
}

# over_ssh N INSTANCE OPTION... COMMAND: timed.
over_ssh() { timed "$1" ssh -F "$LIMA_HOME/$2/ssh.config" "${@:3:$#-3}" "lima-$2" "${@: -1}"; }

# against_ssh INSTANCE: `shell -- true` there, and ssh into the same guest over a shared connection and with one of its own each time:
# `true`, which ssh runs without a login, and what Lima's `shell` has ssh run.
against_ssh() {
	local way run ms ours
	local own=(-o ControlMaster=no -o ControlPath=none) lima='cd /nonexistent || cd ; exec "$SHELL" -l -c true'
	declare -A took ratio
	for run in $(seq "$RUNS"); do
		mapfile -t ms < <(timed 25 limactl-c shell "$1" -- true)
		ours=$(median "${ms[@]}")
		took[shell]+=" $ours"
		for way in "ssh, shared: true" "ssh, shared: Lima's command" "ssh: true" "ssh: Lima's command"; do
			case $way in
			"ssh, shared: true") mapfile -t ms < <(over_ssh 25 "$1" true) ;;
			"ssh, shared"*) mapfile -t ms < <(over_ssh 25 "$1" "$lima") ;;
			*true) mapfile -t ms < <(over_ssh 5 "$1" "${own[@]}" true) ;;
			*) mapfile -t ms < <(over_ssh 5 "$1" "${own[@]}" "$lima") ;;
			esac
			took[$way]+=" $(median "${ms[@]}")"
			ratio[$way]+=" $(over "${took[$way]##* }" "$ours")"
			raw "run $run: $1: $way ${took[$way]##* } ms, shell -- true $ours ms, load $(cut -d ' ' -f 1 /proc/loadavg)"
		done
	done
	# shellcheck disable=SC2086 # words
	for way in shell "${!ratio[@]}"; do summary "$1: $way" ms - ${took[$way]}; done
	# shellcheck disable=SC2086
	for way in "${!ratio[@]}"; do
		case $way in
		*shared*) summary "$1: $way / shell" "" ">1" ${ratio[$way]} ;;
		*) summary "$1: $way / shell" "" ">20" ${ratio[$way]} ;;
		esac
	done
	limactl-c delete -f "$1" >/dev/null 2>&1
}

part_alpine() {
	. tests/helpers/vm.bash
	{ alpine_template && echo "guest: {init: lean}"; } >"$LIMA_HOME/alpine.yaml"
	start_guest --name=alpine "$LIMA_HOME/alpine.yaml"
	put_sshd alpine
	start_sshd alpine
	against_ssh alpine
}

part_debian() {
	. tests/helpers/vm.bash
	tests/helpers/debian-image
	debian_template >"$LIMA_HOME/debian.yaml"
	start_guest --name=debian "$LIMA_HOME/debian.yaml"
	# What goes on after READY is over: cloud-init's end, and what the agent tunes beside the start.
	limactl-c shell debian sudo sh -c 'cloud-init status --wait; flock /run/lima/settle.lock true' >/dev/null
	against_ssh debian
}

parts=("$@")
[ $# -gt 0 ] || mapfile -t parts < <(declare -F | sed -n 's/^declare -f part_//p')
for part in "${parts[@]}"; do "part_$part"; done
