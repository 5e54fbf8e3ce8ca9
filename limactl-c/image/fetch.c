#include "limactl-c/image/fetch.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"
#include "limactl-c/base/env.h"
#include "limactl-c/base/mem.h"

enum {
	CONNECT_SECONDS = 30,
	STALL_SECONDS = 60,
	REDIRECTS_MAX = 10,
	SHOW_MS = 200,
	WHOLE = 200,
	PART = 206,
	RANGE_NOT_SATISFIABLE = 416,
};
#define MIB (1024.0 * 1024.0)

struct download {
	struct fetch *f;
	struct fetch_answer answer;
	struct err *err;
	bool begun, failed; /* failed: err says why */
	bool show;          /* stderr is a terminal */
	int64_t started, shown; /* ms */
	uint64_t had;       /* bytes of an earlier try */
	const char *name;   /* last part of the URL, for the progress line */
};

/* Others, like a redirect to nowhere, come with words for people. */
static int check_status(const struct download *d)
{
	long status = d->answer.status;

	return status == WHOLE || status == PART ? 0 : err_set(d->err, ERR_INVALID, "the server answered %ld", status);
}

/* The first byte of the answer's body: does it go on where we are? */
static int begin(struct download *d)
{
	struct fetch *f = d->f;

	if (check_status(d) < 0)
		return -1;
	d->begun = true;
	if (d->answer.status == PART && d->answer.range_start != f->to->len)
		return err_set(d->err, ERR_INVALID, "the server sent another part than was asked for");
	if (d->answer.status == WHOLE) {
		d->had = 0;
		if (f->to->len && sink_restart(f->to, d->err) < 0)
			return -1;
	}
	memcpy(f->validator, d->answer.validator, sizeof(f->validator));
	return f->began ? f->began(f->arg, f->validator, d->err) : 0;
}

static size_t on_data(char *p, size_t size, size_t n, void *arg)
{
	struct download *d = arg;

	if ((!d->begun && begin(d) < 0) || sink_write(d->f->to, p, size * n, d->err) < 0) {
		d->failed = true;
		return 0;
	}
	return size * n;
}

static size_t on_header(char *line, size_t size, size_t n, void *arg)
{
	struct download *d = arg;

	fetch_header(&d->answer, line, size * n);
	return size * n;
}

static int on_progress(void *arg, curl_off_t total, curl_off_t now, curl_off_t up_total, curl_off_t up)
{
	struct download *d = arg;
	int64_t ms = clock_ms(), taken = ms - d->started;
	double rate = taken > 0 ? (double)now * 1000 / (double)taken : 0;
	double have = (double)d->had + (double)now, all = (double)d->had + (double)total;

	(void)up_total;
	(void)up;
	if (total <= 0 || ms - d->shown < SHOW_MS)
		return 0;
	d->shown = ms;
	fprintf(stderr, "\r%s %.0f%% of %.1f MiB, %.1f MiB/s, %.0f s left\033[K", d->name, have * 100 / all, all / MIB,
		rate / MIB, rate > 0 ? (all - have) / rate : 0);
	return 0;
}

/* libcurl as a library does not look at the variables its command line tool and others go by. */
static void use_certificates(CURL *curl)
{
	static const char *const variables[] = { "CURL_CA_BUNDLE", "SSL_CERT_FILE" };

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *file = getenv(variables[i]);

		if (file && *file) {
			curl_easy_setopt(curl, CURLOPT_CAINFO, file);
			return;
		}
	}
}

/* As Go has it, and with it Lima: HTTP_PROXY counts too, which libcurl leaves out because a web server's programs get it from
 * strangers; and what this machine serves itself is never asked of a proxy. */
static void use_proxies(CURL *curl)
{
	const char *upper = getenv("HTTP_PROXY"), *direct = getenv("no_proxy");
	auto_free char *list = NULL;

	if (upper && *upper)
		setenv("http_proxy", upper, 0);
	if (!direct || !*direct)
		direct = getenv("NO_PROXY");
	if (direct && !strcmp(direct, "*"))
		return;
	list = xasprintf("localhost,127.0.0.0/8,::1,%s", direct ? direct : "");
	curl_easy_setopt(curl, CURLOPT_NOPROXY, list);
}

static long seconds(unsigned usual)
{
	unsigned given = env_seconds("LIMACTL_C_FETCH_SECONDS", usual);

	return given < usual ? given : usual;
}

static CURLcode transfer(CURL *curl, struct download *d, struct curl_slist *headers, char *why)
{
	curl_easy_setopt(curl, CURLOPT_URL, d->f->url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
	curl_easy_setopt(curl, CURLOPT_MAXREDIRS, (long)REDIRECTS_MAX);
	curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, seconds(CONNECT_SECONDS));
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, seconds(STALL_SECONDS));
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "limactl-c/" VERSION);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, d);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_data);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, d);
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, d->show ? 0L : 1L);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, d);
	use_certificates(curl);
	use_proxies(curl);
	return curl_easy_perform(curl);
}

