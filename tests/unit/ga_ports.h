/* ga_ports.h - the guest's ports as a test wants them, in place of guestagent/ports.c: shared with the daemon's process. */
#ifndef LIMA_TESTS_GA_PORTS_H
#define LIMA_TESTS_GA_PORTS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "guestagent/ports.h"

static struct shared {
	volatile bool pending;
	volatile unsigned scans;
	volatile uint16_t port; /* told as listening by the next scan */
	volatile unsigned settling; /* scans until it is to be seen */
	volatile uint16_t many;     /* beside that many others, which differ from scan to scan */
	bool snapshot;
} *shared;

struct ports *ports_new(struct err *e)
{
	(void)e;
	return (struct ports *)shared;
}

void ports_free(struct ports *p)
{
	(void)p;
}

int ports_fd(const struct ports *p)
{
	(void)p;
	return -1;
}

int ports_interval(struct ports *p)
{
	(void)p;
	return shared->settling ? 5 : -1;
}

const char *ports_kind(const struct ports *p)
{
	(void)p;
	return "fake";
}

bool ports_pending(const struct ports *p)
{
	(void)p;
	return shared->pending;
}

int ports_scan(struct ports *p, struct ap_ports *out, struct err *e)
{
	(void)p;
	(void)e;
	shared->scans++;
	shared->pending = false;
	*out = (struct ap_ports){ .snapshot = shared->snapshot };
	shared->snapshot = false;
	if (shared->settling)
		shared->settling--;
	if (shared->port && !shared->settling) {
		out->count = 1;
		out->change[0].listening = true;
		out->change[0].port = (struct ap_port){ AP_TCP, 4, { 127, 0, 0, 1 }, shared->port };
	}
	for (unsigned i = 0; i < shared->many; i++)
		out->change[out->count++].port = (struct ap_port){ AP_TCP, 4, { 10 }, (uint16_t)(shared->scans + i) };
	return 0;
}

bool ports_by_rule(const struct ports *p, uint8_t proto, uint16_t port, struct ap_port *to)
{
	(void)p;
	(void)proto;
	(void)port;
	(void)to;
	return false;
}

void ports_forget(struct ports *p)
{
	(void)p;
	shared->snapshot = true;
}

static inline void shared_begin(void)
{
	if (!shared)
		shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(shared != MAP_FAILED);
	memset(shared, 0, sizeof(*shared));
}

#endif
