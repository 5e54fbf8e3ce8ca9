# provision[], probes, copyToHost and parameters, from the template to the guest and back: the real programs on the fake
# driver, whose guest shares this machine's files.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup() {
	cli_setup
	G=$LIMA_HOME/guest
	mkdir "$G"
	chmod 777 "$G"
	OWNER="$(id -u):$(id -g)"
}
teardown() { cli_teardown; }

# start MORE-YAML...: the instance a with the lines of standard input added to the template.
start() {
	cat "$LIMA_HOME/fake.yaml" - >"$LIMA_HOME/a.yaml"
	limactl-c start --tty=false --name=a "$LIMA_HOME/a.yaml"
}

# Why it is degraded, a line each and indented but the first.
errors() { limactl-c list a --json | jq -r '.errors | join("\n\t")'; }

@test "yq: files are edited and made, with their comments, formats and permissions" {
	printf '# kept\na: 1 # too\nlist: [x]\n' >"$G/there.yaml"
	printf '{"hosts": ["a"], "n": 12345678901234567890}' >"$G/there.json"
	start <<-YAML
		param: {WHO: world}
		provision:
		- {mode: yq, path: $G/there.yaml, owner: "$OWNER", permissions: "600", expression: '.a = 2 | .list += "{{.Param.WHO}}"'}
		- {mode: yq, path: $G/there.json, owner: "$OWNER", expression: .hosts += "b"}
		- {mode: yq, path: $G/deep/new.json, owner: "$OWNER", expression: .a.b = "c"}
		- {mode: yq, path: $G/new.conf, owner: "$OWNER", expression: .a.b = "c"}
	YAML
	equals "$(cat "$G/there.yaml")" $'# kept\na: 2 # too\nlist: [x, world]'
	equals "$(stat -c %a "$G/there.yaml")" 600
	equals "$(jq -c .hosts "$G/there.json")" '["a","b"]'
	contains "$(cat "$G/there.json")" 12345678901234567890
	equals "$(cat "$G/deep/new.json")" $'{\n  "a": {\n    "b": "c"\n  }\n}'
	equals "$(cat "$G/new.conf")" $'a:\n  b: c'
}

@test "yq: what cannot be done is said, the file stays, the rest goes on" {
	echo 'a: [' >"$G/broken.yaml"
	echo 'a: 1' >"$G/two.yaml"
	cp "$G/two.yaml" "$G/bad.yaml"
	run -1 start <<-YAML
		provision:
		- {mode: yq, path: $G/broken.yaml, owner: "$OWNER", expression: .a = 1}
		- {mode: yq, path: $G/two.yaml, owner: "$OWNER", expression: '.a, .a'}
		- {mode: yq, path: $G/bad.yaml, owner: "$OWNER", expression: '.a ='}
		- {mode: yq, path: $G/good.yaml, owner: "$OWNER", expression: .a = 1}
	YAML
	contains "$output" "provision[0] (mode yq) failed"
	equals "$(errors)" "provision[0] (mode yq) failed with exit code 1: the file:2:1: did not find expected node content while parsing a flow node
	provision[1] (mode yq) failed with exit code 1: the expression gives 2 results, not the one changed file
	provision[2] (mode yq) failed with exit code 1: expression: at character 4: = needs a value on both sides"
	equals "$(cat "$G/broken.yaml")" "a: ["
	equals "$(cat "$G/two.yaml")" "a: 1"
	equals "$(cat "$G/good.yaml")" "a: 1"
	equals "$(limactl-c list a --json | jq -r .status)" Running
}

@test "yq: a guest's file of many aliases costs a moment, not the host" {
	{ echo 'a0: &a0 [x,x,x,x,x,x,x,x,x,x]'; for i in 1 2 3 4 5 6 7 8 9; do
		printf 'a%d: &a%d [' $i $i; printf "*a$((i - 1)),%.0s" 1 2 3 4 5 6 7 8 9; echo "*a$((i - 1))]"; done; } >"$G/bomb.yaml"
	cp "$G/bomb.yaml" "$G/before"
	run -1 timeout 60 bash -c "$(declare -f start); start" <<-YAML
		provision:
		- {mode: yq, path: $G/bomb.yaml, owner: "$OWNER", expression: .b = 1}
	YAML
	contains "$output" "provision[0] (mode yq) failed"
	cmp "$G/bomb.yaml" "$G/before"
}

