/* ga_client.h - a client of exec streams for the guest agent's tests. */
#ifndef LIMA_TESTS_GA_CLIENT_H
#define LIMA_TESTS_GA_CLIENT_H

#include "tests/unit/ga_host.h"

#include "lib/execproto.h"

static struct host host;

static inline int client_begin(void **state)
{
	(void)state;
	host_begin_with(&host, "env.FROM_SETTINGS=a b\nuser.name=root\nuser.home=/\nuser.shell=/bin/sh\n");
	return 0;
}

static inline int client_end(void **state)
{
	(void)state;
	host_end(&host);
	return 0;
}

struct client {
	struct peer peer;
	struct buf out, err;
	int status; /* -1: none yet */
	char failed[1000];
};

static inline void send_record(struct client *c, enum ep_type type, const void *payload, size_t n)
{
	uint8_t header[EP_HEADER];

	ep_header_pack(header, type, n);
	peer_write(&c->peer, header, sizeof(header));
	peer_write(&c->peer, payload, n);
}

static inline void run(struct client *c, const struct ep_start *s)
{
	const struct ap_open o = { .kind = AP_OPEN_EXEC };
	static uint8_t payload[EP_START_MAX];
	ssize_t n = ep_start_pack(s, payload, sizeof(payload));

	assert_true(n > 0);
	memset(c, 0, sizeof(*c));
	c->out = c->err = (struct buf)BUF_INIT(256 << 20);
	c->status = -1;
	peer_open(&host, &c->peer, &o);
	c->peer.keep = true;
	send_record(c, EP_START, payload, (size_t)n);
}

/* exec: not every login shell replaces itself by its last command, and signals go to the whole group. */
static inline void run_sh(struct client *c, const char *script)
{
	run(c, &(struct ep_start){ .term = "", .workdir = "", .shell = "", .argc = 4,
				   .argv = { "exec", "sh", "-c", script } });
}

/* Takes apart what has come. */
static inline void digest(struct client *c)
{
	struct buf *got = &c->peer.got;
	size_t at = 0, len;
	enum ep_type type;

	while (got->len - at >= EP_HEADER) {
		const uint8_t *p = (uint8_t *)got->data + at;

		assert_int_equal(ep_header_unpack(p, &type, &len), 0);
		if (got->len - at < EP_HEADER + len)
			break;
		p += EP_HEADER;
		at += EP_HEADER + len;
		assert_int_equal(c->status, -1); /* nothing comes after EXIT */
		if (type == EP_STDOUT)
			buf_add(&c->out, p, len);
		else if (type == EP_STDERR)
			buf_add(&c->err, p, len);
		else if (type == EP_EXIT)
			c->status = (int)(p[0] | (unsigned)p[1] << 8 | (unsigned)p[2] << 16 | (unsigned)p[3] << 24);
		else
			snprintf(c->failed, sizeof(c->failed), "%.*s", (int)len, (const char *)p);
	}
	if (at)
		buf_drop_front(got, at);
}

static inline bool has(struct client *c, const char *text)
{
	digest(c);
	return c->out.len && strstr(c->out.data, text);
}

/* Waits for the end and returns the status; the stream must end by itself. */
static inline int finish(struct client *c)
{
	host_until(&host, c->peer.end || c->peer.reset);
	assert_false(c->peer.reset);
	digest(c);
	mux_finish(c->peer.s);
	host_until(&host, c->peer.closed);
	return c->status;
}

static inline void done(struct client *c)
{
	buf_free(&c->peer.got);
	buf_free(&c->out);
	buf_free(&c->err);
}

static inline bool gone(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == ESRCH;
}

static inline pid_t pid_of(struct client *c)
{
	host_until(&host, has(c, "\n"));
	return (pid_t)atoi(c->out.data);
}

#endif
