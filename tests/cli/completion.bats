# Completion in the shells themselves: bash is driven through COMP_WORDS, zsh with its completion functions stubbed, fish
# through `complete -C`.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup() {
	cli_setup
	mkdir "$LIMA_HOME/one" "$LIMA_HOME/two"
	cd "$LIMA_HOME"
}
teardown() {
	cd /
	cli_teardown
}

# in_bash WORD...: what bash offers for the last one, joined by blanks. Words are split as readline does: "a" ":" "b".
in_bash() {
	bash -c '
		source <(limactl-c completion bash)
		COMP_WORDS=("$@")
		COMP_CWORD=$(($# - 1))
		_limactl_c limactl-c
		echo "${COMPREPLY[*]}"' bash limactl-c "$@" 2>&1
}

@test "bash: commands, options, their values, instances, files" {
	equals "$(in_bash st)" "start stop"
	equals "$(in_bash list --js)" --json
	equals "$(in_bash delete one t)" two
	equals "$(in_bash completion z)" zsh
	equals "$(in_bash validate fak)" fake.yaml
	equals "$(in_bash nothing x)" ""
	equals "$(in_bash shell one ls -)" ""
}

@test "bash: words that readline splits at = are put together and answered from the split on" {
	equals "$(in_bash list --json = t)" true
	equals "$(in_bash list --json =)" "true false"
	equals "$(in_bash --tty = true li)" list
	equals "$(in_bash create --mount-type = v)" virtiofs
	equals "$(in_bash create template : minimal-docker-o)" minimal-docker-offline
	equals "$(in_bash create templ)" "$(limactl-c info | jq -r '[.templates[].name | select(test("^_") | not) | "template:" + .] | join(" ")')"
}

@test "bash: the script loads without a word, in the absence of compopt too" {
	run -0 bash -c 'enable -n compopt; source <(limactl-c completion bash) && complete -p limactl-c'
	equals "$output" "complete -F _limactl_c limactl-c"
}

# in_zsh WORD...: what zsh would describe, a line each; "files" when it would offer them too.
in_zsh() {
	zsh -f -c '
		compdef() { :; }
		_describe() { print -rl -- ${(P)4}; }
		_files() { print files; }
		source <(limactl-c completion zsh)
		words=("$@") CURRENT=$#
		_limactl_c' zsh limactl-c "$@" 2>&1
}

@test "zsh: the same with descriptions" {
	limactl-c completion zsh >script.zsh
	run -0 zsh -n script.zsh
	run -0 in_zsh st
	equals "${lines[1]}" "stop:Stop an instance"
	run -0 in_zsh list --js
	equals "$output" "--json:one JSON object a line, as --format json"
	equals "$(in_zsh completion b)" bash
	equals "$(in_zsh template yq x .cpu)" ".cpus=:virtual CPUs"
	run -0 in_zsh create x
	equals "$output" files
	run -0 in_zsh delete ""
	equals "${lines[*]}" "one:instance two:instance"
}

@test "zsh: as a file in a folder of \$fpath it is found" {
	mkdir fpath
	limactl-c completion zsh >fpath/_limactl-c
	run -0 zsh -f -c 'fpath=($PWD/fpath $fpath); autoload -Uz compinit; compinit -u -D; print ${_comps[limactl-c]}'
	equals "$output" _limactl-c
}

in_fish() {
	HOME=$LIMA_HOME fish -N -c 'limactl-c completion fish | source; complete -C "'"$1"'"' 2>&1
}

@test "fish: the same with descriptions" {
	limactl-c completion fish >script.fish
	run -0 fish -n script.fish
	run -0 in_fish "limactl-c st"
	equals "${lines[1]}" "stop	Stop an instance"
	equals "$(in_fish "limactl-c list --js")" "--json	one JSON object a line, as --format json"
	equals "$(in_fish "limactl-c list --json=t")" "--json=true"
	equals "$(in_fish "limactl-c delete one t")" "two	instance"
	contains "$(in_fish "limactl-c validate fak")" fake.yaml
}

@test "a shell there is no script for is told" {
	run -1 limactl-c completion powershell
	contains "$output" "bash, zsh and fish"
}
