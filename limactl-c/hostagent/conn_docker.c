/* conn_docker.c - what a connection is to the sleep of the machine: what of it is use, and Docker's questions, which are held. */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/hostagent/conn_own.h"

/* --- what of it is use of the guest --- */

static struct use *use_of(struct conn *c)
{
	return guest_use(c->all->guest);
}

static bool is_command(const struct conn *c)
{
	return c->kind == CONN_JOB || c->kind == CONN_LOGIN;
}

static void count_requests(struct conn *c, bool works)
{
	if (works != c->works)
		use_of(c)->requests += works ? 1 : (size_t)-1;
	c->works = works;
}

void conn_note_asked(struct conn *c, const void *p, size_t n)
{
	if (c->docker) {
		docker_conn_asked(c->docker, use_of(c), p, n);
		count_requests(c, docker_api_works(&c->docker->api));
	} else {
		use_note(use_of(c), USE_STREAM);
	}
	if (!c->docker || !docker_api_is_http(&c->docker->api))
		use_asked(use_of(c), &c->asker);
}

void conn_note_answered(struct conn *c, const void *p, size_t n)
{
	use_answered(&c->asker);
	if (!c->docker) {
		use_note(use_of(c), USE_STREAM);
		return;
	}
	docker_conn_answered(c->docker, use_of(c), p, n);
	count_requests(c, docker_api_works(&c->docker->api));
}

/* It is there, or gone. */
void conn_note_begun(struct conn *c)
{
	static const enum use_kind kinds[] = {
		[CONN_SOCKET] = USE_SOCKET, [CONN_PORT] = USE_PORT, [CONN_DOCKER] = USE_SOCKET,
		[CONN_LOGIN] = USE_COMMAND, [CONN_JOB] = USE_COMMAND,
	};

	if (c->kind == CONN_DOCKER)
		c->docker = docker_conn_new(c->all->recall);
	if (is_command(c))
		use_of(c)->commands++;
	/* What a client of Docker is shows when it has asked for something. */
	c->used = !c->docker || !c->docker->recall;
	if (c->used)
		use_note(use_of(c), kinds[c->kind]);
}

void conn_note_gone(struct conn *c)
{
	use_answered(&c->asker);
	count_requests(c, false);
	docker_conn_free(c->docker);
	if (is_command(c))
		use_of(c)->commands--;
	if (c->used)
		use_of(c)->last = clock_ms(); /* nobody wants anything of it, but quiet begins now */
}

/* --- Docker's questions --- */

/* No stream was asked for, since the client has not said enough. */
bool conn_is_unopened(const struct conn *c)
{
	return c->docker && c->docker->request;
}

/* A part of an answer from memory. */
bool conn_owes(const struct conn *c)
{
	return c->docker && c->docker->late.len;
}

/* -1: c is gone. */
int conn_pay(struct conn *c)
{
	struct buf *late = &c->docker->late;

	while (late->len) {
		ssize_t k = send(c->fd, late->data, late->len, MSG_NOSIGNAL);

		if (k >= 0) {
			buf_drop_front(late, (size_t)k);
			if (c->tally)
				c->tally->to_host += (uint64_t)k;
		} else if (errno == EAGAIN) {
			c->out_blocked = true;
			return 0;
		} else if (errno != EINTR) {
			conn_abort(c, MUX_RESET_ABORT);
			return -1;
		}
	}
	buf_free(late);
	return 0;
}

/* Asks for the stream with what was held; on_opened() follows, now or later, so c may be gone afterwards. */
static void open_stream(struct conn *c)
{
	auto_free uint8_t *request = steal(&c->docker->request);

	if (buf_add(&c->early, c->docker->head.data, c->docker->head.len) < 0)
		abort(); /* it holds half a window, which is more */
	buf_free(&c->docker->head);
	conn_update(c);
	if (!guest_is_up(c->all->guest))
		watch_breaks(c->watch); /* who gives up before there is a link is not kept */
	guest_open(c->all->guest, &c->st, request, c->docker->request_len);
}

/* As pump_in(), of what was held. */
static int pass_held(struct conn *c)
{
	struct buf *head = &c->docker->head;

	/* While the machine is gone nothing else would tell that it is wanted. */
	docker_conn_note(c->docker, use_of(c), USE_SOCKET);
	c->used |= !c->docker->quiet;
	if (conn_is_unopened(c)) {
		open_stream(c);
		return -1;
	}
	conn_note_asked(c, head->data, head->len);
	mux_write(c->st.mux, head->data, head->len); /* there is room, see conn_holds() */
	if (c->tally)
		c->tally->to_guest += head->len;
	buf_free(head);
	return 1;
}

bool conn_holds(struct conn *c)
{
	return c->docker && docker_conn_holds(c->docker) &&
	       (conn_is_unopened(c) || mux_room_for(c->st.mux, DOCKER_QUESTION_MAX + 1));
}

/* The client will say no more: what there is of a request goes on. */
static int end_held(struct conn *c)
{
	if (c->docker->head.len)
		return pass_held(c); /* and the end is read again */
	if (conn_is_unopened(c)) {
		conn_free(c); /* it wanted nothing */
		return -1;
	}
	c->in_ended = true;
	mux_finish(c->st.mux);
	return 0;
}

/* As pump_in(): reads until it is known what it is. */
int conn_hold(struct conn *c)
{
	struct buf *head = &c->docker->head;
	size_t n = DOCKER_QUESTION_MAX + 1 - head->len;
	char *p = buf_reserve(head, n);
	ssize_t k;

	if (!p)
		abort(); /* within its maximum */
	do
		k = read(c->fd, p, n);
	while (k < 0 && errno == EINTR);
	if (k == 0 && !c->broken)
		return end_held(c);
	if (k <= 0) {
		if (k < 0 && errno == EAGAIN)
			return 0;
		conn_abort(c, MUX_RESET_ABORT);
		return -1;
	}
	buf_commit(head, (size_t)k);
	switch (docker_conn_judge(c->docker, guest_is_up(c->all->guest))) {
	case DOCKER_MORE:
		return 1;
	case DOCKER_PASS:
		return pass_held(c);
	default:
		return conn_pay(c);
	}
}
