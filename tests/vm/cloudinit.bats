# cloudinit: a Debian guest, as a distribution's cloud image is, becomes the user's through the seed volume alone.
. "$BATS_TEST_DIRNAME/../helpers/vm.bash"
bats_require_minimum_version 1.5.0

setup_file() {
	OWN_HOME=$(mktemp -d /tmp/lcd.XXXX)
	PORT=$(free_port)
	export OWN_HOME PORT
	eval "$(ssh-agent)" # lent to the guest
	ssh-keygen -q -t ed25519 -N '' -C lent -f "$OWN_HOME/lent"
	ssh-add -q "$OWN_HOME/lent"
	export SSH_AUTH_SOCK SSH_AGENT_PID
	"$BATS_TEST_DIRNAME/../helpers/debian-image"
}
teardown_file() {
	ssh -F "$OWN_HOME/deb/ssh.config" -O exit lima-deb 2>/dev/null || true
	LIMA_HOME=$OWN_HOME limactl-c delete -f deb >/dev/null 2>&1 || true
	kill "$SSH_AGENT_PID" || true
	rm -rf "$OWN_HOME"
}
setup() { export LIMA_HOME=$OWN_HOME; }

deb() { limactl-c shell deb "$@"; }
to_deb() { ssh -F "$LIMA_HOME/deb/ssh.config" "$@"; }

# start NAME ARGUMENTS...: starts the instance and says how long that took.
start() {
	local from=$SECONDS what=$1
	shift
	limactl-c start --tty=false --timeout=15m "$@" || { tail -n 40 "$LIMA_HOME/deb/serial.log"; return 1; }
	echo "# $what: READY after $((SECONDS - from)) s" >&3
}

# loader_seconds: from the machine's start to its kernel's, as the two clocks tell it.
loader_seconds() {
	local guest host ticks
	guest=$(deb cat /proc/uptime)
	host=$(cat /proc/uptime)
	ticks=$(sed 's/.*) //' "/proc/$(cat "$LIMA_HOME/deb/qemu.pid")/stat" | cut -d ' ' -f 20)
	awk "BEGIN { printf \"%.1f\", ${host%% *} - $ticks / $(getconf CLK_TCK) - ${guest%% *} }"
}

# settled COMMAND: once the agent has tuned what takes time; as root.
settled() { deb sudo flock /run/lima/settle.lock "$@"; }

kernel_is_known() { [ -e "$LIMA_HOME/deb/harvest/harvest.json" ]; }

# by_loader: starts the instance until its own loader has been heard of; what start said is in $output.
by_loader() {
	rm -f "$LIMA_HOME/deb/serial.log"
	limactl-c start --tty=false deb >"$BATS_TEST_TMPDIR/said" 2>&1 &
	local pid=$!
	wait_until 120 grep -aq "GRUB loading" "$LIMA_HOME/deb/serial.log"
	limactl-c stop -f deb
	wait $pid || true
	output=$(cat "$BATS_TEST_TMPDIR/said")
}

# file_system: the guest's, of the stopped instance, into $BATS_TEST_TMPDIR/disk.
file_system() {
	qemu-img convert -O raw "$LIMA_HOME/deb/disk" "$BATS_TEST_TMPDIR/disk"
	e2fsck -fn "$BATS_TEST_TMPDIR/disk?offset=1048576"
}

template() {
	debian_template
	cat <<-YAML
		user: {name: ada, comment: Ada L., uid: 4711, home: /home/ada.guest, shell: /bin/bash}
		timezone: Europe/Berlin
		additionalDisks: [data]
		param: {color: dark blue}
		mountType: virtiofs
		mountInotify: true
		mounts:
		- {location: "$OWN_HOME/.shared", writable: true}
		- {location: "$OWN_HOME/.only to read", mountPoint: "/srv/only to read"}
		env: {TEA: oolong}
		portForwards: [{guestPort: 8123, hostPort: $PORT}]
		ssh: {forwardAgent: true}
		guest: {kernelArgs: [lima.test=1]}
		tuning: {commit: 60, skipBootMenu: true, noCloudInitHotplug: true}
		provision:
		- {mode: user, script: "#!/bin/sh\necho user \$(id -un) \$PARAM_color \$XDG_RUNTIME_DIR >>/run/order"}
		- {mode: system, script: "#!/bin/sh\necho system \$(id -un) \$PARAM_color \$TEA >>/run/order; echo >>/var/starts"}
		- {mode: boot, script: "#!/bin/sh\necho boot \$(id -un) \$(hostname) >>/run/order; chmod 666 /run/order"}
		- {mode: dependency, skipDefaultDependencyResolution: true, script: "#!/bin/sh\necho dependency >>/run/order"}
		- {mode: data, path: /etc/made/file, content: "{{.Param.color}}\n", owner: ada, permissions: 640}
	YAML
}

