#!/bin/sh
# Installs the guest agent of this start and keeps it running. Its service is not enabled: it is started here at every
# boot, when its settings are in place, and nothing of it runs where there is no seed.
set -eu
agent=$LIMA_CIDATA_GUEST_INSTALL_PREFIX/bin/lima-guestagent
about="Lima's guest agent"
updated=false

# By a rename: the old one may be running.
if ! cmp -s "$LIMA_CIDATA_MNT/lima-guestagent" "$agent"; then
	mkdir -p "${agent%/*}"
	cp "$LIMA_CIDATA_MNT/lima-guestagent" "$agent.new"
	chmod 0755 "$agent.new"
	mv "$agent.new" "$agent"
	updated=true
fi

systemd_start() {
	mkdir -p /run/systemd/system
	# KillMode: sessions outlive an agent that is started anew.
	cat >/run/systemd/system/lima-guestagent.service <<-UNIT
		[Unit]
		Description=$about
		StartLimitIntervalSec=0

		[Service]
		ExecStart="$agent" daemon --carrier virtio:$LIMA_CIDATA_VIRTIO_PORT
		Restart=always
		RestartSec=1
		KillMode=process
		OOMPolicy=continue
		OOMScoreAdjust=-500
		TasksMax=infinity
	UNIT
	systemctl daemon-reload
	if $updated; then systemctl restart lima-guestagent; else systemctl start lima-guestagent; fi
}

openrc_start() {
	cat >/etc/init.d/lima-guestagent <<-SERVICE
		#!/sbin/openrc-run
		description="$about"
		supervisor=supervise-daemon
		command="$agent"
		command_args="daemon --carrier virtio:$LIMA_CIDATA_VIRTIO_PORT"
		error_log=/var/log/lima-guestagent.log
		respawn_delay=1
		respawn_max=0
		retry=TERM/5/KILL/2
	SERVICE
	chmod 0755 /etc/init.d/lima-guestagent
	if $updated; then rc-service lima-guestagent restart; else rc-service lima-guestagent start; fi
}

# An init we do not know.
other_start() {
	if pgrep -f "^$agent daemon" >/dev/null; then return; fi
	setsid sh -c "while :; do '$agent' daemon --carrier 'virtio:$LIMA_CIDATA_VIRTIO_PORT'; sleep 1; done" \
		</dev/null >>/var/log/lima-guestagent.log 2>&1 &
}

if [ -d /run/systemd/system ]; then
	systemd_start
elif [ -x /sbin/openrc-run ]; then
	openrc_start
else
	other_start
fi
