# A guest that keeps its own init: a boot of its own with OpenRC, each tuning in force, a clean end, a second boot, and
# the same disk started lean.
bats_require_minimum_version 1.5.0
. "$BATS_TEST_DIRNAME/../helpers/vm.bash"

# Without the engine; its services are the same program kept by the same supervisor as the agent.
setup_file() {
	alpine_template >"$LIMA_HOME/orc.yaml"
	cat >>"$LIMA_HOME/orc.yaml" <<-'YAML'
		user: {name: dev, uid: 1000, home: /home/dev}
		env: {GREETING: hello}
		guest: {init: openrc}
		tuning:
		  initOnFree: true
		  tmpfsVarLog: true
		  syslogRing: 64KiB
		  commit: 60
		  cacheTrim: true
		  fstrim: [boot, stop]
		  skipBootMenu: true
		  noCloudInitHotplug: true
		provision:
		- mode: boot
		  script: |
		    #!/bin/sh
		    ip route | grep -q default && echo "$(id -un)" >>/root/boot-ran
		    # What Alpine's cloud image has, for the next boot.
		    mkdir -p /etc/default
		    [ -e /etc/default/grub ] || echo GRUB_TIMEOUT=10 >/etc/default/grub
		    [ -e /etc/init.d/cloud-init-hotplugd ] || {
		      printf '#!/sbin/openrc-run\ncommand=/bin/sleep\ncommand_args=4242\ncommand_background=true\npidfile=/run/hotplug.pid\n' >/etc/init.d/cloud-init-hotplugd
		      chmod 755 /etc/init.d/cloud-init-hotplugd
		      ln -s /etc/init.d/cloud-init-hotplugd /etc/runlevels/default/
		    }
		- mode: system
		  script: |
		    #!/bin/sh
		    echo "$GREETING" >>/root/system-ran
	YAML
	https_proxy=http://localhost:1 limactl-c start --tty=false --name=orc "$LIMA_HOME/orc.yaml"
}
teardown_file() { limactl-c delete -f orc >/dev/null 2>&1 || true; }

orc() { limactl-c shell orc "$@"; }
# The child of the supervisor; another one serves this very command.
agent_pid() { orc sh -c 'cat /proc/$(pgrep -f "^supervise-daemon lima-agent")/task/*/children'; }
check() { orc sudo /run/lima/agent setup --check; }
stopped() { [ "$(limactl-c list orc --json | jq -r .status)" = Stopped ]; }

@test "OpenRC booted the machine, and keeps the agent" {
	contains "$(orc rc-status --all)" lima-agent
	contains "$(orc cat /proc/1/comm)" init
	orc grep -q 'openrc default' /etc/inittab
	local before
	before=$(agent_pid)
	orc sudo kill -9 "$before" || true
	wait_until 20 orc true
	[ "$(agent_pid)" != "$before" ]
}

@test "user, hostname, network and scripts are as in a lean guest" {
	equals "$(orc id -un)" dev
	equals "$(orc hostname)" lima-orc
	equals "$(orc sudo cat /root/boot-ran)" root
	equals "$(orc sudo cat /root/system-ran)" hello
	contains "$(orc ip -4 addr show dev eth0)" 10.0.2.15
	run ! orc test -e /run/lima/setup.warnings
}

@test "services of the guest's own have the host's proxies and the template's env" {
	orc sudo sh -c 'cat >/etc/init.d/seer && chmod 755 /etc/init.d/seer' <<-'SERVICE'
		#!/sbin/openrc-run
		start() {
			start-stop-daemon --start --exec /bin/sh -- -c 'echo $https_proxy $GREETING >/run/seen'
		}
	SERVICE
	orc sudo rc-service seer start
	wait_until 10 orc test -s /run/seen
	equals "$(orc cat /run/seen)" "http://10.0.2.2:1 hello"
	orc sudo rm /etc/init.d/seer
}

@test "nothing is mounted twice" {
	equals "$(orc sh -c "awk '{ print \$2 }' /proc/mounts | sort | uniq -d")" ""
}

@test "log: a ring of 64 KiB, /var/log on tmpfs, nothing of it on disk" {
	contains "$(orc ps -o args)" "syslogd -t -C64"
	equals "$(orc sh -c "awk '\$2 == \"/var/log\" { print \$3 }' /proc/mounts")" tmpfs
	orc logger -t ring-test hello-ring
	wait_until 10 orc sh -c 'logread | grep -q hello-ring'
	run ! orc test -e /var/log/messages
}

@test "no getty waits on a console that leads nowhere" {
	run -1 orc sh -c 'ps -o args | grep "[g]etty"'
}

@test "kernel and root: init_on_free, commit" {
	contains "$(orc sudo dmesg)" "heap free:on"
	contains "$(orc grep ' / ' /proc/mounts)" commit=60
}

@test "the power button stops it, with a clean file system; at the next boot every tuning is in force" {
	equals "$(orc grep GRUB_TIMEOUT /etc/default/grub)" GRUB_TIMEOUT=10
	run -0 limactl-c stop orc
	stopped
	qemu-img convert -O raw "$LIMA_HOME/orc/disk" "$BATS_TEST_TMPDIR/raw"
	run -0 e2fsck -fn "$BATS_TEST_TMPDIR/raw"
	contains "$(dumpe2fs -h "$BATS_TEST_TMPDIR/raw" 2>/dev/null)" "clean"
	run ! grep -q needs_recovery <(dumpe2fs -h "$BATS_TEST_TMPDIR/raw" 2>/dev/null)
	limactl-c start orc
	equals "$(orc sudo cat /root/boot-ran | wc -l)" 2
	wait_until 60 check
	equals "$(orc grep '^GRUB_TIMEOUT' /etc/default/grub)" GRUB_TIMEOUT=0
	run -1 orc sh -c 'ps -o args | grep "[s]leep 4242"'
	run -0 check
	[[ $output != *"NOT in force"* ]]
	local key
	for key in initOnFree tmpfsVarLog syslogRing commit cacheTrim fstrimBoot fstrimStop skipBootMenu noCloudInitHotplug; do
		contains "$output" "tuning.$key: in force"
	done
	contains "$output" "getty: in force"
	contains "$output" "powerButton: in force"
}

@test "poweroff in the guest is a clean end; the same disk boots lean, and OpenRC's services stay out of it" {
	orc sudo poweroff || true
	wait_until 60 stopped
	sed -i 's/init: openrc/init: lean/' "$LIMA_HOME/orc/lima.yaml"
	limactl-c start orc
	run ! orc sh -c 'ps -o args | grep -e "[s]upervise-daemon" -e "[o]penrc"'
	contains "$(orc ps -o args)" "syslogd -t -C64"
	equals "$(orc id -un)" dev
	run ! orc test -e /run/lima/setup.warnings
}
