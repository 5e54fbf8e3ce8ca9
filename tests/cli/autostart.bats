# autostart: entries for systemd and launchd, read by systemd-analyze and Python's plistlib; no system is told anything.
load ../helpers/cli

setup() {
	cli_setup
	export HOME=$LIMA_HOME/.user XDG_CONFIG_HOME='' XDG_RUNTIME_DIR=$LIMA_HOME/.run
	UNITS=$HOME/.config/systemd/user
	mkdir -p "$HOME" "$XDG_RUNTIME_DIR"
	cd "$HOME" || return 1
	limactl-c create --tty=false --name=a "$LIMA_HOME/fake.yaml" 2>/dev/null
}
teardown() { cli_teardown; }

unit() { echo "$UNITS/limactl-c@$1.service"; }
# The environment a unit carries, a variable a line, as systemd understands it.
carried() { sed -n 's/^Environment="\(.*\)"$/\1/p' "$(unit "$1")" | sed 's/%%/%/g; s/\\\(.\)/\1/g'; }

@test "a unit that systemd takes, for the login, with the environment" {
	local odd='a%b$c"d\e f'
	https_proxy=http://proxy:1 XDG_CACHE_HOME=/c SECRET=x LIMACTL_C_ACCEL="$odd" limactl-c autostart enable a
	contains "$(cat "$(unit a)")" "WantedBy=default.target"
	[ "$(readlink -f "$UNITS/default.target.wants/limactl-c@a.service")" = "$(readlink -f "$(unit a)")" ]
	carried a >got
	contains "$(cat got)" "LIMA_HOME=$LIMA_HOME"
	contains "$(cat got)" "PATH=$PATH"
	contains "$(cat got)" "https_proxy=http://proxy:1"
	contains "$(cat got)" "XDG_CACHE_HOME=/c"
	grep -qxF "LIMACTL_C_ACCEL=$odd" got
	run ! grep SECRET got
	run -0 systemd-analyze verify --man=no "$(unit a)"
	equals "$output" ""
	rm got
}

@test "--print writes nothing; a plist that Python reads" {
	limactl-c autostart enable a --print >systemd
	limactl-c autostart enable a --print --format launchd >plist
	limactl-c autostart enable a --print --format launchd --condition boot --user 'x<&y' >boot
	[ ! -e "$HOME/.config" ] && [ ! -e "$HOME/Library" ]
	contains "$(cat systemd)" "Environment=\"LIMA_HOME=$LIMA_HOME\""
	WANTED=$PATH python3 - <<-'PY'
		import os, plistlib
		p = plistlib.load(open("plist", "rb"))
		assert p["Label"] == "io.limactl-c.autostart.a"
		assert p["ProgramArguments"][1:] == ["start", "--tty=false", "--foreground", "a"], p
		assert os.access(p["ProgramArguments"][0], os.X_OK)
		assert p["EnvironmentVariables"]["LIMA_HOME"] == os.environ["LIMA_HOME"]
		assert p["EnvironmentVariables"]["PATH"] == os.environ["WANTED"]
		assert p["RunAtLoad"] is True and "UserName" not in p
		assert plistlib.load(open("boot", "rb"))["UserName"] == "x<&y"
	PY
	rm systemd plist boot
}

@test "the unit's own commands start the instance, keep to it, and stop it" {
	limactl-c autostart enable a
	eval "$(sed -n 's/^ExecStart=//p' "$(unit a)")" 3>&- 2>said &
	# An instance is running before it is READY; stopped in between, its start fails, and rightly so.
	wait_until 30 grep -q READY said
	equals "$(limactl-c list a --json | jq -r .status)" Running
	eval "$(sed -n 's/^ExecStop=//p' "$(unit a)")"
	wait $!
	equals "$(limactl-c list a --json | jq -r .status)" Stopped
}

@test "disable; start-at-login as Lima had it; once more is no harm" {
	limactl-c autostart enable a
	limactl-c autostart enable a
	limactl-c autostart disable a
	[ ! -e "$(unit a)" ] && [ ! -L "$UNITS/default.target.wants/limactl-c@a.service" ]
	run -0 limactl-c autostart disable a
	contains "$output" "does not start by itself"
	limactl-c start-at-login a
	[ -e "$(unit a)" ]
	limactl-c start-at-login a --enabled=false
	[ ! -e "$(unit a)" ]
	run -1 limactl-c autostart enable b
	run -1 limactl-c autostart disable ../a
}

@test "it follows a rename, which carries its own environment, and ends with the instance" {
	limactl-c autostart enable a
	limactl-c rename a b
	[ ! -e "$(unit a)" ] && [ -e "$(unit b)" ]
	contains "$(cat "$(unit b)")" "--foreground b"
	run -1 limactl-c rename --cpus 99999 b c
	[ -e "$(unit b)" ] && [ ! -e "$(unit c)" ]
	limactl-c delete b
	[ ! -e "$(unit b)" ]
	equals "$(find "$UNITS" ! -type d)" ""
}

@test "an entry of another LIMA_HOME is left alone" {
	limactl-c autostart enable a
	mkdir "$LIMA_HOME/.other"
	LIMA_HOME=$LIMA_HOME/.other limactl-c create --tty=false --name=a "$LIMA_HOME/fake.yaml" 2>/dev/null
	LIMA_HOME=$LIMA_HOME/.other run -1 limactl-c autostart enable a
	contains "$output" "another LIMA_HOME"
	LIMA_HOME=$LIMA_HOME/.other limactl-c autostart disable a
	LIMA_HOME=$LIMA_HOME/.other limactl-c delete a
	carried a | grep -qxF "LIMA_HOME=$LIMA_HOME"
}

@test "a systemd that runs is told; what no entry can carry is said" {
	mkdir -p "$XDG_RUNTIME_DIR/systemd" bin
	touch "$XDG_RUNTIME_DIR/systemd/private"
	printf '#!/bin/sh\necho "$@" >>"%s/.asked"\n' "$LIMA_HOME" | tee bin/systemctl >bin/loginctl
	chmod 755 bin/*
	PATH=$PWD/bin:$PATH limactl-c autostart enable --condition boot a
	PATH=$PWD/bin:$PATH limactl-c autostart disable a
	equals "$(tr '\n' ';' <"$LIMA_HOME/.asked")" "--user daemon-reload;enable-linger;--user daemon-reload;"
	https_proxy=$'a\nb' run -1 limactl-c autostart enable a
	contains "$output" "https_proxy has a control character"
	https_proxy=$'\377' run -1 limactl-c autostart enable a
	contains "$output" "not UTF-8"
	[ ! -e "$(unit a)" ]
	rm -r bin
}
