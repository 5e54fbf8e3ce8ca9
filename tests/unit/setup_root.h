/* setup_root.h - a folder that stands for the guest's root, with settings, for the steps of `agent setup`. */
#ifndef LIMA_TESTS_SETUP_ROOT_H
#define LIMA_TESTS_SETUP_ROOT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guestagent/setup.h"
#include "guestagent/setup_steps.h"
#include "lib/io.h"

static char root[64];
static struct settings settings;
static struct setup su = { &settings, root };

static inline int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static inline const char *at(const char *path)
{
	static char full[4][SU_PATH_MAX];
	static int i;

	i = (i + 1) % 4;
	return su_path(&su, path, full[i]);
}

static inline void put(const char *path, const char *text, mode_t mode)
{
	struct err e;

	assert_int_equal(su_write(&su, path, text, mode, &e), 0);
}

/* The text of a file, valid until the next call. */
static inline const char *text_of(const char *path)
{
	static struct buf b = BUF_INIT(SU_FILE_MAX);
	struct err e;

	buf_free(&b);
	assert_int_equal(su_read(&su, path, &b, &e), 0);
	return b.data;
}

static inline mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(at(path), &st), 0);
	return st.st_mode & 07777;
}

static inline void set(const char *key, const char *value)
{
	settings.item[settings.count++] = (struct setting){ key, value };
}

#define PASSWD "root:x:0:0:root:/root:/bin/sh\nmail:x:8:12:mail:/var/mail:/sbin/nologin\n" \
	       "quicksand:x:1000:1000::/home/quicksand:/bin/sh\n"
#define GROUP "root:x:0:root\nwheel:x:10:root\nquicksand:x:1000:\n"

static inline int begin(void **state)
{
	static const char *const folders[] = { "/etc/sudoers.d", "/usr/bin", "/usr/sbin", "/lib", "/usr/lib", RUN_DIR };
	struct err e;

	(void)state;
	umask(022);
	snprintf(root, sizeof(root), "/tmp/setup.XXXXXX");
	assert_non_null(mkdtemp(root));
	settings.count = 0;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		assert_int_equal(su_mkdirs(&su, folders[i], 0755, &e), 0);
	put("/etc/passwd", PASSWD, 0644);
	put("/etc/group", GROUP, 0644);
	put("/etc/shadow", "root:*::0:::::\n", 0640);
	return 0;
}

static inline int end(void **state)
{
	(void)state;
	return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
