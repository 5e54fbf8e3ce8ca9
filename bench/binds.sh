#!/usr/bin/env bash
# 90 short-lived UDP sockets a second beside the native agent: its processor time and the host agent's, and how soon a TCP
# listener that appears in the middle can be reached on the host. With port 0, as a resolver binds, and with ports chosen.
. "$(dirname "$0")/lib.bash"
bench_begin binds
SECONDS_BUSY=${SECONDS_BUSY:-60}
export LIMACTL_C_DRIVER=fake XDG_CACHE_HOME=$LIMA_HOME/.cache
cat >"$LIMA_HOME/fake.yaml" <<-'YAML'
	vmType: fake
	images: [{location: "/dev/null"}]
	guest: {init: lean}
	idle: {when: never}
YAML

for kind in 0:ephemeral 20000:chosen; do
	limactl-c start --tty=false --name=bench "$LIMA_HOME/fake.yaml" >/dev/null
	agent=$(limactl-c list bench --format '{{.DriverPID}}')
	PORT=${kind%:*} python3 bench/binds.py "$agent" "$(cat "$LIMA_HOME/bench/ha.pid")" "$SECONDS_BUSY" 90 >"$LIMA_HOME/_binds"
	limactl-c delete -f bench
	mapfile -t appeared < <(awk '$1 == "appeared" { print $2 }' "$LIMA_HOME/_binds")
	summary "${kind#*:} binds: guest agent, % of a core" % 1 "$(awk '$1 == "agent" { print $2 }' "$LIMA_HOME/_binds")"
	summary "${kind#*:} binds: host agent, % of a core" % - "$(awk '$1 == "hostagent" { print $2 }' "$LIMA_HOME/_binds")"
	summary "${kind#*:} binds: listener on the host after" ms 20 "${appeared[@]}"
done
