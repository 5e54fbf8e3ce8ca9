# A guest without our agent (plain), driven by way of its SSH server alone: this machine's sshd, on the port that QEMU would lead
# to the guest.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup() {
	cli_setup
	SSHD=
	PORT=$(free_port)
	mkdir -p /run/sshd "$LIMA_HOME/k"
	host_key
	# Its own init: with ours, the agent would be there.
	sed -i "s/init: lean/init: openrc/" "$LIMA_HOME/fake.yaml"
}
teardown() {
	# shellcheck disable=SC2086 # several
	[ -z "$SSHD" ] || kill $SSHD || true
	cli_teardown
}

host_key() {
	rm -f "$LIMA_HOME/k/host" "$LIMA_HOME/k/host.pub"
	ssh-keygen -q -t ed25519 -N '' -f "$LIMA_HOME/k/host"
}

# serve_ssh [LINE...]: sshd on the port, with these lines of configuration.
serve_ssh() {
	cat >"$LIMA_HOME/k/config" <<-CONF
		ListenAddress 127.0.0.1:$PORT
		HostKey "$LIMA_HOME/k/host"
		AuthorizedKeysFile "${KEYS:-$LIMA_HOME/_config/user.pub}"
		PidFile none
		StrictModes no
		Subsystem sftp internal-sftp
	CONF
	printf '%s\n' "$@" >>"$LIMA_HOME/k/config"
	rm -f "$LIMA_HOME/sshd.log" # of the one before, which says that it listens
	/usr/sbin/sshd -D -e -f "$LIMA_HOME/k/config" 2>"$LIMA_HOME/sshd.log" 3>&- &
	SSHD+=" $!"
	wait_until 10 grep -qs "Server listening" "$LIMA_HOME/sshd.log"
}

# end_ssh: the last one, once its port is free.
end_ssh() {
	kill "${SSHD##* }"
	wait "${SSHD##* }" || true
	SSHD=${SSHD% *}
}

