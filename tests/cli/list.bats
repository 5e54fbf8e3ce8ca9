# list and info: forms, filters, fields, what conflicts.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup() {
	cli_setup
	limactl-c create --tty=false --name=a "$LIMA_HOME/fake.yaml"
	sed 's/^cpus: 1/cpus: 2/' "$LIMA_HOME/fake.yaml" >"$LIMA_HOME/two.yaml"
	echo 'message: "hello {{.Name}}"' >>"$LIMA_HOME/two.yaml"
	limactl-c create --tty=false --name=b "$LIMA_HOME/two.yaml"
}
teardown() { cli_teardown; }

@test "list --format: json is --json, table the default" {
	equals "$(limactl-c list --format json)" "$(limactl-c list --json)"
	equals "$(limactl-c list -f table)" "$(limactl-c list)"
	equals "$(limactl-c list --json | jq -r .cpus | xargs)" "1 2"
	equals "$(limactl-c list b --json | jq -r .message)" "hello b"
}

@test "list --format yaml: a document each" {
	run -0 --separate-stderr limactl-c list --format yaml
	equals "${lines[0]}" "name: a"
	equals "$(grep -c '^---$' <<<"$output")" 1
	equals "$(limactl-c list b --format yaml | grep '^cpus:')" "cpus: 2"
	equals "$(grep -c '#' <<<"$output")" 0
}

@test "list --format with a Go template: Lima's names, unset fields included" {
	equals "$(limactl-c list --format '{{.Name}} {{.CPUs}}')" $'a 1\nb 2'
	equals "$(limactl-c list a -f '{{.Config.CPUs}} {{.SSHLocalPort}} {{json .Networks}} {{.Message | missing}} {{.HostOS}}')" \
		"1 0 [] <missing> linux"
	equals "$(limactl-c list a --format '{{json .}}')" "$(limactl-c list a --json)"
	equals "$(limactl-c list a --format '{{.Name | printf "%s:" | indent 4}}')" "    a:"
	equals "$(limactl-c list a --format word)" word
	run -1 limactl-c list --format '{{.Nam}}'
	contains "$output" 'there is no field \"Nam\"'
	run -1 limactl-c list --format '{{.Name'
	contains "$output" "format"
}

@test "every field of --list-fields can be named in a template" {
	run -0 --separate-stderr limactl-c list --list-fields
	equals "${lines[0]}" AdditionalDisks
	equals "${#lines[@]}" 23
	local field
	for field in "${lines[@]}"; do
		limactl-c list b --format "{{.$field}}" >/dev/null
	done
}

@test "list --yq: expressions joined, strings as they are" {
	equals "$(limactl-c list --yq .name)" $'a\nb'
	equals "$(limactl-c list --yq .cpus --yq '. + 1')" $'2\n3'
	equals "$(limactl-c list a --yq '.config | {"n": .cpus}')" '{"n":1}'
	equals "$(limactl-c list b --yq '.name, .cpus')" $'b\n2'
	equals "$(limactl-c list --yq '.cpus' --format yaml)" $'1\n---\n2'
	equals "$(limactl-c list -q --yq 'select(.cpus == 2)')" b
	run -1 limactl-c list --yq '.cpus +'
	contains "$output" "--yq"
}

@test "list --filter: every form, all of them must hold" {
	equals "$(limactl-c list -q -l '.cpus == 2')" b
	equals "$(limactl-c list -q --filter '.cpus > 0' --filter '.name == "a"')" a
	equals "$(limactl-c list --json -l '.config.memory == "512MiB"' | wc -l)" 2
	equals "$(limactl-c list -l '.cpus == 2' --format '{{.Name}}')" b
	equals "$(limactl-c list -l '.cpus == 2' --yq .status)" Stopped
	run -0 limactl-c list -l '.cpus == 2'
	equals "${#lines[@]}" 2
	contains "${lines[1]}" "b "
	equals "$(limactl-c list -q -l .nothing)" ""
	run -1 limactl-c list -l '.cpus =='
	contains "$output" "--filter"
}

