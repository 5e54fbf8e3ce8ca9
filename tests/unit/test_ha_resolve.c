/* The guest's questions at the host agent, with a resolver that says each back and a guest that may not keep to the rules. */
#include "tests/unit/ha_peer.h"

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

#include "lib/dns_message.h"
#include "lib/dns_record.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/hostagent/resolve.h"
#include "tests/unit/tmp_dir.h"

static struct peer p;
static struct spawner *spawner;
static struct resolve *resolve;
static struct plan_pair names[] = { { (char *)"a", (char *)"192.0.2.1" } };
static const struct plan plan = { .dns_address = (char *)"10.0.2.3", .host_name = names, .host_names = 1 };
static size_t wanted; /* bytes of answers */
static uint8_t bytes[MUX_WINDOW];
static char *dir;

/* The program that stands in for the resolver; says in a file that it was started. */
static void use_resolver(const char *script)
{
	auto_free char *path = xasprintf("%s/libexec/limactl-c/resolver", dir);
	auto_free char *text = xasprintf("#!/bin/sh\necho started >>%s/log\n%s\n", dir, script);
	struct err e = { 0 };

	if (fs_write_atomic(path, text, strlen(text), 0700, &e) < 0)
		fail_msg("%s", e.msg);
}

static size_t file_size(const char *name)
{
	auto_free char *path = xasprintf("%s/%s", dir, name);
	struct stat st;

	return stat(path, &st) < 0 ? 0 : (size_t)st.st_size;
}

static size_t starts(void)
{
	return file_size("log") / strlen("started\n");
}

static bool is_opened(struct peer *peer)
{
	return peer->last != NULL;
}

static void host_up(void *ctx, bool resumed)
{
	(void)ctx;
	if (!resumed)
		resolve_agent(resolve);
}

static int begin(void **state)
{
	static struct guest_ops ops;
	struct err e = { 0 };
	auto_free char *libexec = NULL;

	assert_int_equal(tmp_dir_make(state), 0);
	dir = *state;
	libexec = xasprintf("%s/libexec/limactl-c", dir);
	assert_int_equal(fs_mkdirs(libexec, 0700, &e), 0);
	setenv("LIMACTL_C_PREFIX", dir, 1);
	use_resolver("exec cat <&3 >&3");
	peer_begin_guest(&p, loop_new());
	p.mode = PEER_HOLD;
	ops = peer_guest_ops;
	ops.up = host_up;
	p.guest = guest_new(p.loop, &ops, &p, &e);
	loop_before_wait(p.loop, peer_before_wait, &p);
	resolve = resolve_new(p.loop, p.guest, spawner, &plan);
	guest_connect(p.guest);
	return 0;
}

static int end(void **state)
{
	resolve_free(resolve);
	guest_free(p.guest);
	peer_end_guest(&p);
	loop_free(p.loop);
	return tmp_dir_remove(state);
}

static void ask(uint32_t id, size_t n)
{
	uint8_t record[DNS_RECORD_HEADER + 1000] = { 0 };

	dns_record_pack(record, id, n);
	memset(record + DNS_RECORD_HEADER, (int)id, n);
	assert_int_equal(mux_write(p.last, record, DNS_RECORD_HEADER + n), DNS_RECORD_HEADER + n);
}

static bool is_answered(struct peer *peer)
{
	return peer->last && mux_copy(peer->last, bytes, wanted);
}

/* The next answer's length; its bytes must be those asked. */
static size_t answer(uint32_t id)
{
	size_t len;

	wanted = DNS_RECORD_HEADER;
	peer_run(&p, is_answered);
	assert_int_equal(le32_get(bytes), id);
	len = le16_get(bytes + 4);
	wanted += len;
	peer_run(&p, is_answered);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(bytes[DNS_RECORD_HEADER + i], (uint8_t)id);
	mux_consume(p.last, wanted);
	return len;
}

static void assert_counted(int questions, int answers, int failed)
{
	auto_jx *o = resolve_json(resolve);

	assert_int_equal(jx_int_or(o, "questions", -1), questions);
	assert_int_equal(jx_int_or(o, "answers", -1), answers);
	assert_int_equal(jx_int_or(o, "failed", -1), failed);
}

