# Flags and the editor change the stored YAML, keep its comments and order, or fail in words; clones; findings as JSON.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup() {
	cli_setup
	cat >"$LIMA_HOME/t.yaml" <<-'YAML'
		# the top
		vmType: fake # not a real one
		images:
		- location: "/dev/null"
		- location: /dev/zero
		  variant: big # a variant

		cpus: 1 # few
		memory: "512MiB"
		disk: 1GiB
		# how it boots
		guest: {init: lean}
		tuning: {fstrim: []}
		idle: {when: never}
		param:
		  Greeting: hello # said first
		portForwards: # the first that matches decides
		- guestPort: 81
		provision:
		- mode: boot
		  script: echo "$PARAM_Greeting"
		env:
		  A: "1"
	YAML
	cd "$LIMA_HOME"
}
teardown() { cli_teardown; }

create() { limactl-c create --tty=false --name=a "$@" "$LIMA_HOME/t.yaml" 2>/dev/null; }
yaml() { cat "$LIMA_HOME/a/lima.yaml"; }

# changed FLAGS... -- 'DIFF': creates with the flags; the stored text differs from the template in exactly these lines.
changed() {
	local flags=()
	while [ "$1" != -- ]; do
		flags+=("$1")
		shift
	done
	rm -rf "$LIMA_HOME/a"
	create "${flags[@]}"
	equals "$(diff "$LIMA_HOME/t.yaml" "$LIMA_HOME/a/lima.yaml" | grep '^[<>]')" "$2"
}

# an_editor SCRIPT: what $EDITOR does with the file, $1.
an_editor() {
	printf '#!/bin/sh\n%s\n' "$1" >"$LIMA_HOME/my editor"
	chmod +x "$LIMA_HOME/my editor"
	export EDITOR="'$LIMA_HOME/my editor'"
	unset VISUAL
}

@test "without a flag the stored text is the template's, to the byte" {
	create
	cmp "$LIMA_HOME/t.yaml" "$LIMA_HOME/a/lima.yaml"
}

@test "each flag changes the stored YAML where it must, and nothing else" {
	changed --cpus 3 -- $'< cpus: 1 # few\n> cpus: 3 # few'
	changed --memory=1.5 -- $'< memory: "512MiB"\n> memory: "1.5GiB"'
	changed --disk=7 -- $'< disk: 1GiB\n> disk: 7GiB'
	changed --param Greeting=hi -- $'<   Greeting: hello # said first\n>   Greeting: hi # said first'
	changed --port-forward 8080:80 -- $'> - guestPort: 80\n>   hostPort: 8080\n>   static: false'
	changed --image-variant big -- $'< - location: "/dev/null"'
	changed --set '.cpus = 2' --set '.env.B = "x y"' -- $'< cpus: 1 # few\n> cpus: 2 # few\n>   B: x y'
	changed --set 'del(.portForwards)' -- $'< portForwards: # the first that matches decides\n< - guestPort: 81'
	changed --containerd none -- $'> containerd:\n>   user: false\n>   system: false'
	changed --plain -- '> plain: true'
	changed --ssh-port 0 -- $'> ssh:\n>   localPort: 0'
	changed --shell /bin/sh -- $'> user:\n>   shell: /bin/sh'
}

@test "a flag that cannot be carried out fails in words and makes nothing" {
	local flag
	for flag in --mount-writable --param=Nope=1 --image-variant=huge --arch-variant=v9 --network=bridge --dns=nowhere \
		--port-forward=80 --containerd=both --cpus=0 --memory=much --ssh-port=99999 '--set=.cpus = ' '--set=.cpus' --vm-type= \
		--vm-type=abacus --arch=pdp11 '--set=.cups = 1' --shell=zsh; do
		run -1 --separate-stderr limactl-c create --tty=false --name=a "$flag" "$LIMA_HOME/t.yaml"
		[ -n "$stderr" ]
		[ ! -e "$LIMA_HOME/a" ]
	done
	run -1 limactl-c create --tty=false --name=a --mount "$LIMA_HOME" --mount-none "$LIMA_HOME/t.yaml"
	contains "$output" "--mount: cannot be given together with --mount-none"
}

@test "--set that changes nothing says so" {
	run -0 limactl-c create --tty=false --name=a --set '.cpus = 1' "$LIMA_HOME/t.yaml"
	contains "$output" "changes nothing"
}

