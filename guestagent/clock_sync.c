#include "guestagent/clock_sync.h"

#include "lib/log.h"

#define MS 1000000ULL
#define SECOND (1000 * MS)
#define SLACK (100 * MS)
#define YEAR_2020 (1577836800ULL * SECOND)
#define YEAR_2200 (7258118400ULL * SECOND)

enum {
	GAP_LEAST = 500,
	GAP_MOST = 32000,
	GAP_FORGET = 60000, /* ms after the last setting, when the next is no quarrel any more */
	ROUND_TRIP_MOST = 2000,
	UNSURE_MOST = 8,
};

static bool makes_sense(struct clock_sync *c, uint64_t host)
{
	bool good = host >= YEAR_2020 && host <= YEAR_2200;

	if (!good && !c->complained) {
		c->complained = true;
		log_warn("the host's time makes no sense and is ignored");
	}
	return good;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static void want_to_ask(struct clock_sync *c, int64_t boot)
{
	int64_t at = boot;

	if (!c->gap || boot - c->set_at > GAP_FORGET)
		c->gap = GAP_LEAST;
	if (c->asked_at && c->asked_at + c->gap > at)
		at = c->asked_at + c->gap;
	if (!c->ask_at || at < c->ask_at)
		c->ask_at = at;
}

uint64_t clock_sync_told(struct clock_sync *c, uint64_t host, uint64_t own, int64_t boot)
{
	if (!makes_sense(c, host) || distance(host, own) <= SLACK)
		return 0;
	c->unsure = 0;
	want_to_ask(c, boot);
	return host > own ? host : 0;
}

void clock_sync_changed(struct clock_sync *c, int64_t boot)
{
	c->unsure = 0;
	want_to_ask(c, boot);
}

uint64_t clock_sync_ask(struct clock_sync *c, int64_t boot)
{
	c->ask_at = 0;
	c->asked_at = boot;
	c->asked = true;
	return (uint64_t)boot;
}

uint64_t clock_sync_answered(struct clock_sync *c, uint64_t stamp, uint64_t host, uint64_t own, int64_t boot)
{
	uint64_t trip, off;

	/* An answer to an earlier question says nothing that the next one does not say better. */
	if (!c->asked || stamp != (uint64_t)c->asked_at || boot < c->asked_at)
		return 0;
	c->asked = false;
	if (!makes_sense(c, host))
		return 0;
	trip = (uint64_t)(boot - c->asked_at) * MS;
	host += trip / 2;
	off = distance(host, own);
	if (trip > ROUND_TRIP_MOST * MS || (off > SLACK && off <= trip / 2)) {
		if (c->unsure++ < UNSURE_MOST)
			want_to_ask(c, boot);
		return 0;
	}
	c->unsure = 0;
	if (off <= SLACK)
		return 0;
	c->set_at = boot;
	c->gap = c->gap * 2 < GAP_MOST ? c->gap * 2 : GAP_MOST;
	return host;
}
