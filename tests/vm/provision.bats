# Everything a template can ask of its guest, in the real one: order of the modes, parameters, environment, files, edits,
# probes, copies, the user, names, certificates, time zone; twice, since all of it is done at every boot. Then what
# fails, and the same under the guest's own init.
bats_require_minimum_version 1.5.0
. "$BATS_TEST_DIRNAME/../helpers/vm.bash"

base() {
	alpine_template
	cat <<-YAML
		guest: {init: ${1:-lean}}
	YAML
}

# A certificate of its own for each name.
certificate() {
	openssl req -x509 -newkey rsa:2048 -nodes -keyout /dev/null -subj "/CN=$1" -days 2 2>/dev/null
}

# all INIT: a template with everything.
all() {
	base "$1"
	cat <<-YAML
		user: {name: dev, uid: 1234, home: "/home/{{.User}} dir", shell: /bin/ash, comment: Dev El Oper}
		param: {WHO: world, GREETING: "it's \"me\""}
		env: {FROM_ENV: "a b", HTTPS_PROXY: ""}
		timezone: Asia/Kolkata
		hostResolver: {enabled: false}
		dns: [192.0.2.53, 192.0.2.54]
		caCerts:
		  files: [$LIMA_HOME/_ca.pem]
		  certs:
		  - |
	$(certificate inline | sed 's/^/    /')
		message: "Hello {{.Param.WHO}} at {{.Dir}}"
		provision:
		- mode: user
		  script: |
		    #!/bin/sh
		    echo user >>/var/tmp/order
		    {
		      id -un; id -u; echo "\$HOME|\$PWD|\$USER|\$LOGNAME|\$SHELL|\$FROM_ENV|\$http_proxy|\$HTTP_PROXY"
		      echo "\$PARAM_WHO|\$PARAM_GREETING|{{.Param.WHO}}"
		      touch "\$XDG_RUNTIME_DIR/mine" && ls -ld "\$XDG_RUNTIME_DIR"
		      sudo -n id -u || true
		    } >user-said
		- mode: system
		  script: |
		    #!/bin/sh
		    echo "system \$(id -un) \$PARAM_WHO \$FROM_ENV" >>/var/tmp/order
		    # What data and yq made is there, and the order of these two does not matter to it.
		    cat "/opt/it's here/data file" /etc/app/config.json >/root/seen
		- mode: yq
		  path: /etc/app/config.json
		  expression: .greeting = "{{.Param.WHO}}" | .list += ["b"]
		  permissions: "640"
		  owner: root:wheel
		- mode: yq
		  path: /etc/app/made.yaml
		  expression: .a.b = 1
		- mode: data
		  path: "/opt/it's here/data file"
		  content: "for {{.Param.WHO}}\n"
		  permissions: "604"
		  owner: "1234:1234"
		- mode: data
		  path: /etc/app/kept
		  content: overwritten
		  overwrite: false
		- mode: dependency
		  skipDefaultDependencyResolution: true
		  script: |
		    #!/bin/sh
		    echo "dependency \$(id -un)" >>/var/tmp/order
		    mkdir -p /etc/app
		    [ -e /etc/app/config.json ] || echo '{"list": ["a"]}' >/etc/app/config.json
		    [ -e /etc/app/kept ] || echo mine >/etc/app/kept
		- mode: boot
		  script: |
		    #!/bin/sh
		    touch /var/tmp/order
		    chmod 666 /var/tmp/order
		    echo "boot \$(id -un)" >>/var/tmp/order
		probes:
		- description: everything ran
		  script: |
		    #!/bin/bash
		    [ "\$(id -un)" = dev ] && [ "\$PARAM_WHO" = world ] && grep -q user /var/tmp/order
		copyToHost:
		- {guest: /root/seen, host: "{{.Dir}}/copied/seen", deleteOnStop: true}
		- {guest: /etc/nothing, host: "{{.Dir}}/copied/nothing", skipIfMissing: true}
	YAML
}

