#include "limactl-c/hostagent/docker_api.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct pattern {
	const char *method, *path; /* "*" is one part of the path */
};

/* Requests that are answered as things happen. */
static const struct pattern followers[] = {
	{ "GET", "/events" },
	{ "GET", "/containers/*/logs" },
	{ "GET", "/services/*/logs" },
	{ "GET", "/tasks/*/logs" },
	{ "GET", "/containers/*/stats" },
	{ "GET", "/containers/*/attach/ws" },
	{ "POST", "/containers/*/attach" },
	{ "POST", "/containers/*/wait" },
	{ "POST", "/exec/*/start" },
	{ NULL, NULL },
};

/* Requests that change nothing and whose answers change only when something in the engine does. */
static const struct pattern questions[] = {
	{ "GET", "/_ping" },
	{ "HEAD", "/_ping" },
	{ "GET", "/version" },
	{ "GET", "/info" },
	{ "GET", "/containers/json" },
	{ "GET", "/containers/*/json" },
	{ "GET", "/images/json" },
	{ "GET", "/images/*/json" },
	{ "GET", "/volumes" },
	{ "GET", "/volumes/*" },
	{ "GET", "/networks" },
	{ "GET", "/networks/*" },
	{ NULL, NULL },
};

static bool fits(const char *pattern, const char *path)
{
	while (*pattern) {
		if (*pattern == '*') {
			pattern++;
			path += strcspn(path, "/");
		} else if (*pattern++ != *path++) {
			return false;
		}
	}
	return !*path;
}

/* "/v1.41/events" is "/events". */
static const char *without_version(const char *path)
{
	size_t n;

	if (strncmp(path, "/v", 2))
		return path;
	n = strspn(path + 2, "0123456789.");
	return n && path[2 + n] == '/' ? path + 2 + n : path;
}

/* The target loses its query. */
static bool is_one_of(const struct pattern *known, const char *method, char *target)
{
	const char *path = without_version(target);

	target[strcspn(target, "?")] = '\0';
	for (; known->method; known++)
		if (!strcmp(known->method, method) && fits(known->path, path))
			return true;
	return false;
}

/* "GET /path HTTP/1.1"; a long target may have been cut. */
static int request_line(struct docker_api *d, char *line)
{
	char *target = strchr(line, ' '), *version;

	if (!target || target == line || target[1] != '/')
		return -1;
	*target++ = '\0';
	version = strchr(target, ' ');
	if (version)
		*version = '\0';
	for (const char *c = line; *c; c++)
		if (*c < 'A' || *c > 'Z')
			return -1;
	d->request = (struct docker_request){ .follows = is_one_of(followers, line, target), .head = !strcmp(line, "HEAD") };
	return 0;
}

/* "HTTP/1.1 200 OK" */
static int status_line(struct docker_api *d, const char *line)
{
	if (strncmp(line, "HTTP/1.", 7) || strlen(line) < 12 || line[8] != ' ')
		return -1;
	d->status = atoi(line + 9);
	return d->status < 100 || d->status > 999 ? -1 : 0;
}

/* Decimal or hexadecimal, and nothing else up to a stop character; -1 when it is none, or too large to be meant. */
static int number(const char *s, int base, const char *stop, uint64_t *out)
{
	static const char digits[] = "0123456789abcdef";
	const char *start = s;

	for (*out = 0; *s && !strchr(stop, *s); s++) {
		const char *digit = memchr(digits, *s >= 'A' && *s <= 'F' ? *s + 'a' - 'A' : *s, (size_t)base);

		if (!digit || *out >> 56)
			return -1;
		*out = *out * (uint64_t)base + (uint64_t)(digit - digits);
	}
	return s == start ? -1 : 0;
}

static int header(struct docker_side *s, const char *line)
{
	const char *value = strchr(line, ':');
	size_t name = value ? (size_t)(value - line) : 0;

	if (!name)
		return -1;
	value += 1 + strspn(value + 1, " \t");
	if (name == 17 && !strncasecmp(line, "Transfer-Encoding", name))
		s->chunked = strcasestr(value, "chunked");
	if (name != 14 || strncasecmp(line, "Content-Length", name))
		return 0;
	s->has_length = true;
	return number(value, 10, " \t", &s->left);
}

static void begin_body(struct docker_side *s, bool rest)
{
	s->at = s->chunked ? DOCKER_AT_CHUNK : s->has_length && s->left ? DOCKER_AT_BODY : rest ? DOCKER_AT_REST : DOCKER_AT_START;
}

static int end_of_request_head(struct docker_api *d)
{
	if (d->pendings == DOCKER_PENDING_MAX)
		return -1;
	d->pending[d->pendings++] = d->request;
	begin_body(&d->asks, false);
	return 0;
}

static void answered_one(struct docker_api *d)
{
	memmove(d->pending, d->pending + 1, --d->pendings * sizeof(*d->pending));
	d->answers.at = DOCKER_AT_START;
}

static int end_of_answer_head(struct docker_api *d)
{
	struct docker_side *s = &d->answers;

	if (!d->pendings)
		return -1;
	if (d->status == 101) {
		d->switched = true;
		d->works = !d->pending[0].follows;
	} else if (d->status < 200) {
		s->at = DOCKER_AT_START; /* the answer follows */
	} else if (d->pending[0].head || d->status == 204 || d->status == 304 || (s->has_length && !s->left && !s->chunked)) {
		answered_one(d);
	} else {
		begin_body(s, true);
	}
	return 0;
}

static int end_of_head(struct docker_api *d, struct docker_side *s)
{
	return s == &d->asks ? end_of_request_head(d) : end_of_answer_head(d);
}

