# shellcheck shell=sh
# Programs of ours that keep running, under whatever init the guest has. None is enabled: each boot starts them when their
# settings are in place, and nothing of them runs where there is no seed.

# lima_service start|restart NAME NEEDED ABOUT PROGRAM ARGUMENT...: starts it if it does not run. NEEDED, another of them or
# "", is stopped after it. Arguments are single words.
lima_service() {
	verb=$1 name=$2 needed=$3 about=$4 program=$5
	shift 5
	if [ -d /run/systemd/system ]; then
		lima_systemd_unit "$@" >"/run/systemd/system/$name.service"
		systemctl daemon-reload
		systemctl "$verb" "$name"
	elif [ -d /run/openrc ]; then
		lima_openrc_script "$@" >"/etc/init.d/$name"
		chmod 0755 "/etc/init.d/$name"
		rc-service "$name" "$verb"
	else
		lima_keep_running "$@"
	fi
}

# KillMode: sessions and containers outlive a program that is started anew.
lima_systemd_unit() {
	cat <<-UNIT
		[Unit]
		Description=$about
		StartLimitIntervalSec=0
		${needed:+After=$needed.service}

		[Service]
		ExecStart="$program" $*
		Restart=always
		RestartSec=1
		Delegate=yes
		KillMode=process
		OOMPolicy=continue
		OOMScoreAdjust=-500
		TasksMax=infinity
	UNIT
}

lima_openrc_script() {
	cat <<-SERVICE
		#!/sbin/openrc-run
		description="$about"
		supervisor=supervise-daemon
		command="$program"
		command_args="$*"
		error_log=/var/log/$name.log
		respawn_delay=1
		respawn_max=0
		retry=TERM/30/KILL/2
		depend() {
			${needed:+need }${needed:-:}
		}
	SERVICE
}

# An init we do not know, or our own, though the guest may have an OpenRC that does not run.
lima_keep_running() {
	if pgrep -f "^$program $*" >/dev/null; then return; fi
	# shellcheck disable=SC2016 # for the shell that is started
	setsid sh -c 'while :; do "$@"; sleep 1; done' sh "$program" "$@" </dev/null >>"/var/log/$name.log" 2>&1 &
}
