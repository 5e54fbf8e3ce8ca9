#include "limactl-c/cli/edit_flags.h"

#include <stdarg.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/yq/yq.h"

static int run_rosetta(struct edit_run *r, struct err *e)
{
	const char *on = r->edit->rosetta == OPT_YES ? "true" : "false";

	return edit_eval(r, e, ".vmOpts.vz.rosetta.enabled = %s | .vmOpts.vz.rosetta.binfmt = %s", on, on);
}

static int run_video(struct edit_run *r, struct err *e)
{
	return edit_eval(r, e, ".video.display = \"%s\"", r->edit->video == OPT_YES ? "default" : "none");
}

static int run_containerd(struct edit_run *r, struct err *e)
{
	const char *mode = r->edit->containerd;

	return edit_eval(r, e, ".containerd.user = %s | .containerd.system = %s", strstr(mode, "user") ? "true" : "false",
			 strstr(mode, "system") ? "true" : "false");
}

#define AT(member) offsetof(struct edit, member)
#define SET(to) .rule = &(const struct edit_rule){ .path = (to) }
#define SET_NEW(to) .rule = &(const struct edit_rule){ .path = (to), .new_only = true }
#define RUN(function) .rule = &(const struct edit_rule){ .run = (function) }
#define RUN_NEW(function) .rule = &(const struct edit_rule){ .run = (function), .new_only = true }

const struct opt edit_opts[] = {
	{ "cpus", 0, OPT_COUNT, AT(cpus), "N", "number of processors", SET(".cpus") },
	{ "dns", 0, OPT_COMMAS, AT(dns), "IP", "use these name servers instead of the host's resolver", RUN(edit_run_dns) },
	{ "memory", 0, OPT_GIB, AT(memory), "GIB", "memory, in GiB", SET(".memory") },
	{ "mount", 0, OPT_COMMAS, AT(mount), "DIR[:w]", "share a folder with the guest, :w makes it writable",
	  RUN(edit_run_mount) },
	{ "mount-only", 0, OPT_COMMAS, AT(mount_only), "DIR[:w]", "the same, instead of the folders the template shares",
	  RUN(edit_run_mount_only) },
	{ "mount-none", 0, OPT_FLAG, AT(mount_none), NULL, "share no folder", RUN(edit_run_mount_none) },
	{ "mount-type", 0, OPT_STRING, AT(mount_type), "TYPE", "how folders are shared", .key = "mountType",
	  SET(".mountType") },
	{ "vm-type", 0, OPT_STRING, AT(vm_type), "TYPE", "what runs the machine", .key = "vmType", SET(".vmType") },
	{ "mount-inotify", 0, OPT_TRISTATE, AT(mount_inotify), NULL, "tell the guest of changes in shared folders",
	  SET(".mountInotify") },
	{ "mount-writable", 0, OPT_TRISTATE, AT(mount_writable), NULL, "make every shared folder writable",
	  RUN(edit_run_mount_writable) },
	{ "network", 0, OPT_COMMAS, AT(network), "NETWORK", "one more network: vzNAT or lima:NAME",
	  .words = "lima:shared|lima:bridged|lima:host|lima:user-v2|vzNAT", RUN(edit_run_network) },
	{ "nested-virt", 0, OPT_TRISTATE, AT(nested_virt), NULL, "let the guest run machines of its own",
	  SET(".nestedVirtualization") },
	{ "rosetta", 0, OPT_TRISTATE, AT(rosetta), NULL, "run x86_64 programs through Rosetta (vz)", RUN(run_rosetta) },
	{ "set", 0, OPT_LIST, AT(set), "EXPRESSION", "change the YAML by a yq expression; may be given several times",
	  RUN(edit_run_set) },
	{ "param", 0, OPT_LIST, AT(param), "NAME=VALUE", "set a parameter the template declares", RUN(edit_run_param) },
	{ "video", 0, OPT_TRISTATE, AT(video), NULL, "show the machine's screen", RUN(run_video) },
	{ "audio-device", 0, OPT_STRING, AT(audio_device), "DEVICE", "sound device of the host", SET(".audio.device") },
	{ "audio-interface", 0, OPT_STRING, AT(audio_interface), "TYPE", "sound device of the guest",
	  .key = "audio.interface", SET(".audio.interface") },
	{ "ssh-port", 0, OPT_PORT, AT(ssh_port), "PORT", "SSH port on the host, 0 for a free one", SET(".ssh.localPort") },
	{ "image-variant", 0, OPT_STRING, AT(image_variant), "NAME", "of the images take those of this variant (new)",
	  RUN_NEW(edit_run_image_variant) },
	{ "arch-variant", 0, OPT_STRING, AT(arch_variant), "NAME",
	  "of the images take those of this architecture variant (new)", RUN_NEW(edit_run_arch_variant) },
	{ "arch", 0, OPT_STRING, AT(arch), "ARCH", "architecture of the machine (new)", .key = "arch", SET_NEW(".arch") },
	{ "containerd", 0, OPT_WORD, AT(containerd), "MODE", "containerd: user, system, user+system, none (new)",
	  .words = "user|system|user+system|system+user|none", RUN_NEW(run_containerd) },
	{ "disk", 0, OPT_GIB, AT(disk), "GIB", "disk size, in GiB", SET(".disk") },
	{ "idle", 0, OPT_WORD, AT(idle), "WHEN",
	  "when it may sleep: noContainers, noConnections, never", .key = "idle.when",
	  .words = "noContainers|noConnections|never", SET(".idle.when") },
	{ "plain", 0, OPT_TRISTATE, AT(plain), NULL, "no mounts, dynamic forwards, containerd (new)", SET_NEW(".plain") },
	{ "port-forward", 0, OPT_LIST, AT(port_forward), "HOST:GUEST[,static=true]", "forward a port of the host",
	  RUN(edit_run_port_forward) },
	{ "shell", 0, OPT_STRING, AT(shell), "PATH", "login shell of the user in the guest", SET(".user.shell") },
	{ 0 },
};

