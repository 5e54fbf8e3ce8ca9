#!/bin/sh
# Run in the Alpine guest, as root, with the engine's disk at /run/lima/engine: makes repositories `main` and
# `community` that offer Docker in packages cut as Alpine's are, with a service of their kind, of Debian's programs.
#   apk-repo.sh OUT KEY    in the new folder OUT, signed with the private key KEY
set -eu
out=$1 key=$2
engine=/run/lima/engine
arch=$(apk --print-arch)
version=20.10.24-r0
work=$(mktemp -d "${out%/*}/apk-repo.XXXXXX")
trap 'rm -rf "$work"' EXIT

# take PACKAGE PATH...: of the engine's files, at Debian's places.
take() {
	mkdir -p "$work/$1"
	(
		cd "$engine"
		to=$work/$1
		shift
		tar -c "$@" | tar -x -C "$to"
	)
}

# file PACKAGE MODE PATH: its text from standard input.
file() {
	mkdir -p "$work/$1/${3%/*}"
	cat >"$work/$1/$3"
	chmod "$2" "$work/$1/$3"
}

# pack REPOSITORY PACKAGE DESCRIPTION [OPTION...]: what was put into its folder. Compressing would take minutes under emulation.
pack() {
	repository=$1 package=$2 about=$3
	shift 3
	mkdir -p "$out/$repository/$arch" "$work/$package"
	apk mkpkg --compression none --sign-key "$key" --files "$work/$package" --info "name:$package" \
		--info "version:$version" --info "arch:$arch" --info "description:$about" --info "license:Apache-2.0" \
		"$@" --output "$out/$repository/$arch/$package-$version.apk"
	rm -rf "${work:?}/$package"
}

take docker-libs lib64 "lib/$arch-linux-gnu" "usr/lib/$arch-linux-gnu"
pack main docker-libs "What Debian's programs are linked with"

cd "$engine"
take iptables usr/sbin/*tables*
pack main iptables "iptables for nf_tables" --info depends:docker-libs

take containerd usr/bin/containerd usr/bin/containerd-shim-runc-v2 usr/bin/runc usr/sbin/runc
pack community containerd "containerd and runc" --info depends:docker-libs

take docker-engine usr/sbin/dockerd usr/sbin/docker-proxy usr/bin/docker-init usr/bin/tini-static
printf '#!/bin/sh\naddgroup -S docker 2>/dev/null\nexit 0\n' >"$work/pre-install"
pack community docker-engine "dockerd" --info "depends:containerd iptables" --script "pre-install:$work/pre-install"

file docker-openrc 644 etc/conf.d/docker <<'CONF'
# What dockerd is called with besides.
DOCKER_OPTS=""
CONF
file docker-openrc 755 etc/init.d/docker <<'SERVICE'
#!/sbin/openrc-run
description="Docker's daemon"
supervisor=supervise-daemon
command=/usr/sbin/dockerd
command_args="$DOCKER_OPTS"
output_log=/var/log/docker.log
error_log=/var/log/docker.log
retry=TERM/60/KILL/10

depend() {
	need sysfs cgroups net
	after firewall
}
SERVICE
pack community docker-openrc "docker's service" --info "install-if:openrc docker-engine=$version"

take docker-cli usr/bin/docker
pack community docker-cli "docker, the command" --info depends:docker-libs

pack community docker "Docker, all of it" --info "depends:docker-engine docker-cli"

# index REPOSITORY NAME: of all packages that are there now.
index() { apk mkndx --allow-untrusted --sign-key "$key" --output "$out/$1/$arch/$2" "$out/$1/$arch"/*.apk; }

# One package has a later version, which APKINDEX.later.tar.gz offers.
greeting() {
	version=$1
	echo "$2" | file greeting 644 usr/share/greeting
	pack main greeting "A package to be upgraded"
}
greeting 1-r0 "as installed"
index main APKINDEX.tar.gz
index community APKINDEX.tar.gz
greeting 1-r1 "as upgraded"
index main APKINDEX.later.tar.gz