static void test_a_question_and_its_answer(void **state)
{
	(void)state;
	peer_run(&p, is_opened);
	assert_int_equal(p.last_open.kind, AP_OPEN_DNS);
	assert_int_equal(p.last_open.port, 53);
	assert_memory_equal(p.last_open.addr, "\12\0\2\3", 4);
	assert_int_equal(starts(), 0);
	ask(7, 30);
	assert_int_equal(answer(7), 30);
	ask(8, DNS_HEADER);
	assert_int_equal(answer(8), DNS_HEADER);
	/* In pieces. */
	mux_write(p.last, "\11\0\0", 3);
	peer_run(&p, peer_rounds);
	mux_write(p.last, "\0\14\0\11\11\11\11\11\11\11\11\11\11\11\11", 15);
	assert_int_equal(answer(9), DNS_HEADER);
	assert_int_equal(starts(), 1);
	assert_counted(3, 3, 0);
}

static bool is_said(struct peer *peer)
{
	(void)peer;
	return file_size("said") >= wanted;
}

enum { RECORD = DNS_RECORD_HEADER + DNS_QUESTION_MAX, FIT = MUX_WINDOW / RECORD };

/* The guest does not read for a while: there is no room for one more record of that length behind FIT of them. */
static void fill_window(void)
{
	for (uint32_t id = 1; id <= FIT; id++) {
		ask(id, DNS_QUESTION_MAX);
		wanted = id * RECORD;
		if (id % DNS_IN_FLIGHT == 0 || id == FIT)
			peer_run(&p, is_answered);
	}
	assert_in_range(MUX_WINDOW - wanted, 1, RECORD - 1);
}

/* What is too long for the room there is waits, and comes when there is more. */
static void test_an_answer_waits_for_room(void **state)
{
	auto_free char *script = xasprintf("exec tee %s/said <&3 >&3", dir);

	(void)state;
	use_resolver(script);
	peer_run(&p, is_opened);
	fill_window();
	ask(FIT + 1, DNS_QUESTION_MAX);
	wanted += RECORD;
	peer_run(&p, is_said);
	peer_run(&p, peer_rounds);
	mux_consume(p.last, FIT * RECORD);
	assert_int_equal(answer(FIT + 1), DNS_QUESTION_MAX);
}

static pid_t resolver_pid(void)
{
	auto_free char *path = xasprintf("%s/pid", dir);
	char text[32] = "";
	FILE *f = fopen(path, "r");

	assert_true(f && fgets(text, sizeof(text), f));
	fclose(f);
	return (pid_t)atoi(text);
}

/* The resolver dies meanwhile: of what was asked, nothing stays without the answer that there is none. */
static void test_a_failure_waits_for_room(void **state)
{
	enum { MORE = 40, AT_ONCE = (MUX_WINDOW - FIT * RECORD) / DNS_RECORD_HEADER };
	auto_free char *script = xasprintf("echo $$ >%s/pid; exec cat <&3 >&3", dir);
	bool failed[MORE] = { false };
	pid_t pid;

	(void)state;
	use_resolver(script);
	peer_run(&p, is_opened);
	fill_window();
	pid = resolver_pid();
	assert_int_equal(kill(pid, SIGSTOP), 0);
	for (uint32_t i = 0; i < MORE; i++)
		ask(FIT + 1 + i, DNS_HEADER);
	peer_run(&p, peer_rounds);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_in_range(AT_ONCE, 1, MORE - 1);
	wanted += AT_ONCE * DNS_RECORD_HEADER;
	peer_run(&p, is_answered);
	mux_consume(p.last, FIT * RECORD);
	for (int i = 0; i < MORE; i++) {
		uint32_t which;

		wanted = DNS_RECORD_HEADER;
		peer_run(&p, is_answered);
		which = dns_record_id(bytes) - FIT - 1;
		assert_int_equal(dns_record_len(bytes), 0);
		assert_true(which < MORE && !failed[which]);
		failed[which] = true;
		mux_consume(p.last, wanted);
	}
	/* They may be asked again, and as many as ever. */
	use_resolver("exit 3");
	for (uint32_t i = 0; i < DNS_IN_FLIGHT; i++)
		ask(FIT + 1 + i, DNS_HEADER);
	wanted = DNS_IN_FLIGHT * DNS_RECORD_HEADER;
	peer_run(&p, is_answered);
}