# begin [ARGUMENT...]: a start that waits for the guest's server; begun comes back when it is over.
begin() {
	limactl-c start --tty=false --timeout=90s --name=a --plain --ssh-port="$PORT" "$@" "$LIMA_HOME/fake.yaml" >"$LIMA_HOME/said" 2>&1 3>&- &
	START=$!
	wait_until 20 waits_for_ssh
}
begin_again() {
	limactl-c start --tty=false --timeout=90s a >"$LIMA_HOME/said" 2>&1 3>&- &
	START=$!
	wait_until 20 waits_for_ssh
}
waits_for_ssh() { control a GET status | jq -e '.waiting | index("the guest'\''s SSH server lets us in")'; }
begun() { wait $START || { cat "$LIMA_HOME/said"; return 1; }; }
start() {
	begin "$@"
	serve_ssh
	begun
}
known() { echo "lima-a $(cut -d ' ' -f 1,2 "$LIMA_HOME/k/host.pub")"; }
driver_pid() { pgrep -f "libexec/limactl-c/ssh $LIMA_HOME/a"; }

@test "a start waits until the server answers and lets us in, and pins its host key" {
	KEYS=$LIMA_HOME/k/authorized
	: >"$KEYS"
	begin
	serve_ssh
	wait_until 10 grep -q "does not let us in" "$LIMA_HOME/a/ha.stderr.log"
	[ ! -s "$LIMA_HOME/a/known_hosts" ]
	waits_for_ssh
	cp "$LIMA_HOME/_config/user.pub" "$KEYS"
	begun
	contains "$(cat "$LIMA_HOME/said")" READY
	equals "$(cat "$LIMA_HOME/a/known_hosts")" "$(known)"
	equals "$(control a GET status | jq -c '[.state, .ssh.hostKeys, .agent.connected]')" '["running",1,true]'
	# The user's own ssh finds it too.
	equals "$(ssh -F "$LIMA_HOME/a/ssh.config" -S none lima-a echo in)" in
	run -0 --separate-stderr limactl-c show-ssh a
	[[ $stderr != *"no host key"* ]]
}

@test "another server on the port is not the guest: the start says so, and the key pinned stays" {
	start
	limactl-c stop a
	end_ssh
	local pinned
	pinned=$(cat "$LIMA_HOME/a/known_hosts")
	host_key
	begin_again
	serve_ssh
	local failed=
	begun >/dev/null || failed=yes
	equals "$failed" yes
	contains "$(cat "$LIMA_HOME/said")" "another host key than the guest's"
	equals "$(cat "$LIMA_HOME/a/known_hosts")" "$pinned"
	run -255 limactl-c shell a true
	# As the sentence says.
	limactl-c stop a
	rm "$LIMA_HOME/a/known_hosts"
	end_ssh
	begin_again
	serve_ssh
	begun
	equals "$(cat "$LIMA_HOME/a/known_hosts")" "$(known)"
}

@test "shell: exit codes, signals that end a command, folder, environment, words byte for byte" {
	start
	run -0 guest true
	run -42 guest sh -c 'exit 42'
	run -143 guest sh -c 'kill -TERM $$'
	run -137 guest sh -c 'kill -KILL $$'
	run -127 guest no-such-program-here
	equals "$(guest printf '%s|' 'a b' "it's" '$HOME' '"' '' $'tab\tnew\nline' '*')" $'a b|it\'s|$HOME|"||tab\tnew\nline|*|'
	equals "$(limactl-c shell --workdir /usr a pwd)" /usr
	run -1 limactl-c shell --workdir /no/such/folder a pwd
	contains "$output" "/no/such/folder: there is no such folder"
	equals "$(cd /usr/lib && limactl-c shell a pwd)" ~ # it has no mounts
	equals "$(FRUIT='a pear' limactl-c shell --preserve-env a sh -c 'echo "$FRUIT"')" "a pear"
	equals "$(limactl-c shell --shell /bin/sh a sh -c 'echo "$SHELL"')" /bin/sh
	equals "$(TEA=green guest TEA=black sh -c 'echo "$TEA"')" black
	run -0 --separate-stderr guest sh -c 'echo out; echo err >&2'
	equals "$output,$stderr" out,err
}

@test "shell: input and its end, and 64 MiB both ways unchanged" {
	start
	equals "$(printf 'one\ntwo\n' | guest wc -l)" 2
	equals "$(guest cat </dev/null)" ""
	head -c $((64 << 20)) /dev/urandom >"$LIMA_HOME/bytes"
	guest cat <"$LIMA_HOME/bytes" | cmp - "$LIMA_HOME/bytes"
	equals "$(guest sha256sum <"$LIMA_HOME/bytes" | cut -c 1-64)" "$(sha256sum <"$LIMA_HOME/bytes" | cut -c 1-64)"
	# A reader that has enough of it.
	run -0 bash -c 'limactl-c shell a sh -c "yes | head -c 20000000" | head -n 1'
	equals "$output" y
	run -0 bash -c 'yes | limactl-c shell a head -n 1'
	equals "$output" y
}

@test "shell: signals reach the command's group; who is killed or leaves ends it" {
	start
	heeds_interrupts limactl-c shell a sh -c 'trap "echo got; exit 7" INT; echo ready; while :; do sleep 0.1; done' \
		>"$LIMA_HOME/out" 3>&- &
	local shell=$!
	wait_until 10 grep -q ready "$LIMA_HOME/out"
	kill -INT $shell
	local code=0
	wait $shell || code=$?
	equals "$code,$(cat "$LIMA_HOME/out")" $'7,ready\ngot'
	limactl-c shell a sh -c 'sleep 1002; true' 3>&- &
	shell=$!
	wait_until 10 pgrep -f '^sleep 1002$'
	kill -TERM $shell
	code=0
	wait $shell || code=$?
	equals $code 143
	run ! pgrep -f '^sleep 1002$'
	# Killed, it has no last word.
	limactl-c shell a sleep 1003 3>&- &
	shell=$!
	wait_until 10 pgrep -f '^sleep 1003$'
	kill -KILL $shell
	ended() { ! pgrep -f '^sleep 1003$'; }
	wait_until 10 ended
}

@test "shell: a terminal with its size, its changes and the end of its input" {
	start
	run -0 script -qec "stty rows 33 cols 101; limactl-c shell a sh -c 'tty >/dev/null && stty size; echo \$TERM'" /dev/null
	contains "$output" "33 101"
	run -5 script -qec "limactl-c shell a sh -c 'exit 5'" /dev/null
	# shellcheck disable=SC2016 # the guest's
	run -0 python3 - <<-'PY'
		import fcntl, os, pty, struct, sys, termios, time
		pid, fd = pty.fork()
		if pid == 0:
		    os.execvp("limactl-c", ["limactl-c", "shell", "a", "sh", "-c",
		        "trap 'stty size; exit 3' WINCH; echo ready; while :; do sleep 0.05; done"])
		seen = b""
		while b"ready" not in seen:
		    seen += os.read(fd, 1000)
		fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 44, 55, 0, 0))
		while b"44 55" not in seen:
		    seen += os.read(fd, 1000)
		status = os.waitpid(pid, 0)[1]
		assert os.WEXITSTATUS(status) == 3, status
	PY
	equals "$(echo "echo from a shell" | limactl-c shell --tty=false a sh)" "from a shell"
}

