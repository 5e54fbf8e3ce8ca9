# mountType: reverse-sshfs, end to end: the native guest agent runs the real sshfs, whose mounts are seen here too.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup() {
	cli_setup
	HOST="$LIMA_HOME/.host it's \"h\"" GUEST="$LIMA_HOME/.guest a\\b"
	mkdir "$HOST" "$LIMA_HOME/.only"
	cat >>"$LIMA_HOME/fake.yaml" <<-YAML
		mountType: reverse-sshfs
		mounts:
		- {location: '$LIMA_HOME/.host it''s "h"', mountPoint: '$GUEST', writable: true, sshfs: {cache: false}}
		- {location: '$LIMA_HOME/.only', mountPoint: '$GUEST/in/ner', sshfs: {cache: false}}
	YAML
}
teardown() {
	cli_teardown
	wait_until 10 nothing_mounted
}

start() { limactl-c start --tty=false --name=a "$LIMA_HOME/fake.yaml"; }
mounted() { [ "$(stat -f -c %T "$1")" = fuseblk ] && [ "$(findmnt -n -o FSTYPE --mountpoint "$1")" = fuse.sshfs ]; }
both_mounted() { mounted "$GUEST" && mounted "$GUEST/in/ner"; }
nothing_mounted() { ! grep -q "fuse.sshfs" <(grep -F "$LIMA_HOME" /proc/self/mounts); }
# those NAME: processes of it that work for this test.
those() { pgrep -f "$1.*$LIMA_HOME"; }
none_of() { ! those "$1"; }
status() { control a GET status | jq -r "$1"; }

@test "files go both ways, with their modes, links and times; what is read-only is" {
	start
	both_mounted
	equals "$(status .degraded)" false
	echo host >"$HOST/file"
	mkdir -p "$HOST/in/ner"
	equals "$(cat "$GUEST/file")" host
	head -c 3000000 /dev/urandom >"$GUEST/large"
	cmp "$GUEST/large" "$HOST/large"
	chmod 640 "$GUEST/large"
	touch -d 2001-02-03T04:05:06Z "$GUEST/large"
	equals "$(stat -c '%a %Y' "$HOST/large")" "640 $(date -d 2001-02-03T04:05:06Z +%s)"
	chmod 6755 "$GUEST/large" # a guest makes nothing that takes over a user's rights
	equals "$(stat -c %a "$HOST/large")" 755
	truncate -s 7 "$GUEST/large"
	equals "$(stat -c %s "$HOST/large")" 7
	mkdir "$GUEST/d"
	mv "$GUEST/large" "$GUEST/d/n"$'\n'"l"
	ln "$GUEST/d/n"$'\n'"l" "$GUEST/hard"
	ln -s ../outside "$GUEST/d/link"
	equals "$(readlink "$HOST/d/link") $(stat -c %h "$HOST/hard")" "../outside 2"
	echo more >>"$GUEST/file"
	equals "$(cat "$HOST/file")" $'host\nmore'
	rm -r "$GUEST/d"
	equals "$(ls "$HOST")" $'file\nhard\nin'
	(($(df --output=size "$GUEST" | tail -n 1) > 1000))

	echo only >"$LIMA_HOME/.only/file"
	equals "$(cat "$GUEST/in/ner/file")" only
	run ! touch "$GUEST/in/ner/new"
	run ! rm "$GUEST/in/ner/file"
	equals "$(ls "$LIMA_HOME/.only")" file
}

@test "a link of the guest's leads nobody out of the folder on the host" {
	echo secret >"$LIMA_HOME/.secret"
	start
	ln -s "$LIMA_HOME" "$GUEST/up"
	# The guest's kernel follows it, in the guest. The server is asked for what lies behind it by a client that does not.
	equals "$(cat "$GUEST/up/.secret")" secret
	limactl-c stop -f a
	sed -i 's|sshfs: {cache: false}|sshfs: {cache: false, followSymlinks: true}|' "$LIMA_HOME/a/lima.yaml"
	ln -s file "$HOST/inside"
	echo here >"$HOST/file"
	limactl-c start --tty=false a
	equals "$(stat -c %F "$GUEST/inside") $(cat "$GUEST/inside")" "regular file here"
	run ! cat "$GUEST/up/.secret"
	contains "$output" "Permission denied"
}

@test "a folder in one the guest may write, replaced by a link of the guest's, is led nowhere: mounted again, or at a start" {
	mkdir "$HOST/sub"
	sed -i "s|location: '$LIMA_HOME/.only'|location: '$LIMA_HOME/.host it''s \"h\"/sub'|" "$LIMA_HOME/fake.yaml"
	echo secret >"$LIMA_HOME/.only/secret"
	start
	both_mounted
	rmdir "$GUEST/sub"
	ln -s "$LIMA_HOME/.only" "$GUEST/sub"
	kill -KILL "$(pgrep -f "sshfs :/ $LIMA_HOME/.guest.*in/ner -f")"
	wait_until 20 grep -q "sftp: sub: Invalid cross-device link" "$LIMA_HOME/a/ha.stderr.log"
	run ! cat "$GUEST/in/ner/secret"
	limactl-c stop a
	run ! limactl-c start --tty=false a
	contains "$output" "which the guest may write, and a link there leads to $LIMA_HOME/.only: remove the link"
}

@test "it is mounted again when sshfs, its server or the host agent was killed; a stop leaves nothing behind" {
	start
	echo 1 >"$HOST/file"
	local before
	before=$(those "sshfs :/")
	kill -KILL "$(pgrep -f "sshfs :/ $LIMA_HOME/.guest a.b -f")"
	again() { both_mounted && [ "$(cat "$GUEST/file")" = "$1" ] && [ "$(those "sshfs :/")" != "$2" ]; }
	wait_until 20 again 1 "$before"
	before=$(those "sshfs :/")
	kill -KILL $(those libexec/limactl-c/sftp)
	wait_until 20 again 1 "$before"
	before=$(those "sshfs :/")
	kill -KILL "$(ha_pid a)"
	limactl-c start --tty=false a
	wait_until 20 again 1 "$before"
	echo 2 >"$GUEST/file"
	equals "$(cat "$HOST/file")" 2
	equals "$(those libexec/limactl-c/sftp | wc -l)" 2
	limactl-c stop a
	wait_until 10 nothing_mounted
	wait_until 10 none_of sftp
	wait_until 10 none_of sshfs
	equals "$(cat "$HOST/file")" 2
}

@test "a guest without sshfs is degraded, and said what to install" {
	run unshare -m sh -c 'mount --bind /dev/null /usr/bin/sshfs; exec limactl-c start --tty=false --name=a "$1"' sh "$LIMA_HOME/fake.yaml"
	contains "$output" "degraded"
	contains "$(status '.errors | join("\n")')" ".guest a\\b: this guest has no sshfs: install its package sshfs"
	equals "$(status '.errors | length')" 2
}
