# base: templates and file: scripts, read in when an instance is made.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup() {
	cli_setup
	T=$LIMA_HOME/t
	mkdir -p "$T/parts" "$LIMA_HOME/_templates"
	sed '/^cpus:/d' "$LIMA_HOME/fake.yaml" >"$T/parts/fake.yaml"
}
teardown() { cli_teardown; }

yaml() { cat "$LIMA_HOME/$1/lima.yaml"; }

# made NAME TEXT...: the instance is made from t.yaml, and its lima.yaml has these lines.
made() {
	local name=$1 line
	shift
	limactl-c create --tty=false --name "$name" "$T/t.yaml"
	for line in "$@"; do
		contains "$(yaml "$name")" "$line"
	done
	[[ $(yaml "$name") != *base:* ]]
}

# refused TEXT...: no instance is made from t.yaml, and all of this is said.
refused() {
	local text
	run -1 limactl-c create --tty=false --name no "$T/t.yaml"
	for text in "$@"; do
		contains "$output" "$text"
	done
	[ ! -e "$LIMA_HOME/no" ]
}

@test "an instance holds what its template and all its bases say, comments too" {
	cat >"$T/t.yaml" <<-'YAML'
		# My machine.

		base:
		- parts/more.yaml # first
		- {url: parts/fake.yaml}

		cpus: 2 # enough
		provision:
		# last
		- script: "true"
	YAML
	cat >"$T/parts/more.yaml" <<-'YAML'
		base: deep.yaml
		cpus: 4
		# in all scripts
		env: {A: more}
		provision:
		- file: run.sh
	YAML
	printf '#!/bin/sh\n\techo run\n' >"$T/parts/run.sh"
	printf 'provision:\n- script: "false" # deepest\nenv: {B: deep}\n' >"$T/parts/deep.yaml"
	made one '# My machine.' 'cpus: 2 # enough' '# in all scripts' 'vmType: fake'
	equals "$(sed -n '/^provision:/,/^[a-z]*:/p' "$LIMA_HOME/one/lima.yaml" | grep -v '^[a-z]\|all scripts')" "$(
		cat <<-'YAML'
			- script: "false" # deepest
			- script: |
			    #!/bin/sh
			    	echo run
			# last
			- script: "true"
		YAML
	)"
	contains "$(yaml one)" 'A: more'
	contains "$(yaml one)" 'B: deep'
}

@test "template:, file:// and ~ are bases from anywhere" {
	echo 'cpus: 3' >"$LIMA_HOME/_templates/part.yaml"
	echo 'message: home' >"$T/home.yaml"
	printf 'base: ["template:part", "file://%s/parts/fake.yaml", "~/home.yaml"]\n' "$T" >"$T/t.yaml"
	HOME=$T made one 'cpus: 3' 'vmType: fake' 'message: home'
}

@test "a base of a template: is one beside it" {
	mkdir "$LIMA_HOME/_templates/_images"
	printf 'base: low\ncpus: 1\n' >"$LIMA_HOME/_templates/_images/top.yaml"
	cp "$T/parts/fake.yaml" "$LIMA_HOME/_templates/_images/low.yaml"
	limactl-c create --tty=false --name one template:_images/top
	contains "$(yaml one)" 'vmType: fake'
}

@test "a base by URL, its own bases and scripts beside it" {
	mkdir "$T/www"
	printf 'base: low.yaml\nprovision: [{file: run.sh}]\n' >"$T/www/top.yaml"
	cp "$T/parts/fake.yaml" "$T/www/low.yaml"
	echo 'echo hello' >"$T/www/run.sh"
	serve "$T/www"
	echo "base: $URL/top.yaml" >"$T/t.yaml"
	made one 'vmType: fake' 'echo hello'
	# It is asked for again each time.
	echo 'echo again' >"$T/www/run.sh"
	made two 'echo again'
	limactl-c create --tty=false --name three "$URL/top.yaml"
	contains "$(yaml three)" 'vmType: fake'
	echo "base: $URL/none.yaml" >"$T/t.yaml"
	refused "t.yaml:1:7: base: cannot download $URL/none.yaml" 404
	head -c 5000000 /dev/zero >"$T/www/large.yaml"
	echo "base: $URL/large.yaml" >"$T/t.yaml"
	refused 'larger than 4 MiB'
}

