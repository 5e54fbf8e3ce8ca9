/* docker_api.h - follows requests and answers of one connection to docker.sock, without holding them up: is work under way?
 *
 * Both sides are read as HTTP/1.x, as far as it takes to know where a message ends. What is none, or more than is expected,
 * makes the connection one of which only its bytes are known; it is passed on all the same.
 */
#ifndef LIMA_HOSTAGENT_DOCKER_API_H
#define LIMA_HOSTAGENT_DOCKER_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	DOCKER_LINE_MAX = 256, /* kept of a line: what matters stands at its beginning */
	DOCKER_PENDING_MAX = 8,
	DOCKER_QUESTION_MAX = 4096, /* a longer head is none */
};

/* Where one side is. */
enum docker_at { DOCKER_AT_START, DOCKER_AT_HEADER, DOCKER_AT_BODY, DOCKER_AT_CHUNK, DOCKER_AT_DATA, DOCKER_AT_GAP,
		 DOCKER_AT_TRAILER, DOCKER_AT_REST };

struct docker_side {
	enum docker_at at;
	char line[DOCKER_LINE_MAX]; /* of the line being read, without its end */
	size_t len;
	uint64_t left; /* of the body, or of a chunk of it */
	bool chunked, has_length;
};

/* A request without its whole answer. */
struct docker_request {
	bool follows; /* it is answered as things happen, which may be never */
	bool head;    /* HEAD: no body follows */
};

struct docker_api {
	struct docker_side asks, answers;
	struct docker_request request, pending[DOCKER_PENDING_MAX]; /* being read; oldest first */
	size_t pendings;
	int status;    /* of the answer being read */
	bool switched; /* 101: from now on it is something else */
	bool works;    /* … which is work */
	bool lost;     /* it is not followed any more */
};

void docker_api_asked(struct docker_api *d, const void *bytes, size_t n);    /* went to the guest; d is zeroed at first */
void docker_api_answered(struct docker_api *d, const void *bytes, size_t n); /* came from there */
bool docker_api_works(const struct docker_api *d);  /* somebody waits for work to be done */
bool docker_api_is_http(const struct docker_api *d); /* false: only its bytes are known */
bool docker_api_at_rest(const struct docker_api *d); /* every request that has begun has its whole answer */

/* What the first bytes of a request at rest are. */
enum docker_verdict {
	DOCKER_IS_PART,     /* they may become a question */
	DOCKER_IS_QUESTION, /* one whole request that changes nothing in the engine (recall.h), and nothing behind it */
	DOCKER_IS_USE,      /* anything else, also what is no HTTP */
};
enum docker_verdict docker_api_judge(const char *p, size_t n);

#endif
