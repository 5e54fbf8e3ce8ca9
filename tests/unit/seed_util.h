/* seed_util.h - what the tests of the seed share: a seed made of a template, with the facts of one imaginary host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/io.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/plan/host.h"
#include "limactl-c/plan/seed.h"

#define INST_DIR "/home/jane/.lima/box"
#define IMAGE "images: [{location: /i.qcow2, arch: x86_64}]\nfirmware: {legacyBIOS: true}\n"

static const char *const seed_keys[] = {
	"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB lima",
	"from=\"10.0.0.0/8\" ssh-rsa AAAAB3NzaC1yc2E= jane's \"key\" #2",
};

static const char *seed_agent = "/share/agent";

static inline struct plan_host seed_host(void)
{
	return (struct plan_host){
		.arch = xstrdup("x86_64"),
		.cpus = 8,
		.memory = 16ull << 30,
		.user = xstrdup("jane"),
		.comment = xstrdup("Jane Doe"),
		.home = xstrdup("/home/jane"),
		.uid = 1000,
		.lima_home = xstrdup("/home/jane/.lima"),
		.qemu = xstrdup("qemu-system-x86_64"),
		.agent = xstrdup(seed_agent),
		.provision = xstrdup("provision"),
		.virtiofsd = xstrdup("/usr/libexec/virtiofsd"),
		.virtiofsd_readonly = true,
	};
}

/* Of this YAML for an instance of that name. */
static inline int seed_of(const char *name, const char *text, struct seed *s, struct err *e)
{
	auto_plan_host h = seed_host();
	struct cfg_host facts = plan_host_facts(&h);
	struct cfg_input in = { .instance = { "t.yaml", text, strlen(text) }, .host = &facts, .name = name,
				.dir = INST_DIR, .lima_home = "/home/jane/.lima" };
	CLEANUP(plan_free) struct plan p = { 0 };
	CLEANUP(findings_fini) struct findings f = { 0 };
	auto_cfg c = { 0 };
	static const struct plan_extra extra[] = { { "/d/0", "raw" }, { "/d/1", "qcow2" } };
	struct plan_images im = { .disk = "/cache/image", .extra = extra, .extras = 2 };
	struct seed_input want = { .c = &c, .p = &p, .host_home = "/home/jane", .provision = "provision",
				   .key = seed_keys, .keys = 2 };

	if (!cfg_read(&in, &c, &f))
		fail_msg("%s", finding_line(&f.item[0]));
	im.containerd = c.containerd.system || c.containerd.user ? "/cache/nerdctl-full" : NULL;
	im.iso = strstr(c.image[0].location, ".iso") != NULL;
	if (plan_make(&c, &h, &im, name, INST_DIR, &p, e) < 0)
		fail_msg("%s", e->msg);
	assert_non_null(p.seed);
	return seed_make(&want, s, e);
}

static inline const struct seed_file *seed_find(const struct seed *s, const char *path)
{
	for (size_t i = 0; i < s->files; i++)
		if (!strcmp(s->file[i].path, path))
			return &s->file[i];
	return NULL;
}

/* Text of one of its files; fails when there is none. */
static inline const char *seed_text(const struct seed *s, const char *path)
{
	const struct seed_file *f = seed_find(s, path);

	if (!f || !f->data)
		fail_msg("%s is not there", path);
	return f->data;
}

static inline void read_text(const char *path, struct buf *b)
{
	struct err e;

	if (io_read_file(path, b, &e) < 0)
		fail_msg("%s", e.msg);
}
