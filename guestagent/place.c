#include "guestagent/place.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/io.h"

enum { OWNER_MAX = 128 };

/* A number of any id but the last, which means "no change" to the kernel. */
static bool is_id(const char *text, unsigned *id)
{
	char *end;
	unsigned long n;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	n = strtoul(text, &end, 10);
	*id = (unsigned)n;
	return !*end && !errno && n < UINT32_MAX;
}

static int find_user(struct place *p, const char *name, struct err *e)
{
	const struct passwd *pw;
	unsigned id = 0;
	bool number = is_id(name, &id);

	pw = number ? getpwuid(id) : getpwnam(name);
	if (!pw && !number)
		return err_set(e, ERR_NOTFOUND, "the guest has no user \"%s\"", name);
	p->uid = p->user.uid = pw ? pw->pw_uid : id;
	p->user.gid = pw ? pw->pw_gid : id;
	snprintf(p->user.name, sizeof(p->user.name), "%.63s", pw ? pw->pw_name : name);
	return 0;
}

static int find_group(struct place *p, const char *name, struct err *e)
{
	const struct group *gr;
	unsigned id = 0;

	if (!*name) { /* "user:" means the user's own */
		p->gid = p->user.gid;
	} else if (is_id(name, &id)) {
		p->gid = id;
	} else if ((gr = getgrnam(name))) {
		p->gid = gr->gr_gid;
	} else {
		return err_set(e, ERR_NOTFOUND, "the guest has no group \"%s\"", name);
	}
	return 0;
}

static int find_owner(struct place *p, const char *text, struct err *e)
{
	char name[OWNER_MAX], *group;

	if (snprintf(name, sizeof(name), "%s", text) >= (int)sizeof(name))
		return err_set(e, ERR_INVALID, "the owner's name is too long");
	group = strchr(name, ':');
	if (group)
		*group++ = '\0';
	p->gid = (gid_t)-1;
	if (find_user(p, *name ? name : "root", e) < 0)
		return -1;
	return group ? find_group(p, group, e) : 0;
}

static const char *value(const struct settings *s, int index, const char *key, const char *otherwise)
{
	char name[64];

	snprintf(name, sizeof(name), "provision.%02d.%s", index, key);
	return settings_get(s, name, otherwise);
}

int place_find(struct place *p, const struct settings *s, int index, struct err *e)
{
	const char *permissions = value(s, index, "permissions", "644");
	size_t digits = strspn(permissions, "01234567");

	*p = (struct place){ .path = value(s, index, "path", "") };
	if (p->path[0] != '/' || !p->path[1] || strlen(p->path) >= PATH_MAX - 16)
		return err_set(e, ERR_INVALID, "the path \"%.200s\" cannot be that of a file", p->path);
	if (!digits || digits > 5 || permissions[digits])
		return err_set(e, ERR_INVALID, "permissions \"%.20s\" are no octal number", permissions);
	p->mode = (mode_t)strtoul(permissions, NULL, 8) & 07777;
	return find_owner(p, value(s, index, "owner", "root:root"), e);
}

/* --- with the owner's rights --- */

static int make_parents(const void *path, struct err *e)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s", (const char *)path);
	for (char *p = full + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		if (mkdir(full, 0755) < 0 && errno != EEXIST)
			return err_errno(e, "cannot make the folder %s", full);
		*p = '/';
	}
	return 0;
}

static int try_write(const void *path, struct err *e)
{
	return access(path, W_OK) < 0 ? err_errno(e, "%s", (const char *)path) : 0;
}

int place_parents(const struct place *p, bool as_root, struct err *e)
{
	if (ga_user_call(&p->user, make_parents, p->path, e) == 0)
		return 0;
	return as_root ? make_parents(p->path, e) : -1;
}

int place_writable(const struct place *p, struct err *e)
{
	return ga_user_call(&p->user, try_write, p->path, e);
}

/* --- the file --- */

static int copy(int from, int to)
{
	char bytes[16 * 1024];
	ssize_t n;

	while ((n = io_read_full(from, bytes, sizeof(bytes))) > 0)
		if (io_write_full(to, bytes, (size_t)n) < 0)
			return -1;
	return n < 0 ? -1 : 0;
}

int place_write(const struct place *p, int from, struct err *e)
{
	char target[PATH_MAX], tmp[PATH_MAX + 16];
	struct stat st;
	gid_t gid = p->gid;
	auto_close int fd = -1;

	/* What does not exist, or leads nowhere, is made by the name it has. */
	if (!realpath(p->path, target))
		snprintf(target, sizeof(target), "%s", p->path);
	if (stat(target, &st) == 0) {
		if (!S_ISREG(st.st_mode))
			return err_set(e, ERR_INVALID, "%s is there and no file", p->path);
		if (gid == (gid_t)-1)
			gid = st.st_gid;
	}
	snprintf(tmp, sizeof(tmp), "%s.lima~", target);
	if (unlink(tmp) < 0 && errno != ENOENT)
		return err_errno(e, "%s", tmp);
	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_errno(e, "cannot make %s", tmp);
	/* Owner first: it takes set-user-id bits away. The data must be on disk before the name is. */
	if (copy(from, fd) < 0 || fchown(fd, p->uid, gid) < 0 || fchmod(fd, p->mode) < 0 || fdatasync(fd) < 0 ||
	    rename(tmp, target) < 0) {
		err_errno(e, "cannot write %s", p->path);
		unlink(tmp);
		return -1;
	}
	return 0;
}