setup_file() {
	export http_proxy=http://localhost:3128
	unset HTTP_PROXY https_proxy HTTPS_PROXY no_proxy NO_PROXY ftp_proxy FTP_PROXY
	certificate file >"$LIMA_HOME/_ca.pem"
	all lean >"$LIMA_HOME/p.yaml"
	limactl-c start --tty=false --name=p "$LIMA_HOME/p.yaml" >"$LIMA_HOME/_said" 2>&1
}
teardown() { limactl-c delete -f q >/dev/null 2>&1 || true; }
teardown_file() { limactl-c delete -f p >/dev/null 2>&1 || true; }

p() { limactl-c shell p "$@"; }

@test "modes have Lima's order" {
	equals "$(p cat /var/tmp/order)" $'boot root\ndependency root\nsystem root world a b\nuser'
}

@test "a user's script: login shell, own environment, parameters, runtime folder, sudo" {
	local said
	said=$(p cat "/home/dev dir/user-said")
	contains "$said" $'dev\n1234\n/home/dev dir|/home/dev dir|dev|dev|/bin/ash|a b|http://10.0.2.2:3128|http://10.0.2.2:3128\n'
	contains "$said" $'\nworld|it\'s "me"|world\ndrwx------ '
	[[ $said =~ dev\ +dev\ .*\ /run/user/1234$'\n'0$ ]]
	run ! p test -e "/home/dev dir/.lima-user-script"
}

@test "data: content, permissions, owner, an odd path; what is there may stay" {
	equals "$(p cat "/opt/it's here/data file")" "for world"
	equals "$(p stat -c '%a %u %g' "/opt/it's here/data file")" "604 1234 1234"
	equals "$(p cat /etc/app/kept)" mine
}

@test "yq: a file is edited by the host's engine, one is made" {
	equals "$(p sudo cat /etc/app/config.json | jq -c .)" '{"list":["a","b"],"greeting":"world"}'
	equals "$(p stat -c '%a %U %G' /etc/app/config.json)" "640 root wheel"
	equals "$(p cat /etc/app/made.yaml)" $'a:\n  b: 1'
}

@test "the message knows the parameters; a file was copied before READY" {
	contains "$(cat "$LIMA_HOME/_said")" "Hello world at $LIMA_HOME/p"
	contains "$(cat "$LIMA_HOME/p/copied/seen")" "for world"
	equals "$(ls "$LIMA_HOME/p/copied")" seen
}

@test "environment: shells and services; a proxy of the host is reached through the gateway" {
	equals "$(p sh -c 'echo "$FROM_ENV|$http_proxy|$HTTPS_PROXY"')" "a b|http://10.0.2.2:3128|"
	contains "$(p cat /etc/environment)" "http_proxy=http://10.0.2.2:3128"
	equals "$(p sh -c 'echo "$PARAM_WHO"')" ""
}

@test "the user is as the template says" {
	contains "$(p cat /etc/passwd)" "dev:x:1234:1234:Dev El Oper:/home/dev dir:/bin/ash"
	equals "$(p sudo -n id -u)" 0
}

@test "name servers, host name, the host" {
	contains "$(p ping -c 1 -W 1 host.lima.internal || true)" "(10.0.2.2)"
	equals "$(p grep ^nameserver /etc/resolv.conf)" $'nameserver 192.0.2.53\nnameserver 192.0.2.54'
	equals "$(p hostname)" lima-p
}

@test "time zone: of a guest that has none of its own" {
	equals "$(p date -d @0 +%H:%M)" 05:30
	equals "$(p cat /etc/timezone)" Asia/Kolkata
}

@test "certificates are trusted by the guest's own tool" {
	local line
	line=$(sed -n 3p "$LIMA_HOME/_ca.pem")
	p grep -qF "$line" /etc/ssl/certs/ca-certificates.crt
	equals "$(p sh -c 'ls /usr/local/share/ca-certificates')" $'lima-00.crt\nlima-01.crt'
	p openssl verify -CAfile /etc/ssl/certs/ca-certificates.crt /usr/local/share/ca-certificates/lima-01.crt ||
		p sh -c '! command -v openssl'
	equals "$(p sh -c 'cat /run/lima/setup.warnings 2>/dev/null' || true)" ""
}

