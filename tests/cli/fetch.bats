# fetch: downloads from servers and through proxies as bad as real ones (tests/helpers/web.py), in a network of their own.
. "$BATS_TEST_DIRNAME/../helpers/cli.bash"

setup_file() {
	export tls=$BATS_FILE_TMPDIR
	key() { openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$tls/$1.key" -subj "/CN=$1" "${@:2}" 2>&1; }
	key ca -x509 -out "$tls/ca.pem" -days 2
	key web -out "$tls/web.csr"
	openssl x509 -req -in "$tls/web.csr" -CA "$tls/ca.pem" -CAkey "$tls/ca.key" -days 2 -out "$tls/web.pem" \
		-extfile <(echo subjectAltName=DNS:images.test,IP:192.0.2.1)
}

# The world: 192.0.2.1 serves; whoever asks 192.0.2.9 waits in vain. No name is known.
setup() {
	cli_setup
	unset http_proxy https_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY CURL_CA_BUNDLE SSL_CERT_FILE
	# shellcheck disable=SC2154 # set by setup_file
	head -c 300000 /dev/urandom >"$LIMA_HOME/body"
	unshare -n sh -c 'ip link set lo up && ip addr add 192.0.2.1/32 dev lo &&
		ip link add nowhere type veth peer name end && ip link set end up && ip link set nowhere up &&
		ip route add 192.0.2.9/32 dev nowhere && ip neigh add 192.0.2.9 lladdr 02:00:00:00:00:09 dev nowhere &&
		exec python3 "$@"' - tests/helpers/web.py "$LIMA_HOME/body" "$LIMA_HOME/.port" "$LIMA_HOME/.served" \
		"$tls/web.pem" "$tls/web.key" 3>&- &
	SERVER=$!
	wait_until 20 test -s "$LIMA_HOME/.port"
	read -r PORT TLS_PORT <"$LIMA_HOME/.port"
	URL=http://192.0.2.1:$PORT
	TLS=https://192.0.2.1:$TLS_PORT
}
teardown() { cli_teardown; }

get() { nsenter -t "$SERVER" -n timeout 30 "$OUT/libexec/limactl-c/image" get "$@"; }
served() { grep -sc -- "$1" "$LIMA_HOME/.served" || true; }
files() { find "$XDG_CACHE_HOME/limactl-c/$1" -type f | wc -l; }
forget() { rm -rf "$XDG_CACHE_HOME" "$LIMA_HOME/.served"; }

# gives URL: it is fetched whole, and nothing else is left.
gives() {
	local path
	path=$(get "$1")
	cmp "$path" "$LIMA_HOME/body"
	equals "$(files partial) $(files tmp)" "0 0"
}

# fails URL WHY: one sentence, and nothing in the cache but WHAT was got (0, or 2: the part and its note).
fails() {
	run -1 --separate-stderr get "$1"
	equals "$output" ""
	contains "$stderr" "image: cannot download $1: $2"
	equals "$(wc -l <<<"$stderr")" 1
	equals "$(files objects) $(files tmp) $(files partial)" "0 0 ${3:-0}"
	equals "$(find "$XDG_CACHE_HOME/limactl-c" -type l | wc -l)" 0
}

@test "redirects: relative, to another host, to https; bounded; never out of the web" {
	local to
	gives "$URL/image"
	for to in /image image "http://localhost:$PORT/image" "/to?/to?/image" "//127.0.0.1:$PORT/image"; do
		forget
		gives "$URL/to?$to"
	done
	forget
	SSL_CERT_FILE=$tls/ca.pem gives "$URL/to?$TLS/image"
	forget
	fails "$URL/loop" "Maximum (10) redirects followed"
	equals "$(served /loop)" 11
	for to in file:///etc/passwd ftp://192.0.2.1/x gopher://x/ dict://x/ scp://x/ telnet://x; do
		fails "$URL/to?$to" "it leads to what is neither http nor https"
	done
	fails "$URL/to?" "the server answered 302"
	fails "$URL/to?http://[x" "The redirect target URL could not be parsed"
}

@test "what a server answers that is no file: one sentence, nothing kept" {
	local n
	for n in 204 300 304 400 401 403 404 410 416 429 500 503; do
		fails "$URL/status?$n" "the server answered $n"
	done
	fails "$URL/reset?now" "Recv failure: Connection reset by peer"
	fails "$URL/reset" "Recv failure: Connection reset by peer"
	fails "$URL/not-http" "the server does not speak HTTP"
	fails "$URL/endless-headers" "Too large response headers"
	fails "http://192.0.2.1:1/image" "Failed to connect to 192.0.2.1 port 1"
	fails "http://images.test/image" "Could not resolve host: images.test"
	fails "http://192.0.2.1:99999/image" "URL using bad/illegal format"
}

@test "a length that is not the file's" {
	fails "$URL/too-long" "transfer closed with 1000 bytes remaining to read"
	gives "$URL/no-length"
	forget
	run -1 get "$URL/too-short" --digest "sha256:$(sha256sum <"$LIMA_HOME/body" | cut -d ' ' -f 1)"
	contains "$output" "wrong digest"
	equals "$(files objects) $(files tmp) $(files partial)" "0 0 0"
}

@test "a cut download goes on where the server can and still has the same, else begins anew" {
	local how
	for how in cut no-ranges changed; do
		forget
		fails "$URL/$how" "transfer closed with 150000 bytes remaining to read; the next try goes on from there" 2
		gives "$URL/$how"
		equals "$(served "/$how")" 2
	done
	# One that does not say what it has is not believed to have it still.
	forget
	fails "$URL/no-name" "transfer closed with 150000 bytes remaining to read"
	gives "$URL/no-name"
}

@test "a server that falls silent is left in time; what it sent is gone on with" {
	export LIMACTL_C_FETCH_SECONDS=1
	fails "$URL/silent" "nothing arrived for 1 s"
	fails "$URL/stall" "nothing arrived for 1 s; the next try goes on from there" 2
	LIMACTL_C_FETCH_SECONDS='' gives "$URL/stall"
	forget
	fails "http://192.0.2.9/image" "no connection within 1 s"
	# It takes connections, but says nothing that belongs to TLS.
	fails "https://192.0.2.1:$PORT/image" "no connection within 1 s"
}

@test "https: certificates by SSL_CERT_FILE and CURL_CA_BUNDLE; others are refused in words" {
	SSL_CERT_FILE=$tls/ca.pem gives "$TLS/image"
	forget
	CURL_CA_BUNDLE=$tls/ca.pem SSL_CERT_FILE=/dev/null gives "$TLS/image"
	forget
	fails "$TLS/image" "SSL certificate problem: unable to get local issuer certificate; SSL_CERT_FILE may name a file with certificates to trust"
	export SSL_CERT_FILE=$tls/ca.pem
	fails "https://localhost:$TLS_PORT/image" "SSL: no alternative certificate subject name matches target host name 'localhost'"
	[[ $stderr != *SSL_CERT_FILE* ]]
	SSL_CERT_FILE=/nowhere fails "$TLS/image" "error setting certificate file: /nowhere"
	[ ! -e "$LIMA_HOME/.served" ]
}

@test "proxies: by either case, the lower one decides; not for this machine itself" {
	local v nobody=http://192.0.2.1:1
	for v in http_proxy HTTP_PROXY all_proxy; do
		export "$v=$URL"
		gives http://images.test/image
		equals "$(served '^GET http://images.test/image ')" 1
		unset "$v"
		forget
	done
	for v in https_proxy HTTPS_PROXY; do
		export "$v=$URL"
		SSL_CERT_FILE=$tls/ca.pem gives https://images.test/image
		equals "$(served '^CONNECT images.test:443 ') $(served '^GET /image ')" "1 1"
		unset "$v"
		forget
	done
	HTTP_PROXY=$nobody http_proxy=$URL gives http://images.test/image
	forget
	HTTPS_PROXY=$nobody https_proxy=$URL SSL_CERT_FILE=$tls/ca.pem gives https://images.test/image
	forget
	HTTP_PROXY=$URL https_proxy=$nobody gives http://images.test/image
	forget
	export http_proxy=$nobody
	fails "$URL/image" "Failed to connect to 192.0.2.1 port 1"
	gives "http://127.0.0.1:$PORT/image"
	gives "http://localhost:$PORT/image"
	gives "http://[::1]:$PORT/image"
	forget
	http_proxy=$URL fails 'http://images.test/status?407' 'the server answered 407'
	LIMACTL_C_FETCH_SECONDS=1 http_proxy=http://192.0.2.9 fails http://images.test/image "no connection within 1 s"
}

@test "no_proxy: names, suffixes, networks, all" {
	local v none
	export HTTP_PROXY=$URL
	gives "$URL/image"
	equals "$(served "^GET $URL/image")" 1
	for v in no_proxy NO_PROXY; do
		for none in 192.0.2.1 'x, 192.0.2.0/24' '*'; do
			forget
			export "$v=$none"
			gives "$URL/image"
			equals "$(served '^GET /image')" 1
			unset "$v"
		done
		forget
		for none in images.test .test test; do
			export "$v=$none"
			fails http://images.test/image "Could not resolve host: images.test"
			unset "$v"
		done
	done
	no_proxy=mages.test,192.0.3.0/24 gives http://images.test/image
	# A redirect is asked of whom its own host says.
	forget
	no_proxy=192.0.2.1 gives "$URL/to?http://images.test/image"
	equals "$(served '^GET /to') $(served '^GET http://images.test/image ')" "1 1"
}

@test "on a terminal: percentage, rate and time left; elsewhere not a word" {
	run -0 --separate-stderr get "$URL/slow"
	equals "$stderr" ""
	forget
	run -0 nsenter -t "$SERVER" -n script -qec "'$OUT/libexec/limactl-c/image' get $URL/slow" /dev/null
	[[ $output =~ 'slow '[1-9][0-9]'% of 0.3 MiB, 0.'[0-9]' MiB/s, '[01]' s left' ]]
}

@test "create: a failed download is said once, and leaves no instance; the next image is tried" {
	local body
	unset LIMACTL_C_DRIVER
	cat >"$LIMA_HOME/t.yaml" <<-YAML
		images:
		- {location: "$URL/status?404", arch: $(uname -m)}
		- {location: "$URL/image", arch: riscv64}
		- {location: "$URL/cut", arch: $(uname -m)}
		memory: 512MiB
		disk: 1GiB
		mounts: []
	YAML
	create() { nsenter -t "$SERVER" -n limactl-c create --tty=false --name one "$LIMA_HOME/t.yaml"; }
	run -1 create
	contains "$output" "cannot download $URL/status?404: the server answered 404; trying the next"
	contains "$output" "level=fatal"
	equals "$(grep -c "cannot download $URL/cut: transfer closed" <<<"$output")" 1
	[ ! -e "$LIMA_HOME/one" ]
	create
	body=$(qemu-img info --output json "$LIMA_HOME/one/disk" | jq -r '."full-backing-filename"')
	cmp "$body" "$LIMA_HOME/body"
	equals "$(served /image)" 0
}
