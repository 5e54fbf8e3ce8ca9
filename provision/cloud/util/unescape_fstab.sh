#!/bin/sh
# Prints what a field of /etc/fstab or /proc/mounts stands for.
printf '%s\n' "$1" | sed 's/\\040/ /g; s/\\011/	/g; s/\\043/#/g; s/\\134/\\/g'
