/* What questions are answered, with a host of our own behind them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <strings.h>

#include "lib/dns_message.h"
#include "limactl-c/resolver/answer.h"

static unsigned lookups;
static uint8_t out[DNS_MESSAGE_MAX];
static size_t out_len;

/* both.test and many.test have IPv4, six.test IPv6 only, none.test nothing; no server answers for down.test. */
static enum dns_rcode addresses(const char *name, struct addresses *list)
{
	lookups++;
	list->count = 0;
	if (!strcasecmp(name, "down.test"))
		return DNS_SERVFAIL;
	if (!strcmp(name, "none.test"))
		return DNS_OK;
	if (!strcmp(name, "many.test") && list->size == 4)
		list->count = ADDRESSES_MAX;
	if (!strcmp(name, list->size == 4 ? "both.test" : "six.test"))
		list->count = 1;
	for (size_t i = 0; i < list->count; i++)
		memset(list->addr[i], 9, list->size);
	return list->count ? DNS_OK : DNS_NXDOMAIN;
}

static enum dns_rcode name_of(const uint8_t *addr, size_t size, char text[DNS_NAME_TEXT])
{
	lookups++;
	if (size != 4 || addr[0] != 9)
		return DNS_NXDOMAIN;
	memcpy(text, "nine.test", sizeof("nine.test"));
	return DNS_OK;
}

/* NXDOMAIN for everything but served.test, and nothing for down.test. */
static size_t ask(const uint8_t *question, size_t len, uint8_t *answer_, size_t max)
{
	struct dns_question q;
	struct dns_answer a;

	lookups++;
	assert_int_equal(dns_question_read(&q, question, len), 0);
	if (!strcmp(q.name, "down.test"))
		return 0;
	dns_answer_begin(&a, &q, answer_, max);
	if (!strcmp(q.name, "served.test"))
		dns_answer_add(&a, NULL, q.type, 60, "\3abc", 4);
	len = dns_answer_end(&a, a.records ? DNS_OK : DNS_NXDOMAIN, false, true);
	dns_set_id(answer_, 0x7777);
	return len;
}

static const struct host_ops host = { addresses, name_of, ask };
static struct answerer a;

static int begin(void **state)
{
	static const char *const names[] = {
		"db.test=192.0.2.7", "DB.test=192.0.2.8", "six.fixed=fd00::7", "near=db.test", "far=both.test", "lost=nowhere.test",
		"loop1=loop2", "loop2=loop1",
	};

	(void)state;
	a = (struct answerer){ .host = &host };
	lookups = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_true(answerer_add(&a, names[i], strlen(names[i])));
	return 0;
}

static int end(void **state)
{
	(void)state;
	answerer_fini(&a);
	return 0;
}

static size_t question(uint8_t *p, const char *name, uint16_t type)
{
	size_t n = DNS_HEADER;

	memcpy(p, "\x12\x34\1\0\0\1\0\0\0\0\0\0", DNS_HEADER);
	n += dns_name_pack(name, p + n);
	memcpy(p + n, (uint8_t[]){ (uint8_t)(type >> 8), (uint8_t)type, 0, DNS_IN }, 4);
	return n + 4;
}

/* Asks; rcode and number of answers are as given. */
static void expect(const char *name, unsigned type, enum dns_rcode rcode, unsigned count)
{
	uint8_t p[DNS_QUESTION_MAX];
	size_t n = question(p, name, (uint16_t)type);

	unsigned before = lookups;

	out_len = answer(&a, p, n, out);
	assert_int_equal(answer_needs_host(&a, p, n), lookups != before);
	assert_true(out_len >= n);
	assert_memory_equal(out, "\x12\x34", 2);
	assert_int_equal(out[2] & 0x81, 0x81);
	assert_int_equal(out[3], 0x80 | rcode);
	if (out[6] << 8 != (int)(count & 0xff00) || out[7] != (count & 0xff))
		fail_msg("%s: %d answers", name, out[6] << 8 | out[7]);
	assert_memory_equal(out + DNS_HEADER, p + DNS_HEADER, n - DNS_HEADER);
}

static void expect_end(const void *bytes, size_t n)
{
	assert_memory_equal(out + out_len - n, bytes, n);
}

