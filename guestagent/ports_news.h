/* ports_news.h - what the kernel noticed and no dump has shown yet: when to look, and when enough was seen.
 *
 * Most UDP sockets of a busy machine live for a moment. One that came and went before anybody looked is no news, and the
 * others are looked for together: rarely enough to cost nothing, soon enough for whoever waits. Nothing noticed is dropped
 * before a dump that began after it. Pure logic, the clock is the caller's.
 */
#ifndef LIMA_PORTS_NEWS_H
#define LIMA_PORTS_NEWS_H

#include <stdbool.h>
#include <stdint.h>

#include "guestagent/ports_dump.h"
#include "guestagent/ports_events.h"

enum { PORT_NEWS_MAX = 64 };

struct port_news {
	struct port_noticed {
		struct port_event ev;
		int64_t since; /* ms, when it was noticed */
		int64_t until; /* ms, when to stop looking for it; 0: no dump was made since */
	} item[PORT_NEWS_MAX];
	size_t count;
	int64_t looked; /* ms, the last dump; in the future after one that failed */
};

/* known: the sockets of the last dump, so that what they say already is no news. */
void port_news_add(struct port_news *n, const struct port_event *ev, const struct port_socks *known, int64_t now);
int64_t port_news_due(const struct port_news *n); /* when to look, in ms; INT64_MAX: there is nothing to look for */
void port_news_seen(struct port_news *n, const struct port_socks *now_there, int64_t now); /* what a dump showed */
void port_news_failed(struct port_news *n, int64_t now); /* there was no dump: not at once again */

#endif