/* A guest may take a question for lost that we still work at: more than there are places for is no breach. */
static void test_more_questions_than_places_wait(void **state)
{
	enum { ALL = DNS_IN_FLIGHT + 44 };
	auto_free char *script = xasprintf("echo $$ >%s/pid; exec cat <&3 >&3", dir);
	pid_t pid;

	(void)state;
	use_resolver(script);
	peer_run(&p, is_opened);
	ask(1, DNS_HEADER);
	answer(1);
	pid = resolver_pid();
	for (uint32_t round = 0; round < 2; round++) {
		assert_int_equal(kill(pid, SIGSTOP), 0);
		for (uint32_t id = 1; id <= ALL; id++)
			ask(id, DNS_HEADER);
		peer_run(&p, peer_rounds);
		assert_int_equal(kill(pid, round ? SIGKILL : SIGCONT), 0);
		for (uint32_t id = 1; id <= ALL; id++)
			assert_int_equal(answer(id), round ? 0 : DNS_HEADER);
	}
	assert_int_equal(p.resets, 0);
}

static bool is_reset(struct peer *peer)
{
	return peer->resets > 0;
}

static void test_a_guest_that_breaks_the_rules(void **state)
{
	static const struct {
		uint32_t first;
		size_t count, len;
	} bad[] = {
		{ 0, 1, 40 },                  /* the id of names */
		{ 1, 1, DNS_HEADER - 1 },
		{ 1, 1, DNS_QUESTION_MAX + 1 },
		{ 1, 2, DNS_HEADER },          /* the same once more, below */
	};

	(void)state;
	use_resolver("exec cat <&3 >/dev/null");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		bool twice = i + 1 == sizeof(bad) / sizeof(bad[0]);

		p.resets = 0;
		if (i)
			peer_new_agent(&p);
		peer_run(&p, is_opened);
		for (uint32_t k = 0; k < bad[i].count; k++)
			ask(bad[i].first + (twice ? 0 : k), bad[i].len);
		peer_run(&p, is_reset);
		assert_int_equal(p.last_code, MUX_RESET_PROTOCOL);
	}
}

static void test_a_resolver_that_dies(void **state)
{
	(void)state;
	use_resolver("exit 3");
	peer_run(&p, is_opened);
	ask(1, 20);
	assert_int_equal(answer(1), 0);
	/* It rests a while before it is tried again. */
	ask(2, 20);
	assert_int_equal(answer(2), 0);
	assert_int_equal(starts(), 1);
	assert_counted(2, 0, 2);
}

static void test_no_resolver(void **state)
{
	auto_free char *path = xasprintf("%s/libexec/limactl-c/resolver", dir);

	(void)state;
	unlink(path);
	peer_run(&p, is_opened);
	ask(1, 20);
	assert_int_equal(answer(1), 0);
}

static bool is_refused(struct peer *peer)
{
	return peer->opened == 1 && peer_rounds(peer);
}

static void test_a_guest_that_does_not_want(void **state)
{
	(void)state;
	p.mode = PEER_REFUSE;
	peer_run(&p, is_refused);
	assert_int_equal(p.opened, 1);
	p.mode = PEER_HOLD;
	peer_new_agent(&p);
	peer_run(&p, is_opened);
	ask(7, 30);
	assert_int_equal(answer(7), 30);
}

static void test_a_new_agent_begins_anew(void **state)
{
	(void)state;
	use_resolver("exec cat <&3 >/dev/null");
	peer_run(&p, is_opened);
	ask(1, 20);
	peer_run(&p, peer_rounds);
	use_resolver("exec cat <&3 >&3");
	peer_new_agent(&p);
	peer_run(&p, is_opened);
	ask(1, 20);
	assert_int_equal(answer(1), 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_question_and_its_answer, begin, end),
		cmocka_unit_test_setup_teardown(test_an_answer_waits_for_room, begin, end),
		cmocka_unit_test_setup_teardown(test_a_failure_waits_for_room, begin, end),
		cmocka_unit_test_setup_teardown(test_more_questions_than_places_wait, begin, end),
		cmocka_unit_test_setup_teardown(test_a_guest_that_breaks_the_rules, begin, end),
		cmocka_unit_test_setup_teardown(test_a_resolver_that_dies, begin, end),
		cmocka_unit_test_setup_teardown(test_no_resolver, begin, end),
		cmocka_unit_test_setup_teardown(test_a_guest_that_does_not_want, begin, end),
		cmocka_unit_test_setup_teardown(test_a_new_agent_begins_anew, begin, end),
	};

	struct err e = { 0 };
	int status;

	/* Before the first loop, as in the host agent: libuv takes descriptors back in whatever is forked after it. */
	spawner = spawner_new(&e);
	if (!spawner)
		return 1;
	status = cmocka_run_group_tests(tests, NULL, NULL);
	spawner_free(spawner);
	return status;
}