int edit_eval(struct edit_run *r, struct err *e, const char *fmt, ...)
{
	auto_free char *expression = NULL;
	struct ynode *root;
	va_list ap;

	va_start(ap, fmt);
	expression = xvasprintf(fmt, ap);
	va_end(ap);
	say_debug("Applying the expression %s", expression);
	root = yq_edit(r->pool, expression, r->root, e);
	if (!root)
		return -1;
	r->root = root;
	return 0;
}

/* What the row of an assignment was given, as a literal of an expression; in the pool. */
static const char *literal(struct yn_pool *p, const struct opt *o, const void *at)
{
	struct err checked;
	double gib = 0;

	switch (o->type) {
	case OPT_TRISTATE:
		return *(const enum opt_tristate *)at == OPT_YES ? "true" : "false";
	case OPT_COUNT:
		return yn_printf(p, "%u", *(const unsigned *)at);
	case OPT_GIB:
		/* What people can read, not the bytes of a binary fraction. */
		opt_parse_gib(*(const char *const *)at, &gib, &checked);
		return yn_printf(p, "\"%.15gGiB\"", gib);
	case OPT_PORT:
		return yn_printf(p, "%lu", strtoul(*(const char *const *)at, NULL, 10));
	default:
		return yq_quote(p, *(const char *const *)at);
	}
}

static bool is_empty_text(const struct opt *o, const void *at)
{
	return (o->type == OPT_STRING || o->type == OPT_WORD) && !**(const char *const *)at;
}

static int apply(struct edit_run *r, const struct opt *o, bool is_new, struct err *e)
{
	const void *at = (const char *)r->edit + o->offset;
	const struct edit_rule *rule = o->rule;

	if (rule->new_only && !is_new)
		return err_set(e, ERR_USAGE, "cannot be changed in an existing instance; make a new one with `limactl-c create "
			       "--%s=… --name=NAME`", o->name);
	if (is_empty_text(o, at))
		return err_set(e, ERR_USAGE, "needs a value that is not empty");
	return rule->run ? rule->run(r, e) : edit_eval(r, e, "%s = %s", rule->path, literal(r->pool, o, at));
}

bool edit_given(const struct edit *edit)
{
	for (const struct opt *o = edit_opts; o->name; o++)
		if (opt_given(o, edit))
			return true;
	return false;
}

int edit_apply(struct yn_pool *p, const struct edit *edit, bool is_new, struct ynode **root, struct err *e)
{
	struct edit_run r = { p, *root, edit };

	for (const struct opt *o = edit_opts; o->name; o++)
		if (opt_given(o, edit) && apply(&r, o, is_new, e) < 0)
			return err_wrap(e, "--%s", o->name);
	*root = r.root;
	return 0;
}
