/* Files that the guest offers for a change, with a helper that does what the test says. */
#include "tests/unit/ha_peer.h"

#include <stdio.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/execproto.h"
#include "lib/le.h"
#include "limactl-c/hostagent/edits.h"
#include "tests/unit/tmp_dir.h"

static struct peer p;
static struct edits *edits;
static struct plan_script scripts[] = { { "yq", ".a = 1", "yaml" }, { "yq", ".b = 2", "json" } };
static struct plan plan = { .script = scripts, .scripts = 2 };

/* What the guest offers, and what it is given back: the file's name and text. */
static const char *offered;
static struct buf answer = BUF_INIT(1 << 16);
static size_t asked;
static bool two; /* it sees the first answer, and asks for the next, before it says that it has it */

static void ask(unsigned index)
{
	struct ap_provision v = { .index = index, .state = AP_PROVISION_ASKS };
	uint8_t body[AP_TAIL_MAX + 64];

	edits_message(edits, body, (size_t)ap_provision_pack(&v, body, sizeof(body)));
}

static void run(struct peer *peer, struct mux_stream *s)
{
	auto_buf b = BUF_INIT(1 << 16);
	const uint8_t *bytes;
	uint8_t status[4];
	size_t n;

	(void)peer;
	le32_put(status, offered || asked ? 0 : 66);
	if (asked++ % 2) {
		if (two && asked == 2)
			ask(1);
		bytes = mux_peek(s, &n);
		assert_int_equal(buf_add(&answer, bytes, n), 0);
	} else if (offered) {
		peer_record(&b, EP_STDOUT, offered, strlen(offered));
	}
	peer_record(&b, EP_EXIT, status, sizeof(status));
	assert_int_equal(mux_write(s, b.data, b.len), b.len);
	mux_finish(s);
}

static bool is_answered(struct peer *peer)
{
	return asked == (two ? 4 : 2) && !peer->last;
}

/* The guest asks; the helper is this script. */
static void edit(const char *dir, const char *helper, const char *text)
{
	auto_free char *bin = xasprintf("%s/bin", dir), *program = xasprintf("%s/limactl-c", bin);
	struct err e = { 0 };

	assert_int_equal(fs_mkdirs(bin, 0700, &e), 0);
	assert_int_equal(fs_write_atomic(program, helper, strlen(helper), 0700, &e), 0);
	setenv("LIMACTL_C_PREFIX", dir, 1);
	peer_begin(&p);
	p.mode = PEER_RUN;
	p.run = run;
	offered = text;
	asked = 0;
	plan.dir = (char *)dir;
	edits = edits_new(p.loop, p.guest, &plan);
	peer_link(&p);
	ask(0);
	peer_run(&p, is_answered);
	edits_free(edits);
	peer_end(&p);
}

/* The file that was put into the guest, and its text. */
static void expect(const char *name, const char *text)
{
	auto_free char *path = xasprintf("/run/lima/provision/00%s", name);

	assert_non_null(memmem(answer.data, answer.len, path, strlen(path) + 1));
	assert_non_null(memmem(answer.data, answer.len, text, strlen(text)));
	buf_free(&answer);
}

static void the_helper_reads_the_file_from_its_beginning(void **state)
{
	edit(*state, "#!/bin/sh\necho \"$1 $2 $3 $4\"\ncat <&3\n", "a: 0\n");
	expect(".out", "yq-file yaml .a = 1 /dev/fd/3\na: 0\n");
}

static void a_file_that_is_not_there_is_not_named(void **state)
{
	edit(*state, "#!/bin/sh\necho \"$# of them\"\n", NULL);
	expect(".out", "3 of them\n");
}

static void a_helper_that_fails_says_why(void **state)
{
	edit(*state, "#!/bin/sh\necho 'no such thing' >&2\nexit 1\n", "a: 0\n");
	expect(".err", "no such thing");
}

static void what_is_asked_before_an_answer_is_through_is_answered_too(void **state)
{
	two = true;
	edit(*state, "#!/bin/sh\necho \"$2 $3\"\n", "a: 0\n");
	two = false;
	assert_non_null(memmem(answer.data, answer.len, "/run/lima/provision/01.out", 27));
	assert_non_null(memmem(answer.data, answer.len, "json .b = 2\n", 12));
	expect(".out", "yaml .a = 1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_helper_reads_the_file_from_its_beginning, tmp_dir_make, tmp_dir_remove),
		cmocka_unit_test_setup_teardown(a_file_that_is_not_there_is_not_named, tmp_dir_make, tmp_dir_remove),
		cmocka_unit_test_setup_teardown(a_helper_that_fails_says_why, tmp_dir_make, tmp_dir_remove),
		cmocka_unit_test_setup_teardown(what_is_asked_before_an_answer_is_through_is_answered_too, tmp_dir_make,
						tmp_dir_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
