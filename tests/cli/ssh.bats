# ssh to an instance, as people and editors use it, on the fake driver: this machine's sshd in the agent's network namespace.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup() {
	cli_setup
	SSHD=
	mkdir -p /run/sshd
}
teardown() {
	# shellcheck disable=SC2086 # several
	[ -z "$SSHD" ] || kill $SSHD || true
	for config in "$LIMA_HOME"/*/ssh.config; do
		[ ! -e "$config" ] || ssh -F "$config" -O exit lima-a 2>/dev/null || true
	done
	[ -z "${SSH_AGENT_PID:-}" ] || kill "$SSH_AGENT_PID" || true
	cli_teardown
}

start() {
	limactl-c start --tty=false --name=a "$@"
	AGENT=$(limactl-c list --json a | jq -r .driverPID)
}
port() { limactl-c list --json a | jq -r .sshLocalPort; }
to_a() { ssh -F "$LIMA_HOME/a/ssh.config" "$@"; }
in_guest() { nsenter --net="/proc/$AGENT/ns/net" "$@"; }

# host_key FOLDER: makes one there.
host_key() {
	mkdir -p "$1"
	rm -f "$1"/ssh_host_*
	ssh-keygen -q -t ed25519 -N '' -f "$1/ssh_host_ed25519_key"
}

# serve_ssh FOLDER ADDRESS [COMMAND...]: sshd with the host key there, by that command; who has Lima's key may come in.
serve_ssh() {
	cat >"$1/config" <<-CONF
		ListenAddress $2
		HostKey "$1/ssh_host_ed25519_key"
		AuthorizedKeysFile "$1/authorized_keys"
		PidFile none
		StrictModes no
		Subsystem sftp internal-sftp
	CONF
	cp "$LIMA_HOME/_config/user.pub" "$1/authorized_keys"
	rm -f "$LIMA_HOME/sshd.log" # of the one before, which says that it listens
	"${@:3}" /usr/sbin/sshd -D -e -f "$1/config" 2>"$LIMA_HOME/sshd.log" 3>&- &
	SSHD+=" $!"
	wait_until 10 grep -qs "Server listening" "$LIMA_HOME/sshd.log"
}
guest_ssh() { # keys that are made once the guest runs, as on its first boot
	host_key "$LIMA_HOME/a/fake/ssh"
	serve_ssh "$LIMA_HOME/a/fake/ssh" 127.0.0.1:22 nsenter --net="/proc/$AGENT/ns/net"
}

@test "ssh -F ssh.config: in by Lima's key, the guest's own host key is known before its first word" {
	start "$LIMA_HOME/fake.yaml"
	equals "$(limactl-c list --json a | jq -r .sshConfigFile)" "$LIMA_HOME/a/ssh.config"
	equals "$(limactl-c list --json a | jq -r .sshAddress)" 127.0.0.1
	equals "$(stat -c %a "$LIMA_HOME/a/ssh.config")" 600
	contains "$(limactl-c list)" "127.0.0.1:$(port)"
	equals "$(cat "$LIMA_HOME/a/known_hosts")" ""
	guest_ssh
	wait_until 10 test -s "$LIMA_HOME/a/known_hosts" # it listens: nobody has connected yet
	run -3 to_a lima-a 'echo "$SSH_CONNECTION"; exit 3'
	equals "${output% *}" "${output% * *} 127.0.0.1"
	equals "$(cat "$LIMA_HOME/a/known_hosts")" "lima-a $(cut -d ' ' -f 1,2 "$LIMA_HOME/a/fake/ssh/ssh_host_ed25519_key.pub")"
	equals "$(control a GET status | jq -c '.ssh | [.address, .hostKeys]')" "[\"127.0.0.1:$(port)\",1]"
}

@test "host keys made anew in the guest: the next connection knows them, a master that is there goes on" {
	start "$LIMA_HOME/fake.yaml"
	guest_ssh
	to_a lima-a true
	local sshd=$SSHD
	host_key "$LIMA_HOME/a/fake/ssh"
	# shellcheck disable=SC2086 # a word
	kill $sshd
	wait_until 5 gone $sshd
	SSHD=
	to_a lima-a true
	serve_ssh "$LIMA_HOME/a/fake/ssh" 127.0.0.1:22 nsenter --net="/proc/$AGENT/ns/net"
	to_a -S none lima-a true
	# Also once it runs: there is no event in the guest.
	mv "$LIMA_HOME/a/fake/ssh/ssh_host_ed25519_key.pub" "$LIMA_HOME/was"
	run -255 to_a -S none lima-a true
	contains "$output" "Host key verification failed"
	mv "$LIMA_HOME/was" "$LIMA_HOME/a/fake/ssh/ssh_host_ed25519_key.pub"
	to_a -S none lima-a true
}

@test "another server on the port of a stopped instance, and of a running one, is refused" {
	start --set '.ssh.localPort = 16399' "$LIMA_HOME/fake.yaml"
	guest_ssh
	to_a lima-a true
	limactl-c stop a
	host_key "$LIMA_HOME/other"
	serve_ssh "$LIMA_HOME/other" 127.0.0.1:16399
	run -255 to_a lima-a true
	contains "$output" "REMOTE HOST IDENTIFICATION HAS CHANGED"
	# It has the port still when the instance starts: another one is taken, and said.
	run -0 limactl-c start --tty=false a
	contains "$output" "ssh.localPort"
	local other
	other=$(port)
	[ "$other" != 16399 ]
	contains "$output" "$other is used instead"
	AGENT=$(limactl-c list --json a | jq -r .driverPID)
	equals "$(to_a -G lima-a | awk '$1 == "port" { print $2 }')" "$other"
	guest_ssh
	to_a lima-a true
}

@test "a port chosen is kept for the next time, unless somebody has it by then" {
	start "$LIMA_HOME/fake.yaml"
	local first
	first=$(port)
	open_port "$first"
	limactl-c stop a
	closed_port "$first"
	limactl-c start --tty=false a
	equals "$(port)" "$first"
	limactl-c stop a
	equals "$(port)" "$first"
	socat "TCP-LISTEN:$first,bind=127.0.0.1,reuseaddr,fork" - </dev/null 3>&- &
	SSHD+=" $!"
	wait_until 5 open_port "$first"
	limactl-c start --tty=false a
	[ "$(port)" != "$first" ]
	open_port "$(port)"
	limactl-c create --tty=false --name=b "$LIMA_HOME/fake.yaml"
	run -1 limactl-c show-ssh b
	contains "$output" "limactl-c start b"
	limactl-c stop a
	limactl-c clone a c
	[ "$(limactl-c list --json c | jq -r .sshLocalPort)" != "$(port)" ]
	[ ! -e "$LIMA_HOME/c/known_hosts" ]
	first=$(port)
	limactl-c rename a d
	equals "$(limactl-c list --json d | jq -r .sshLocalPort)" "$first"
	contains "$(cat "$LIMA_HOME/d/ssh.config")" "Host lima-d"
}

@test "the port is taken behind our back: it is said, and opened when it is free" {
	start "$LIMA_HOME/fake.yaml"
	local first
	first=$(port)
	kill -9 "$(ha_pid a)"
	wait_until 5 closed_port "$first"
	socat "TCP-LISTEN:$first,bind=127.0.0.1,reuseaddr,fork" - </dev/null 3>&- &
	local taker=$!
	wait_until 5 open_port "$first"
	limactl-c start --tty=false a
	contains "$(limactl-c list --json a | jq -c .errors)" "no ssh on 127.0.0.1:$first: Address already in use"
	kill $taker
	no_errors() { [ "$(limactl-c list --json a | jq -c .errors)" = null ]; }
	wait_until 10 no_errors
	open_port "$first"
}

@test "one's own ssh configuration and eight keys of an agent are nobody's business" {
	start "$LIMA_HOME/fake.yaml"
	guest_ssh
	eval "$(ssh-agent)" >/dev/null
	for i in {1..8}; do
		ssh-keygen -q -t ed25519 -N '' -f "$LIMA_HOME/k$i"
		ssh-add -q "$LIMA_HOME/k$i"
	done
	printf 'Host *\nUser nobody\nPort 1\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n' >"$LIMA_HOME/config"
	to_a lima-a true
	to_a -O exit lima-a
	# What show-ssh prints, beside that configuration.
	local args
	args=$(limactl-c show-ssh --format=args a 2>/dev/null)
	eval "ssh -F '$LIMA_HOME/config' $args lima-a true"
	equals "$(eval "ssh -F '$LIMA_HOME/config' -G $args lima-a" | grep -cxE "user root|port $(port)|stricthostkeychecking true")" 3
	# Included where others come before and after it, as in ~/.ssh/config.
	printf 'Include "%s"\nHost *\nUser nobody\nPort 1\n' "$LIMA_HOME/a/ssh.config" >"$LIMA_HOME/config"
	ssh -F "$LIMA_HOME/config" lima-a true
}

@test "show-ssh: Lima's forms, and what a guest without an SSH server needs to hear" {
	start "$LIMA_HOME/fake.yaml"
	run -0 --separate-stderr limactl-c show-ssh a
	contains "$stderr" "limactl-c shell a"
	contains "$stderr" "ssh -F $LIMA_HOME/a/ssh.config lima-a"
	contains "$output" "ssh -o 'IdentityFile=\"$LIMA_HOME/_config/user\"' -o StrictHostKeyChecking=yes"
	contains "$output" " -o User=root "
	equals "${output##*-o Hostname}" "=127.0.0.1 -o Port=$(port) lima-a"
	guest_ssh
	to_a lima-a true
	run -0 --separate-stderr limactl-c show-ssh --format config a
	equals "$output" "$(tail -n +2 "$LIMA_HOME/a/ssh.config")"
	[[ $stderr != *"no host key"* ]]
	equals "${lines[0]}" "Host lima-a"
	run -0 --separate-stderr limactl-c show-ssh -f options a
	equals "${lines[0]}" "IdentityFile=\"$LIMA_HOME/_config/user\""
	equals "${lines[-1]}" "Port=$(port)"
	run -1 limactl-c show-ssh --format=xml a
	contains "$output" "cmd"
	run -0 --separate-stderr bash -c "$(limactl-c show-ssh --format=cmd a 2>/dev/null) echo in"
	equals "$output" in
	limactl-c stop a
	run -0 limactl-c show-ssh a
	contains "$output" "does not run"
}

@test "what editors use: one shared connection, SFTP, forwards of every kind through it" {
	start "$LIMA_HOME/fake.yaml"
	guest_ssh
	to_a lima-a true
	contains "$(to_a -O check lima-a 2>&1)" "Master running"
	local before
	before=$(grep -c "Accepted publickey" "$LIMA_HOME/sshd.log")
	for _ in {1..20}; do to_a lima-a true; done
	equals "$(grep -c "Accepted publickey" "$LIMA_HOME/sshd.log")" "$before"
	# SFTP, both ways.
	head -c 3000000 /dev/urandom >"$LIMA_HOME/x y"
	sftp -q -F "$LIMA_HOME/a/ssh.config" -b - lima-a <<-SFTP
		put "$LIMA_HOME/x y" "$LIMA_HOME/there"
		get "$LIMA_HOME/there" "$LIMA_HOME/back"
	SFTP
	cmp "$LIMA_HOME/x y" "$LIMA_HOME/back"
	scp -q -F "$LIMA_HOME/a/ssh.config" "lima-a:$LIMA_HOME/there" "$LIMA_HOME/again"
	cmp "$LIMA_HOME/x y" "$LIMA_HOME/again"
	# Remote: a port of the guest leads to this host.
	echo of the host >"$LIMA_HOME/index.html"
	serve "$LIMA_HOME"
	local remote
	remote=$(to_a -O forward -R "0:127.0.0.1:${URL##*:}" lima-a)
	equals "$(in_guest curl -fsS "http://127.0.0.1:$remote/index.html")" "of the host"
	# Dynamic and local: ports of this host lead into the guest.
	mkdir "$LIMA_HOME/g"
	echo of the guest >"$LIMA_HOME/g/index.html"
	in_guest python3 -m http.server 8123 --bind 127.0.0.1 --directory "$LIMA_HOME/g" >/dev/null 2>&1 3>&- &
	SSHD+=" $!"
	wait_until 10 in_guest curl -fsS http://127.0.0.1:8123/
	local d l
	d=$(free_port) l=$(free_port)
	to_a -O forward -D "127.0.0.1:$d" -L "127.0.0.1:$l:127.0.0.1:8123" lima-a
	equals "$(curl -fsS --socks5-hostname "127.0.0.1:$d" http://127.0.0.1:8123/)" "of the guest"
	equals "$(curl -fsS "http://127.0.0.1:$l/")" "of the guest"
	# A shell that reads its program from its input, as VS Code installs its server.
	equals "$(printf 'echo "from $0"\n' | to_a -T lima-a sh)" "from sh"
}

@test "a folder with blanks, quotes and percent signs" {
	local home=$LIMA_HOME
	export LIMA_HOME="$home/a b\"%d"
	mkdir "$LIMA_HOME"
	start "$home/fake.yaml"
	host_key "$home/k"
	mkdir -p "$LIMA_HOME/a/fake/ssh"
	cp "$home/k/ssh_host_ed25519_key.pub" "$LIMA_HOME/a/fake/ssh"
	serve_ssh "$home/k" 127.0.0.1:22 nsenter --net="/proc/$AGENT/ns/net"
	to_a lima-a true
	to_a -O check lima-a
	eval "$(limactl-c show-ssh a 2>/dev/null) true"
	to_a -O exit lima-a
	limactl-c stop -f a
	LIMA_HOME=$home
}

@test "keys of ~/.ssh are let in and tried, when the template asks for them; the agent is lent" {
	export HOME=$LIMA_HOME/home
	mkdir -p "$HOME/.ssh"
	ssh-keygen -q -t ed25519 -N '' -f "$HOME/.ssh/mine"
	echo "ssh-ed25519 AAAA without" >"$HOME/.ssh/other.pub"
	ln -s nowhere "$HOME/.ssh/gone.pub"
	start --set '.ssh.loadDotSSHPubKeys = true | .ssh.forwardX11 = true' "$LIMA_HOME/fake.yaml"
	contains "$(cat "$LIMA_HOME/a/fake/settings")" "ssh.key.01=$(cat "$HOME/.ssh/mine.pub")"
	contains "$(cat "$LIMA_HOME/a/fake/settings")" "ssh.key.02=ssh-ed25519 AAAA without"
	equals "$(to_a -G lima-a | grep -c ^identityfile)" 2
	contains "$(to_a -G lima-a)" "identityfile $HOME/.ssh/mine"
	contains "$(to_a -G lima-a)" "forwardx11 yes"
	limactl-c stop a
	run -0 env -u SSH_AUTH_SOCK limactl-c start --tty=false --set '.ssh.forwardAgent = true' a
	contains "$output" "ssh.forwardAgent: no agent is known here"
	contains "$(to_a -G lima-a)" "forwardagent yes"
}