@test "list: what does not go together is refused in Lima's words" {
	refused() {
		local words=$1
		shift
		run -1 limactl-c list "$@"
		contains "$output" "$words"
	}
	refused "option --json conflicts with option --format" --json --format json
	refused "option --list-fields conflicts with option --format" --list-fields --format json
	refused "option --list-fields conflicts with option --yq" --list-fields --yq .
	refused "option --list-fields conflicts with option --filter" --list-fields -l .a
	refused "option --yq only works with --format json or yaml" --yq . --format table
	refused "option --quiet can only be used with '--format table'" -q --json
	refused "option --quiet can only be used with '--format table'" -q --format yaml
	equals "$(limactl-c list -q --format table)" $'a\nb'
}

@test "list: those that are there are shown, the missing one is an error" {
	run -1 --separate-stderr limactl-c list nope a --format '{{.Name}}'
	equals "$output" a
	contains "$stderr" nope
}

@test "list on a narrow terminal leaves out columns that tell nothing, --all-fields none" {
	narrow() { script -qec "stty cols 60; limactl-c list $1" /dev/null | head -n 1; }
	run -0 narrow ""
	contains "$output" CPUS
	[[ $output != *VMTYPE* && $output != *DIR* ]]
	contains "$(narrow --all-fields)" DIR
	contains "$(narrow --all-fields)" VMTYPE
}

@test "what stands still is shown as its lima.yaml says, which may be newer than its plan, or never had one" {
	limactl-c edit a --set '.message = "{{.Name}} says hello"'
	equals "$(limactl-c list a --format '{{.Message}}')" "a says hello"
	equals "$(limactl-c list a --json | jq -r .message)" "a says hello"
	mkdir "$LIMA_HOME/c"
	sed '/^guest/d; s/^vmType.*/ssh: {localPort: 2222}/' "$LIMA_HOME/fake.yaml" >"$LIMA_HOME/c/lima.yaml"
	equals "$(LIMACTL_C_DRIVER='' limactl-c list c --format '{{.Status}} {{.VMType}} {{.CPUs}} {{.SSHLocalPort}}')" \
		"Stopped qemu 1 2222"
}

@test "conditions on what the configuration does not set" {
	equals "$(limactl-c list a --format '{{if .Config.Mounts}}m{{else}}none{{end}}{{with .Config.VMOpts.QEMU}}q{{end}}')" none
	run -1 limactl-c list a --format '{{.Config.Nope}}'
	contains "$output" 'there is no field'
}

@test "a broken instance in every form" {
	mkdir "$LIMA_HOME/half"
	equals "$(limactl-c list half --json | jq -c '[.status, .vmType, .protected, (.errors | length)]')" '["Broken","",false,1]'
	equals "$(limactl-c list half --format '{{.Status}} {{.CPUs}} {{.Config}}' 2>/dev/null)" "Broken 0 <no value>"
	limactl-c list half --format yaml | grep -x "status: Broken"
	equals "$(limactl-c list -q -l '.status == "Broken"')" half
}

@test "info: true things only, and a yq expression on them" {
	run -0 --separate-stderr limactl-c info
	jq -e 'has("version") and has("limaHome") and has("hostOS") and has("hostArch") and has("identityFile")' <<<"$output"
	equals "$(jq -r .limaHome <<<"$output")" "$LIMA_HOME"
	jq -e '.templates | map(select(.name == "minimal-docker")) | length == 1' <<<"$output"
	local file
	jq -r '.templates[].location, .guestAgents[].location, .libexecPaths[], .sharePaths[]' <<<"$output" | while read -r file; do
		[ -e "$file" ]
	done
	equals "$(limactl-c info --yq '.vmTypes[0]')" qemu
	equals "$(jq -c .vmTypesEx.qemu <<<"$output")" '{"location":"internal"}'
	equals "$(jq -r .defaultTemplate.memory <<<"$output")" "$(limactl-c template yq template:default .memory)"
	run -1 limactl-c info more
}
