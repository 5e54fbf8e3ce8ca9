#include "limactl-c/plan/snapshot.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"
#include "limactl-c/store/paths.h"

enum { TAG_MAX = 76, KNOWN_MAX = 600 };

#define ALNUM "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

/* As it may be shown, malloc'd. */
static char *plain(const char *tag)
{
	char *shown = xstrndup(tag, TAG_MAX);

	text_make_plain(shown);
	return shown;
}

static bool tag_is_fine(const char *tag)
{
	return *tag && strchr(ALNUM, *tag) && strspn(tag, ALNUM "._+-") == strlen(tag) && strlen(tag) <= TAG_MAX;
}

int snapshot_check_tag(const char *tag, struct err *e)
{
	auto_free char *shown = plain(tag);

	if (!*tag)
		return err_set(e, ERR_USAGE, "the snapshot needs a tag: --tag NAME");
	if (tag_is_fine(tag))
		return 0;
	return err_set(e, ERR_USAGE, "tag \"%s\" of a snapshot: only letters, digits, \".\", \"_\", \"-\" and \"+\" are possible, "
		       "the first a letter or a digit, at most %d", shown, TAG_MAX);
}

int snapshot_possible(const struct plan *p, bool running, struct err *e)
{
	if (p->driver != PLAN_QEMU && running)
		return err_set(e, ERR_STATE, "a machine of the driver \"%s\" that runs has no snapshots: stop the instance first",
			       plan_driver_word(p->driver));
	if (p->mounts && running)
		return err_set(e, ERR_STATE, "instance \"%s\" shares folders (mounts), and QEMU cannot put what it has open of them into a "
			       "snapshot: stop the instance first", p->name);
	if (!p->disks || p->disk[0].name || p->disk[0].readonly || strcmp(p->disk[0].format, "qcow2"))
		return err_set(e, ERR_STATE, "the disk of instance \"%s\" is not of format qcow2: it cannot have snapshots", p->name);
	for (size_t i = 1; i < p->disks; i++)
		if (!p->disk[i].readonly)
			return err_set(e, ERR_STATE, "instance \"%s\" has the extra disk \"%s\", which would not be in the snapshot: "
				       "remove it from additionalDisks first", p->name, p->disk[i].name ? p->disk[i].name : p->disk[i].path);
	return 0;
}

int snapshot_list(const struct plan *p, struct qcow2_snapshots *out, struct err *e)
{
	*out = (struct qcow2_snapshots)QCOW2_SNAPSHOTS_INIT;
	if (qcow2_snapshots_read(p->disk[0].path, out, e) == 0)
		return 0;
	return e->errnum == ENOENT ?
		       err_set(e, ERR_NOTFOUND, "instance \"%s\" has no disk yet: it was never started", p->name) : -1;
}

int snapshot_check_new(const struct qcow2_snapshots *s, const char *tag, struct err *e)
{
	if (qcow2_snapshot_find(s, tag))
		return err_set(e, ERR_EXISTS, "there is a snapshot \"%s\" already: delete it first, or use another tag", tag);
	return s->count < QCOW2_SNAPSHOTS_MAX ? 0 :
						err_set(e, ERR_STATE, "there are %zu snapshots already: delete some first", s->count);
}

const struct qcow2_snapshot *snapshot_find(const struct qcow2_snapshots *s, const char *tag, struct err *e)
{
	const struct qcow2_snapshot *found = qcow2_snapshot_find(s, tag);
	auto_free char *shown = plain(tag);
	auto_buf known = BUF_INIT(KNOWN_MAX);

	for (size_t i = 0; i < s->count && !found; i++) {
		auto_free char *one = plain(s->one[i].tag);

		if (buf_addf(&known, "%s%s", i ? ", " : "", one) < 0)
			break;
	}
	if (!found)
		err_set(e, ERR_NOTFOUND, "there is no snapshot \"%s\" (%s%s)", shown, s->count ? "there are: " : "there is none",
			s->count && known.data ? known.data : "");
	return found;
}

int snapshot_check_apply(const struct qcow2_snapshots *s, const char *tag, struct err *e)
{
	for (size_t i = 0; i < s->count; i++) {
		auto_free char *other = plain(s->one[i].tag);

		if (!strcmp(s->one[i].id, tag) && strcmp(s->one[i].tag, tag))
			return err_set(e, ERR_STATE, "QEMU would take \"%s\" for the snapshot \"%s\", whose ID that is: stop the instance to "
				       "go back to it", tag, other);
	}
	return 0;
}

char *snapshot_note(const struct plan *p, const char *tag)
{
	auto_free char *dir = path_in(p->dir, PATH_SNAPSHOTS);

	return tag_is_fine(tag) ? xasprintf("%s/%s.json", dir, tag) : NULL;
}

#define ROOT "root" /* of vm.state.json: qcow2_root() of the disk before it was set back */

int snapshot_tie_state(const struct plan *p, struct err *e)
{
	auto_free char *state = path_in(p->dir, PATH_STATE), *path = path_in(p->dir, PATH_STATE_META), *text = NULL;
	char root[SHA256_HEX + 1];
	struct err ignored = { 0 };
	auto_jx *meta = fs_exists(state) ? jx_parse_file(path, &ignored) : NULL;

	/* A state without its description fits nothing anyway. */
	if (!jx_is_object(meta))
		return 0;
	if (qcow2_root(p->disk[0].path, root, e) < 0)
		return -1;
	jx_set_string(meta, ROOT, root);
	text = jx_dump_pretty(meta);
	return fs_write_atomic(path, text, strlen(text), 0600, e);
}

bool snapshot_state_fits(const struct plan *p, const struct jx *meta)
{
	const char *root = jx_string_or(meta, ROOT, NULL);
	char now[SHA256_HEX + 1];
	struct err ignored = { 0 };

	return !root || (p->disks && qcow2_root(p->disk[0].path, now, &ignored) == 0 && !strcmp(root, now));
}

void snapshot_forget(const struct plan *p, const char *tag)
{
	auto_free char *note = snapshot_note(p, tag);

	if (note)
		unlink(note);
}