@test "the first start reaches READY" {
	template >"$LIMA_HOME/deb.yaml"
	limactl-c disk create data --size 256MiB
	start "first start" "$LIMA_HOME/deb.yaml"
	equals "$(limactl-c list deb --format '{{.Status}}')" Running
}

@test "its own loader started it; its kernel is taken out of it" {
	contains "$(deb cat /proc/cmdline)" BOOT_IMAGE=
	wait_until 300 kernel_is_known
	deb sudo cat "/boot/vmlinuz-$(deb uname -r)" | cmp - "$LIMA_HOME/deb/harvest/kernel"
	equals "$(jq -r .args "$LIMA_HOME/deb/harvest/harvest.json")" \
		"root=LABEL=root ro quiet no_timer_check console=tty0 console=ttyS0,115200"
	echo "# machine to kernel: $(loader_seconds) s" >&3
}

@test "its GRUB is told our words and not to wait; cloud-init's hotplug and a getty without a console are off" {
	equals "$(limactl-c list deb --json | jq -r .kernelArgs)" "console=ttyS0 quiet psi=1 panic=-1 no_timer_check tsc=reliable lima.test=1"
	local cfg
	cfg=$(settled cat /boot/grub/grub.cfg)
	contains "$cfg" " ro console=tty0 console=ttyS0,115200 quiet no_timer_check lima.begin psi=1 panic=-1 tsc=reliable lima.test=1 lima.end"
	contains "$cfg" "set timeout=0"
	[[ $cfg != *"set timeout=2"* ]]
	contains "$(deb cat /etc/default/grub)" GRUB_TIMEOUT=2
	run ! deb systemctl is-active cloud-init-hotplugd.socket getty@tty1.service
	equals "$output" $'inactive\ninactive'
	run ! deb test -e /run/lima/setup.warnings
}

@test "user, key, host name, time zone, root and disk are the template's" {
	equals "$(deb getent passwd ada)" "ada:x:4711:4711:Ada L.:/home/ada.guest:/bin/bash"
	equals "$(deb whoami)" ada
	equals "$(deb sudo -n id -u)" 0
	equals "$(deb stat -c '%a %U' .ssh/authorized_keys)" "600 ada"
	contains "$(deb cat .ssh/authorized_keys)" "$(cut -d ' ' -f 1,2 "$LIMA_HOME/_config/user.pub")"
	equals "$(deb hostname)" lima-deb
	contains "$(deb getent hosts host.lima.internal)" 192.168.5.2
	contains "$(deb date +%Z)" CE
	(($(deb df -k / | awk 'END { print $2 }') > 2800000))
	contains "$(deb cat /proc/mounts)" "/dev/vdb1 /mnt/lima-data ext4 rw"
	contains "$(deb cat /etc/environment)" "TEA=oolong"
	# What is in the volume is nobody's but root's.
	run ! deb ls /mnt/lima-cidata
	run -0 deb sudo cloud-init status
	equals "$output" "status: done"
	equals "$(deb systemctl is-system-running)" running
}

# Its kernel has no 9p.
@test "folders of the host are mounted, by cloud-init and where it cannot say the name; read-only is" {
	echo host >"$OWN_HOME/.only to read/file"
	contains "$(deb cat /proc/mounts)" " $OWN_HOME/.shared virtiofs rw"
	equals "$(deb sudo cat "/srv/only to read/file")" host
	deb sudo sh -c 'echo guest >"$1/file"' sh "$OWN_HOME/.shared"
	equals "$(cat "$OWN_HOME/.shared/file")" guest
	run ! deb sudo sh -c 'mount -o remount,rw "$1"; echo >"$1/new"' sh "/srv/only to read"
	equals "$(deb sudo sh -c 'tag=$(awk "/only/ { print \$1 }" /proc/mounts); umount "$1" && mkdir -p /mnt/again &&
		mount -t virtiofs "$tag" /mnt/again && cat /mnt/again/file' sh "/srv/only to read")" host
	run ! deb sudo sh -c 'echo >/mnt/again/file || rm /mnt/again/file || touch /mnt/again/new'
	equals "$(ls "$OWN_HOME/.only to read")" file
	deb sudo umount /mnt/again
}