@test "start FILE again with the same flags takes the instance; with others it refuses" {
	limactl-c start --tty=false --port-forward 8080:80 "$LIMA_HOME/t.yaml"
	run -0 limactl-c start --tty=false --port-forward 8080:80 "$LIMA_HOME/t.yaml"
	contains "$output" "running already"
	limactl-c stop t
	limactl-c start --tty=false --port-forward 8080:80 "$LIMA_HOME/t.yaml"
	equals "$(grep -c 'guestPort: 80' "$LIMA_HOME/t/lima.yaml")" 1
	run -1 limactl-c start --tty=false --port-forward 8081:80 "$LIMA_HOME/t.yaml"
	contains "$output" "with other options"
}

@test "start INSTANCE takes flags when it is stopped, refuses them when it runs; restart takes them" {
	create
	limactl-c start --cpus 2 a
	contains "$(yaml)" "cpus: 2 # few"
	run -1 limactl-c start --cpus 3 a
	contains "$output" "limactl-c restart a"
	contains "$(yaml)" "cpus: 2 # few"
	run -1 limactl-c restart --cpus=3 --param=X=1 a
	equals "$(limactl-c list --json a | jq -r .status)" Running
	limactl-c restart --cpus 3 a
	contains "$(yaml)" "cpus: 3 # few"
	run -1 limactl-c restart --plain a
	contains "$output" "cannot be changed in an existing instance"
}

@test "edit by flags" {
	create
	run -0 limactl-c edit --cpus 4 --set '.memory = "1GiB"' a
	contains "$output" 'Changed instance \"a\"'
	contains "$(yaml)" "cpus: 4 # few"
	contains "$(yaml)" 'memory: "1GiB"'
	equals "$(limactl-c list a --json | jq .cpus)" 4
	run -0 limactl-c edit --cpus 4 a
	contains "$output" "nothing was changed"
	run -1 limactl-c edit --arch x86_64 a
	contains "$output" "cannot be changed in an existing instance"
	run -1 limactl-c edit --cpus 2 nope
	contains "$output" "does not exist"
}

@test "edit in the editor: options in \$EDITOR, our header taken away, what was saved stored" {
	create
	an_editor 'grep -q "^## limactl-c: " "$1" && sed -i "s/few/fewer/" "$1"'
	run -0 limactl-c edit --tty a
	equals "$(diff "$LIMA_HOME/t.yaml" "$LIMA_HOME/a/lima.yaml")" $'8c8\n< cpus: 1 # few\n---\n> cpus: 1 # fewer'
	an_editor 'cp "$1" seen.yaml'
	run -0 limactl-c edit --tty a
	contains "$output" "nothing was changed"
	grep -qx "cpus: 1 # fewer" seen.yaml
	an_editor ': >"$1"'
	run -0 limactl-c edit --tty a
	contains "$output" "nothing was changed"
	an_editor 'exit 3'
	run -1 limactl-c edit --tty a
	contains "$output" "ended with status 3"
	contains "$(yaml)" "fewer"
}

@test "edit without a terminal says what to do instead" {
	create
	run -1 limactl-c edit -y a
	contains "$output" "there is no terminal for an editor"
	run -1 env -u EDITOR -u VISUAL PATH="$(dirname "$(command -v limactl-c)")" limactl-c edit --tty a
	contains "$output" "no text editor is found"
}

@test "a text that will not do is kept as lima.REJECTED.yaml, the instance stays" {
	create
	an_editor 'sed -i "s/cpus: 1/cpus: many/; s/^disk:/dsik:/" "$1"'
	run -1 limactl-c edit --tty a
	contains "$output" "cpus"
	contains "$output" "dsik"
	contains "$output" "lima.REJECTED.yaml"
	cmp "$LIMA_HOME/t.yaml" "$LIMA_HOME/a/lima.yaml"
	grep -q "cpus: many" lima.REJECTED.yaml
	run -1 grep "## limactl-c" lima.REJECTED.yaml
	# Where nothing can be written it is kept elsewhere.
	mkdir nowhere tmp
	cd nowhere
	rmdir ../nowhere
	TMPDIR=$LIMA_HOME/tmp run -1 limactl-c edit --set '.cpus = "some"' a
	contains "$output" "$LIMA_HOME/tmp/lima.REJECTED.yaml"
	grep -q "cpus: some" "$LIMA_HOME/tmp/lima.REJECTED.yaml"
}

