#!/bin/sh
# compare_version.sh A OPERATOR B: whether "1.10.2" -ge "1.9" and the like; operators are test's. Parts are compared as
# numbers, a missing one is 0, what follows a number in a part does not count.
set -u
compare() {
	a=$1. b=$2.
	while [ -n "$a" ] || [ -n "$b" ]; do
		x=${a%%.*} y=${b%%.*}
		a=${a#"$x"} b=${b#"$y"}
		a=${a#.} b=${b#.}
		x=${x%%[!0-9]*} y=${y%%[!0-9]*}
		[ "${x:-0}" -eq "${y:-0}" ] && continue
		[ "${x:-0}" -lt "${y:-0}" ] && echo -1 || echo 1
		return
	done
	echo 0
}
case $2 in
-eq | -ne | -lt | -le | -gt | -ge) test "$(compare "$1" "$3")" "$2" 0 ;;
*)
	echo "compare_version.sh: \"$2\" is no operator" >&2
	exit 2
	;;
esac
