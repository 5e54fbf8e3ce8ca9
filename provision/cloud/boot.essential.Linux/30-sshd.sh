#!/bin/sh
# Alpine's sshd forwards nothing unless told so; the colours of the user's terminal are asked for by name. Only what is
# otherwise is changed.
set -eu
config=/etc/ssh/sshd_config
[ -e $config ] || exit 0
before=$(cksum <$config)

# The first line of a keyword counts.
set_option() {
	if grep -q "^$1 $2\$" $config; then return; fi
	if grep -q "^#*$1 " $config; then
		sed -i "s/^#*$1 .*/$1 $2/" $config
	else
		sed -i "1i $1 $2" $config
	fi
}

if [ -e /etc/alpine-release ]; then
	set_option AllowTcpForwarding yes
	# Sessions get /etc/environment by PAM, where this sshd knows it.
	[ ! -e /etc/pam.d/sshd ] || sshd -t -o UsePAM=yes 2>&1 | grep -q Unsupported || set_option UsePAM yes
fi
grep -q '^AcceptEnv .*COLORTERM' $config || printf 'AcceptEnv COLORTERM\n' | cat - $config >$config.new
if [ -e $config.new ]; then
	cat $config.new >$config
	rm $config.new
fi
[ "$before" != "$(cksum <$config)" ] || exit 0
if command -v systemctl >/dev/null; then
	# Not a reload, which it answers by not listening for a moment, while who waited for the instance connects.
	systemctl try-restart ssh.service sshd.service
else
	rc-service --ifstarted sshd reload
fi
