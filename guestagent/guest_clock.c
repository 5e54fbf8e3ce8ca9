#include "guestagent/guest_clock.h"

#include <time.h>
#include <unistd.h>

#include "guestagent/session.h"
#include "lib/agentproto.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/log.h"

#define NS 1000000000ULL

static void watch_changes(struct ga *ga)
{
	struct ga_clock *c = &ga->clock;

	if (c->changed_fd < 0 || c->changed.fd >= 0)
		return;
	c->changed.fd = c->changed_fd;
	if (ga_loop_add(&ga->loop, &c->changed, EPOLLIN) < 0)
		log_error("changes of the clock cannot be watched");
}

static void arm(struct ga *ga)
{
	struct ga_clock *c = &ga->clock;
	int64_t ms = c->sync.ask_at - clock_boot_ms();

	if (c->sync.ask_at)
		ga_timer_set(&ga->loop, &c->timer, ms > 0 ? (int)ms : 0);
}

/* Without a link nobody is asked: the host tells the time when there is one again. */
static void on_timer(struct ga_timer *t)
{
	struct ga *ga = ga_of(t, struct ga, clock.timer);
	uint64_t stamp = clock_sync_ask(&ga->clock.sync, clock_boot_ms());
	uint8_t body[8];
	ssize_t n = ap_time_pack(stamp, body, sizeof(body));

	watch_changes(ga);
	if (n > 0 && mux_is_up(ga->mux))
		mux_send(ga->mux, AP_MSG_CLOCK, body, (size_t)n);
}

/* Not watched again before it is asked: a program that sets the clock in a loop does not keep us busy. */
static void on_changed(struct ga_watch *w, uint32_t events)
{
	struct ga *ga = ga_of(w, struct ga, clock.changed);
	uint64_t expirations;

	(void)events;
	if (read(ga->clock.changed_fd, &expirations, sizeof(expirations)) >= 0)
		return; /* it expired, in 2094 */
	ga_loop_del(&ga->loop, w);
	clock_sync_changed(&ga->clock.sync, clock_boot_ms());
	arm(ga);
}

void ga_clock_start(struct ga *ga)
{
	struct ga_clock *c = &ga->clock;

	c->ours = ga->carrier.port;
	c->timer.fn = on_timer;
	c->changed = (struct ga_watch){ -1, on_changed };
	c->changed_fd = c->ours ? clock_changes_open() : -1;
	watch_changes(ga);
}

void ga_clock_stop(struct ga *ga)
{
	ga_timer_stop(&ga->loop, &ga->clock.timer);
	ga_loop_del(&ga->loop, &ga->clock.changed);
	cleanup_closep(&ga->clock.changed_fd);
}

static void set(struct ga *ga, uint64_t target)
{
	struct timespec ts = { .tv_sec = (time_t)(target / NS), .tv_nsec = (long)(target % NS) };

	if (ga->clock.ours && target && clock_settime(CLOCK_REALTIME, &ts) < 0)
		log_error("the clock cannot be set");
}

int ga_clock_told(struct ga *ga, const uint8_t *body, size_t len)
{
	uint64_t host;

	if (ap_time_unpack(&host, body, len) < 0)
		return -1;
	set(ga, clock_sync_told(&ga->clock.sync, host, clock_real_ns(), clock_boot_ms()));
	if (ga->clock.ours)
		arm(ga);
	return 0;
}

int ga_clock_answered(struct ga *ga, const uint8_t *body, size_t len)
{
	struct ap_clock a;

	if (ap_clock_unpack(&a, body, len) < 0)
		return -1;
	set(ga, clock_sync_answered(&ga->clock.sync, a.stamp, a.ns, clock_real_ns(), clock_boot_ms()));
	if (ga->clock.ours)
		arm(ga);
	return 0;
}
