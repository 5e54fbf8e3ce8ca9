# cloud: what the seed volume's boot scripts do to a guest, in this system's root under an overlay.
. "$BATS_TEST_DIRNAME/../helpers/cloud.bash"

setup() {
	cloud_setup
	box_template >"$LIMA_HOME/box.yaml"
	cat >>"$LIMA_HOME/box.yaml" <<-YAML
		user: {name: jane, uid: 4321, comment: 'Jane "J" Doe', home: /home/jane.guest, shell: /bin/bash}
		env: {GREETING: 'say "hi" # now', WITH: "a=b c"}
		param: {Who: "world's end"}
		hostResolver: {hosts: {db.internal: 10.1.2.3}}
		provision:
		- {mode: boot, script: 'echo "boot \$PARAM_Who \$(id -u)" >/boot.out'}
		- {mode: system, script: "#!/bin/sh\necho \"system \$PARAM_Who \$(cat /etc/my.conf)\" >/system.out\n"}
		- {mode: user, script: "#!/bin/bash\necho \"user \$(id -un) \$HOME \$PARAM_Who\" >~/user.out\n"}
		- {mode: data, path: /etc/my.conf, content: "hello {{.Param.Who}}", owner: "jane:jane", permissions: "600"}
		- {mode: dependency, script: "#!/bin/sh\ntest -e /once || test ! -e /etc/my.conf && : >/once\n"}
	YAML
}
teardown() { cli_teardown; }

# boot COMMAND...: a boot of the guest, then these in it. What the guest has written stays for the next one.
boot() {
	in_guest "${before:-:}" '/mnt/lima-cidata/boot.sh >/run/boot.log 2>&1 || { cat /run/boot.log; exit 1; }' "$@"
}

everything='grep -h jane /etc/passwd /etc/shadow /etc/sudoers.d/*; cat /etc/hosts /etc/environment; ls -l /home/jane.guest/.ssh'

@test "a boot makes the user, runs what is provided in its order, and says when it is done" {
	make
	local before='mkdir -p /var/lib/cloud/instance'
	run -0 boot 'ls /var/lib/cloud/instance' 'cat /boot.out /system.out /home/jane.guest/user.out' 'stat -c "%A %U %G" /etc/my.conf' \
		'head -qn 1 /run/lima/provision/*.status; ls /run/lima/provision/done' 'cat /run/lima-boot-done /run/lima-ssh-ready' \
		'cat /run/apt-get.log 2>/dev/null || true' 'ls -l /usr/local/bin/lima-guestagent; hostname'
	contains "$output" "locale-check.skip"
	contains "$output" "boot world's end 0"
	contains "$output" "system world's end hello world's end"
	contains "$output" "user jane /home/jane.guest world's end"
	contains "$output" "-rw------- jane jane"
	contains "$output" $'ok\nok\nok\nok\nok\n/run/lima/provision/done'
	iid=$(bsdtar -xOf "$LIMA_HOME/box/cidata.iso" meta-data | sed -n 's/instance-id: //p')
	contains "$output" "$iid"$'\n'"$iid"
	contains "$output" "lima-box"
	# Nothing is installed that nobody asked for, but for sudo where there is none.
	[[ $output != *sshfs* && $output != *iptables* && $output != *uidmap* ]]
	run -0 boot "$everything"
	contains "$output" 'jane:x:4321:4321:Jane "J" Doe:/home/jane.guest:/bin/bash'
	contains "$output" 'jane:*:'
	contains "$output" 'jane ALL=(ALL) NOPASSWD:ALL'
	contains "$output" $'#LIMA-START\nGREETING=say "hi" # now\nWITH=a=b c\n#LIMA-END'
	contains "$output" $'127.0.1.1 lima-box\n192.168.5.2 host.lima.internal\n10.1.2.3 db.internal\n#LIMA-END'
}

@test "another boot changes nothing that is right" {
	make
	run -0 boot 'touch -d 2001-02-03 /home/jane.guest/.ssh/authorized_keys' "$everything"
	first=$output
	contains "$first" "Feb  3  2001 authorized_keys"
	run -0 boot "$everything"
	equals "$output" "$first"
}

