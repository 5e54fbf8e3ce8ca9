#include "limactl-c/hostagent/docker_conn.h"

#include <stdlib.h>

#include "limactl-c/base/mem.h"

struct docker_conn *docker_conn_new(struct recall *r)
{
	struct docker_conn *d = xcalloc(1, sizeof(*d));

	d->recall = r;
	d->head.max = DOCKER_QUESTION_MAX + 2;
	d->question.max = DOCKER_QUESTION_MAX + 2;
	d->late.max = d->answer.max = RECALL_ANSWER_MAX + 1;
	return d;
}

void docker_conn_free(struct docker_conn *d)
{
	if (!d)
		return;
	buf_free(&d->head);
	buf_free(&d->late);
	buf_free(&d->question);
	buf_free(&d->answer);
	free(d->request);
	free(d);
}

bool docker_conn_holds(const struct docker_conn *d)
{
	return d->recall && docker_api_at_rest(&d->api);
}

static void stop_keeping(struct docker_conn *d)
{
	d->keeps = false;
	buf_free(&d->question);
	buf_free(&d->answer);
}

void docker_conn_hurries(struct docker_conn *d)
{
	d->asks = d->quiet = false;
	stop_keeping(d);
}

enum docker_step docker_conn_judge(struct docker_conn *d, bool up)
{
	enum docker_verdict v = docker_api_judge(d->head.data, d->head.len);
	const struct buf *known;

	if (v == DOCKER_IS_PART)
		return DOCKER_MORE;
	docker_conn_hurries(d);
	if (v == DOCKER_IS_USE)
		return DOCKER_PASS;
	known = recall_find(d->recall, d->head.data, d->head.len);
	if (known && recall_is_asleep(d->recall) && buf_add(&d->late, known->data, known->len) == 0) {
		buf_free(&d->head);
		return DOCKER_RECALL;
	}
	d->asks = true;
	d->quiet = known && up && recall_is_awake(d->recall);
	d->keeps = buf_add(&d->question, d->head.data, d->head.len) == 0;
	d->asked = recall_asked(d->recall);
	return DOCKER_PASS;
}

void docker_conn_note(const struct docker_conn *d, struct use *u, enum use_kind kind)
{
	if (d->asks && !d->quiet)
		use_note_question(u);
	else if (!d->asks)
		use_note(u, kind);
}

void docker_conn_asked(struct docker_conn *d, struct use *u, const void *p, size_t n)
{
	docker_conn_note(d, u, USE_STREAM);
	docker_api_asked(&d->api, p, n);
}

void docker_conn_answered(struct docker_conn *d, struct use *u, const void *p, size_t n)
{
	docker_conn_note(d, u, USE_STREAM);
	docker_api_answered(&d->api, p, n);
	if (!d->keeps)
		return;
	if (d->answer.len + n > RECALL_ANSWER_MAX || buf_add(&d->answer, p, n) < 0) {
		stop_keeping(d);
	} else if (docker_api_at_rest(&d->api)) {
		recall_keep(d->recall, d->asked, &d->question, &d->answer);
		stop_keeping(d);
	}
}