static void end_of_body(struct docker_api *d, struct docker_side *s)
{
	if (s == &d->asks)
		s->at = DOCKER_AT_START;
	else
		answered_one(d);
}

static int start_line(struct docker_api *d, struct docker_side *s)
{
	if (!*s->line)
		return 0; /* some clients send an empty line more */
	s->at = DOCKER_AT_HEADER;
	s->chunked = s->has_length = false;
	s->left = 0;
	return s == &d->asks ? request_line(d, s->line) : status_line(d, s->line);
}

static int chunk_line(struct docker_side *s)
{
	if (number(s->line, 16, "; \t", &s->left) < 0)
		return -1;
	s->at = s->left ? DOCKER_AT_DATA : DOCKER_AT_TRAILER;
	return 0;
}

/* -1: this is no HTTP. */
static int take_line(struct docker_api *d, struct docker_side *s)
{
	if (s->len && s->line[s->len - 1] == '\r')
		s->len--;
	s->line[s->len] = '\0';
	if (strlen(s->line) != s->len)
		return -1;
	s->len = 0;
	switch (s->at) {
	case DOCKER_AT_START:
		return start_line(d, s);
	case DOCKER_AT_HEADER:
		return *s->line ? header(s, s->line) : end_of_head(d, s);
	case DOCKER_AT_CHUNK:
		return chunk_line(s);
	case DOCKER_AT_GAP: /* behind a chunk */
		s->at = DOCKER_AT_CHUNK;
		return *s->line ? -1 : 0;
	default:
		if (!*s->line)
			end_of_body(d, s);
		return 0;
	}
}

/* Bytes of a body; how many were used. */
static size_t take_body(struct docker_api *d, struct docker_side *s, size_t n)
{
	if (s->at == DOCKER_AT_REST)
		return n;
	n = n < s->left ? n : (size_t)s->left;
	s->left -= n;
	if (s->left)
		return n;
	if (s->at == DOCKER_AT_DATA)
		s->at = DOCKER_AT_GAP;
	else
		end_of_body(d, s);
	return n;
}

static void take(struct docker_api *d, struct docker_side *s, const char *p, size_t n)
{
	while (n && !d->lost && !d->switched) {
		const char *end;
		size_t k, room = DOCKER_LINE_MAX - 1 - s->len;

		if (s->at == DOCKER_AT_BODY || s->at == DOCKER_AT_DATA || s->at == DOCKER_AT_REST) {
			k = take_body(d, s, n);
		} else {
			end = memchr(p, '\n', n);
			k = end ? (size_t)(end - p) : n;
			memcpy(s->line + s->len, p, k < room ? k : room);
			s->len += k < room ? k : room;
			if (end && take_line(d, s) < 0)
				d->lost = true;
			k += end ? 1 : 0;
		}
		p += k;
		n -= k;
	}
}

void docker_api_asked(struct docker_api *d, const void *bytes, size_t n)
{
	/* Behind an answer that only the connection's end ends comes what a command reads. */
	if (d->answers.at != DOCKER_AT_REST)
		take(d, &d->asks, bytes, n);
}

void docker_api_answered(struct docker_api *d, const void *bytes, size_t n)
{
	take(d, &d->answers, bytes, n);
}

bool docker_api_works(const struct docker_api *d)
{
	if (d->lost)
		return false;
	if (d->switched)
		return d->works;
	for (size_t i = 0; i < d->pendings; i++)
		if (!d->pending[i].follows)
			return true;
	/* A request of which only a part has come is not work yet; its bytes are use. */
	return false;
}

bool docker_api_is_http(const struct docker_api *d)
{
	return !d->lost && !d->switched;
}

bool docker_api_at_rest(const struct docker_api *d)
{
	return docker_api_is_http(d) && !d->pendings && d->asks.at == DOCKER_AT_START && !d->asks.len &&
	       d->answers.at == DOCKER_AT_START && !d->answers.len;
}

/* --- questions --- */

/* Their methods; what has come may be a part of one. */
static bool may_begin(const char *p, size_t n)
{
	static const char *const starts[] = { "GET /", "HEAD /" };

	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (!memcmp(p, starts[i], n < strlen(starts[i]) ? n : strlen(starts[i])))
			return true;
	return false;
}

/* Headers with which the request is more than a question, or the connection is another afterwards. */
static bool has_more(const char *headers)
{
	static const char *const names[] = { "Content-Length:", "Transfer-Encoding:", "Upgrade:", "Expect:", "Connection: close" };

	for (const char *line = strchr(headers, '\n'); line; line = strchr(line + 1, '\n'))
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
			if (!strncasecmp(line + 1, names[i], strlen(names[i])))
				return true;
	return false;
}

static bool is_question(const char *p, size_t n)
{
	char head[DOCKER_QUESTION_MAX + 1], *target, *version, *end;

	memcpy(head, p, n);
	head[n] = '\0';
	if (strlen(head) != n || has_more(head))
		return false;
	end = strstr(head, "\r\n");
	target = strchr(head, ' ');
	version = target ? strchr(target + 1, ' ') : NULL;
	if (!end || !version || version > end)
		return false;
	*end = *target = *version = '\0';
	return !strcmp(version + 1, "HTTP/1.1") && is_one_of(questions, head, target + 1);
}

enum docker_verdict docker_api_judge(const char *p, size_t n)
{
	const char *end = n ? memmem(p, n, "\r\n\r\n", 4) : NULL;

	if (n > DOCKER_QUESTION_MAX || !may_begin(p, n))
		return DOCKER_IS_USE;
	if (!end)
		return n < DOCKER_QUESTION_MAX ? DOCKER_IS_PART : DOCKER_IS_USE;
	return end + 4 == p + n && is_question(p, n) ? DOCKER_IS_QUESTION : DOCKER_IS_USE;
}