static void test_names_of_the_template(void **state)
{
	(void)state;
	expect("dB.TEST", DNS_A, DNS_OK, 1);
	expect_end("\xc0\x0c\0\1\0\1\0\0\0\5\0\4\300\0\2\7", 16);
	expect("db.test", DNS_AAAA, DNS_OK, 0);
	expect("db.test", DNS_MX, DNS_OK, 0);
	expect("near", DNS_A, DNS_OK, 2);
	expect_end("\2db\4test\0\0\1\0\1\0\0\0\5\0\4\300\0\2\7", 23);
	expect("far", DNS_A, DNS_OK, 2);
	expect_end("\4both\4test\0\0\1\0\1\0\0\0\5\0\4\t\t\t\t", 25);
	expect("far", DNS_AAAA, DNS_OK, 1);
	expect("far", DNS_MX, DNS_OK, 1);
	expect("lost", DNS_A, DNS_NXDOMAIN, 0);
	expect("loop1", DNS_A, DNS_SERVFAIL, 0);
	expect("six.fixed", DNS_AAAA, DNS_OK, 0);
	a.ipv6 = true;
	expect("six.fixed", DNS_AAAA, DNS_OK, 1);
	expect("six.fixed", DNS_A, DNS_OK, 0);
	expect("7.2.0.192.in-addr.arpa", DNS_PTR, DNS_OK, 1);
	expect_end("\2db\4test", 9);
}

static void test_what_the_host_knows(void **state)
{
	(void)state;
	expect("both.test", DNS_A, DNS_OK, 1);
	expect("none.test", DNS_A, DNS_OK, 0);
	expect("gone.test", DNS_A, DNS_NXDOMAIN, 0);
	expect("down.test", DNS_A, DNS_SERVFAIL, 0);
	/* Of the other kind only: it exists. */
	expect("six.test", DNS_A, DNS_OK, 0);
	lookups = 0;
	expect("six.test", DNS_AAAA, DNS_OK, 0);
	assert_int_equal(lookups, 0);
	a.ipv6 = true;
	expect("six.test", DNS_AAAA, DNS_OK, 1);
	expect("both.test", DNS_AAAA, DNS_OK, 0);
	expect("gone.test", DNS_AAAA, DNS_NXDOMAIN, 0);
	expect("9.9.9.9.in-addr.arpa", DNS_PTR, DNS_OK, 1);
	expect_end("\4nine\4test", 11);
	expect("9.9.9.8.in-addr.arpa", DNS_PTR, DNS_NXDOMAIN, 0);
}

static void test_more_than_a_message_holds(void **state)
{
	(void)state;
	expect("many.test", DNS_A, DNS_OK, (DNS_MESSAGE_MAX - DNS_HEADER - 15) / 16);
	assert_true(out[2] & 2);
}

static void test_what_name_servers_know(void **state)
{
	(void)state;
	expect("served.test", DNS_TXT, DNS_OK, 1);
	expect_end("\0\4\3abc", 6);
	expect("gone.test", DNS_TXT, DNS_NXDOMAIN, 0);
	expect("down.test", DNS_TXT, DNS_SERVFAIL, 0);
	expect("both.test", DNS_TXT, DNS_OK, 0); /* of /etc/hosts alone */
	expect("a b.test", DNS_A, DNS_NXDOMAIN, 0); /* no name for getaddrinfo() */
	lookups = 0;
	expect("127.1", DNS_A, DNS_NXDOMAIN, 0); /* which would take this for an address */
	expect("served.test", DNS_ANY, DNS_OK, 1);
	expect("served.test", 252, DNS_REFUSED, 0);
}

static void test_no_question(void **state)
{
	uint8_t p[DNS_QUESTION_MAX + 100];
	size_t n = question(p, "both.test", DNS_A);

	(void)state;
	assert_int_equal(answer(&a, p, DNS_HEADER - 1, out), 0);
	for (size_t k = DNS_HEADER; k < n; k++) {
		assert_int_equal(answer(&a, p, k, out), DNS_HEADER);
		assert_false(answer_needs_host(&a, p, k));
		assert_int_equal(out[3] & 15, DNS_FORMERR);
	}
	p[2] |= 0x80;
	assert_int_equal(answer(&a, p, n, out), 0);
}

static void test_names_that_are_none(void **state)
{
	static const char *const bad[] = { "", "=", "a", "a=", "=1.2.3.4", "a..b=1.2.3.4", "a=b..c", "a=b c" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(answerer_add(&a, bad[i], strlen(bad[i])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_names_of_the_template, begin, end),
		cmocka_unit_test_setup_teardown(test_what_the_host_knows, begin, end),
		cmocka_unit_test_setup_teardown(test_more_than_a_message_holds, begin, end),
		cmocka_unit_test_setup_teardown(test_what_name_servers_know, begin, end),
		cmocka_unit_test_setup_teardown(test_no_question, begin, end),
		cmocka_unit_test_setup_teardown(test_names_that_are_none, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