@test "changes on the host wake who watches a folder or a file of virtiofs; what the guest changes comes once" {
	local shared=$OWN_HOME/.shared
	gcc -O1 -static -o "$shared/watch" tests/helpers/watch.c
	mkdir "$shared/ev"
	echo >"$shared/ev/f"
	deb sudo ls "$shared/ev"
	listen limactl-c shell deb sudo "$shared/watch" "$shared/ev" "$shared/ev/f"
	touch "$shared/ev/first" # whatever was under way is told by now
	hears "MODIFY first"
	echo >>"$shared/ev/f"
	hears "MODIFY f"
	deb sudo sh -c 'echo >>"$1/ev/f"' sh "$shared"
	touch "$shared/ev/last"
	hears "MODIFY last"
	equals "$(heard | sed '0,/first/d')" $'MODIFY f\nMODIFY\nMODIFY f\nMODIFY\nMODIFY last'
	quiet
}

@test "python's watchdog sees what the host writes and makes" {
	local shared=$OWN_HOME/.shared
	cp -r /usr/lib/python3/dist-packages/watchdog bench/watchers/say_watchdog.py "$shared"
	listen limactl-c shell deb sudo sh -c 'cd "$1/ev" && exec python3 ../say_watchdog.py' sh "$shared"
	saw() { grep -xF "$1" "$HEARD"; }
	echo >>"$shared/ev/f"
	wait_until 30 saw "modified ./f"
	mkdir "$shared/ev/sub"
	wait_until 30 saw "modified ./sub/"
	quiet
}

@test "provisioning ran in Lima's order, with parameters and environment" {
	run -0 deb cat /run/order
	equals "$output" "boot root lima-deb
dependency
system root dark blue oolong
user ada dark blue /run/user/4711"
	equals "$(deb stat -c '%a %U' /etc/made/file)" "640 ada"
	equals "$(deb cat /etc/made/file)" "dark blue"
}

@test "the agent is a service; ports of the guest are the host's" {
	equals "$(deb systemctl is-active lima-guestagent)" active
	equals "$(deb sh -c 'ulimit -Sn')" 1024 # systemd's own
	local before
	before=$(deb systemctl show -P MainPID lima-guestagent)
	run -255 deb sudo kill -9 "$before" # which carries this very command
	wait_until 180 deb true
	[ "$(deb systemctl show -P MainPID lima-guestagent)" != "$before" ]
	deb sudo systemd-run -q --unit=web python3 -m http.server 8123 --bind 127.0.0.1 --directory /etc/made
	deb sudo chmod 644 /etc/made/file
	wait_until 180 curl -fsS "http://127.0.0.1:$PORT/file"
	equals "$(curl -fsS "http://127.0.0.1:$PORT/file")" "dark blue"
}

@test "systemd-resolved asks the host, by the guest agent" {
	by_us() { deb resolvectl query --cache=no host.docker.internal | grep -q 192.168.5.2; }
	wait_until 60 by_us
	equals "$(deb getent ahostsv4 gateway.docker.internal | awk 'NR == 1 { print $1 }')" 192.168.5.2
}

@test "its own sshd by the key it told: a shared connection, SFTP, forwards, the agent lent" {
	equals "$(cat "$LIMA_HOME/deb/known_hosts")" \
		"lima-deb $(deb cat /etc/ssh/ssh_host_ed25519_key.pub | cut -d ' ' -f 1,2)"
	equals "$(to_deb lima-deb 'echo $(id -un) $(tty) $TEA')" "ada not a tty oolong"
	contains "$(to_deb -tt lima-deb tty </dev/null)" /dev/pts/
	to_deb -O check lima-deb
	head -c 5000000 /dev/urandom >"$BATS_TEST_TMPDIR/file"
	sftp -q -F "$LIMA_HOME/deb/ssh.config" -b - lima-deb <<-SFTP
		put "$BATS_TEST_TMPDIR/file" "of the host"
		get "of the host" "$BATS_TEST_TMPDIR/back"
	SFTP
	cmp "$BATS_TEST_TMPDIR/file" "$BATS_TEST_TMPDIR/back"
	# A port of the guest leads to this host, ports of this host lead into the guest: to the server of the test before.
	local d remote
	remote=$(to_deb -O forward -R "0:127.0.0.1:$PORT" lima-deb)
	contains "$(deb python3 -c "import urllib.request as u; print(u.urlopen('http://127.0.0.1:$remote/file').read())")" "dark blue"
	d=$(free_port)
	to_deb -O forward -D "127.0.0.1:$d" lima-deb
	equals "$(curl -fsS --socks5-hostname "127.0.0.1:$d" http://127.0.0.1:8123/file)" "dark blue"
	equals "$(printf 'uname\n' | to_deb -T lima-deb sh)" Linux
	# The host's agent: by ssh, and by the channel for who was not started by ssh.
	contains "$(to_deb -S none lima-deb ssh-add -l)" lent
	equals "$(deb stat -c '%a %U' /run/host-services/ssh-auth.sock)" "600 ada"
	contains "$(deb ssh-add -l)" lent
	# Its keys are changed where it runs.
	deb sudo sh -c 'rm /etc/ssh/ssh_host_*; ssh-keygen -q -t ed25519 -N "" -f /etc/ssh/ssh_host_ed25519_key; systemctl restart ssh'
	to_deb -S none lima-deb true
}