@test "a disk grows and does not shrink; a running instance is not edited" {
	create --disk=5
	limactl-c edit --disk 6 a
	run -1 limactl-c edit --disk 4 a
	contains "$output" "cannot be made smaller"
	contains "$(yaml)" "disk: 6GiB"
	limactl-c start a
	run -1 limactl-c edit --cpus 2 a
	contains "$output" "stop it first"
}

@test "edit of a file: its mode stays, a wrong change is rejected" {
	chmod 640 t.yaml
	run -0 limactl-c edit --cpus 2 --plain ./t.yaml
	contains "$(cat t.yaml)" "cpus: 2 # few"
	equals "$(stat -c %a t.yaml)" 640
	run -1 limactl-c edit --set '.cpus = "x"' t.yaml
	contains "$output" "lima.REJECTED.yaml"
	contains "$(cat t.yaml)" "cpus: 2 # few"
	run -1 limactl-c edit --cpus 2 template:minimal-docker
	contains "$output" "template copy"
}

@test "edit --start" {
	create
	limactl-c edit --cpus 2 --start a
	equals "$(limactl-c list --json | jq -r .status)" Running
}

@test "what somebody else changed while the editor was open is not overwritten" {
	create
	an_editor 'echo "# more" >>"$1"; echo "# other" >>"$LIMA_HOME/a/lima.yaml"'
	run -1 limactl-c edit --tty a
	contains "$output" "somebody else"
	equals "$(tail -n 1 "$LIMA_HOME/a/lima.yaml")" "# other"
	equals "$(tail -n 1 lima.REJECTED.yaml)" "# more"
}

@test "clone: all but what belongs to the one, changed by flags" {
	create
	truncate -s 1G "$LIMA_HOME/a/disk"
	printf x | dd of="$LIMA_HOME/a/disk" bs=1 seek=1000000 conv=notrunc status=none
	touch "$LIMA_HOME/a/protected" "$LIMA_HOME/a/ha.pid" "$LIMA_HOME/a/vm.state"
	run -0 limactl-c clone --cpus 2 a b
	contains "$output" "saved state"
	contains "$(cat "$LIMA_HOME/b/lima.yaml")" "cpus: 2 # few"
	contains "$(yaml)" "cpus: 1 # few"
	cmp "$LIMA_HOME/a/disk" "$LIMA_HOME/b/disk"
	[ "$(du -k "$LIMA_HOME/b/disk" | cut -f1)" -lt 2048 ]
	[ ! -e "$LIMA_HOME/b/protected" ] && [ ! -e "$LIMA_HOME/b/ha.pid" ] && [ ! -e "$LIMA_HOME/b/vm.state" ]
	equals "$(jq -r .dir "$LIMA_HOME/b/plan.json")" "$LIMA_HOME/b"
	run -1 limactl-c clone a b
	contains "$output" "exists already"
	run -1 limactl-c clone a a
	run -1 limactl-c clone --param=X=1 a c
	run -1 limactl-c clone a -- c/d
	[ ! -e "$LIMA_HOME/c" ]
	equals "$(find "$LIMA_HOME" -maxdepth 1 -name '.[a-z]*' ! -name .cache)" ""
	limactl-c clone --start b c
	equals "$(limactl-c list c --json | jq -r .status)" Running
	run -1 limactl-c clone c d
	contains "$output" "stop it first"
}

@test "rename" {
	create
	limactl-c rename --cpus 2 a b
	[ ! -e "$LIMA_HOME/a" ]
	equals "$(jq -r '.name + " " + .dir' "$LIMA_HOME/b/plan.json")" "b $LIMA_HOME/b"
	contains "$(cat "$LIMA_HOME/b/lima.yaml")" "cpus: 2 # few"
	limactl-c start b
	run -1 limactl-c rename b c
	contains "$output" "stop it first"
	[ -e "$LIMA_HOME/b" ]
}

@test "base: what a template inherits is stored with the instance; a base may come by --set; flags see what came" {
	cat >base.yaml <<-'YAML'
		# of the base
		env:
		  FROM: base # kept
		param:
		  Color: red
		provision:
		- mode: boot
		  script: echo "$PARAM_Color"
	YAML
	{ echo "base: base.yaml"; cat t.yaml; } >with.yaml
	limactl-c create --tty=false --name=a --param Color=blue with.yaml
	contains "$(yaml)" "FROM: base # kept"
	contains "$(yaml)" "Color: blue"
	contains "$(yaml)" "cpus: 1 # few"
	run -1 grep "^base:" "$LIMA_HOME/a/lima.yaml"
	limactl-c create --tty=false --name=b --set '.base = "base.yaml"' ./t.yaml
	contains "$(cat "$LIMA_HOME/b/lima.yaml")" "FROM: base # kept"
}

