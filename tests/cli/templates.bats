# The templates shipped, and tests/golden/templates with what is legal and rarely seen: they are valid, stand alone when
# embedded, and stay what they are when written and read again. No network: what they name is not fetched.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup() { cli_setup; }
teardown() { cli_teardown; }

# Names of all templates that can be started, and of the images they are made from.
shipped() {
	local t
	for t in templates/*.yaml templates/_images/*.yaml; do
		t=${t#templates/}
		echo "${t%.yaml}"
	done
}

offline() { unshare -n -- "$@"; }

@test "every shipped template validates, by name and as a file" {
	local name
	for name in $(shipped); do
		run -0 offline limactl-c validate "template:$name"
		run -0 offline limactl-c validate "templates/$name.yaml"
	done
}

@test "embedded, every template stands alone" {
	local name
	mkdir "$BATS_TEST_TMPDIR/none" "$BATS_TEST_TMPDIR/alone"
	for name in $(shipped); do
		offline limactl-c template copy --embed-all "template:$name" "$BATS_TEST_TMPDIR/alone/t.yaml"
		run -1 grep -E '^ *(base|file):' "$BATS_TEST_TMPDIR/alone/t.yaml"
		LIMA_TEMPLATES_PATH=$BATS_TEST_TMPDIR/none run -0 offline limactl-c validate "$BATS_TEST_TMPDIR/alone/t.yaml"
	done
	# The control: not embedded, it needs its bases.
	cp templates/minimal-docker.yaml "$BATS_TEST_TMPDIR/alone/t.yaml"
	LIMA_TEMPLATES_PATH=$BATS_TEST_TMPDIR/none run -1 offline limactl-c validate "$BATS_TEST_TMPDIR/alone/t.yaml"
	contains "$output" "_images/alpine-3.23"
}

# filled SOURCE: embedded and filled, written to $BATS_TEST_TMPDIR/$2.
filled() { offline limactl-c template copy --embed-all --fill "$1" "$BATS_TEST_TMPDIR/$2"; }

@test "written and read again, a template is the same" {
	local t
	for t in templates/*.yaml templates/_images/*.yaml tests/golden/templates/*.yaml; do
		filled "$t" one.yaml
		filled "$BATS_TEST_TMPDIR/one.yaml" two.yaml
		diff "$BATS_TEST_TMPDIR/one.yaml" "$BATS_TEST_TMPDIR/two.yaml" || { echo "$t" >&2; return 1; }
	done
}

@test "written with its defaults, a template is still one for every user" {
	filled templates/k3s.yaml k3s.yaml
	grep -q 'INSTALL_K3S_CHANNEL="{{.Param.channel}}"' "$BATS_TEST_TMPDIR/k3s.yaml"
	filled templates/minimal-docker.yaml docker.yaml
	grep -q 'addgroup "{{.User}}" docker' "$BATS_TEST_TMPDIR/docker.yaml"
	grep -q 'upgradePackages: false' "$BATS_TEST_TMPDIR/docker.yaml"
}

@test "the corpus validates" {
	local t
	for t in tests/golden/templates/*.yaml; do
		run -0 offline limactl-c validate "$t"
	done
}

# Digests of a file whose comment does not name the published list, and that we have not fetched it.
unsourced() {
	awk '
		/^ *digest:/ && !(before ~ /^ *# Digest: https:\/\// && above ~ /^ *# .*not fetched by us\.$/) {
			print FILENAME ":" FNR ": a digest without its source"
		}
		{ before = above; above = $0 }
	' "$1"
}

# Images from the network whose architecture is not given, or is not the one of their address.
archless() {
	awk '
		location && !/^ *arch: (x86_64|aarch64)$/ { print FILENAME ":" FNR ": an image without arch" }
		location {
			want = location ~ /x86_64|amd64/ ? "x86_64" : location ~ /aarch64|arm64/ ? "aarch64" : "?"
			if ($2 != want) print FILENAME ":" FNR ": the address is that of " want
		}
		{ location = "" }
		/^- location: "?https?:/ { location = $3 }
	' "$1"
}

@test "every digest has its source beside it, every image its architecture" {
	local t f=$BATS_TEST_TMPDIR/f.yaml
	for t in templates/*.yaml templates/*/*.yaml; do
		equals "$(unsourced "$t")" ""
		equals "$(archless "$t")" ""
	done
	# The checks can fail.
	sed '/not fetched by us/d' templates/_images/debian-13.yaml >"$f"
	equals "$(unsourced "$f" | wc -l)" 2
	sed '/# Digest:/d' templates/_images/debian-13.yaml >"$f"
	equals "$(unsourced "$f" | wc -l)" 2
	sed '/arch: x86_64/d' templates/_images/fedora-44.yaml >"$f"
	[ -n "$(archless "$f")" ]
	sed 's/arch: x86_64/arch: aarch64/' templates/_images/fedora-44.yaml >"$f"
	[ -n "$(archless "$f")" ]
}

@test "what a message tells to use is what is forwarded" {
	local name text
	for name in $(shipped); do
		text=$(limactl-c template copy --embed-all "template:$name" -)
		equals "$(grep -o '{{.Dir}}/sock/[a-z.]*' <<<"$text" | sed 's,.*/,,' | sort -u)" \
			"$(sed -n 's/^ *hostSocket: //p' <<<"$text" | sort -u)"
	done
	limactl-c create --tty=false --name=d --set '.vmType = "fake"' template:minimal-docker-offline
	contains "$(limactl-c list d --format '{{.Message}}')" "host=unix://$LIMA_HOME/d/sock/docker.sock"
}

@test "scripts are sound, and plain sh where the guest is Alpine" {
	local name script
	for name in $(shipped); do
		script=$(limactl-c template copy --embed-all "template:$name" - | limactl-c template yq - '.provision[0].script // ""')
		[ -n "$script" ] || continue
		equals "$(head -n 1 <<<"$script")" "#!/bin/sh"
		contains "$script" "set -eu"
		shellcheck -s sh -S warning - <<<"$script"
	done
}

@test "start, told nothing, makes and starts the instance default from the template of that name" {
	mkdir "$LIMA_HOME/_templates"
	cp "$LIMA_HOME/fake.yaml" "$LIMA_HOME/_templates/default.yaml"
	limactl-c start --tty=false
	equals "$(limactl-c list --json | jq -r '.name + " " + .status')" "default Running"
	limactl-c stop
	limactl-c start --tty=false --name=other
	equals "$(limactl-c list -q other)" other
	rm "$LIMA_HOME/_templates/default.yaml"
	limactl-c start # it is there now, and needs no template
	equals "$(limactl-c list default --json | jq -r .status)" Running
}
