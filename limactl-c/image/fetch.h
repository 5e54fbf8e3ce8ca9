/* fetch.h - HTTP downloads through libcurl. What servers say is not trusted. */
#ifndef LIMA_IMAGE_FETCH_H
#define LIMA_IMAGE_FETCH_H

#include "limactl-c/image/sink.h"

enum { FETCH_VALIDATOR_MAX = 255 };

struct fetch {
	const char *url;
	struct sink *to; /* may hold the first bytes already */
	/* What those bytes are a part of ("": not known, then all is fetched anew); afterwards what was fetched now. */
	char validator[FETCH_VALIDATOR_MAX + 1];
	int (*began)(void *arg, const char *validator, struct err *e); /* before the first byte is written */
	void *arg;
};

/* Follows redirects, heeds the proxy variables of the environment, gives up when nothing arrives for a minute, or for
 * $LIMACTL_C_FETCH_SECONDS if that is less. Goes on where f->to ends when the server still has the same file. Shows percentages,
 * rate and time left on stderr when that is a terminal. On failure f->to holds what arrived. */
int fetch_url(struct fetch *f, struct err *e);

/* Reads a header line of the answer into what matters of it; for the tests and the fuzzer. */
struct fetch_answer {
	long status;
	uint64_t range_start; /* of a 206; UINT64_MAX: not said */
	uint64_t total;       /* of the whole file, by a 206 or 416; UINT64_MAX: not said */
	char validator[FETCH_VALIDATOR_MAX + 1]; /* a strong ETag, else Last-Modified; "" */
};
void fetch_header(struct fetch_answer *a, const char *line, size_t len);

#endif