@test "data: content with parameters, permissions, an odd name, and one that stays as it is" {
	echo mine >"$G/kept"
	start <<-YAML
		param: {WHO: world}
		provision:
		- {mode: data, path: "$G/made/it's \"odd\"", content: "hello {{.Param.WHO}}\n", permissions: "640", owner: "$OWNER"}
		- {mode: data, path: $G/kept, content: other, overwrite: false, owner: "$OWNER"}
	YAML
	equals "$(cat "$G/made/it's \"odd\"")" "hello world"
	equals "$(stat -c %a "$G/made/it's \"odd\"")" 640
	equals "$(cat "$G/kept")" mine
}

@test "data that cannot be put is told as what it is" {
	mkdir "$G/folder"
	run -1 start <<-YAML
		provision:
		- {mode: data, path: $G/folder, content: x, owner: "$OWNER"}
	YAML
	contains "$output" "provision[0] (mode data) failed with exit code 1: $G/folder is there and no file"
}

@test "the instance is ready when its probes have succeeded, tried again and again, with parameters" {
	start <<-YAML
		param: {WHO: world}
		probes:
		- description: the second try
		  script: |
		    #!/bin/sh -eu
		    [ "\$PARAM_WHO" = world ]
		    echo try >>$G/tries
		    [ "\$(wc -l <$G/tries)" -ge 3 ]
		- script: |
		    #!/no/such/bash
		    [ "\$(wc -l <$G/tries)" = 3 ] && touch $G/second
	YAML
	equals "$(wc -l <"$G/tries")" 3
	[ -e "$G/second" ]
}

@test "a probe that never succeeds: degraded, with its words and its hint, and the next one is asked too" {
	export LIMACTL_C_PROBE_SECONDS=2
	run -1 start <<-YAML
		probes:
		- description: the moon is full
		  script: |
		    #!/bin/sh
		    echo "it is dark" >&2
		    exit 3
		  hint: See the calendar
		- description: hangs
		  script: "#!/bin/sh\nsleep 1000"
		- script: "#!/bin/sh\ntouch $G/third"
	YAML
	contains "$output" "it is dark; hint: See the calendar"
	equals "$(errors)" 'probe "the moon is full" did not succeed within 2 s: exit code 3: it is dark; hint: See the calendar
	probe "hangs" did not succeed within 2 s: it did not end'
	[ -e "$G/third" ]
	equals "$(limactl-c list a --json | jq -r .status)" Running
	contains "$(control a GET status | jq -r '.errors[]')" "the moon is full"
}

@test "while a probe runs, its name is what the instance waits for" {
	cat "$LIMA_HOME/fake.yaml" - >"$LIMA_HOME/a.yaml" <<-YAML
		probes:
		- {description: a file comes, script: "#!/bin/sh\n[ -e $G/come ]"}
	YAML
	limactl-c start --tty=false --name=a "$LIMA_HOME/a.yaml" 3>&- &
	wait_until 10 eval 'control a GET status | jq -r ".waiting[]" | grep -q "probe \"a file comes\""'
	touch "$G/come"
	wait $!
}

