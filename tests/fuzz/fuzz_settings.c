/* Settings text. What can be read is written again and read as the same; the steps of setup that make files of others from
 * it, on a folder, leave these files well-formed whatever the values are. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guestagent/place.h"
#include "guestagent/script.h"
#include "guestagent/setup.h"
#include "guestagent/setup_steps.h"
#include "lib/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[] = "/tmp/fuzz.XXXXXX";

static void remove_root(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	if (system(command) != 0)
		perror(root);
}

/* Once: the folder, removed at the end. */
static void make_root(const struct setup *su)
{
	static const char *const folders[] = { "/etc/sudoers.d", "/etc/ssl/certs", "/home", RUN_DIR };
	static bool made;
	struct err e;

	if (made)
		return;
	made = true;
	assert(mkdtemp(root));
	atexit(remove_root);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		assert(su_mkdirs(su, folders[i], 0755, &e) == 0);
}

static void put(const struct setup *su, const char *path, const char *text)
{
	struct err e;

	assert(su_write(su, path, text, 0644, &e) == 0);
}

/* Every line of a file of fields has so many of them. */
static void check_fields(const struct setup *su, const char *path, int colons)
{
	auto_buf text = BUF_INIT(SU_FILE_MAX);
	char *save = NULL;
	struct err e;

	assert(su_read(su, path, &text, &e) == 0);
	for (char *line = strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		int n = 0;

		for (const char *p = line; *p; p++)
			n += *p == ':';
		assert(n == colons);
	}
}

/* Every line begins with a word of the file's own grammar. */
static void check_lines(const struct setup *su, const char *path, const char *begin)
{
	auto_buf text = BUF_INIT(SU_FILE_MAX);
	char *save = NULL;
	struct err e;

	assert(su_read(su, path, &text, &e) == 0);
	for (char *line = strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		assert(*line == '#' || strspn(line, begin) > 0);
}

static void apply(const struct settings *s)
{
	const struct setup su = { s, root };
	struct place place;
	struct err e;
	char path[SU_PATH_MAX];

	make_root(&su);
	put(&su, "/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n");
	put(&su, "/etc/group", "root:x:0:\n");
	put(&su, "/etc/shadow", "root:*::0:::::\n");
	put(&su, "/etc/hosts", "");
	put(&su, "/etc/resolv.conf", "");
	unlink(su_path(&su, RUN_DIR "/setup.warnings", path));
	setup_hostname(&su, &e);
	check_lines(&su, "/etc/hosts", "0123456789abcdefABCDEF:.");
	net_dns(&su, &e);
	check_lines(&su, "/etc/resolv.conf", "n");
	net_dns_clients(&su, &e);
	setup_environment(&su, &e);
	/* The template's own say where; on a folder it must not lead out of it. */
	if (!strstr(settings_get(s, "user.home", ""), ".."))
		setup_user(&su, &e);
	check_fields(&su, "/etc/passwd", 6);
	check_fields(&su, "/etc/group", 3);
	check_fields(&su, "/etc/shadow", 8);
	setup_timezone(&su, &e);
	setup_certificates(&su, &e);
	for (size_t i = 0; i < s->count; i++)
		if (script_index(s->item[i].key) >= 0 && place_find(&place, s, script_index(s->item[i].key), &e) == 0)
			assert(place.path[0] == '/' && place.mode <= 07777);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct settings s, t;
	struct buf b = BUF_INIT(SETTINGS_SIZE_MAX);
	char *text = malloc(size + 1);
	struct err e;

	assert(text);
	memcpy(text, data, size);
	text[size] = '\0';
	if (settings_parse(&s, text, &e) == 0) {
		for (size_t i = 0; i < s.count; i++)
			assert(strlen(s.item[i].value) > 65536 || settings_put(&b, s.item[i].key, s.item[i].value) == 0);
		assert(settings_parse(&t, b.data, &e) == 0);
		assert(t.count == s.count || size > 65536);
		for (size_t i = 0; i < t.count && t.count == s.count; i++)
			assert(!strcmp(t.item[i].key, s.item[i].key) && !strcmp(t.item[i].value, s.item[i].value));
		apply(&s);
	}
	free(text);
	buf_free(&b);
	return 0;
}