@test "what is root's no other user of the guest reads" {
	make
	run -0 boot 'for f in /mnt/lima-cidata/lima.env /mnt/lima-cidata/user-data /run/lima/settings /run/lima/provision/00; do
		su nobody -s /bin/sh -c "cat $f" 2>/dev/null && echo "read $f"; done; echo done'
	equals "$output" done
}

@test "an image's own user that has the number gives way, another stays" {
	make
	before='useradd -u 4321 -m debian'
	run -0 boot 'id -un 4321; ls -d /home/debian'
	equals "$output" $'jane\n/home/debian'
	rm -rf "$LIMA_HOME/guest"
	before='useradd -u 4321 -m someone'
	run -0 boot 'id -u jane someone'
	equals "$output" $'4321\n4321'
}

@test "a script that fails is said, the others run, and the boot is done all the same" {
	sed -i 's|- {mode: dependency.*|- {mode: system, script: "#!/bin/sh\\necho oh no >\&2\\nexit 3\\n"}|' "$LIMA_HOME/box.yaml"
	make
	run -1 boot
	contains "$output" "provision 4 (system) failed with status 3"
	after='cat /run/lima/provision/04.status /home/jane.guest/user.out /run/lima-boot-done'
	run -1 boot "$after"
	contains "$output" $'failed 3\noh no'
	contains "$output" "user jane"
}

@test "plain: no agent, the scripts run all the same; a password where sudo asks for one" {
	sed -i 's/^env:/plain: true\nenv:/; s/^user: {/user: {passwordlessSudo: false, /' "$LIMA_HOME/box.yaml"
	make
	# As lima-init leaves it.
	before='mkdir -p /etc/sudoers.d; echo "jane ALL=(ALL) NOPASSWD:ALL" >/etc/sudoers.d/90-lima-users'
	run -0 boot 'cat /boot.out /system.out /home/jane.guest/user.out; ls /usr/local/bin/lima-guestagent 2>&1 || true' \
		'stat -c "%A %U" /home/jane.guest/password; grep ^jane /etc/shadow; cat /etc/sudoers.d/90-lima*'
	contains "$output" "boot world's end 0"
	contains "$output" "system world's end hello world's end"
	contains "$output" "user jane /home/jane.guest world's end"
	contains "$output" "No such file"
	contains "$output" "-rw------- jane"
	contains "$output" 'jane:$'
	contains "$output" 'jane ALL=(ALL) ALL'
	[[ $output != *NOPASSWD* ]]
	run -0 boot 'grep ^jane /etc/shadow'
	contains "$output" 'jane:$'
}

@test "with systemd the agent is a service that is there for this boot only" {
	make
	before='mkdir -p /run/systemd/system /run/user/4321/systemd; : >/run/user/4321/systemd/private'
	run -0 boot 'cat /run/systemd/system/lima-guestagent.service /run/systemctl.log' 'cat /etc/subuid' \
		'ls /etc/systemd/system/lima-guestagent.service 2>&1 || true'
	contains "$output" 'ExecStart="/usr/local/bin/lima-guestagent" daemon --carrier virtio:io.limactl-c.agent.0'
	contains "$output" $'daemon-reload\nrestart lima-guestagent'
	[[ $output == *jane:[0-9]*:[0-9]* ]]
	contains "$output" "No such file"
}

@test "with OpenRC it is a supervised one" {
	make
	before='mkdir /run/openrc; printf "#!/bin/sh\n" >/sbin/openrc-run; chmod +x /sbin/openrc-run'
	run -0 boot 'cat /etc/init.d/lima-guestagent /run/rc-service.log'
	contains "$output" 'command_args="daemon --carrier virtio:io.limactl-c.agent.0"'
	contains "$output" "lima-guestagent restart"
	# Where it is there and does not run, it is not asked.
	before=
	run -0 boot '[ -x /sbin/openrc-run ]; ls /run/rc-service.log 2>&1 || true'
	contains "$output" "No such file"
}

