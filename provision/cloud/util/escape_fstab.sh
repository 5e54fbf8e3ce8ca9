#!/bin/sh
# Prints its argument as one field of /etc/fstab.
printf '%s\n' "$1" | sed 's/\\/\\134/g; s/ /\\040/g; s/	/\\011/g; s/#/\\043/g'
