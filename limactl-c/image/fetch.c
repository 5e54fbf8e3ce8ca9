#include "limactl-c/image/fetch.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
	CONNECT_SECONDS = 30,
	STALL_SECONDS = 60,
	REDIRECTS_MAX = 10,
};

struct download {
	struct sink *to;
	struct err *err;
	bool write_failed; /* err says why */
	bool show;         /* stderr is a terminal */
	int percent;       /* last shown, -1 at first */
	const char *name;  /* last part of the URL, for the progress line */
};

static size_t on_data(char *p, size_t size, size_t n, void *arg)
{
	struct download *d = arg;

	if (sink_write(d->to, p, size * n, d->err) == 0)
		return size * n;
	d->write_failed = true;
	return 0;
}

static int on_progress(void *arg, curl_off_t total, curl_off_t now, curl_off_t up_total, curl_off_t up)
{
	struct download *d = arg;
	int percent = total > 0 ? (int)(now * 100 / total) : -1;

	(void)up_total;
	(void)up;
	if (percent == d->percent)
		return 0;
	d->percent = percent;
	fprintf(stderr, "\r%s %d%% of %lld MiB\033[K", d->name, percent, (long long)(total >> 20));
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

static CURLcode transfer(CURL *curl, const char *url, struct download *d, char *why)
{
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
	curl_easy_setopt(curl, CURLOPT_MAXREDIRS, (long)REDIRECTS_MAX);
	curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)STALL_SECONDS);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "limactl-c/" VERSION);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_data);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, d);
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, d->show ? 0L : 1L);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, d);
	use_certificates(curl);
	return curl_easy_perform(curl);
}

int fetch_url(const char *url, struct sink *to, struct err *e)
{
	struct download d = { .to = to, .err = e, .show = isatty(STDERR_FILENO), .percent = -1 };
	char why[CURL_ERROR_SIZE] = "";
	CURLcode r;
	CURL *curl;

	d.name = strrchr(url, '/') ? strrchr(url, '/') + 1 : url;
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || !(curl = curl_easy_init()))
		return err_set(e, ERR_SYS, "libcurl cannot start");
	r = transfer(curl, url, &d, why);
	curl_easy_cleanup(curl);
	curl_global_cleanup();
	if (d.show && d.percent >= 0)
		fputs("\r\033[K", stderr);
	if (d.write_failed)
		return err_wrap(e, "cannot download %s", url);
	if (r != CURLE_OK)
		return err_set(e, ERR_SYS, "cannot download %s: %s", url, *why ? why : curl_easy_strerror(r));
	return 0;
}
