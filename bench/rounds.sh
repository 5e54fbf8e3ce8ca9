#!/usr/bin/env bash
# The order that is promised (docs/architecture.md, "Published means reachable"), ROUNDS times (50) with real containers, and
# 50 followers of the engine's events beside 1000 short calls.
. "$(dirname "$0")/lib.bash"
# shellcheck source=tests/helpers/vm.bash
. tests/helpers/vm.bash
bench_begin rounds
keep_lines() { while read -r line; do raw "$line"; done; }
DOCKER=$(command -v docker || echo "${XDG_CACHE_HOME:-$HOME/.cache}/limactl-c/names/docker-client-x86_64")
export DOCKER DOCKER_HOST=unix://$LIMA_HOME/vm/sock/docker.sock

limactl-c start --tty=false --name=vm --idle=never templates/minimal-docker-offline.yaml >/dev/null
vm_busybox_image vm >/dev/null
python3 tests/helpers/docker_rounds.py vm 8090 "${ROUNDS:-50}" 2>&1 | keep_lines
python3 tests/helpers/sockets.py engine "$LIMA_HOME/vm/sock/docker.sock" 2>&1 | keep_lines
