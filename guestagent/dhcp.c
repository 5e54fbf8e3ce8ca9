#include "guestagent/dhcp.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guestagent/net.h"
#include "guestagent/setup.h"
#include "guestagent/setup_steps.h"
#include "guestagent/trouble.h"
#include "lib/log.h"

#define SCRIPT RUN_DIR "/dhcp"

static int variable(const char *name, struct in_addr *a, struct err *e)
{
	const char *text = getenv(name);

	if (text && inet_pton(AF_INET, text, a) == 1)
		return 0;
	return err_set(e, ERR_INVALID, "the DHCP server's %s, \"%.64s\", is no IPv4 address", name, text ? text : "");
}

/* Ones, then zeros. */
static bool is_mask(struct in_addr mask)
{
	uint32_t zeros = ~ntohl(mask.s_addr);

	return mask.s_addr && (zeros & (zeros + 1)) == 0;
}

/* The address a list begins with, and its text. */
static bool first_of(const char *list, char text[INET_ADDRSTRLEN], struct in_addr *a)
{
	size_t n = strcspn(list, " ");

	snprintf(text, INET_ADDRSTRLEN, "%.*s", n < INET_ADDRSTRLEN ? (int)n : 0, list);
	return inet_pton(AF_INET, text, a) == 1;
}

static void read_dns(struct dhcp_lease *l)
{
	const char *list = getenv("dns");
	struct in_addr a;

	for (size_t n; list && *list && l->dns_count < DHCP_DNS_MAX; list += n + (list[n] == ' ')) {
		n = strcspn(list, " ");
		l->dns_count += first_of(list, l->dns[l->dns_count], &a);
	}
}

int dhcp_lease_read(struct dhcp_lease *l, struct err *e)
{
	const char *card = getenv("interface"), *router = getenv("router");
	char text[INET_ADDRSTRLEN];

	*l = (struct dhcp_lease){ 0 };
	if (!card || !*card || strlen(card) >= sizeof(l->card))
		return err_set(e, ERR_INVALID, "udhcpc names no network card");
	snprintf(l->card, sizeof(l->card), "%s", card);
	if (variable("ip", &l->net.address, e) < 0 || variable("subnet", &l->net.mask, e) < 0)
		return -1;
	if (!is_mask(l->net.mask))
		return err_set(e, ERR_INVALID, "the DHCP server's subnet, \"%.64s\", is no network mask", getenv("subnet"));
	if (router && *router && !first_of(router, text, &l->net.gateway))
		return err_set(e, ERR_INVALID, "the DHCP server's router, \"%.64s\", is no IPv4 address", router);
	read_dns(l);
	return 0;
}

int dhcp_name_servers(const struct setup *su, const struct dhcp_lease *l, struct err *e)
{
	auto_buf text = BUF_INIT(1024);
	int bad = 0;

	if (settings_get(su->settings, "net.dns", NULL))
		return net_dns(su, e);
	for (size_t i = 0; i < l->dns_count; i++)
		bad |= buf_addf(&text, "nameserver %s\n", l->dns[i]);
	if (bad)
		return err_set(e, ERR_SYS, "no memory");
	/* Without any those of an earlier lease may still do. */
	return l->dns_count ? su_block(su, "/etc/resolv.conf", text.data, e) : 0;
}

static bool ends_within(pid_t pid, int ms)
{
	struct pollfd p = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	int n = p.fd < 0 ? 1 : poll(&p, 1, ms);

	if (p.fd >= 0)
		close(p.fd);
	return n != 0;
}

int dhcp_start(const struct setup *su, const char *card, int wait_ms, struct err *e)
{
	/* Five questions, a second apart; without an answer it goes on in the background. */
	const char *const argv[] = { "udhcpc", "-i", card, "-s", SCRIPT, "-t", "5", "-T", "1", "-A", "10", "-b", NULL };
	pid_t pid;

	if (su_write(su, SCRIPT, "#!/bin/sh\nexec " RUN_DIR "/agent dhcp \"$1\"\n", 0755, e) < 0 || (pid = su_start(argv, e)) < 0)
		return -1;
	/* A card without a link keeps it from giving up. */
	if (ends_within(pid, wait_ms) && su_wait(pid, argv[0], e) < 0)
		return -1;
	return net_has_address(card) ? 0 : err_set(e, ERR_TIMEOUT, "no DHCP server has answered yet");
}

/* --- what udhcpc tells --- */

static int bound(const struct setup *su, struct err *e)
{
	struct dhcp_lease l;

	if (dhcp_lease_read(&l, e) < 0 || net_configure(l.card, &l.net, e) < 0 || dhcp_name_servers(su, &l, e) < 0)
		return -1;
	trouble_over(su, "network"); /* it may have come late */
	return 0;
}

/* At its begin, and when a lease is lost: the routes go with the address. */
static int unbound(const struct setup *su, struct err *e)
{
	const char *card = getenv("interface");

	(void)su;
	return net_clear(card ? card : "", e);
}

int dhcp_main(int argc, char **argv)
{
	static const struct {
		const char *event;
		int (*run)(const struct setup *su, struct err *e);
	} events[] = { { "bound", bound }, { "renew", bound }, { "deconfig", unbound } };
	static struct settings settings;
	struct setup su = { &settings, "" };
	auto_buf text = BUF_INIT(SETTINGS_SIZE_MAX);
	struct err e = { 0 };

	log_init("lima-guestagent", STDERR_FILENO, LOG_TEXT, LOG_INFO_);
	settings_load(&settings, RUN_DIR "/settings", &text, &e); /* without them by defaults */
	for (size_t i = 0; argc == 2 && i < sizeof(events) / sizeof(events[0]); i++)
		if (strcmp(argv[1], events[i].event) == 0 && events[i].run(&su, &e) < 0) {
			log_error("dhcp: %s", e.msg);
			return 1;
		}
	return 0; /* what else it tells needs nothing to be done */
}