@test "a digest says which bytes are meant; these are kept" {
	local sha
	mkdir "$T/www"
	cp "$T/parts/fake.yaml" "$T/www/b.yaml"
	serve "$T/www"
	sha=$(sha512sum "$T/www/b.yaml" | cut -d ' ' -f 1)
	echo "base: {url: \"$URL/b.yaml\", digest: \"sha512:${sha/[0-7]/8}\"}" >"$T/t.yaml"
	refused 't.yaml:1:7: base:' 'wrong digest' "$sha"
	echo "base: {url: \"$URL/b.yaml\", digest: \"sha512:$sha\"}" >"$T/t.yaml"
	made one 'vmType: fake'
	serve_stop
	made two 'vmType: fake'
	echo "base: {url: parts/fake.yaml, digest: \"sha512:$sha\"}" >"$T/t.yaml"
	made three 'vmType: fake'
	echo 'cpus: 9' >>"$T/parts/fake.yaml"
	refused 'wrong digest'
}

@test "standard input is a base" {
	echo 'base: ["-", parts/fake.yaml]' >"$T/t.yaml"
	echo 'cpus: 3' | made one 'cpus: 3' 'vmType: fake'
	echo 'base: parts/fake.yaml' >"$T/in.yaml"
	run -1 limactl-c create --tty=false --name no - <"$T/in.yaml"
	contains "$output" 'parts/fake.yaml: is relative, but the template is read from standard input'
}

@test "loops, repeats and what is not there" {
	echo 'base: t.yaml' >"$T/t.yaml"
	refused "$T/t.yaml -> $T/t.yaml"
	echo 'base: a.yaml' >"$T/t.yaml"
	printf 'cpus: 1\nbase: [b.yaml]\n' >"$T/a.yaml"
	echo 'base: a.yaml' >"$T/b.yaml"
	refused "b.yaml:1:7: base: is a base of itself: $T/t.yaml -> $T/a.yaml -> $T/b.yaml -> $T/a.yaml"
	echo 'base: [b.yaml, b.yaml]' >"$T/t.yaml"
	echo 'cpus: 1' >"$T/b.yaml"
	refused 't.yaml:1:16: base:' 'included twice'
	echo 'base: nothing.yaml' >"$T/t.yaml"
	refused "t.yaml:1:7: base: open $T/nothing.yaml: No such file"
	echo 'base: template:prat' >"$T/t.yaml"
	echo 'cpus: 3' >"$LIMA_HOME/_templates/part.yaml"
	refused 't.yaml:1:7: base: template \"prat\" not found; did you mean part?'
	echo 'base: ../t/parts/fake.yaml' >"$T/t.yaml"
	refused 'must not leave its template'
	echo 'base: github:lima-vm/lima' >"$T/t.yaml"
	refused 'https://raw.githubusercontent.com/'
	printf 'provision:\n- mode: data\n  path: /p\n  file: nothing.sh\n' >"$T/t.yaml"
	refused "t.yaml:4:9: provision[].file: open $T/nothing.sh: No such file"
	printf 'a: [' >"$T/b.yaml"
	echo 'base: b.yaml' >"$T/t.yaml"
	refused "$T/b.yaml:2:1: did not find"
}

@test "the user's own base comes before all others" {
	mkdir "$LIMA_HOME/_config"
	printf 'memory: 700MiB\nenv: {OWN: "1"}\n' >"$LIMA_HOME/_config/base.yaml"
	echo 'memory: 600MiB' >"$T/parts/b.yaml"
	printf 'cpus: 1\nbase: [parts/b.yaml, parts/fake.yaml]\n' >"$T/t.yaml"
	made one 'memory: 700MiB' 'OWN: "1"' 'vmType: fake'
}

@test "a base by --set" {
	echo 'cpus: 3 # three' >"$T/t.yaml"
	limactl-c create --tty=false --name one --set '.base = ["parts/fake.yaml"]' "$T/t.yaml"
	contains "$(yaml one)" 'vmType: fake'
	contains "$(yaml one)" 'cpus: 3 # three'
	[[ $(yaml one) != *base:* ]]
}

@test "an instance's own lima.yaml has no base" {
	limactl-c create --tty=false --name one "$LIMA_HOME/fake.yaml"
	echo 'base: template:part' >>"$LIMA_HOME/one/lima.yaml"
	run -1 limactl-c start --tty=false one
	contains "$output" 'lima.yaml:9:7: base: is carried out when an instance is created'
	contains "$output" 'limactl-c template copy --embed'
}