@test "stop powers it off in order; the second start does again what is for every boot, and nothing else" {
	local keys grub
	grub=$(deb stat -c '%i %y' /boot/grub/grub.cfg)
	keys=$(deb sudo sh -c 'cat /etc/ssh/ssh_host_*.pub; ls /var/lib/cloud/instances')
	deb sudo sh -c 'echo kept >/mnt/lima-data/file'
	limactl-c stop deb
	file_system
	start "second start" deb
	echo "# machine to kernel: $(loader_seconds) s" >&3
	equals "$(deb cat /proc/cmdline)" "$(limactl-c list deb --json | jq -r .kernelCmdline)"
	equals "$(deb sudo sh -c 'cat /etc/ssh/ssh_host_*.pub; ls /var/lib/cloud/instances')" "$keys"
	contains "$(deb cat /run/order)" "system root dark blue oolong"
	equals "$(deb sudo wc -l /var/starts)" "2 /var/starts"
	equals "$(deb cat /mnt/lima-data/file)" kept
	equals "$(deb hostname)" lima-deb
	# What was told to GRUB is not told again, so its menu is the one that the kernel was taken out with.
	equals "$(settled stat -c '%i %y' /boot/grub/grub.cfg)" "$grub"
	run deb sudo lima-guestagent setup --check
	for key in tuning.{kernelArgs,commit,skipBootMenu,noCloudInitHotplug} getty; do contains "$output" "$key: in force"; done
	deb sudo touch /boot/vmlinuz-new
}

@test "a changed template is another instance to cloud-init" {
	limactl-c stop deb
	limactl-c edit deb --tty=false --set '.user.shell = "/bin/sh" | .timezone = "Asia/Tokyo" | .param.color = "red" |
		.tuning = {} | .guest.kernelArgs = []'
	start "third start" deb
	equals "$(deb sudo sh -c 'ls /var/lib/cloud/instances | wc -l')" 2
	equals "$(deb getent passwd ada)" "ada:x:4711:4711:Ada L.:/home/ada.guest:/bin/sh"
	equals "$(deb date +%Z)" JST
	to_deb lima-deb true # with other keys than before
	contains "$(deb cat /run/order)" "system root red oolong"
	# What it no longer asks for is taken back; its mounts it asks for still, and their tags have our name.
	[[ $(settled sh -c 'cat /boot/grub/grub.cfg; awk "\$3 != \"virtiofs\"" /etc/fstab') != *@(lima|set timeout=0|commit=)* ]]
	contains "$(deb cat /boot/grub/grub.cfg)" "set timeout=2"
	run ! deb sh -c 'ls /etc/default/grub.d | grep lima'
	equals "$(deb systemctl is-active cloud-init-hotplugd.socket)" active
	[[ $(deb cat /proc/cmdline) != *lima.test* ]]
	limactl-c stop deb
	file_system
}

@test "a kernel that does not fit is not used, which is said: the guest's loader starts it" {
	[ -e "$LIMA_HOME/deb/harvest/stale" ] # /boot had changed before the third start
	by_loader
	contains "$output" "own loader starts it: its /boot has changed"
	# Nothing can start this one.
	rm "$LIMA_HOME/deb/harvest/stale"
	head -c 1M /dev/zero >"$LIMA_HOME/deb/harvest/kernel"
	sed -i "/kernel/s/[0-9a-f]\\{64\\}/$(sha256sum <"$LIMA_HOME/deb/harvest/kernel" | cut -c 1-64)/" \
		"$LIMA_HOME/deb/harvest/harvest.json"
	run -1 limactl-c start --tty=false --timeout=30s deb
	by_loader
	contains "$output" "own loader starts it: started without it, its agent did not answer"
}
