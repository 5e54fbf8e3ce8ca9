#!/bin/sh
# The template's env, for every session; from now on one by ssh has it, which the mark says.
set -eu
# shellcheck source=provision/cloud/util/lima.sh
. "$LIMA_CIDATA_MNT/util/lima.sh"
lima_block /etc/environment <"$LIMA_CIDATA_MNT/etc_environment"
printf '%s\n' "$LIMA_CIDATA_IID" >/run/lima-ssh-ready