@test "the host's proxies: sessions and the guest's own services have them, and no more once they are not passed on" {
	local there='cat /etc/environment /run/lima/services.env /run/systemd/system/*.service.d/*; stat -c %a /run/lima/services.env; grep proxy -ri /run/lima/settings'
	before='mkdir -p /run/systemd/system /run/user/4321/systemd; : >/run/user/4321/systemd/private'
	unset http_proxy HTTP_PROXY https_proxy no_proxy NO_PROXY all_proxy ALL_PROXY ftp_proxy FTP_PROXY
	HTTPS_PROXY="http://me:it's%40me@localhost:3128" NO_PROXY=.corp make
	run -0 boot "$there" '. /run/lima/services.env; echo "read $HTTPS_PROXY"' \
		'grep -v "ssh.service" /run/systemctl.log | head -n 1' # this machine may have an sshd, which reloads its configuration
	local url="http://me:it's%40me@192.168.5.2:3128"
	contains "$output" $'\nhttps_proxy='"$url"$'\n'
	contains "$output" "NO_PROXY=.corp,localhost,127.0.0.1,::1,192.168.5.15,192.168.5.2,host.lima.internal"
	contains "$output" $'\n[Service]\nEnvironmentFile=-/run/lima/services.env\n'
	contains "$output" $'\n600\n'
	contains "$output" "read $url"
	contains "$output" daemon-reload
	[[ $output != *localhost:3128* ]]
	before='mkdir /run/openrc; printf "#!/bin/sh\n" >/sbin/openrc-run; chmod +x /sbin/openrc-run'
	run -0 boot '. /etc/rc.conf.d/90-lima.conf; env -i sh -c "echo none \$HTTPS_PROXY"; sh -c "echo read \$HTTPS_PROXY"'
	equals "$output" $'none\nread '"$url"
	before='mkdir -p /run/systemd/system /run/user/4321/systemd; : >/run/user/4321/systemd/private'
	limactl-c delete -f box
	sed -i 's/^env:/propagateProxyEnv: false\nenv:/' "$LIMA_HOME/box.yaml"
	HTTPS_PROXY=http://localhost:1 make
	run -0 boot "{ $there; . /etc/rc.conf.d/90-lima.conf; env; } 2>/dev/null | grep -i proxy || echo none"
	equals "$output" none
}

@test "the engine of an engine disk: two services, the one after the other; none without such a disk" {
	before='mkdir /run/openrc; printf "#!/bin/sh\n" >/sbin/openrc-run; chmod +x /sbin/openrc-run'
	make
	run -0 boot 'ls /etc/init.d/lima-*; cat /run/rc-service.log'
	[[ $output != *dockerd* ]]
	limactl-c delete -f box
	sed -i "s|^mounts:.*|mounts: []\nguest: {engineDisk: $LIMA_HOME/disk.img}|" "$LIMA_HOME/box.yaml"
	make
	run -0 boot 'cat /etc/init.d/lima-dockerd /run/rc-service.log' 'ls /run/lima/daemon.json'
	contains "$output" 'command="/usr/local/bin/lima-guestagent"'
	contains "$output" 'command_args="service dockerd"'
	contains "$output" 'need lima-containerd'
	contains "$output" $'lima-containerd start\nlima-dockerd start\n/run/lima/daemon.json'
	before='mkdir -p /run/systemd/system /run/user/4321/systemd; : >/run/user/4321/systemd/private'
	run -0 boot 'cat /run/systemd/system/lima-dockerd.service /run/systemctl.log'
	contains "$output" 'ExecStart="/usr/local/bin/lima-guestagent" service dockerd'
	contains "$output" 'After=lima-containerd.service'
	contains "$output" $'start lima-containerd\ndaemon-reload\nstart lima-dockerd'
}

@test "a program of the engine that cannot be prepared: the host is told why, at once and after more such starts" {
	make
	# Three quick deaths before it, of which one is real.
	run -0 boot 'rm -rf /etc/docker; mkdir -p /etc/docker/daemon.json; export PATH="/usr/local/bin:$PATH"
		! lima-guestagent service dockerd || exit 1
		cat /run/lima/trouble/dockerd
		sed -i "s/^0 /2 /" /run/lima/service.dockerd
		lima-guestagent service dockerd & n=0
		until grep "ended too soon" /run/lima/trouble/dockerd; do n=$((n + 1)); [ $n -lt 200 ] || exit 1; sleep 0.1; done'
	contains "${lines[0]}" "daemon.json is not a regular file"
	contains "${lines[1]}" "it ended too soon, 3 times, and is tried again; the log ends with: lima-guestagent: error: dockerd: "
	contains "${lines[1]}" "daemon.json is not a regular file"
}