@test "more sessions than a connection may have are shared out over several" {
	start
	for i in {1..30}; do
		limactl-c shell a sh -c "echo $i; read x; echo \$x" >"$LIMA_HOME/out$i" < <(wait_until 60 test -e "$LIMA_HOME/go"; echo end) 3>&- &
	done
	all_there() { for i in {1..30}; do [ -s "$LIMA_HOME/out$i" ] || return 1; done; }
	wait_until 30 all_there
	equals "$(grep -c "Accepted publickey" "$LIMA_HOME/sshd.log")" 4
	touch "$LIMA_HOME/go"
	ended() { for i in {1..30}; do [ "$(cat "$LIMA_HOME/out$i")" = "$i"$'\n'end ] || return 1; done; }
	wait_until 30 ended
}

@test "the connection is lost: what runs ends with it, and the next command has a new one" {
	start
	limactl-c shell a sh -c 'echo ready; sleep 1004' >"$LIMA_HOME/out" 2>"$LIMA_HOME/err" 3>&- &
	local shell=$! code=0
	wait_until 10 grep -q ready "$LIMA_HOME/out"
	pkill -f "^sshd: root@notty" -P "${SSHD// /}" || kill "$(pgrep -P "${SSHD// /}" | head -n 1)"
	wait $shell || code=$?
	equals $code 255
	wait_until 20 guest true
	# So it is when the program that drives it dies.
	kill -SEGV "$(driver_pid)"
	wait_until 20 guest true
	equals "$(guest echo again)" again
}

@test "idle, the program that drives it makes no system call" {
	start
	guest true
	timeout 5 strace -f -o "$LIMA_HOME/calls" -p "$(driver_pid)" || true
	cat "$LIMA_HOME/calls"
	# The one call it was waiting in when the tracer came is shown once, and again when the tracer goes.
	(($(grep -cvE '^[0-9]+ +(\+\+\+|---|<\.\.\.)' "$LIMA_HOME/calls") <= 1))
}

# forwards: a template with a static port and a docker.sock; what listens "in the guest" is this machine's.
forwards() {
	GUEST_PORT=$(free_port) HOST_PORT=$(free_port)
	cat >>"$LIMA_HOME/fake.yaml" <<-YAML
		portForwards:
		- {guestPort: $GUEST_PORT, hostPort: $HOST_PORT, static: true}
		- {guestPort: 1, hostPort: 1}
		- {guestSocket: "$LIMA_HOME/d.sock", hostSocket: docker.sock, static: true}
	YAML
}
# engine [COMMAND...]: answers as a Docker engine does, at the path of the guest's socket.
engine() {
	"$@" python3 - "$LIMA_HOME/d.sock" 3>&- <<-'PY' &
		import http.server, os, socketserver, sys
		class H(http.server.BaseHTTPRequestHandler):
		    def do_GET(self):
		        self.send_response(200)
		        self.end_headers()
		        self.wfile.write(b"OK of " + self.path.encode())
		    def do_POST(self):
		        body = self.rfile.read(int(self.headers["Content-Length"]))
		        self.send_response(200)
		        self.end_headers()
		        self.wfile.write(body)
		    def log_message(self, *a): pass
		    def address_string(self): return ""
		class S(socketserver.ThreadingUnixStreamServer):
		    daemon_threads = True
		    request_queue_size = 128
		S(sys.argv[1], H).serve_forever()
	PY
	SSHD+=" $!"
	wait_until 10 test -S "$LIMA_HOME/d.sock"
}
docker_get() { curl -sS -m 20 --unix-socket "$LIMA_HOME/a/sock/docker.sock" "http://docker$1"; }

@test "static ports: connections through the server, both ends of each, many at once; none is refused or told for others" {
	forwards
	sed -i '/d.sock/d' "$LIMA_HOME/fake.yaml"
	start
	open_port "$HOST_PORT"
	# Nobody listens there yet.
	run ! curl -sS -m 10 "http://127.0.0.1:$HOST_PORT/"
	build_helper "$LIMA_HOME/helper"
	"$LIMA_HOME/helper" half "$GUEST_PORT" 3>&- &
	SSHD+=" $!"
	wait_until 5 open_port "$GUEST_PORT"
	equals "$(head -c 10000 /dev/zero | socat -t 20 - "TCP:127.0.0.1:$HOST_PORT")" "GOT 10000"
	for i in {1..50}; do
		head -c $((i * 1000)) /dev/zero | socat -t 20 - "TCP:127.0.0.1:$HOST_PORT" >"$LIMA_HOME/out$i" 3>&- &
	done
	all_there() { for i in {1..50}; do [ "$(cat "$LIMA_HOME/out$i")" = "GOT ${i}000" ] || return 1; done; }
	wait_until 30 all_there
	equals "$(control a GET status | jq -c '[.ports[] | .hostAddr]')" "[\"127.0.0.1:$HOST_PORT\"]"
	run -1 limactl-c tunnel a
	contains "$output" "ssh -F $LIMA_HOME/a/ssh.config -N -D 1080 lima-a"
}

@test "docker.sock: by a channel of the server's; a start waits for its answer" {
	forwards
	begin
	serve_ssh
	waits_for_engine() { control a GET status | jq -e '.waiting == [$s]' --arg s "$LIMA_HOME/d.sock answers /_ping"; }
	wait_until 20 waits_for_engine
	engine
	begun
	equals "$(docker_get /x)" "OK of /x"
	head -c 20000000 /dev/urandom >"$LIMA_HOME/bytes"
	curl -sS -m 60 --unix-socket "$LIMA_HOME/a/sock/docker.sock" -H Expect: --data-binary @"$LIMA_HOME/bytes" http://docker/ |
		cmp - "$LIMA_HOME/bytes"
	docker_get /y & # no command does it
	wait $!
	run ! pgrep -af "UNIX-CONNECT:$LIMA_HOME/d.sock"
	[ "$(control a GET forwards | jq '.forwards[] | select(.protocol == "unix") | .bytesToHost')" -ge 20000000 ]
}

@test "docker.sock where the server refuses such channels: by a command in the guest, each that there may be" {
	forwards
	engine
	begin
	# A path without the programs before it, whatever the user's shell reads.
	local few="ForceCommand /usr/bin/env PATH=$LIMA_HOME/bin /bin/sh -c 'eval \"\$SSH_ORIGINAL_COMMAND\"'"
	mkdir "$LIMA_HOME/bin"
	for p in sh env id cat sleep grep nc bash; do ln -s "$(command -v $p)" "$LIMA_HOME/bin/$p"; done
	ln -s "$(python3 -c "import sys; print(sys.executable)")" "$LIMA_HOME/bin/python3"
	serve_ssh "AllowStreamLocalForwarding no"
	begun
	equals "$(docker_get /by/socat)" "OK of /by/socat"
	contains "$(cat "$LIMA_HOME/sshd.log")" "refused streamlocal port forward"
	for i in {1..20}; do docker_get /again >"$LIMA_HOME/out$i" 3>&- & done
	wait_for_all() { for i in {1..20}; do [ "$(cat "$LIMA_HOME/out$i")" = "OK of /again" ] || return 1; done; }
	wait_until 30 wait_for_all
	limactl-c stop a
	for program in nc python3; do
		end_ssh
		begin_again
		serve_ssh "AllowStreamLocalForwarding no" "$few"
		begun
		equals "$(docker_get /x)" "OK of /x"
		head -c 3000000 /dev/urandom >"$LIMA_HOME/bytes"
		curl -sS -m 60 --unix-socket "$LIMA_HOME/a/sock/docker.sock" -H Expect: --data-binary @"$LIMA_HOME/bytes" http://docker/ |
			cmp - "$LIMA_HOME/bytes"
		limactl-c stop a
		rm "$LIMA_HOME/bin/$program"
	done
	# With none of them it is said what is missing.
	end_ssh
	begin_again
	serve_ssh "AllowStreamLocalForwarding no" "$few"
	wait_until 20 grep -q "the guest has none of socat, nc with -N and -U, docker and python3" "$LIMA_HOME/a/ha.stderr.log"
	limactl-c stop -f a
	wait $START || true
}

# tree FOLDER: what a copy has to bring over.
tree() {
	mkdir -p "$1/sub/deep" "$1/empty"
	printf 'one' >"$1/file with  blanks"
	head -c 3000001 /dev/urandom >"$1/sub/large"
	printf 'x' >"$1/sub/deep/"$'new\nline'
	printf 'x' >"$1/"$'\xff byte'
	: >"$1/nothing"
	truncate -s 5000000 "$1/sub/hole"
	printf 'end' >>"$1/sub/hole"
	truncate -s 1000000 "$1/sub/zeros"
	ln -s ../file "$1/sub/link"
	ln -s /no/such "$1/dangling"
	chmod 640 "$1/file with  blanks"
	chmod 755 "$1/sub/large"
	touch -d 2001-02-03T04:05:06 "$1/sub/large"
	chmod 500 "$1/sub/deep"
	touch -d 2002-02-03T04:05:06 "$1/sub/deep" "$1/empty"
}
# listing FOLDER: names, kinds, modes, times of all but links and the folder itself, and what links say.
listing() { (cd "$1" && find . -mindepth 1 -printf '%P %y %m %l ' \( -type l -printf '\n' -o -printf '%Ts %s\n' \) | sed 's/ d \(.*\) [0-9]*$/ d \1/' | sort); }
same_tree() {
	equals "$(listing "$2")" "$(listing "$1")"
	diff -r --no-dereference "$1" "$2"
}

@test "copy: a tree both ways by SFTP, with modes, times, links and holes" {
	start
	tree "$LIMA_HOME/t"
	limactl-c copy -r "$LIMA_HOME/t" "a:$LIMA_HOME/there"
	same_tree "$LIMA_HOME/t" "$LIMA_HOME/there"
	[ "$(stat -c %b "$LIMA_HOME/there/sub/hole")" -lt 1000 ]
	limactl-c copy -r "a:$LIMA_HOME/there" "$LIMA_HOME/back"
	same_tree "$LIMA_HOME/t" "$LIMA_HOME/back"
	# Once more, over what is there; into a folder; several, and by a pattern.
	limactl-c copy -r "$LIMA_HOME/t/." "a:$LIMA_HOME/there"
	same_tree "$LIMA_HOME/t" "$LIMA_HOME/there"
	mkdir "$LIMA_HOME/f"
	limactl-c copy "$LIMA_HOME/t/sub/large" "$LIMA_HOME/t/nothing" "a:$LIMA_HOME/f"
	equals "$(ls "$LIMA_HOME/f")" $'large\nnothing'
	mkdir "$LIMA_HOME/g"
	limactl-c copy "a:$LIMA_HOME/t/sub/*a*e" "$LIMA_HOME/g"
	equals "$(ls "$LIMA_HOME/g")" large
	cmp "$LIMA_HOME/g/large" "$LIMA_HOME/t/sub/large"
	# Guest to guest, and no part of any is left.
	limactl-c copy "a:$LIMA_HOME/t/sub/large" "a:$LIMA_HOME/f/again"
	cmp "$LIMA_HOME/f/again" "$LIMA_HOME/t/sub/large"
	equals "$(find "$LIMA_HOME" -name '*.part')" ""
}

@test "copy: what is at home, what is not there and what cannot be is said" {
	start
	local home=~ name=agentless-$$-file
	printf 'of the host' >"$LIMA_HOME/x"
	limactl-c copy "$LIMA_HOME/x" "a:$name"
	equals "$(cat "$home/$name")" "of the host"
	limactl-c copy "a:~/$name" "$LIMA_HOME/y"
	rm -f "$home/$name"
	cmp "$LIMA_HOME/x" "$LIMA_HOME/y"
	run -1 limactl-c copy "a:/no/such" "$LIMA_HOME/z"
	contains "$output" "/no/such: No such file or directory"
	run -1 limactl-c copy "$LIMA_HOME/x" "a:/no/such/folder/x"
	contains "$output" "/no/such/folder: No such file or directory"
	run -1 limactl-c copy "a:/usr" "$LIMA_HOME/z"
	contains "$output" "--recursive"
	mkdir "$LIMA_HOME/d" "$LIMA_HOME/d/x"
	run -1 limactl-c copy "$LIMA_HOME/x" "a:$LIMA_HOME/d/"
	contains "$output" "there is a folder in its place"
	run -1 limactl-c copy "$LIMA_HOME/x" "$LIMA_HOME/y" "a:$LIMA_HOME/x"
	contains "$output" "several things"
	# Links in the guest's folder are replaced, not followed.
	mkdir "$LIMA_HOME/l"
	ln -s "$LIMA_HOME/y" "$LIMA_HOME/l/x"
	printf 'new' >"$LIMA_HOME/x"
	limactl-c copy "$LIMA_HOME/x" "a:$LIMA_HOME/l"
	equals "$(cat "$LIMA_HOME/y"),$(cat "$LIMA_HOME/l/x"),$(find "$LIMA_HOME/l" -type l)" "of the host,new,"
	equals "$(limactl-c copy "a:/proc/version" "$LIMA_HOME/v"; cat "$LIMA_HOME/v")" "$(cat /proc/version)"
}

@test "copy: one that is cut leaves what was there, and no half file" {
	start
	printf 'before' >"$LIMA_HOME/there"
	head -c 200000000 /dev/zero | tr '\0' x >"$LIMA_HOME/huge"
	limactl-c copy "$LIMA_HOME/huge" "a:$LIMA_HOME/there" 3>&- &
	local copy=$!
	part_there() { [ -n "$(find "$LIMA_HOME" -maxdepth 1 -name '.limactl-c-*.part' -size +1000k)" ]; }
	wait_until 20 part_there
	kill -KILL $copy
	no_part() { [ -z "$(find "$LIMA_HOME" -maxdepth 1 -name '.limactl-c-*.part')" ]; }
	wait_until 20 no_part
	equals "$(cat "$LIMA_HOME/there")" before
	# The other way, where what came is kept beside the place for the next time, or not at all.
	limactl-c copy "a:$LIMA_HOME/huge" "$LIMA_HOME/there" 3>&- &
	copy=$!
	wait_until 20 part_there
	kill "$(pgrep -f "libexec/limactl-c/ssh copy $LIMA_HOME/a")"
	local code=0
	wait $copy || code=$?
	equals "$code,$(cat "$LIMA_HOME/there")" 1,before
	guest true
}

@test "forty who leave while their commands begin leave none of them running; a copy that was left is waited for" {
	start
	local i pids=()
	for i in $(seq 40); do
		limactl-c shell a sh -c "sleep 4711$$" >"$LIMA_HOME/said" 2>&1 3>&- &
		pids[i]=$!
	done
	begun_one() { pgrep -xf "sleep 4711$$"; }
	wait_until 30 begun_one
	kill -KILL "${pids[@]}"
	hung_up() { ! begun_one && sleep 3 && ! begun_one; } # some begin only now
	wait_until 60 hung_up

	copies() { pgrep -P "$(driver_pid)" -f "ssh copy"; }
	head -c 200M /dev/zero >"$LIMA_HOME/large"
	limactl-c cp "$LIMA_HOME/large" "a:$LIMA_HOME/there" 3>&- &
	wait_until 10 copies
	kill -KILL $!
	childless() { ! pgrep -P "$(driver_pid)"; }
	wait_until 20 childless
}