@test "copyToHost: before READY, mode 0600, over what is there, deleted at stop when asked for" {
	head -c 3000000 /dev/urandom >"$G/large file"
	echo secret >"$G/config"
	ln -s "$G/victim" "$LIMA_HOME/link"
	echo safe >"$G/victim"
	run -0 start <<-YAML
		message: "{{.Dir}} has it"
		copyToHost:
		- {guest: "$G/large file", host: "{{.Dir}}/copied/large"}
		- {guest: $G/config, host: "{{.Dir}}/copied/config", deleteOnStop: true}
		- {guest: $G/config, host: $LIMA_HOME/link}
		- {guest: $G/missing, host: "{{.Dir}}/copied/missing", skipIfMissing: true}
	YAML
	contains "$output" "$LIMA_HOME/a has it"
	cmp "$G/large file" "$LIMA_HOME/a/copied/large"
	equals "$(cat "$LIMA_HOME/a/copied/config")" secret
	equals "$(stat -c %a "$LIMA_HOME/a/copied/config")" 600
	equals "$(cat "$G/victim")" safe
	equals "$(cat "$LIMA_HOME/link")" secret
	equals "$(ls "$LIMA_HOME/a/copied")" $'config\nlarge'
	limactl-c stop a
	equals "$(ls "$LIMA_HOME/a/copied")" large
	echo new >"$G/config"
	limactl-c start a
	equals "$(cat "$LIMA_HOME/a/copied/config")" new
}

@test "copyToHost: what cannot be copied is said; nothing is left behind" {
	mkfifo "$G/fifo"
	mkdir "$LIMA_HOME/taken"
	run -1 start <<-YAML
		copyToHost:
		- {guest: $G/missing, host: "{{.Dir}}/copied/a"}
		- {guest: $G/fifo, host: "{{.Dir}}/copied/b"}
		- {guest: $G, host: "{{.Dir}}/copied/c"}
		- {guest: /etc/hostname, host: $LIMA_HOME/taken}
		- {guest: /dev/zero, host: "{{.Dir}}/copied/d"}
		- {guest: /proc/self/environ, host: "{{.Dir}}/copied/e"}
	YAML
	contains "$output" "copyToHost: $G/missing was not copied to $LIMA_HOME/a/copied/a: the guest has no such file"
	contains "$output" "$G/fifo was not copied to $LIMA_HOME/a/copied/b: it is no file"
	contains "$output" "copied/c: it is no file"
	contains "$output" "cannot write $LIMA_HOME/taken"
	contains "$output" "copied/d: it is no file"
	equals "$(ls -A "$LIMA_HOME/a/copied")" e
	equals "$(ls -A "$LIMA_HOME/taken")" ""
}

@test "copyToHost: a file beyond the bound is refused" {
	truncate -s 65M "$G/huge"
	run -1 start <<-YAML
		copyToHost: [{guest: $G/huge, host: "{{.Dir}}/copied/a"}]
	YAML
	contains "$output" "it is larger than 64 MiB"
	equals "$(ls -A "$LIMA_HOME/a/copied")" ""
}

@test "copyToHost: paths must be absolute" {
	run -1 start <<-YAML
		copyToHost: [{guest: /etc/hostname, host: copied}]
	YAML
	contains "$output" "copyToHost[0].host: must be an absolute path"
}

@test "a user's script has a login environment, PARAM_ variables and the host's proxies" {
	export http_proxy=http://127.0.0.1:3128 HTTPS_PROXY=http://proxy.example NO_PROXY=localhost
	unset https_proxy no_proxy HTTP_PROXY
	local names=host.lima.internal,host.docker.internal,gateway.docker.internal
	start <<-YAML
		user: {name: root, uid: 0, home: $G}
		env: {GREETING: "hello, it's me"}
		param: {WHO: "the world"}
		provision:
		- mode: user
		  script: |
		    #!/bin/sh
		    echo "\$HOME|\$PWD|\$USER|\$GREETING|\$PARAM_WHO|\$http_proxy|\$HTTP_PROXY|\$https_proxy|\$no_proxy" >out
	YAML
	equals "$(cat "$G/out")" "$G|$G|root|hello, it's me|the world|http://10.0.2.2:3128|http://10.0.2.2:3128|http://proxy.example|localhost,127.0.0.1,::1,10.0.2.15,10.0.2.2,$names"
	equals "$(limactl-c shell a sh -c 'echo "$HTTP_PROXY"')" http://10.0.2.2:3128
}
