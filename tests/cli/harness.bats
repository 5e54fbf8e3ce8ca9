# The test runner itself: what must count as a failure does; and what each program links.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

count() { tests/run tap x sh -c "$1"; }

@test "results are counted, and the last line says how many" {
	run -0 count 'echo 1..2; echo "ok 1 a"; echo "ok 2 b"'
	equals "${lines[-1]}" "2 passed, 0 failed"
	run -1 count 'echo 1..2; echo "ok 1 a"; echo "not ok 2 b"'
	equals "${lines[-1]}" "1 passed, 1 failed"
}

@test "a crash, a missing result and a silent run are failures" {
	run -1 count 'echo 1..2; echo "ok 1 a"; kill -SEGV $$'
	equals "${lines[-1]}" "1 passed, 1 failed"
	run -1 count 'echo 1..1; echo "ok 1 a"; exit 3'
	equals "${lines[-1]}" "1 passed, 1 failed"
	run -1 count 'true'
	equals "${lines[-1]}" "0 passed, 1 failed"
}

@test "a skip is a failure unless its reason is listed" {
	run -1 count 'echo 1..1; echo "ok 1 a # skip no time"'
	equals "${lines[-1]}" "0 passed, 1 failed"
	echo "no time" >"$BATS_TEST_TMPDIR/skips"
	SKIPS=$BATS_TEST_TMPDIR/skips run -0 count 'echo 1..1; echo "ok 1 a # skip no time"'
	equals "${lines[-1]}" "1 passed, 0 failed"
}

# needs PROGRAM: the shared libraries it asks for, without libc's own.
needs() {
	readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(lib[a-z]*\).*/\1/p' | grep -vx libc | sort | tr '\n' ' '
}

@test "each program links only what it needs" {
	equals "$(needs "$OUT/bin/limactl-c")" "libjansson libyaml "
	equals "$(needs "$OUT/libexec/limactl-c/hostagent")" "libjansson libuv "
	equals "$(needs "$OUT/libexec/limactl-c/image")" "libarchive libcrypto libcurl libz libzstd "
	equals "$(needs "$OUT/libexec/limactl-c/resolver")" ""
	equals "$(needs "$OUT/share/limactl-c/lima-guestagent.Linux-$(uname -m)")" ""
}
