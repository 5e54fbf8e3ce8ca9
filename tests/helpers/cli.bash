# cli.bash - the real programs on the fake driver: the native guest agent, in a network namespace of its own, is "the VM".
bats_require_minimum_version 1.5.0
. "$BATS_TEST_DIRNAME/../helpers/common.bash"

cli_setup() {
	# Short on purpose: a unix socket path has at most 107 bytes.
	LIMA_HOME=$(mktemp -d /tmp/lc.XXXX)
	export LIMA_HOME LIMACTL_C_DRIVER=fake
	export XDG_CACHE_HOME=$LIMA_HOME/.cache
	cat >"$LIMA_HOME/fake.yaml" <<-'YAML'
		vmType: fake
		images: [{location: "/dev/null"}]
		cpus: 1
		memory: 512MiB
		disk: 1GiB
		guest: {init: lean}
		tuning: {fstrim: []}
		idle: {when: never}
	YAML
}

# Of the instance a.
guest() { limactl-c shell a "$@"; }
agent_pid() { control a GET status | jq -r .agent.pid; }

# heeds_interrupts COMMAND...: only with & behind it. What bash runs there ignores Ctrl-C and Ctrl-\ otherwise.
heeds_interrupts() {
	exec python3 -c 'import os, signal, sys
for s in signal.SIGINT, signal.SIGQUIT: signal.signal(s, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])' "$@"
}

# serve FOLDER: by HTTP, on a port of its own: $URL. Every request is a line of $LIMA_HOME/.served.
# shellcheck disable=SC2034 # URL is the caller's
serve() {
	python3 -c '
import functools, http.server, sys
h = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), h)
open(sys.argv[2], "w").write(str(s.server_port))
s.serve_forever()' "$1" "$LIMA_HOME/.port" 2>"$LIMA_HOME/.served" 3>&- &
	SERVER=$!
	wait_until 20 test -s "$LIMA_HOME/.port"
	URL=http://127.0.0.1:$(cat "$LIMA_HOME/.port")
}

serve_stop() {
	if [ -n "${SERVER:-}" ]; then
		kill "$SERVER" 2>/dev/null || true
		wait "$SERVER" || true
	fi
	SERVER=
}

# Stops what still runs there; nothing a test started outlives it.
cli_teardown() {
	local dir
	serve_stop
	for dir in "$LIMA_HOME"/*/; do
		[ -e "$dir/ha.lock" ] || continue
		limactl-c stop -f "$(basename "$dir")" >/dev/null 2>&1 || true
	done
	rm -rf "$LIMA_HOME"
}
