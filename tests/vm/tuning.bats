# Every step of the tuning is in force in the guest.
bats_require_minimum_version 1.5.0
. "$BATS_TEST_DIRNAME/../helpers/vm.bash"

setup_file() { vm_restore; }
teardown_file() { vm_stop; }

@test "freed pages are zeroed (init_on_free)" {
	contains "$(guest cat /proc/cmdline)" init_on_free=1
	contains "$(guest sudo dmesg)" "heap free:on"
}

@test "/var/log is on tmpfs" {
	equals "$(guest sh -c "awk '\$2 == \"/var/log\" { print \$3 }' /proc/mounts")" tmpfs
}

# resident: MB of the mapping that is the guest's RAM, which is QEMU's largest.
resident() {
	awk '/^Size:/ { size = $2 } /^Rss:/ && size > most { most = size; rss = $2 } END { print int(rss / 1024) }' \
		"/proc/$(limactl-c list vm --format '{{.DriverPID}}')/smaps"
}

@test "memory that was used and freed goes back to the host (free page reporting)" {
	guest dd if=/dev/zero of=/dev/null bs=1024M count=1 iflag=fullblock
	given_back() { [ "$(resident)" -lt 1024 ]; }
	wait_until 60 given_back
	guest sudo dd if=/dev/zero of=/dev/null bs=1024M count=1 iflag=fullblock
	wait_until 60 given_back
}

@test "the journal is committed every 60 s" {
	contains "$(guest grep ' / ' /proc/mounts)" commit=60
}

@test "syslog goes to a ring of 64 KiB" {
	contains "$(guest ps -o args)" "syslogd -t -C64"
	guest logger -t ring-test hello-ring
	wait_until 10 guest sh -c 'logread | grep -q hello-ring'
}

@test "no getty waits on a console" {
	run -1 guest sh -c 'ps -o args | grep "[g]etty"'
}

@test "container logs and the build cache have a ceiling" {
	run -0 guest sh -c 'tr "\0" " " </proc/$(pidof dockerd)/cmdline'
	local config
	config=$(sed -n 's/.*--config-file[= ]\([^ ]*\).*/\1/p' <<<"$output")
	run -0 guest cat "$config"
	equals "$(jq -r '."log-opts"."max-size"' <<<"$output")" 10m
	equals "$(jq -r '."log-opts"."max-file"' <<<"$output")" 2
	equals "$(jq -r '.builder.gc.enabled' <<<"$output")" true
	contains "$(jq -r '.builder.gc.defaultKeepStorage' <<<"$output")" GB
	equals "$(guest docker info -f '{{.LoggingDriver}}')" json-file
}

@test "free blocks were given back at boot (fstrim)" {
	# With the first cache-trim, some seconds after the engine has answered; the machine may have been saved before that.
	wait_until 60 guest sh -c 'logread | grep -q fstrim'
}

@test "a container that ended lets the page cache go (cache-trim)" {
	local before
	guest sudo sh -c 'head -c 100000000 /dev/zero >/var/tmp/fill; sync; rm -f /run/lima/trim.last'
	before=$(guest awk '/^Cached:/ { print $2 }' /proc/meminfo)
	guest docker run --rm busybox /bin/busybox true
	trimmed() { [ "$(guest awk '/^Cached:/ { print $2 }' /proc/meminfo)" -lt $((before - 80000)) ]; }
	wait_until 120 trimmed
	wait_until 20 guest test -e /run/lima/trim.last
}

cached() { guest awk '/^Cached:/ { print $2 }' /proc/meminfo; }

@test "a guest that was used and is quiet lets the page cache go, but not while a database runs" {
	local before
	guest sudo sh -c 'cp /bin/busybox /tmp/sleep; cp /bin/busybox /tmp/postgres; ln -sf /tmp/postgres /tmp/db; nohup sh -c "exec -a sleep /tmp/postgres 600" >/dev/null 2>&1 & echo $! >/tmp/db.pid'
	wait_until 10 guest grep -qx postgres "/proc/$(guest cat /tmp/db.pid)/comm"
	guest sudo sh -c 'head -c 100000000 /dev/zero >/var/tmp/fill2; sync; rm -f /run/lima/trim.last; touch /run/lima/trim.last'
	before=$(cached)
	wait_until 260 guest sh -c 'logread | grep -q "kept warm"'
	[ "$(cached)" -gt $((before - 80000)) ]
	guest sudo sh -c 'kill $(cat /tmp/db.pid); : >/run/lima/trim.last'
	trimmed() { [ "$(cached)" -lt $((before - 80000)) ]; }
	wait_until 260 trimmed # at most one trim in two minutes
}
