#include "limactl-c/hostagent/http.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

static const struct {
	int status;
	const char *text;
} reasons[] = {
	{ 101, "Switching Protocols" },
	{ 200, "OK" },
	{ 400, "Bad Request" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 409, "Conflict" },
	{ 413, "Content Too Large" },
	{ 431, "Request Header Fields Too Large" },
	{ 500, "Internal Server Error" },
	{ 501, "Not Implemented" },
	{ 503, "Service Unavailable" },
};

static int refuse(struct http_request *r, int status, const char *why)
{
	r->status = status;
	r->why = why;
	return -1;
}

/* Copies the word that ends at the first stop character; NULL when it is empty, too long or has no end before end. */
static const char *word(char *dst, size_t max, const char *p, const char *end, char stop)
{
	const char *q = memchr(p, stop, (size_t)(end - p));

	if (!q || q == p || (size_t)(q - p) > max)
		return NULL;
	for (const char *c = p; c < q; c++) {
		if (*c <= ' ' || *c > '~')
			return NULL;
	}
	memcpy(dst, p, (size_t)(q - p));
	dst[q - p] = '\0';
	return q + 1;
}

static int request_line(const char *p, const char *end, struct http_request *r)
{
	char version[9];
	char *query;

	p = word(r->method, HTTP_METHOD_MAX, p, end, ' ');
	p = p ? word(r->path, HTTP_PATH_MAX, p, end, ' ') : NULL;
	p = p ? word(version, sizeof(version) - 1, p, end, '\r') : NULL;
	if (!p || *p != '\n' || strncmp(version, "HTTP/1.", 7) || r->path[0] != '/')
		return refuse(r, 400, "malformed request line");
	query = strchr(r->path, '?');
	if (query)
		*query = '\0';
	return 0;
}

static bool name_is(const char *p, size_t n, const char *name)
{
	return n == strlen(name) && !strncasecmp(p, name, n);
}

static int content_length(const char *p, const char *end, struct http_request *r)
{
	size_t n = 0;

	if (p == end)
		return refuse(r, 400, "malformed Content-Length");
	for (; p < end; p++) {
		if (*p < '0' || *p > '9')
			return refuse(r, 400, "malformed Content-Length");
		n = n * 10 + (size_t)(*p - '0');
		if (n > HTTP_BODY_MAX)
			return refuse(r, 413, "the body is too large");
	}
	r->body_len = n;
	return 0;
}

/* One header line, without its CRLF. Only those that frame the request matter. */
static int header(const char *p, const char *end, bool *has_length, struct http_request *r)
{
	const char *colon = memchr(p, ':', (size_t)(end - p)), *value;
	size_t name;

	if (!colon || colon == p || memchr(p, '\0', (size_t)(end - p)) || memchr(p, ' ', (size_t)(colon - p)))
		return refuse(r, 400, "malformed header");
	name = (size_t)(colon - p);
	for (value = colon + 1; value < end && (*value == ' ' || *value == '\t'); value++)
		;
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	if (name_is(p, name, "Transfer-Encoding"))
		return refuse(r, 501, "a body without Content-Length is not taken");
	if (!name_is(p, name, "Content-Length"))
		return 0;
	if (*has_length)
		return refuse(r, 400, "more than one Content-Length");
	*has_length = true;
	return content_length(value, end, r);
}

int http_parse(const char *p, size_t n, struct http_request *r)
{
	size_t look = n < HTTP_HEAD_MAX ? n : HTTP_HEAD_MAX;
	const char *end = memmem(p, look, "\r\n\r\n", 4), *line;
	bool has_length = false;

	memset(r, 0, sizeof(*r));
	if (!end)
		return look == HTTP_HEAD_MAX ? refuse(r, 431, "the request's head is too large") : 0;
	end += 2; /* each line now ends in CRLF before end */
	if (request_line(p, end, r) < 0)
		return -1;
	for (line = (const char *)memmem(p, (size_t)(end - p), "\r\n", 2) + 2; line < end;) {
		const char *stop = memmem(line, (size_t)(end - line), "\r\n", 2);

		if (header(line, stop, &has_length, r) < 0)
			return -1;
		line = stop + 2;
	}
	r->body = end + 2;
	r->used = (size_t)(r->body - p) + r->body_len;
	return r->used <= n;
}

int http_head(struct buf *out, int status, const char *extra)
{
	const char *text = "";

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
		if (reasons[i].status == status)
			text = reasons[i].text;
	}
	return buf_addf(out, "HTTP/1.1 %d %s\r\n%s\r\n", status, text, extra);
}

int http_answer(struct buf *out, int status, const char *json)
{
	char extra[120];

	snprintf(extra, sizeof(extra),
		 "Content-Type: application/json\r\nContent-Length: %zu\r\nConnection: close\r\n", strlen(json) + 1);
	return http_head(out, status, extra) < 0 || buf_addf(out, "%s\n", json) < 0 ? -1 : 0;
}

int http_status(const char *p, size_t n)
{
	static const char start[] = "HTTP/1.";
	int status = 0;

	if (memcmp(p, start, n < sizeof(start) - 1 ? n : sizeof(start) - 1))
		return -1;
	if (n < 13) /* "HTTP/1.1 200 " */
		return 0;
	if (p[8] != ' ' || (p[12] != ' ' && p[12] != '\r'))
		return -1;
	for (int i = 9; i < 12; i++) {
		if (p[i] < '0' || p[i] > '9')
			return -1;
		status = status * 10 + (p[i] - '0');
	}
	return status < 100 ? -1 : status;
}
