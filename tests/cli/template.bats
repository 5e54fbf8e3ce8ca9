# template copy, url, validate, yq; validate --fill and --explain; the JSON schema.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup() {
	cli_setup
	cd "$LIMA_HOME"
	mkdir t
	cat >t/base.yaml <<-'YAML'
		# of the base
		cpus: 3 # three
		env:
		  FROM_BASE: "1"
	YAML
	cat >t/child.yaml <<-'YAML'
		# of the child
		vmType: fake
		base: base.yaml
		images: [{location: "/dev/null"}]
		memory: 512MiB   # kept

		disk: 1GiB
		guest: {init: lean}
		provision:
		- mode: system
		  file: hello.sh
	YAML
	printf '#!/bin/sh\necho hello\n' >t/hello.sh
}
teardown() {
	cd /
	cli_teardown
}

@test "template is a group: alias, help, unknown commands" {
	run -0 limactl-c template
	contains "$output" "copy"
	run -0 limactl-c tmpl url --help
	contains "$output" "limactl-c template url"
	run -0 limactl-c help template yq
	contains "$output" "EXPRESSION"
	run -1 limactl-c template cpy
	contains "$output" 'did you mean \"copy\"?'
}

@test "template copy --verbatim: the same bytes, to standard output and to a file" {
	limactl-c template copy --verbatim t/child.yaml >out.yaml
	cmp out.yaml t/child.yaml
	limactl-c template copy --verbatim t/child.yaml - | cmp - t/child.yaml
	limactl-c template copy --verbatim t/child.yaml to.yaml
	cmp to.yaml t/child.yaml
	limactl-c template copy --verbatim - <t/child.yaml | cmp - t/child.yaml
	limactl-c template copy --verbatim template:minimal-docker | cmp - "$(limactl-c template url template:minimal-docker)"
	limactl-c template copy t/child.yaml /dev/null
	[ -c /dev/null ]
}

@test "template copy: what it names is named so that it holds from anywhere, the rest stays" {
	run -0 --separate-stderr limactl-c template copy t/child.yaml
	contains "$output" "base: $LIMA_HOME/t/base.yaml"
	contains "$output" "file: $LIMA_HOME/t/hello.sh"
	equals "$(grep -v 'base:\|file:' <<<"$output")" "$(grep -v 'base:\|file:' t/child.yaml)"
}

@test "template copy --embed: bases and scripts in it, comments kept" {
	run -0 --separate-stderr limactl-c template copy --embed t/child.yaml
	contains "$output" "# of the child"
	contains "$output" "memory: 512MiB   # kept"
	contains "$output" "cpus: 3"
	contains "$output" "echo hello"
	contains "$output" FROM_BASE
	[[ $output != *"base:"* && $output != *"file:"* ]]
	limactl-c template copy --embed t/child.yaml alone.yaml
	run -0 limactl-c validate alone.yaml
}

@test "template copy --embed leaves template: named, --embed-all does not" {
	printf 'base: [template:minimal-docker]\n' >named.yaml
	contains "$(limactl-c template copy --embed named.yaml)" "template:minimal-docker"
	run -0 --separate-stderr limactl-c template copy --embed-all named.yaml
	contains "$output" "images:"
	[[ $output != *"template:minimal-docker"* ]]
}

@test "template copy: what does not go together, what is not there" {
	local flag
	for flag in --embed --embed-all --fill; do
		run -1 limactl-c template copy --verbatim "$flag" t/child.yaml
		contains "$output" "--verbatim cannot be used with any of --embed, --embed-all, or --fill"
	done
	run -1 limactl-c template copy t/none.yaml
	contains "$output" none.yaml
	run -1 limactl-c template copy --verbatim t/child.yaml nowhere/x.yaml
	contains "$output" nowhere/x.yaml
	printf 'base: missing.yaml\n' >t/broken.yaml
	run -1 limactl-c template copy --embed t/broken.yaml
	contains "$output" missing.yaml
	printf 'a: [\n' >t/bad.yaml
	run -1 limactl-c template copy t/bad.yaml
	contains "$output" bad.yaml:
}

@test "--fill writes every default out; filling again changes nothing" {
	limactl-c validate --fill t/child.yaml >filled.yaml
	contains "$(cat filled.yaml)" "timezone:"
	contains "$(cat filled.yaml)" "cpus: 3"
	[[ $(cat filled.yaml) != *"#"[^!]* ]]
	limactl-c template copy --fill t/child.yaml | cmp - filled.yaml
	sed 's/^cpus: 3/& # a comment/' filled.yaml | limactl-c validate --fill - | cmp - filled.yaml
	limactl-c template validate --fill filled.yaml filled.yaml >two.yaml
	equals "$(grep -c '^---$' two.yaml)" 1
}

@test "--explain: the same with the place of each value" {
	run -0 --separate-stderr limactl-c validate --explain t/child.yaml
	contains "$output" "cpus: 3  # $LIMA_HOME/t/base.yaml:2"
	contains "$output" "memory: 512MiB  # t/child.yaml:5"
	contains "$output" "plain: false  # default"
	equals "$(limactl-c validate --fill - <<<"$output")" "$(limactl-c validate --fill t/child.yaml)"
	mkdir _config
	echo 'timezone: Asia/Tokyo' >_config/default.yaml
	run -0 --separate-stderr limactl-c validate --explain t/child.yaml
	contains "$output" "timezone: Asia/Tokyo  # $LIMA_HOME/_config/default.yaml:1"
	run -1 limactl-c validate --explain --fill t/child.yaml
	contains "$output" "--fill and --explain"
}

@test "--explain of an instance's own lima.yaml" {
	limactl-c create --tty=false --name=a --cpus=7 t/child.yaml
	run -0 --separate-stderr limactl-c validate --explain a/lima.yaml
	contains "$output" "cpus: 7  # a/lima.yaml:"
}

@test "template yq: on the filled template, as yq prints" {
	equals "$(limactl-c template yq t/child.yaml .cpus)" 3
	equals "$(limactl-c template yq t/child.yaml '.images[].location')" /dev/null
	equals "$(limactl-c template yq t/child.yaml .env)" 'FROM_BASE: "1"'
	run -1 limactl-c template yq t/child.yaml '.cpus |'
	run -1 limactl-c template yq t/child.yaml
	contains "$output" "is missing"
}

@test "template url: the file a template is" {
	equals "$(limactl-c template url template:minimal-docker)" "$(realpath "$(limactl-c template url template:minimal-docker)")"
	equals "$(limactl-c template url https://example.com/x.yaml)" https://example.com/x.yaml
	run -1 limactl-c template url template:minimal-dokcer
	contains "$output" minimal-docker
}

@test "validate says what is wrong of every kind, and takes several" {
	run -0 limactl-c validate t/child.yaml fake.yaml
	contains "$output" "fake.yaml"
	run -1 limactl-c template validate fake.yaml t/none.yaml
	contains "$output" none.yaml
	printf 'cpuz: 1\nmemory: lots\n' >t/bad.yaml
	run -1 limactl-c validate t/bad.yaml
	contains "$output" "t/bad.yaml:1:1"
	contains "$output" "t/bad.yaml:2:9"
}

@test "generate-jsonschema: JSON, to a file too" {
	limactl-c generate-jsonschema | jq -e '.properties.cpus'
	limactl-c generate-jsonschema --schemafile schema.json
	limactl-c generate-jsonschema | cmp - schema.json
}