@test "where nothing runs before boot.sh, scripts of mode boot come when the user and the data volume are there" {
	sed -i 's/- {mode: boot.*/- {mode: boot, script: "id -u jane >\/boot.out"}/' "$LIMA_HOME/box.yaml"
	make
	run -0 boot 'cat /boot.out'
	equals "$output" 4321
}

@test "packages: only what the template needs, after its own dependencies" {
	sed -i 's/^mounts:.*/mounts: []\nupgradePackages: true/' "$LIMA_HOME/box.yaml"
	make
	run boot 'cat /run/apt-get.log'
	contains "$output" "dist-upgrade"
	[[ $output != *sshfs* && $output != *iptables* ]]
}

key_lines() { bsdtar -xOf "$LIMA_HOME/box/cidata.iso" ssh_authorized_keys; }

@test "keys: Lima's own is made when there is none, kept otherwise; those of ~/.ssh when asked for" {
	rm "$LIMA_HOME/_config/user.pub"
	make
	equals "$(stat -c %a "$LIMA_HOME/_config/user")" 600
	equals "$(key_lines)" "$(cat "$LIMA_HOME/_config/user.pub")"
	contains "$(key_lines)" " lima"
	[ "$(ls "$LIMA_HOME/_config")" = $'user\nuser.pub' ]
	limactl-c delete -f box
	export HOME=$LIMA_HOME/home
	mkdir -p "$HOME/.ssh"
	echo "ssh-rsa AAAA b@host" >"$HOME/.ssh/b.pub"
	echo "ssh-rsa BBBB a@host" >"$HOME/.ssh/a.pub"
	echo "nonsense" >"$HOME/.ssh/c.pub"
	echo 'ssh: {loadDotSSHPubKeys: true}' >>"$LIMA_HOME/box.yaml"
	run -0 make
	contains "$output" "c.pub: its first line is no public key"
	equals "$(key_lines)" "$(cat "$LIMA_HOME/_config/user.pub")"$'\nssh-rsa BBBB a@host\nssh-rsa AAAA b@host'
}

@test "a start without a change writes the same volume" {
	make
	cp "$LIMA_HOME/box/cidata.iso" "$LIMA_HOME/first.iso"
	limactl-c edit --tty=false --set '.message = "hello"' box
	limactl-c delete -f box
	make
	cmp "$LIMA_HOME/box/cidata.iso" "$LIMA_HOME/first.iso"
}

@test "util: versions are compared as numbers, fields of fstab come back as they were" {
	cd "$BATS_TEST_DIRNAME/../../provision/cloud/util"
	for case in "1.10.2 -gt 1.9" "1.2 -eq 1.2.0" "22.4.2-1 -ge 22.4" "9 -lt 10" "2.0 -ne 2.1" "1.0 -le 1"; do
		# shellcheck disable=SC2086 # three words
		./compare_version.sh $case
	done
	run -1 ./compare_version.sh 1.9 -ge 1.10
	run -2 ./compare_version.sh 1 = 1
	equals "$(./escape_fstab.sh 'a b\040#c')" 'a\040b\134040\043c'
	for text in 'plain' 'a b' 'back\slash' 'a\040b' $'tab\there' '#x' 'ünï'; do
		equals "$(./unescape_fstab.sh "$(./escape_fstab.sh "$text")")" "$text"
	done
}

@test "a template that has changed gives the user its shell; one chosen in the guest stays until then" {
	make
	boot 'usermod -s /bin/dash jane'
	run -0 boot 'getent passwd jane'
	contains "$output" ":/bin/dash"
	limactl-c delete box
	sed -i 's|/bin/bash}|/bin/sh}|' "$LIMA_HOME/box.yaml"
	make
	run -0 boot 'getent passwd jane'
	contains "$output" "jane:x:4321:4321:Jane \"J\" Doe:/home/jane.guest:/bin/sh"
}
