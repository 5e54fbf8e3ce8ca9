# What users of such tools met with YAML, templates and flags, each with its whole kind.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup() {
	cli_setup
	cd "$LIMA_HOME"
}
teardown() { cli_teardown; }

# layers: three texts that give the same keys, by the names they have below $LIMA_HOME/_config or here.
layers() {
	mkdir -p _config
	cat >_config/default.yaml <<-'YAML'
		cpus: 1
		memory: "1GiB"
		env: {A: "d", B: "d"}
		portForwards: [{guestPort: 7000, hostPort: 17001}]
	YAML
	cat >my.yaml <<-'YAML'
		vmType: fake
		images: [{location: "/dev/null"}]
		guest: {init: lean}
		tuning: {fstrim: []}
		cpus: 2
		env: {B: "m", C: "m"}
		portForwards: [{guestPort: 7000, hostPort: 17002}]
	YAML
	cat >_config/override.yaml <<-'YAML'
		cpus: 3
		env: {C: "o"}
		portForwards: [{guestPort: 7000, hostPort: 17003}]
	YAML
}

# merged QUERY: of my.yaml and its layers.
merged() { limactl-c template yq my.yaml "$1" 2>/dev/null; }

@test "three layers give one result: scalars and keys of the highest, rules of the highest first" {
	layers
	equals "$(merged .cpus) $(merged .memory)" "3 1GiB"
	equals "$(merged '.env.A + .env.B + .env.C')" dmo
	equals "$(merged '[.portForwards[].hostPort] | join(" ")')" "17003 17002 17001"
	# What it says does not depend on how its lines end, on a mark at the front or comments at the end.
	limactl-c validate --fill my.yaml >lf
	sed -i 's/$/\r/' my.yaml _config/*.yaml
	limactl-c validate --fill my.yaml | cmp - lf
	sed -i '1s/^/\xef\xbb\xbf/; $a# the end' my.yaml _config/*.yaml
	limactl-c validate --fill my.yaml | cmp - lf
	: >_config/override.yaml
	equals "$(merged .cpus) $(merged '.portForwards[0].hostPort')" "2 17002"
	printf '# nothing\r\n' >_config/override.yaml
	equals "$(merged .cpus) $(merged '.portForwards[0].hostPort')" "2 17002"
	rm _config/override.yaml
	equals "$(merged .cpus) $(merged '.portForwards[0].hostPort')" "2 17002"
}

@test "what was applied can be seen, with the file and line of each value" {
	layers
	run -0 --separate-stderr limactl-c validate --explain my.yaml
	contains "$output" "cpus: 3  # $LIMA_HOME/_config/override.yaml:1"
	contains "$output" "memory: 1GiB  # $LIMA_HOME/_config/default.yaml:2"
	contains "$output" "A: d  # $LIMA_HOME/_config/default.yaml:3"
	contains "$output" "B: m  # my.yaml:6"
	contains "$output" "C: o  # $LIMA_HOME/_config/override.yaml:2"
	contains "$output" "disk: 100GiB  # default"
}

# findings FILE OPTION...: what validate finds wrong with the file, a line each, sorted: line:level.
findings() {
	run -1 --separate-stderr limactl-c validate --log-format json "$@"
	jq -r 'select(.level != "fatal") | "\(.line // 0):\(.level)"' <<<"$stderr" | sort -n | paste -sd ' '
}

@test "every mistake is told in one run: misspelt keys, values, keys given twice; with bases and behind them too" {
	cat >typo.yaml <<-'YAML'
		images: [{location: "/srv/test/alpine.img"}]
		memroy: "1GiB"
		vmOpts: {qemu: {cpuTyp: "host"}}
		vmType: qemuu
		cpus: 2
		cpus: 4
	YAML
	equals "$(findings typo.yaml)" "2:error 3:error 4:error 6:error"
	equals "$(findings --lenient typo.yaml)" "2:warning 3:warning 4:error 6:error"
	run -1 limactl-c validate typo.yaml
	contains "$output" "typo.yaml:2:1: memroy: unknown key; did you mean memory?"
	contains "$output" "typo.yaml:3:17: vmOpts.qemu.cpuTyp: unknown key; did you mean cpuType?"
	contains "$output" "must be one of [qemu vz wsl2 krunkit "
	contains "$output" "typo.yaml:6:1: key \`cpus\` is given twice, first on line 5"
	# A base does not hide them, nor one that cannot be read.
	cp fake.yaml low.yaml
	echo 'base: [low.yaml, none.yaml]' >>typo.yaml
	equals "$(findings typo.yaml)" "2:error 3:error 4:error 6:error 7:error"
	# Those of a base are told as well, in its own lines.
	printf 'memory: 1GiB\nmemory: 2GiB\n<<: text\ncpsu: 1\n' >>low.yaml
	run -1 limactl-c validate typo.yaml
	contains "$output" "$LIMA_HOME/low.yaml:$(grep -n cpsu low.yaml | cut -d: -f1):1: cpsu: unknown key"
	contains "$output" "$LIMA_HOME/low.yaml:$(grep -n '<<' low.yaml | cut -d: -f1):5: \`<<\` merges mappings"
	contains "$output" "key \`memory\` is given twice"
	contains "$output" "typo.yaml:2:1: memroy"
	contains "$output" "none.yaml: No such file"
	# create tells the same, and leaves nothing.
	run -1 limactl-c create --tty=false --cpus 2 --name a typo.yaml
	contains "$output" "cpsu: unknown key"
	[ ! -e a ]
}

@test "a digest that is misspelt is no base without a digest" {
	cp fake.yaml low.yaml
	echo 'base: {url: low.yaml, digset: "sha256:00"}' >t.yaml
	run -1 limactl-c create --tty=false --name a t.yaml
	contains "$output" "t.yaml:1:23: base: unknown key \`digset\`; did you mean digest?"
	[ ! -e a ]
}

# at_once COMMAND...: six of it, each with its number in place of @; how many succeeded.
at_once() {
	local n pids=() done=0
	for n in 1 2 3 4 5 6; do
		"${@//@/$n}" >"out.$n" 2>&1 3>&- &
		pids+=($!)
	done
	for n in "${pids[@]}"; do
		wait "$n" && done=$((done + 1))
	done
	echo "$done"
}

@test "changes made at once: each is there, or its command failed" {
	limactl-c create --tty=false --name a fake.yaml
	equals "$(at_once limactl-c edit a --set '.env.A@ = "x"')" 6
	equals "$(grep -c '  A[1-6]: x' a/lima.yaml)" 6
	equals "$(at_once limactl-c edit ./fake.yaml --set '.env.A@ = "x"')" "$(grep -c '  A[1-6]: x' fake.yaml)"
	equals "$(at_once limactl-c start a --set '.env.B@ = "x"')" "$(grep -c '  B[1-6]: x' a/lima.yaml)"
}

@test "a command that copies or changes a stopped instance does not make it look running; others wait or say so" {
	limactl-c create --tty=false --name a fake.yaml
	exec 9>a/hold.lock
	flock 9
	equals "$(limactl-c list --json a | jq -r .status)" Stopped
	run -1 limactl-c edit --cpus 2 a
	contains "$output" "another command is working on instance"
	run -1 limactl-c clone a b
	contains "$output" "another command is working on instance"
	exec 9>&-
	limactl-c edit --cpus 2 a
}

@test "an edit killed at any moment: the old text or the new one, and nothing beside it after the next" {
	local n
	limactl-c create --tty=false --name a fake.yaml
	for n in {1..40}; do
		limactl-c edit a --cpus $((n % 8 + 1)) >/dev/null 2>&1 3>&- &
		sleep "0.0$((n % 3))$((n % 10))"
		kill -9 $! 2>/dev/null || true
		wait $! 2>/dev/null || true
		limactl-c validate a/lima.yaml 2>/dev/null
	done
	touch "a/notes.tmp" "a/lima.yaml.abcdef.$$.tmp"
	bash -c 'exit' &
	wait $!
	touch "a/lima.yaml.abcdef.$!.tmp"
	limactl-c edit a --memory 1
	equals "$(cd a && echo *.tmp)" "lima.yaml.abcdef.$$.tmp notes.tmp"
}

@test "a word without quotes is text, whatever the shell left of them" {
	limactl-c create --tty=false --name a --set '.env.A=asif' --set .env.B="yes" fake.yaml
	equals "$(limactl-c list a --format '{{.Config.Env.A}} {{.Config.Env.B}}')" "asif yes"
	run -1 limactl-c create --tty=false --name b --set '.vmOpts.vz.diskImageFormat=asfi' fake.yaml
	contains "$output" "did you mean asif?"
	run -1 limactl-c create --tty=false --name b --set '.env.A=two words' fake.yaml
	contains "$output" 'text needs quotes'
	run -1 limactl-c create --tty=false --name b --set '.cpus //= 2' fake.yaml
	contains "$output" 'write .x = (.x // VALUE)'
	[ ! -e b ]
}

# mounts LIST: what validate says about them, one a line.
mounts() {
	printf 'images: [{location: /dev/null}]\nmounts: %s\n' "$1" >m.yaml
	limactl-c validate --log-format json m.yaml 2>&1 | jq -r 'select(.path) | "\(.level) \(.path)"'
}

@test "mounts: the host's folder must be there and absolute, the guest's must hide nothing of its system" {
	mkdir -p "a b" x
	equals "$(mounts "[{location: '$LIMA_HOME/a b'}]")" ""
	equals "$(mounts "[{location: '$LIMA_HOME/x', mountPoint: /home/x}, {location: /home, mountPoint: /mnt/home}]")" ""
	equals "$(mounts '[{location: x}]')" "error mounts[0].location"
	equals "$(mounts '[{location: ./x}]')" "error mounts[0].location"
	equals "$(mounts '[{location: ../x}]')" "error mounts[0].location"
	equals "$(mounts '[{location: /no/such}]')" "warning mounts[0].location"
	equals "$(mounts "[{location: '$LIMA_HOME/m.yaml'}]")" "error mounts[0].location"
	for point in / /usr /usr/ //etc// /x/../usr '~/x' x; do
		equals "$(mounts "[{location: '$LIMA_HOME/x', mountPoint: '$point'}]")" "error mounts[0].mountPoint"
	done
	# Two folders of the host in one of the guest; a folder and one within it as on the host.
	equals "$(mounts "[{location: '$LIMA_HOME/x', mountPoint: /m}, {location: '$LIMA_HOME', mountPoint: /m/sub}]")" \
		"warning mounts[1]"
	equals "$(mounts "[{location: '$LIMA_HOME/x', mountPoint: /opt/x}, {location: '$LIMA_HOME'}]")" ""
	equals "$(mounts "[{location: '$LIMA_HOME'}, {location: '$LIMA_HOME/x', writable: true}]")" ""
}

@test "what is wrong is told whatever the driver, also one that this host does not have" {
	local driver
	for driver in qemu vz wsl2 krunkit; do
		echo "vmType: $driver" >d.yaml
		run -1 limactl-c validate d.yaml
		contains "$output" "images: must be set"
	done
}

@test "hostile YAML: refused at once, and small" {
	local i
	{
		echo 'a0: &a0 [x, x, x, x, x, x, x, x, x]'
		for i in 1 2 3 4 5 6 7 8 9; do
			printf 'a%d: &a%d [%s]\n' "$i" "$i" "$(printf "*a$((i - 1)), %.0s" {1..9})"
		done
	} >bomb.yaml
	run -1 bash -c 'ulimit -v 200000; ulimit -t 1; limactl-c validate bomb.yaml'
	contains "$output" "repeated by aliases"
	{
		echo 'a0: &a0 {k: v}'
		for i in 1 2 3 4 5 6 7 8 9; do
			printf 'a%d: &a%d\n  <<: [%s]\n' "$i" "$i" "$(printf "*a$((i - 1)), %.0s" {1..9})"
		done
	} >merge.yaml
	run -1 bash -c 'ulimit -v 200000; ulimit -t 1; limactl-c validate merge.yaml'
	printf 'images: [{location: /dev/null}]\ncpus: 36028797018963965\n' >big.yaml
	run -1 limactl-c validate big.yaml
	contains "$output" "36028797018963965"
	head -c 5000000 /dev/zero | tr '\0' '#' >large.yaml
	run -1 limactl-c validate large.yaml
	contains "$output" "larger than"
	printf 'a: %s1%s\n' "$(printf '[%.0s' {1..500})" "$(printf ']%.0s' {1..500})" >deep.yaml
	run -1 limactl-c validate deep.yaml
	contains "$output" "deep"
}

@test "a boot script arrives byte for byte" {
	cat >c4.yaml <<-'YAML'
		vmType: fake
		images: [{location: "/dev/null"}]
		guest: {init: lean}
		provision:
		- mode: boot
		  script: |
		    cat > /tmp/o.yaml <<'EOT'
		    top:
		      sub:
		        - "x: {{ not a template }}"
		      tab:	end
		    price: $5 `date` \n "q" 'p' #c
		    EOT
	YAML
	run -0 limactl-c create --tty=false --name a c4.yaml
	contains "$output" "c4.yaml:10:1: provision[0].script:"
	sed -n '7,$s/^    //p' c4.yaml | cmp - a/provision/00
	run -1 limactl-c create --tty=false --strict --name b c4.yaml
	contains "$output" "c4.yaml:10:1: provision[0].script:"
	# Large ones, without a line end at the end, with trailing blanks, by a file.
	head -c 150000 /dev/urandom | base64 -w 0 >script
	printf '#!/bin/sh\n  : \t \n\n\n# %s' "$(cat script)" >script.sh
	printf '\n\n\tend  \n\n' >blank.sh
	sed '/^provision/,$d' c4.yaml >files.yaml
	printf 'provision:\n- {mode: boot, file: script.sh}\n- {mode: boot, file: blank.sh}\n' >>files.yaml
	limactl-c create --tty=false --name c files.yaml
	cmp script.sh c/provision/00
	cmp blank.sh c/provision/01
	# As they come out again.
	limactl-c validate --fill c/lima.yaml >filled.yaml
	limactl-c create --tty=false --name d filled.yaml
	cmp script.sh d/provision/00
	cmp blank.sh d/provision/01
}

@test "rubble in the folder of instances: list shows what it is, and only JSON on standard output" {
	mkdir -p half bad _disks odd/lima.yaml x.yaml 'two words'
	echo ': [' >bad/lima.yaml
	touch .DS_Store note.txt
	ln -s /no/such link
	mkfifo pipe
	limactl-c create --tty=false --name ok fake.yaml
	limactl-c edit ok --set '.message = "quote \" backslash \\ é\nline"'
	run -0 --separate-stderr limactl-c list --json
	equals "$(jq -rc '[.name, .status] | join(" ")' <<<"$output" | paste -sd ,)" "bad Broken,half Broken,odd Broken,ok Stopped"
	equals "$(jq -r 'select(.name == "ok").message' <<<"$output")" $'quote " backslash \\ é\nline'
	jq -es 'all(.status != "Broken" or (.errors | length) == 1)' <<<"$output"
	run -0 limactl-c delete bad half odd
}

@test "list while instances come and go: never an error, never half an instance" {
	local n
	limactl-c create --tty=false --name a fake.yaml
	(for n in 1 2 3 4 5 6 7 8; do
		limactl-c clone a b
		limactl-c edit --cpus $n b
		limactl-c delete -f b
	done) >log 2>&1 3>&- &
	while kill -0 $! 2>/dev/null; do
		limactl-c list --json 2>errors >out
		jq -es 'all(.status == "Stopped" and .errors == null)' out >/dev/null
		equals "$(cat errors)" ""
	done
	wait $!
}

@test "without a terminal nothing waits for an answer" {
	run -0 timeout 20 limactl-c create --name a fake.yaml </dev/null
	run -1 timeout 20 limactl-c edit a </dev/null
	run -0 timeout 20 limactl-c delete a </dev/null
	run -1 timeout 20 limactl-c create --tty --name b - </dev/null
	[ ! -e b ]
}

@test "findings as JSON: each line is some, whatever the file holds or is called" {
	local name text n
	for name in 'q"uote.yaml' $'line\nend.yaml' $'bad\xff.yaml' $'bell\a.yaml' é.yaml; do
		for text in 'cpus: "\x01\e\"\\"' '"k\"\x7f\t": 1' $'memory: \xff' 'vmType: "é\u2028"' 'message: "{{\"\x02"' 'base: "\x03\".yaml"'; do
			printf 'images: [{location: /dev/null}]\n%s\n' "$text" >"$name"
			limactl-c validate --log-format json "./$name" 2>found || true
			jq -es 'length > 0 and all(has("msg") and has("level") and has("time"))' found >/dev/null
			iconv -f UTF-8 -t UTF-8 found >/dev/null
		done
		rm "./$name"
	done
	# Words that are cut are not cut within a character.
	for n in 290 291 292 293 590 591 592 593; do
		printf 'images: [{location: /dev/null}]\nvmType: "%s%s"\n' "$(printf 'x%.0s' $(seq $((n % 4 + 1))))" \
			"$(printf 'é%.0s' $(seq $n))" >long.yaml
		limactl-c validate --log-format json long.yaml 2>found || true
		iconv -f UTF-8 -t UTF-8 found | jq -es 'length == 2' >/dev/null
	done
}

@test "values that have to be written anew keep their merge keys" {
	printf '? a\n: 1\nb: &x {k: 1}\nc:\n  <<: *x\nd: [{<<: *x}, {"<<": 1}]\n' >f.yaml
	equals "$(limactl-c yq-file yaml '.a = 2' f.yaml)" $'a: 2\nb: {k: 1}\nc:\n  <<: {k: 1}\nd: [{<<: {k: 1}}, {"<<": 1}]'
}
