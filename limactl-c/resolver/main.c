/* resolver - answers the guest's questions with what the host's own resolver says. Run by the host agent:
 *   resolver [--ipv6]
 * with a socket as descriptor 3, on which come records (lib/dns_record.h): those of id 0 are names of the template, the others
 * questions. Answers go back in the order in which they are known. It ends with the socket.
 *
 * Resolving blocks, so there are threads, made when all others are busy. What needs no resolving is not kept waiting by it. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/dns_message.h"
#include "lib/dns_record.h"
#include "lib/io.h"
#include "lib/log.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/resolver/answer.h"
#include "limactl-c/resolver/host.h"

enum {
	CARRIER = 3,
	THREADS_MAX = 16,
	STACK_SIZE = 512 * 1024, /* modules of nsswitch.conf want some */
};

struct question {
	uint32_t id;
	size_t len;
	uint8_t message[DNS_QUESTION_MAX];
};

static struct {
	pthread_mutex_t lock, write_lock;
	pthread_cond_t more;
	struct question queue[DNS_IN_FLIGHT]; /* a ring */
	size_t first, count;
	unsigned threads, idle;
	struct answerer answerer; /* complete before the first question */
} r = { .lock = PTHREAD_MUTEX_INITIALIZER, .write_lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER,
	.answerer = { .host = &host_ops } };

/* record has room for DNS_RECORD_HEADER + DNS_MESSAGE_MAX bytes. */
static void answer_now(uint32_t id, const uint8_t *question, size_t len, uint8_t *record)
{
	size_t n = answer(&r.answerer, question, len, record + DNS_RECORD_HEADER);

	dns_record_pack(record, id, n);
	pthread_mutex_lock(&r.write_lock);
	if (io_write_full(CARRIER, record, DNS_RECORD_HEADER + n) < 0)
		_exit(0); /* the host agent is gone */
	pthread_mutex_unlock(&r.write_lock);
}

static void *work(void *out)
{
	uint8_t *record = out;

	pthread_mutex_lock(&r.lock);
	for (;;) {
		struct question q;

		r.idle++;
		while (!r.count)
			pthread_cond_wait(&r.more, &r.lock);
		r.idle--;
		q = r.queue[r.first];
		r.first = (r.first + 1) % DNS_IN_FLIGHT;
		r.count--;
		pthread_mutex_unlock(&r.lock);
		answer_now(q.id, q.message, q.len, record);
		pthread_mutex_lock(&r.lock);
	}
	return NULL;
}

static int start_thread(struct err *e)
{
	pthread_attr_t attr;
	pthread_t t;
	uint8_t *record = xmalloc(DNS_RECORD_HEADER + DNS_MESSAGE_MAX);
	int errnum;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	errnum = pthread_create(&t, &attr, work, record);
	pthread_attr_destroy(&attr);
	if (!errnum) {
		r.threads++;
		return 0;
	}
	free(record);
	errno = errnum;
	return r.threads ? 0 : err_errno(e, "no thread");
}

static int add_question(uint32_t id, const uint8_t *p, size_t n, struct err *e)
{
	struct question *q;
	int status = 0;

	pthread_mutex_lock(&r.lock);
	if (r.count == DNS_IN_FLIGHT || n > DNS_QUESTION_MAX) {
		status = err_set(e, ERR_INVALID, "a question of %zu bytes, with %zu waiting", n, r.count);
	} else {
		q = &r.queue[(r.first + r.count) % DNS_IN_FLIGHT];
		q->id = id;
		q->len = n;
		memcpy(q->message, p, n);
		r.count++;
		if (r.idle < r.count && r.threads < THREADS_MAX)
			status = start_thread(e);
		pthread_cond_signal(&r.more);
	}
	pthread_mutex_unlock(&r.lock);
	return status;
}

/* One record; 0 at the end. */
static int take_record(struct err *e)
{
	static uint8_t payload[UINT16_MAX], record[DNS_RECORD_HEADER + DNS_MESSAGE_MAX];
	uint8_t header[DNS_RECORD_HEADER];
	ssize_t k = io_read_full(CARRIER, header, sizeof(header));
	uint32_t id;
	size_t n;

	if (k == 0)
		return 0;
	if (k != (ssize_t)sizeof(header))
		return err_set(e, ERR_INVALID, "half a record");
	id = dns_record_id(header);
	n = dns_record_len(header);
	if (io_read_full(CARRIER, payload, n) != (ssize_t)n)
		return err_set(e, ERR_INVALID, "half a record");
	if (id && n <= DNS_QUESTION_MAX && !answer_needs_host(&r.answerer, payload, n)) {
		answer_now(id, payload, n, record);
		return 1;
	}
	if (id)
		return add_question(id, payload, n, e) < 0 ? -1 : 1;
	if (!answerer_add(&r.answerer, (const char *)payload, n))
		log_warn("hostResolver.hosts: \"%.*s\" is no name with an address or a name", (int)n, (const char *)payload);
	return 1;
}

int main(int argc, char **argv)
{
	struct err e = { 0 };
	int status = 1;

	log_init("resolver", STDERR_FILENO, LOG_JSON, LOG_INFO_);
	signal(SIGPIPE, SIG_IGN);
	r.answerer.ipv6 = argc == 2 && !strcmp(argv[1], "--ipv6");
	if (argc > 1 && !r.answerer.ipv6) {
		log_error("usage: resolver [--ipv6]");
		return 2;
	}
	while (status > 0)
		status = take_record(&e);
	if (status < 0)
		log_error("resolver: %s", e.msg);
	_exit(status < 0); /* threads may hang in a lookup */
}
