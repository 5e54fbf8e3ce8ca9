#!/bin/sh
# Homes were called USER.linux once; scripts that name that still find it.
set -eu
case $LIMA_CIDATA_HOME in
*.guest) old=${LIMA_CIDATA_HOME%.guest}.linux ;;
*) exit 0 ;;
esac
[ -e "$old" ] || [ -L "$old" ] || ln -s "$LIMA_CIDATA_HOME" "$old"
