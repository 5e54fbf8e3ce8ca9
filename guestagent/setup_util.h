/* setup_util.h - what the steps of `agent setup` share: files under a root, blocks of lines we own, programs.
 *
 * Every path is below su->root, so that tests run on a folder; in the guest the root is "".
 */
#ifndef LIMA_GUESTAGENT_SETUP_UTIL_H
#define LIMA_GUESTAGENT_SETUP_UTIL_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "lib/settings.h"

enum { SU_PATH_MAX = 1024, SU_FILE_MAX = 1 << 20 };

struct setup {
	const struct settings *settings;
	const char *root;
};

/* root + path in buf; a path too long becomes one that does not exist. Returns buf. */
const char *su_path(const struct setup *su, const char *path, char buf[SU_PATH_MAX]);

void su_one_line(char *text); /* control characters become blanks */

/* Appends a sentence to /run/lima/setup.warnings and says it on standard error. */
void su_warn(const struct setup *su, const char *fmt, ...) ERR_FMT(2, 3);

bool su_exists(const struct setup *su, const char *path);
bool su_says(const struct setup *su, const char *path, const char *text); /* that and nothing else is in the file */
bool su_has(const struct setup *su, const char *path, const char *text);  /* somewhere in the file */

/* The file's text, empty when it is not there. b->data is never NULL afterwards. */
int su_read(const struct setup *su, const char *path, struct buf *b, struct err *e);

/* Makes the file have this text and mode, by a rename; a file that has them is not touched. */
int su_write(const struct setup *su, const char *path, const char *text, mode_t mode, struct err *e);

int su_write_bytes(const struct setup *su, const char *path, const void *bytes, size_t n, mode_t mode, struct err *e);

/* Keeps text (whole lines; "" = none) between two marker lines of ours in a file of others. */
int su_block(const struct setup *su, const char *path, const char *text, struct err *e);

int su_mkdirs(const struct setup *su, const char *path, mode_t mode, struct err *e);

/* Starts a program (found by PATH) with standard input and output on /dev/null; su_wait() gives 0 or an error. */
pid_t su_start(const char *const argv[], struct err *e);
int su_wait(pid_t pid, const char *name, struct err *e);
int su_run(const char *const argv[], struct err *e); /* both; an error ends with the last line the program wrote */

/* The setting LIST.NN.KEY of the number i; otherwise when it is missing. */
const char *su_item(const struct setup *su, const char *list, size_t i, const char *key, const char *otherwise);

/* A number setting; otherwise when it is missing or none. */
unsigned long long su_number(const struct setup *su, const char *key, unsigned long long otherwise);
bool su_flag(const struct setup *su, const char *key, bool otherwise); /* a missing setting is otherwise */

#endif
