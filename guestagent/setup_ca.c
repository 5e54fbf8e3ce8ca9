/* setup_ca.c - certificates of authorities the template wants trusted, by the guest's own means where it has some, else
 * in the bundle that its programs read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guestagent/setup.h"
#include "guestagent/setup_steps.h"

#define BUNDLE "/etc/ssl/certs/ca-certificates.crt"
#define CONF "/etc/ca-certificates.conf"
#define DEFAULTS ".lima-defaults" /* what was there before defaults were removed */
#define OURS "lima-"
enum { CERTS_MAX = 100 };

static bool is_certificate(const char *text)
{
	return strstr(text, "-----BEGIN CERTIFICATE-----") && strstr(text, "-----END CERTIFICATE-----");
}

/* Appends one, ended by a newline. What is none would spoil the bundle for those after it. */
static int add(const struct setup *su, struct buf *all, const char *what, const char *text)
{
	size_t n = strlen(text);

	if (!is_certificate(text)) {
		su_warn(su, "caCerts: %s is no certificate in PEM form", what);
		return 0;
	}
	return buf_add(all, text, n) | (text[n - 1] == '\n' ? 0 : buf_adds(all, "\n"));
}

/* All of the template's, one after another. */
static int collect(const struct setup *su, struct buf *all, struct err *e)
{
	int bad = buf_adds(all, "");

	for (int i = 0; i < CERTS_MAX; i++) {
		auto_buf text = BUF_INIT(SU_FILE_MAX);
		char path[64], key[24];
		const char *given;
		bool there;

		snprintf(path, sizeof(path), RUN_DIR "/ca/%02d.crt", i);
		there = su_exists(su, path);
		if (su_read(su, path, &text, e) < 0)
			return -1;
		snprintf(key, sizeof(key), "ca.cert.%02d", i);
		given = settings_get(su->settings, key, NULL);
		if (!there && !given)
			break;
		if (there)
			bad |= add(su, all, path, text.data);
		if (given)
			bad |= add(su, all, key, given);
	}
	return bad ? err_set(e, ERR_INVALID, "the certificates are too large") : 0;
}

static int move(const struct setup *su, const char *from, const char *to, struct err *e)
{
	char a[SU_PATH_MAX], b[SU_PATH_MAX];

	return rename(su_path(su, from, a), su_path(su, to, b)) < 0 ? err_errno(e, "cannot move %s", from) : 0;
}

/* --- the bundle itself --- */

static int put_in_bundle(const struct setup *su, const char *all, bool alone, struct err *e)
{
	bool saved = su_exists(su, BUNDLE DEFAULTS);

	if (!*all && !alone && !saved && !su_exists(su, BUNDLE))
		return 0;
	if (alone && !saved && su_exists(su, BUNDLE) &&
	    (su_block(su, BUNDLE, "", e) < 0 || move(su, BUNDLE, BUNDLE DEFAULTS, e) < 0))
		return -1;
	if (!alone && saved && move(su, BUNDLE DEFAULTS, BUNDLE, e) < 0)
		return -1;
	if (su_mkdirs(su, "/etc/ssl/certs", 0755, e) < 0)
		return -1;
	return su_block(su, BUNDLE, all, e);
}

/* --- Debian's and Alpine's update-ca-certificates, Fedora's update-ca-trust --- */

static const struct tool {
	const char *program, *folder, *conf; /* conf: names the defaults, "!" before one takes it away; NULL: none */
} tools[] = {
	{ "/usr/sbin/update-ca-certificates", "/usr/local/share/ca-certificates", CONF },
	{ "/usr/bin/update-ca-trust", "/etc/pki/ca-trust/source/anchors", NULL },
};

/* One file holds one certificate: what the tools hash. */
static int put_one(const struct setup *su, const struct tool *t, int number, const char *text, size_t n, bool *changed,
		   struct err *e)
{
	auto_buf old = BUF_INIT(SU_FILE_MAX);
	char path[SU_PATH_MAX];

	snprintf(path, sizeof(path), "%s/" OURS "%02d.crt", t->folder, number);
	if (su_read(su, path, &old, e) < 0)
		return -1;
	*changed |= old.len != n || memcmp(old.data, text, n) != 0;
	return su_write_bytes(su, path, text, n, 0644, e);
}

/* Those of a boot before that had more. */
static void remove_rest(const struct setup *su, const struct tool *t, int count, bool *changed)
{
	char path[SU_PATH_MAX], full[SU_PATH_MAX];

	for (;; count++) {
		snprintf(path, sizeof(path), "%s/" OURS "%02d.crt", t->folder, count);
		if (unlink(su_path(su, path, full)) < 0)
			return;
		*changed = true;
	}
}

static int put_files(const struct setup *su, const struct tool *t, const char *all, bool *changed, struct err *e)
{
	static const char last[] = "-----END CERTIFICATE-----\n";
	int count = 0;

	if (*all && su_mkdirs(su, t->folder, 0755, e) < 0)
		return -1;
	while (*all && count < CERTS_MAX) {
		const char *end = strstr(all, last);
		size_t n = end ? (size_t)(end - all) + strlen(last) : strlen(all);

		if (put_one(su, t, count, all, n, changed, e) < 0)
			return -1;
		count += is_certificate(all);
		all += n;
	}
	remove_rest(su, t, count, changed);
	return 0;
}

/* Takes every default away, or gives back those that were there. */
static int put_conf(const struct setup *su, bool alone, bool *changed, struct err *e)
{
	auto_buf old = BUF_INIT(SU_FILE_MAX), new = BUF_INIT(SU_FILE_MAX);
	bool saved = su_exists(su, CONF DEFAULTS);
	int bad = buf_adds(&new, "");
	char *save = NULL;

	if (alone == saved)
		return 0;
	*changed = true;
	if (!alone)
		return move(su, CONF DEFAULTS, CONF, e);
	if (su_read(su, CONF, &old, e) < 0 || su_write(su, CONF DEFAULTS, old.data, 0644, e) < 0)
		return -1;
	for (char *line = strtok_r(old.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		bad |= buf_addf(&new, "%s%s\n", *line == '#' || *line == '!' ? "" : "!", line);
	return bad ? err_set(e, ERR_INVALID, CONF " is too large") : su_write(su, CONF, new.data, 0644, e);
}

static int use_tool(const struct setup *su, const struct tool *t, const char *all, bool alone, struct err *e)
{
	const char *argv[] = { t->program, NULL };
	bool changed = false;

	if (put_files(su, t, all, &changed, e) < 0)
		return -1;
	if (t->conf && put_conf(su, alone, &changed, e) < 0)
		return -1;
	if (!t->conf && alone)
		su_warn(su, "caCerts.removeDefaults: %s has no way to do that", t->program);
	/* Not on the folder of a test. */
	return changed && !*su->root ? su_run(argv, e) : 0;
}

int setup_certificates(const struct setup *su, struct err *e)
{
	auto_buf all = BUF_INIT(SU_FILE_MAX);
	bool alone = su_flag(su, "ca.removeDefaults", false);

	if (collect(su, &all, e) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		if (su_exists(su, tools[i].program))
			return use_tool(su, &tools[i], all.data, alone, e);
	return put_in_bundle(su, all.data, alone, e);
}