@test "the second boot does all of it again; what changed in the template changes in the guest" {
	sed -i 's/passwordlessSudo.*//; s/^user: {/user: {passwordlessSudo: false, /; /^timezone/d; s/^dns:.*//; /certs:/,/END CERT/d; s/removeDefaults.*//' \
		"$LIMA_HOME/p/lima.yaml"
	limactl-c stop p
	[ ! -e "$LIMA_HOME/p/copied/seen" ]
	limactl-c start p
	equals "$(p grep -c . /var/tmp/order)" 8
	[ -e "$LIMA_HOME/p/copied/seen" ]
	equals "$(jq -c .list <(tail -n +2 "$LIMA_HOME/p/copied/seen"))" '["a","b","b"]'
	run ! p sudo -n id -u
	contains "$(p cat /etc/resolv.conf)" "nameserver 10.0.2.3"
	equals "$(p sh -c 'ls /usr/local/share/ca-certificates')" lima-00.crt
}

@test "what fails: each by its name, with its words; the rest is done; the instance runs, degraded" {
	limactl-c stop -f p || true
	{
		base
		cat <<-'YAML'
			user: {name: dev, uid: 1000, home: /home/dev}
			upgradePackages: true
			hostResolver: {hosts: {host.docker.internal: host.lima.internal, Db.test: 192.0.2.7, db2.test: db.test}}
			provision:
			- {mode: dependency, script: "#!/bin/sh\nexit 11"}
			- {mode: data, path: /etc, content: x}
			- {mode: data, path: /opt/fine, content: fine}
			- {mode: data, path: /opt/broken.yaml, content: "a: ["}
			- {mode: yq, path: /opt/broken.yaml, expression: ".a = 1"}
			- {mode: yq, path: /root/deep/x.yaml, owner: dev, expression: ".a = 1"}
			- {mode: user, script: "#!/bin/sh\necho not mine >&2; touch /etc/mine || exit 13"}
			- {mode: system, script: "#!/bin/sh\nkill -9 $$"}
		YAML
	} >"$LIMA_HOME/q.yaml"
	run -1 limactl-c start --tty=false --name=q "$LIMA_HOME/q.yaml"
	local errors
	errors=$(limactl-c list q --json | jq -r '.errors[]')
	contains "$errors" "upgradePackages failed with exit code"
	contains "$errors" "provision script 1 failed with exit code 11"
	contains "$errors" "provision[1] (mode data) failed with exit code 1: /etc is there and no file"
	contains "$errors" "provision[4] (mode yq) failed with exit code 1: the file:"
	contains "$errors" "provision[5] (mode yq) failed with exit code 1: cannot make the folder /root/deep: Permission denied"
	contains "$errors" "provision script 7 failed with exit code 13: not mine"
	contains "$errors" "provision script 8 failed with signal 9"
	equals "$(limactl-c list q --json | jq -r .status)" Running
	equals "$(limactl-c shell q cat /opt/fine)" fine
	local name
	for name in "host.docker.internal 10.0.2.2" "Db.test 192.0.2.7" "db2.test 192.0.2.7"; do
		contains "$(limactl-c shell q ping -c 1 -W 1 "${name% *}" || true)" "(${name#* })"
	done
	equals "$(limactl-c shell q cat /opt/broken.yaml)" "a: ["
}

@test "a probe that fails: degraded, with its hint" {
	{
		base
		echo 'user: {name: dev, uid: 1000, home: /home/dev}'
		echo 'probes: [{description: the moon, script: "#!/bin/sh\necho dark >&2; exit 3", hint: wait for night}]'
	} >"$LIMA_HOME/q.yaml"
	LIMACTL_C_PROBE_SECONDS=5 run -1 limactl-c start --tty=false --name=q "$LIMA_HOME/q.yaml"
	contains "$output" "did not succeed within 5 s: exit code 3: dark; hint: wait for night"
	equals "$(limactl-c shell q echo alive)" alive
}

@test "the same under the guest's own init" {
	all openrc >"$LIMA_HOME/q.yaml"
	limactl-c start --tty=false --name=q "$LIMA_HOME/q.yaml"
	equals "$(limactl-c shell q cat /var/tmp/order)" $'boot root\ndependency root\nsystem root world a b\nuser'
	equals "$(limactl-c shell q grep ^nameserver /etc/resolv.conf)" $'nameserver 192.0.2.53\nnameserver 192.0.2.54'
	equals "$(limactl-c shell q date -d @0 +%H:%M)" 05:30
	contains "$(cat "$LIMA_HOME/q/copied/seen")" "for world"
}
