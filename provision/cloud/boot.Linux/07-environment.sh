#!/bin/sh
# The template's env, for every session; from now on one by ssh has it, which the mark says.
set -eu
# shellcheck source=provision/cloud/util/lima.sh
. "$LIMA_CIDATA_MNT/util/lima.sh"
lima_block /etc/environment <"$LIMA_CIDATA_MNT/etc_environment"
# At each login cloud-init starts programs to look at the locale that an ssh client has sent. Neither shell nor ssh.config sends one.
[ ! -d /var/lib/cloud/instance ] || : >/var/lib/cloud/instance/locale-check.skip
printf '%s\n' "$LIMA_CIDATA_IID" >/run/lima-ssh-ready