/* One try; from the beginning when the server cannot go on where we are. */
static CURLcode attempt(CURL *curl, struct download *d, char *why)
{
	struct fetch *f = d->f;
	struct curl_slist *headers = NULL;
	CURLcode r;

	d->started = clock_ms();
	d->had = f->to->len;
	if (f->to->len && *f->validator) {
		auto_free char *range = xasprintf("Range: bytes=%llu-", (unsigned long long)f->to->len);
		auto_free char *only = xasprintf("If-Range: %s", f->validator);

		headers = curl_slist_append(curl_slist_append(NULL, range), only);
	}
	r = transfer(curl, d, headers, why);
	curl_slist_free_all(headers);
	return r;
}

/* There is no more of the file than we have, says the server, which still calls it the same. */
static bool is_complete(const struct download *d)
{
	const struct fetch_answer *a = &d->answer;

	return a->status == RANGE_NOT_SATISFIABLE && !d->begun && d->f->to->len && a->total == d->f->to->len &&
	       (!*a->validator || !strcmp(a->validator, d->f->validator));
}

/* OpenSSL's numbers: a certificate signed by itself, a chain that ends in one, an issuer that is not found. */
static bool is_signed_by_a_stranger(CURL *curl)
{
	long v = 0;

	curl_easy_getinfo(curl, CURLINFO_SSL_VERIFYRESULT, &v);
	return v >= 18 && v <= 20;
}

/* What a transfer failed with, in words that help where libcurl's do not. */
static int explain(CURL *curl, const struct download *d, CURLcode r, const char *why)
{
	const char *url = d->f->url, *more = *d->f->validator && d->f->to->len ? "; the next try goes on from there" : "";
	curl_off_t connected = 0;

	curl_easy_getinfo(curl, CURLINFO_PRETRANSFER_TIME_T, &connected);
	switch (r) {
	case CURLE_HTTP_RETURNED_ERROR:
		return err_set(d->err, ERR_SYS, "cannot download %s: the server answered %ld", url, d->answer.status);
	case CURLE_UNSUPPORTED_PROTOCOL:
		return err_set(d->err, ERR_SYS, "cannot download %s: %s", url, d->answer.status ?
			       "it leads to what is neither http nor https" : "the server does not speak HTTP");
	case CURLE_OPERATION_TIMEDOUT:
		return err_set(d->err, ERR_TIMEOUT, "cannot download %s: %s %ld s%s", url,
			       connected ? "nothing arrived for" : "no connection within",
			       seconds(connected ? STALL_SECONDS : CONNECT_SECONDS), more);
	case CURLE_PEER_FAILED_VERIFICATION:
		return err_set(d->err, ERR_SYS, "cannot download %s: %s%s", url, why, is_signed_by_a_stranger(curl) ?
			       "; SSL_CERT_FILE may name a file with certificates to trust" : "");
	default:
		return err_set(d->err, ERR_SYS, "cannot download %s: %s%s", url, *why ? why : curl_easy_strerror(r), more);
	}
}

int fetch_url(struct fetch *f, struct err *e)
{
	struct download d = { .f = f, .err = e, .show = isatty(STDERR_FILENO) };
	char why[CURL_ERROR_SIZE] = "";
	bool complete;
	CURLcode r;
	CURL *curl;

	d.name = strrchr(f->url, '/') ? strrchr(f->url, '/') + 1 : f->url;
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || !(curl = curl_easy_init()))
		return err_set(e, ERR_SYS, "libcurl cannot start");
	r = attempt(curl, &d, why);
	complete = is_complete(&d);
	if (complete) {
		r = CURLE_OK;
	} else if (d.answer.status == RANGE_NOT_SATISFIABLE && !d.begun && sink_restart(f->to, e) == 0) {
		f->validator[0] = '\0';
		r = attempt(curl, &d, why);
	}
	if (r != CURLE_OK && !d.failed)
		explain(curl, &d, r, why);
	curl_easy_cleanup(curl);
	curl_global_cleanup();
	if (d.shown)
		fputs("\r\033[K", stderr);
	if (d.failed || (r == CURLE_OK && !complete && check_status(&d) < 0))
		return err_wrap(e, "cannot download %s", f->url);
	if (r != CURLE_OK)
		return -1;
	/* An empty file has no first byte that would have replaced what was there. */
	return d.begun || complete || !f->to->len ? 0 : sink_restart(f->to, e);
}
