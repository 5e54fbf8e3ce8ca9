/* http.h - the little of HTTP/1.1 that the control socket speaks: one request a connection, answers with a length. */
#ifndef LIMA_HOSTAGENT_HTTP_H
#define LIMA_HOSTAGENT_HTTP_H

#include <stddef.h>

#include "lib/buf.h"

enum {
	HTTP_HEAD_MAX = 8 * 1024, /* request line and headers */
	HTTP_BODY_MAX = 64 * 1024,
	HTTP_METHOD_MAX = 15,
	HTTP_PATH_MAX = 255,
};

struct http_request {
	char method[HTTP_METHOD_MAX + 1];
	char path[HTTP_PATH_MAX + 1]; /* without the query */
	const char *body;             /* into the bytes given */
	size_t body_len;
	size_t used; /* bytes of the request; what follows belongs to the protocol switched to */
	/* When http_parse() failed: */
	int status;       /* answer with it */
	const char *why;
};

/* Looks at what has arrived so far. 1: *r is complete; 0: more is needed; -1: refuse with r->status and r->why. */
int http_parse(const char *p, size_t n, struct http_request *r);

/* Appends a whole answer with a JSON body, after which the connection is closed. */
int http_answer(struct buf *out, int status, const char *json);

/* Appends the head of an answer without a length; extra are header lines, each ended by CRLF. */
int http_head(struct buf *out, int status, const char *extra);

/* The status code of an HTTP/1.x answer's first line; 0 when more bytes are needed, -1 when it is none. */
int http_status(const char *p, size_t n);

#endif
