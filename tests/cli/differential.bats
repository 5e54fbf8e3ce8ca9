# The answers in tests/golden/yq that our engine is compared with are those of the real one.

load ../helpers/common

@test "the recorded answers are what yq says" {
	[ -n "${YQ:-}" ] || command -v go >/dev/null || skip "no Go to build yq with"
	run -0 tests/differential/yq-record --check
}
