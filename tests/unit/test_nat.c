/* The list of rules and when it counts: the kernel's side of netlink is the test's, in place of libc's calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "guestagent/nat.h"
#include "tests/unit/nat_rules_recorded.h"

enum { SIZE_MAX_OF_RULE = 4096 };

/* How the next lists end. */
static enum { WHOLE, REFUSED, CHANGED_MEANWHILE, CUT } ending;
static unsigned lists, events, asked;
static uint32_t seq;
static enum { NOTHING, RULE, END } next;

ssize_t send(int fd, const void *p, size_t n, int flags)
{
	(void)fd;
	(void)flags;
	seq = ((const struct nlmsghdr *)p)->nlmsg_seq;
	lists++;
	next = ending == REFUSED ? END : RULE;
	return (ssize_t)n;
}

/* One rule that publishes a port. */
static uint32_t put_rule(uint8_t *p)
{
	const struct recorded *r = recorded;
	size_t n;

	while (!r->publishes.proto || strcmp(r->publishes.addr, "0.0.0.0"))
		assert_ptr_not_equal(++r, recorded + sizeof(recorded) / sizeof(recorded[0]));
	n = strlen(r->hex) / 2;
	for (size_t i = 0; i < n; i++) {
		char two[] = { r->hex[2 * i], r->hex[2 * i + 1], '\0' };

		p[i] = (uint8_t)strtoul(two, NULL, 16);
	}
	return (uint32_t)n;
}

ssize_t recv(int fd, void *p, size_t n, int flags)
{
	struct nlmsghdr *h = p;

	(void)fd;
	if (flags & MSG_DONTWAIT) {
		errno = EAGAIN;
		if (!events)
			return -1;
		events -= !(flags & MSG_PEEK);
		return 1;
	}
	assert_true(n > SIZE_MAX_OF_RULE);
	if (next == NOTHING || (next == END && ending == CUT)) {
		errno = EAGAIN;
		return -1;
	}
	*h = (struct nlmsghdr){ .nlmsg_seq = seq, .nlmsg_len = NLMSG_LENGTH(0), .nlmsg_type = 0x100 };
	if (next == RULE)
		h->nlmsg_len += put_rule((uint8_t *)p + NLMSG_HDRLEN);
	else
		h->nlmsg_type = ending == REFUSED ? NLMSG_ERROR : NLMSG_DONE;
	if (ending == CHANGED_MEANWHILE)
		h->nlmsg_flags = NLM_F_DUMP_INTR;
	next = next == RULE ? END : NOTHING;
	return NLMSG_ALIGN(h->nlmsg_len);
}

int bind(int fd, const struct sockaddr *sa, socklen_t len)
{
	(void)fd;
	(void)sa;
	(void)len;
	return 0;
}

/* Ports that rules publish. */
static size_t published(struct nat *n)
{
	struct port_set s = { 0 };
	size_t count;

	assert_int_equal(nat_add(n, &s), 0);
	count = s.count;
	port_set_free(&s);
	return count;
}

static void a_list_that_fails_leaves_what_there_was(void **state)
{
	struct nat *n = nat_open();
	size_t ports;

	(void)state;
	assert_non_null(n);
	ending = WHOLE;
	nat_list(n);
	ports = published(n);
	assert_true(ports > 0);
	assert_false(nat_pending(n));
	for (ending = REFUSED; ending <= CUT; ending++) {
		events = 3;
		assert_true(nat_changed(n));
		asked = lists;
		nat_list(n);
		assert_int_equal(published(n), ports);
		/* Once more, and then no longer: every look would be a vain one. */
		assert_true(nat_changed(n));
		nat_list(n);
		assert_false(nat_changed(n));
		assert_false(nat_pending(n));
		nat_list(n);
		assert_int_equal(lists, asked + 2);
		assert_int_equal(published(n), ports);
	}
	ending = WHOLE;
	events = 1;
	assert_true(nat_changed(n));
	nat_list(n);
	assert_false(nat_changed(n));
	assert_int_equal(published(n), ports);
	nat_close(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_list_that_fails_leaves_what_there_was) };

	return cmocka_run_group_tests_name("nat", tests, NULL, NULL);
}
