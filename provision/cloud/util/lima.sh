# shellcheck shell=sh
# What the boot scripts share; they read it with `.`.

lima_warn() {
	printf 'lima: warning: %s\n' "$1" >&2
}

# NAME=VALUE lines without quotes into the environment; a name no shell knows would end the script.
lima_read_env() {
	while IFS= read -r line; do
		case ${line%%=*} in
		'' | [0-9]* | *[!A-Za-z0-9_]*) ;;
		*) export "${line?}" ;;
		esac
	done <"$1"
}

lima_environment() {
	for file in etc_environment param.env lima.env; do
		lima_read_env "$LIMA_CIDATA_MNT/$file"
	done
	export PATH="$LIMA_CIDATA_MNT/util:$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
}

# The value of LIMA_CIDATA_<the words, joined by _>.
lima_value() {
	eval "printf '%s' \"\${LIMA_CIDATA_$1:-}\""
}

# The agent's name for a file of provision[]: ".../00000007" is 07.
lima_number() {
	number=${1##*/}
	number=${number#"${number%%[!0]*}"}
	printf '%02d' "${number:-0}"
}

lima_agent() {
	"$LIMA_CIDATA_MNT/lima-guestagent" "$@"
}

# A command with the user's rights, in a login shell's environment.
lima_as_user() {
	if command -v sudo >/dev/null; then
		sudo -Hu "$LIMA_CIDATA_USER" "$@"
	else
		command=
		for word; do
			command="$command '$(printf '%s' "$word" | sed "s/'/'\\\\''/g")'"
		done
		su "$LIMA_CIDATA_USER" -c "$command"
	fi
}

# A user's systemd has a D-Bus: no program, but a unit.
lima_has_user_bus() {
	[ -e /usr/lib/systemd/user/dbus.socket ] || [ -e /lib/systemd/user/dbus.socket ]
}

# --- packages ---

# Installs packages by the guest's own package manager.
lima_install() {
	if command -v apt-get >/dev/null; then
		export DEBIAN_FRONTEND=noninteractive
		apt-get update -q && apt-get install -q -y --no-install-recommends "$@"
	elif command -v dnf >/dev/null; then
		dnf install -y "$@"
	elif command -v yum >/dev/null; then
		yum install -y "$@"
	elif command -v zypper >/dev/null; then
		zypper --non-interactive install "$@"
	elif command -v pacman >/dev/null; then
		pacman -Sy --noconfirm --needed "$@"
	elif command -v apk >/dev/null; then
		apk add --update-cache "$@"
	else
		lima_warn "no package manager is known here; install these yourself: $*"
		return 1
	fi
}

# --- files of others ---

# Puts standard input, which begins with #LIMA-START and ends with #LIMA-END, in place of such lines of a file. A file
# that says so already is not touched.
lima_block() {
	new=$(mktemp) && block=$(mktemp) || return
	cat >"$block"
	{
		[ ! -e "$1" ] || sed '/^#LIMA-START$/,/^#LIMA-END$/d' "$1"
		cat "$block"
	} >"$new"
	# Not by a rename: the file keeps its owner, mode and label.
	cmp -s "$new" "$1" || cat "$new" >"$1"
	status=$?
	rm -f "$new" "$block"
	return $status
}

# --- provision[] ---

# Carries out the entries of one mode. The agent does it, and tells the host how far it is; a plain guest has none.
lima_provision() {
	if [ -z "$LIMA_CIDATA_PLAIN" ]; then
		lima_agent provision "$1"
		return
	fi
	failed=0
	for file in "$LIMA_CIDATA_MNT/provision.$1"/*; do
		[ -f "$file" ] || continue
		case $1 in
		data) lima_put "$file" ;;
		yq) lima_edit "$file" ;;
		user) lima_user_script "$file" ;;
		*) "$file" ;;
		esac || { lima_warn "provision.$1/${file##*/} failed"; failed=1; }
	done
	return $failed
}

lima_put() {
	entry=DATAFILE_${1##*/}
	path=$(lima_value "${entry}_PATH")
	[ ! -e "$path" ] || [ "$(lima_value "${entry}_OVERWRITE")" = true ] || return 0
	mkdir -p "${path%/*}/" && cp "$1" "$path" && lima_own "$entry" "$path"
}

lima_own() {
	chown "$(lima_value "$1_OWNER")" "$2" && chmod "$(lima_value "$1_PERMISSIONS")" "$2"
}

lima_edit() {
	entry=YQ_PROVISION_${1##*/}
	path=$(lima_value "${entry}_PATH")
	command -v yq >/dev/null || { lima_warn "a plain guest needs a yq of its own for $path"; return 1; }
	mkdir -p "${path%/*}/" && touch "$path" &&
		yq --inplace --input-format "$(lima_value "${entry}_FORMAT")" --from-file "$1" "$path" &&
		lima_own "$entry" "$path"
}

# The user may not read the volume: the script is copied with the user's rights, to where Lima has it.
lima_user_script() {
	copy=$LIMA_CIDATA_HOME/.lima-user-script
	# shellcheck disable=SC2016 # for the user's shell
	lima_as_user sh -c 'rm -f "$1" && umask 077 && cat >"$1" && chmod 0700 "$1"' sh "$copy" <"$1" || return
	export XDG_RUNTIME_DIR="/run/user/$LIMA_CIDATA_UID"
	if command -v sudo >/dev/null; then
		names=$(sed -n 's/^\(PARAM_[A-Za-z0-9_]*\)=.*/\1,/p' "$LIMA_CIDATA_MNT/param.env" | tr -d '\n')
		sudo -iu "$LIMA_CIDATA_USER" "--preserve-env=${names}XDG_RUNTIME_DIR" "$copy"
	else
		su "$LIMA_CIDATA_USER" -c "cd && exec '$copy'"
	fi
	status=$?
	lima_as_user rm -f "$copy"
	return $status
}