@test "a finding names the file and line where the value was given, also in a base and behind a flag" {
	printf '# one\ncpus: many\n' >base.yaml
	{ printf 'base: base.yaml\n\n'; grep -v cpus: t.yaml; echo 'ssh: {localPort: x}'; } >with.yaml
	run -1 limactl-c create --tty=false --name=a --memory 1 --port-forward 8080:80 with.yaml
	contains "$output" "/base.yaml:2:7: cpus: "
	contains "$output" "\"with.yaml:$(grep -n localPort with.yaml | cut -d: -f1):18: ssh.localPort: "
	run -1 limactl-c create --tty=false --name=a --set '.cpus = "few"' t.yaml
	contains "$output" '"t.yaml: cpus: '
}

@test "_config: defaults under every instance, overrides over it" {
	mkdir "$LIMA_HOME/_config"
	echo "message: from defaults" >"$LIMA_HOME/_config/default.yaml"
	echo "cpus: 3" >"$LIMA_HOME/_config/override.yaml"
	create
	equals "$(limactl-c list a --json | jq -r .cpus)" 3
	echo "cpus: x" >"$LIMA_HOME/_config/override.yaml"
	run -1 limactl-c validate t.yaml
	contains "$output" "_config/override.yaml:1:7: cpus: "
}

@test "findings: a line each, or with --log-format json an object each" {
	printf 'images: [{location: /dev/null}]\ncpus: x\ncups: 1\n' >bad.yaml
	run -1 --separate-stderr limactl-c validate bad.yaml
	equals "$output" ""
	equals "${#stderr_lines[@]}" 3
	contains "${stderr_lines[0]}" 'level=error msg="bad.yaml:2:7: cpus: '
	contains "${stderr_lines[1]}" 'bad.yaml:3:1: cups: '
	echo "cpus: 2" >>bad.yaml
	run -1 --separate-stderr limactl-c validate bad.yaml
	contains "$stderr" "given twice"
	contains "$stderr" "bad.yaml: 3 errors"
	sed -i '$d' bad.yaml
	run -1 --separate-stderr limactl-c validate --log-format json bad.yaml
	jq -es 'any(.path == "cpus" and .level == "error" and .file == "bad.yaml" and .line == 2 and .column == 7 and
		(.msg | length > 0) and (.time | length > 0))' <<<"$stderr"
	jq -es 'any(.level == "fatal" and .msg == "bad.yaml: 2 errors")' <<<"$stderr"
}

@test "--lenient: unknown keys are warnings; --strict: what cannot be filled is an error" {
	echo "cups: 1" >>t.yaml
	run -1 limactl-c create --tty=false --name=a t.yaml
	run -0 limactl-c create --tty=false --lenient --name=a t.yaml
	contains "$output" "level=warning"
	equals "$(limactl-c list a --json | jq -r .status)" Stopped
	run -1 limactl-c start a
	limactl-c start --lenient a
	cat >strict.yaml <<-'YAML'
		images: [{location: /dev/null}]
		vmType: fake
		provision: [{mode: system, script: "docker inspect -f '{{.State}}'"}]
	YAML
	run -1 limactl-c create --tty=false --strict --name=b strict.yaml
	contains "$output" "strict.yaml:3:"
	run -0 limactl-c create --tty=false --name=b strict.yaml
	contains "$output" "level=warning"
}

@test "--list-templates, --list-drivers" {
	run -0 --separate-stderr limactl-c create --list-templates
	contains "$output" "minimal-docker"
	[[ $output != *_images* ]]
	run -0 --separate-stderr limactl-c start --list-drivers
	contains "$output" "qemu"
}

@test "--debug says more, --log-level says less, -y is --tty=false" {
	run -0 limactl-c create --debug -y --name=a --cpus 2 t.yaml
	contains "$output" "level=debug msg=\"Applying the expression .cpus = 2\""
	run -0 limactl-c --log-level error create -y --name=b t.yaml
	equals "$output" ""
	run -1 limactl-c list -y --tty
	contains "$output" "--yes and --tty"
	run -1 limactl-c --log-format json stop nope
	jq -e '.level == "fatal" and (.msg | contains("nope"))' <<<"$output"
}
