/* The golden plans: tests/golden/NAME.yaml with facts in its first line becomes tests/golden/NAME.plan.json.
 * GOLDEN_UPDATE=1 writes them anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <glob.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/io.h"
#include "limactl-c/config/config.h"
#include "limactl-c/plan/host.h"
#include "tests/unit/tmp_dir.h"

#define DIR "/home/jane/.lima/box"

/* Value of KEY in the line "# facts: KEY=VALUE ..."; malloc'd. */
static char *fact(const char *text, const char *key, const char *otherwise)
{
	auto_free char *want = xasprintf(" %s=", key), *line = xstrndup(text, strcspn(text, "\n"));
	const char *at = strstr(line, want);

	if (!at)
		return xstrdup(otherwise);
	at += strlen(want);
	return xstrndup(at, strcspn(at, " "));
}

static bool fact_is(const char *text, const char *key, const char *value)
{
	auto_free char *has = fact(text, key, "");

	return !strcmp(has, value);
}

/* A list with that text; "": with none. */
static char **one_of(const char *text)
{
	char **list = *text ? xcalloc(1, sizeof(*list)) : NULL;

	if (list)
		list[0] = xstrdup(text);
	return list;
}

static struct plan_host facts_of(const char *text)
{
	auto_free char *accel = fact(text, "accel", "tcg"), *driver = fact(text, "driver", "");
	auto_free char *firmware = fact(text, "firmware", "/usr/share/OVMF/OVMF");
	auto_free char *server = fact(text, "virtiofsd", "");
	auto_free char *keys = fact(text, "ssh", "");
	bool none = !strcmp(firmware, "none"), old = strstr(server, "qemu");

	return (struct plan_host){
		.arch = fact(text, "arch", "x86_64"),
		.cpus = 8,
		.memory = 16ull << 30,
		.user = xstrdup("jane"),
		.comment = xstrdup("Jane Doe"),
		.home = xstrdup("/home/jane"),
		.uid = fact_is(text, "user", "root") ? 0 : 1000,
		.lima_home = xstrdup("/home/jane/.lima"),
		.qemu = fact(text, "qemu", "qemu-system-x86_64"),
		.accel = !strcmp(accel, "kvm") ? PLAN_KVM : PLAN_TCG,
		.ivshmem = strcmp(accel, "kvm") != 0,
		.agent = xstrdup("/opt/share/limactl-c/lima-guestagent.Linux-x86_64"),
		.provision = xstrdup("/opt/share/limactl-c/provision"),
		.firmware = none ? NULL : xasprintf("%s_CODE.fd", firmware),
		.firmware_vars = none ? NULL : xasprintf("%s_VARS.fd", firmware),
		.virtiofsd = *server ? xstrdup(server) : NULL,
		.virtiofsd_old = old,
		.virtiofsd_readonly = !old && !strstr(server, "1.0"),
		.probe_seconds = 600,
		.fake = !strcmp(driver, "fake"),
		.ssh_port = *keys ? 16022 : 0,
		.ssh_auth_sock = *keys ? xstrdup("/tmp/ssh-x/agent.1") : NULL,
		.ssh_key = one_of(keys),
		.ssh_keys = *keys != '\0',
		.ssh_identity = one_of(*keys ? "/home/jane/.ssh/100% \"mine\"" : ""),
		.ssh_identities = *keys != '\0',
	};
}

static void read_text(const char *path, struct buf *b)
{
	struct err e = { 0 };

	if (io_read_file(path, b, &e) < 0)
		fail_msg("%s", e.msg);
}

/* The files the command line would find. "# facts: loader=WORDS,WITH,COMMAS" is what an ISO's loader says; "-": there
 * is none that can be read. */
static struct plan_images images_of(const struct cfg *c, const char *loader)
{
	const struct cfg_image *im = &c->image[0];
	bool iso = strstr(im->location, ".iso"), direct = iso ? *loader != '-' : c->guest.direct_boot;

	return (struct plan_images){
		.disk = iso ? "/cache/alpine.iso" : "/cache/alpine.qcow2",
		.iso = iso,
		.kernel = direct ? "/cache/kernel" : NULL,
		.initrd = direct && (iso || im->initrd.location) ? "/cache/initrd" : NULL,
		.boot_args = !direct ? NULL : iso ? loader : im->kernel.cmdline,
		.firmware = c->firmware.images ? "/cache/firmware.fd" : NULL,
		.engine_disk = c->guest.engine_disk ? "/cache/engine.squashfs" : NULL,
		.containerd = c->containerd.system || c->containerd.user ? "/cache/nerdctl-full" : NULL,
	};
}

static int make(const char *name, const char *text, struct plan *p, struct err *e)
{
	auto_plan_host h = facts_of(text);
	struct cfg_host facts = plan_host_facts(&h);
	struct cfg_input in = { .instance = { name, text, strlen(text) }, .host = &facts,
				.name = "box", .dir = DIR, .lima_home = "/home/jane/.lima" };
	auto_free char *loader = fact(text, "loader", "-");
	struct findings f = { 0 };
	struct plan_extra extra[20];
	char *path[20];
	struct plan_images im = { 0 };
	struct cfg c;
	int rc;

	if (!cfg_read(&in, &c, &f))
		fail_msg("%s", finding_line(&f.item[0]));
	findings_fini(&f);
	for (char *comma = loader; (comma = strchr(comma, ','));)
		*comma = ' ';
	if (!h.fake)
		im = images_of(&c, loader);
	for (size_t i = 0; i < c.additional_disks; i++) {
		path[i] = xasprintf("/home/jane/.lima/_disks/%s/datadisk", c.additional_disk[i].name);
		extra[i] = (struct plan_extra){ path[i], i ? "raw" : "qcow2" };
	}
	im.extra = extra;
	im.extras = c.additional_disks;
	rc = plan_make(&c, &h, &im, "box", DIR, p, e);
	for (size_t i = 0; i < c.additional_disks; i++)
		free(path[i]);
	cfg_free(&c);
	return rc;
}

/* Also: what is read back is what was written. */
static void check_golden(const char *yaml, const char *tmp)
{
	auto_free char *golden = xasprintf("%.*s.plan.json", (int)(strlen(yaml) - strlen(".yaml")), yaml);
	auto_free char *first = xasprintf("%s/1", tmp), *second = xasprintf("%s/2", tmp);
	auto_buf text = BUF_INIT(1 << 20), want = BUF_INIT(1 << 20), got = BUF_INIT(1 << 20), again = BUF_INIT(1 << 20);
	struct plan p, q;
	struct err e = { 0 };

	read_text(yaml, &text);
	if (make(yaml, text.data, &p, &e) < 0)
		fail_msg("%s: %s", yaml, e.msg);
	assert_int_equal(plan_save(&p, getenv("GOLDEN_UPDATE") ? golden : first, &e), 0);
	assert_int_equal(plan_save(&p, first, &e), 0);
	plan_free(&p);
	assert_int_equal(plan_load(&q, first, &e), 0);
	assert_int_equal(plan_save(&q, second, &e), 0);
	plan_free(&q);
	read_text(golden, &want);
	read_text(first, &got);
	read_text(second, &again);
	if (strcmp(want.data, got.data))
		fail_msg("%s is not what comes out; diff it with a run of GOLDEN_UPDATE=1", golden);
	assert_string_equal(got.data, again.data);
}

static void test_golden_plans(void **state)
{
	glob_t g;

	assert_int_equal(glob("tests/golden/*.yaml", 0, NULL, &g), 0);
	assert_true(g.gl_pathc >= 12);
	for (size_t i = 0; i < g.gl_pathc; i++)
		check_golden(g.gl_pathv[i], *state);
	globfree(&g);
}

#define IMAGE \
	"images: [{location: /i, arch: x86_64, kernel: {location: /k}, initrd: {location: /r}}]\n" \
	"guest: {init: lean}\n"

static void test_what_is_not_possible(void **state)
{
	static const struct {
		const char *yaml, *msg;
	} rows[] = {
		{ IMAGE "vmType: fake\n", "LIMACTL_C_DRIVER" },
		{ "images: [{location: /i, arch: x86_64, kernel: {location: /k}, initrd: {location: /r}}]\n"
		  "containerd: {user: true, archives: [{location: /a}]}\n",
		  "containerd.user: needs a guest with systemd" },
		{ IMAGE "additionalDisks: [a, {name: a}]\n", "disk \"a\" is there twice" },
		{ IMAGE "additionalDisks: [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q]\n", "at most 16" },
		{ "images: [{location: /i.iso, arch: x86_64}]\nguest: {init: lean, directBoot: true}\n",
		  "guest.init: lean needs direct boot" },
		{ "images: [{location: /i, arch: x86_64, kernel: {location: /k}}]\nguest: {init: lean}\n",
		  "guest.init: lean needs `images[].initrd`" },
		{ "# facts: firmware=none\nimages: [{location: /i, arch: x86_64}]\n",
		  "no UEFI firmware for x86_64 guests here: install it (Debian: ovmf, Homebrew: qemu), or set "
		  "firmware.legacyBIOS: true" },
		{ "# facts: firmware=none\narch: aarch64\nimages: [{location: /i, arch: aarch64}]\n",
		  "for aarch64 guests here: install it (Debian: qemu-efi-aarch64, Homebrew: qemu)" },
		{ IMAGE "mountType: virtiofs\nmounts: [{location: /a}]\n", "mountType: virtiofs needs virtiofsd, which is not installed" },
		{ "# facts: virtiofsd=/usr/lib/qemu/virtiofsd\n" IMAGE "mountType: virtiofs\nmounts: [{location: /a}]\n",
		  "mountType: virtiofs: /usr/lib/qemu/virtiofsd can be run by root only" },
		{ "# facts: virtiofsd=/opt/virtiofsd-1.0\n" IMAGE
		  "mountType: virtiofs\nmounts: [{location: /a, writable: true}, {location: /b}]\n",
		  "mounts[1]: /opt/virtiofsd-1.0 cannot keep it read-only" },
		{ IMAGE "mounts: [{location: /a, mountPoint: '{{.Nothing}}'}]\n",
		  "mounts[0]: /a cannot be mounted at {{.Nothing}}: both must be absolute paths" },
		{ "# facts: firmware=none\narch: aarch64\nimages: [{location: /i, arch: aarch64}]\n"
		  "firmware: {legacyBIOS: true}\n", "no UEFI firmware" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct err e = { 0 };
		struct plan p;

		assert_int_equal(make("t", rows[i].yaml, &p, &e), -1);
		assert_true(e.kind == ERR_INVALID || e.kind == ERR_NOTFOUND);
		if (!strstr(e.msg, rows[i].msg))
			fail_msg("\"%s\" does not say \"%s\"", e.msg, rows[i].msg);
		assert_null(p.name);
	}
}

static void test_socket_path_too_long(void **state)
{
	auto_free char *yaml = xasprintf(IMAGE "portForwards: [{guestSocket: /run/x.sock, hostSocket: %090d.sock}]\n", 0);
	struct err e = { 0 };
	struct plan p;

	(void)state;
	assert_int_equal(make("t", yaml, &p, &e), -1);
	assert_non_null(strstr(e.msg, "portForwards[0].hostSocket"));
	assert_non_null(strstr(e.msg, "bytes"));
}

static void test_too_many_mounts(void **state)
{
	auto_buf yaml = BUF_INIT(1 << 16);
	struct err e = { 0 };
	struct plan p;

	(void)state;
	assert_int_equal(buf_adds(&yaml, IMAGE "mounts:\n"), 0);
	for (int i = 0; i < PLAN_MOUNT_MAX; i++)
		assert_int_equal(buf_addf(&yaml, "- {location: /proc, mountPoint: /m/%d}\n", i), 0);
	assert_int_equal(make("t", yaml.data, &p, &e), 0);
	assert_int_equal(p.mounts, PLAN_MOUNT_MAX);
	plan_free(&p);
	assert_int_equal(buf_adds(&yaml, "- location: /proc\n"), 0);
	assert_int_equal(make("t", yaml.data, &p, &e), -1);
	assert_string_equal(e.msg, "mounts: at most 32 are possible");
}

static void test_settings_text(void **state)
{
	struct err e = { 0 };
	struct plan p;
	auto_free char *text = NULL;

	(void)state;
	assert_int_equal(make("t", IMAGE "env: {GREETING: \"two\\nlines\"}\n", &p, &e), 0);
	text = plan_settings_text(&p, &e);
	assert_memory_equal(text, "hostname=lima-box\n", 18);
	assert_non_null(strstr(text, "\nenv.GREETING=two\\nlines\n"));
	assert_non_null(strstr(text, "\nuser.home=/home/jane.guest\n"));
	plan_free(&p);
}

#define KERNEL(args) \
	"images: [{location: /i, arch: x86_64, kernel: {location: /k, cmdline: '" args "'}, initrd: {location: /r}}]\n"

/* Template's words, ours, the user's; the same thing is said once, by the one who knows better. */
static void test_kernel_arguments(void **state)
{
	static const struct {
		const char *yaml, *cmdline;
	} rows[] = {
		{ KERNEL(""), "console=ttyS0 quiet psi=1 panic=-1 rdinit=/lima/init no_timer_check tsc=reliable" },
		{ KERNEL("a  b=c\td "), "a b=c d console=ttyS0 quiet psi=1 panic=-1 rdinit=/lima/init no_timer_check tsc=reliable" },
		{ KERNEL("x=\"a b\" root=/dev/sda1"),
		  "x=\"a b\" root=/dev/sda1 console=ttyS0 quiet psi=1 panic=-1 no_timer_check tsc=reliable norandmaps" },
		{ KERNEL("x=\"root=/no\""),
		  "x=\"root=/no\" console=ttyS0 quiet psi=1 panic=-1 rdinit=/lima/init no_timer_check tsc=reliable" },
		{ KERNEL("root=/a console=ttyS0,9600n8 console=ttyS1 quiet psi=0"),
		  "root=/a console=ttyS0,9600n8 console=ttyS1 quiet psi=0 panic=-1 no_timer_check tsc=reliable norandmaps" },
		{ KERNEL("root=/a") "guest: {kernelArgs: [root=/b, ro, quiet, console=ttyS0]}\n",
		  "psi=1 panic=-1 no_timer_check tsc=reliable norandmaps root=/b ro quiet console=ttyS0" },
		{ KERNEL("root=/a norandmaps") "guest: {kernelArgs: [quiet, psi, panic=1, console=ttyS0]}\n",
		  "root=/a norandmaps no_timer_check tsc=reliable quiet psi panic=1 console=ttyS0" },
		{ KERNEL("rdinit=/other root=/a") "guest: {init: lean}\n",
		  "root=/a console=ttyS0 quiet psi=1 panic=-1 rdinit=/lima/init no_timer_check tsc=reliable" },
		{ KERNEL("psi") "tuning: {initOnFree: true}\n",
		  "psi console=ttyS0 quiet panic=-1 rdinit=/lima/init no_timer_check tsc=reliable init_on_free=1" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct err e = { 0 };
		struct plan p;

		if (make("t", rows[i].yaml, &p, &e) < 0)
			fail_msg("%s: %s", rows[i].yaml, e.msg);
		assert_string_equal(p.cmdline, rows[i].cmdline);
		plan_free(&p);
	}
}

#define DISK "images: [{location: /i, arch: x86_64}]\nfirmware: {legacyBIOS: true}\n"
#define ISO "images: [{location: /i.iso, arch: x86_64}]\nfirmware: {legacyBIOS: true}\n"

/* What the guest's own loader is to say: only where the template asks for something of the kernel, and has a loader. */
static void test_arguments_of_the_guests_loader(void **state)
{
	static const struct {
		const char *yaml, *asked, *args, *last;
	} rows[] = {
		{ DISK, NULL, NULL, NULL },
		{ DISK "tuning: {skipBootMenu: true}\n", NULL, NULL, NULL },
		{ DISK "tuning: {initOnFree: true}\n", "true",
		  "console=ttyS0 quiet psi=1 panic=-1 no_timer_check tsc=reliable init_on_free=1", "" },
		{ DISK "guest: {kernelArgs: [nomodeset, psi=0, console=tty0]}\n", "true",
		  "console=ttyS0 quiet panic=-1 no_timer_check tsc=reliable", "nomodeset psi=0 console=tty0" },
		{ DISK "plain: true\nguest: {kernelArgs: [nomodeset]}\n", NULL, NULL, NULL },
		{ ISO "guest: {kernelArgs: [nomodeset]}\n", NULL, NULL, NULL },
		{ KERNEL("root=/a") "guest: {kernelArgs: [nomodeset]}\n", NULL, NULL, NULL },
		{ KERNEL("") "guest: {kernelArgs: [nomodeset]}\n", NULL, NULL, NULL },
	};
	static const char *const keys[] = { "tuning.kernelArgs", PLAN_LOADER_ARGS, PLAN_LOADER_LAST_ARGS };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *const want[] = { rows[i].asked, rows[i].args, rows[i].last };
		struct err e = { 0 };
		struct plan p;

		if (make("t", rows[i].yaml, &p, &e) < 0)
			fail_msg("%s: %s", rows[i].yaml, e.msg);
		for (size_t k = 0; k < 3; k++) {
			const char *got = plan_setting(&p, keys[k]);

			if (!got != !want[k] || (got && strcmp(got, want[k])))
				fail_msg("%s: %s is %s", rows[i].yaml, keys[k], got ? got : "missing");
		}
		plan_free(&p);
	}
}

static void test_too_many_kernel_arguments(void **state)
{
	auto_free char *fits = xasprintf(KERNEL("%s%01960d") "guest: {init: lean}\n", "", 0);
	auto_free char *too_long = xasprintf(KERNEL("%s%02000d") "guest: {init: lean}\n", "", 0);
	struct err e = { 0 };
	struct plan p;

	(void)state;
	assert_int_equal(make("t", fits, &p, &e), 0);
	plan_free(&p);
	assert_int_equal(make("t", too_long, &p, &e), -1);
	assert_non_null(strstr(e.msg, "would exceed 2047 bytes"));
}

static void put_empty(const char *root, const char *path)
{
	auto_free char *full = xasprintf("%s%s", root, path), *dir = fs_parent(full);
	struct err e = { 0 };

	assert_int_equal(fs_mkdirs(dir, 0755, &e), 0);
	assert_int_equal(fs_write_atomic(full, "", 0, 0644, &e), 0);
}

static void assert_firmware(const char *root, const char *arch, const char *code, const char *vars)
{
	auto_free char *home = xasprintf("%s/home", root), *qemu = xasprintf("%s/opt/bin/qemu", root);
	auto_free char *got_code = NULL, *got_vars = NULL;

	plan_firmware_find(arch, home, qemu, root, &got_code, &got_vars);
	if (!code) {
		assert_null(got_code);
		assert_null(got_vars);
		return;
	}
	assert_non_null(got_code);
	assert_string_equal(got_code + strlen(root), code);
	assert_string_equal(got_vars + strlen(root), vars);
}

/* The nearer to the user the better; code without a template of its variables is passed by. */
static void test_firmware_of_the_host(void **state)
{
	const char *root = *state;

	assert_firmware(root, "x86_64", NULL, NULL);
	put_empty(root, "/usr/share/OVMF/OVMF_CODE_4M.fd");
	assert_firmware(root, "x86_64", NULL, NULL);
	put_empty(root, "/usr/share/OVMF/OVMF_CODE.fd");
	put_empty(root, "/usr/share/OVMF/OVMF_VARS.fd");
	assert_firmware(root, "x86_64", "/usr/share/OVMF/OVMF_CODE.fd", "/usr/share/OVMF/OVMF_VARS.fd");
	put_empty(root, "/usr/share/OVMF/OVMF_VARS_4M.fd");
	assert_firmware(root, "x86_64", "/usr/share/OVMF/OVMF_CODE_4M.fd", "/usr/share/OVMF/OVMF_VARS_4M.fd");
	put_empty(root, "/opt/share/qemu/edk2-x86_64-code.fd");
	put_empty(root, "/opt/share/qemu/edk2-i386-vars.fd");
	assert_firmware(root, "x86_64", "/opt/share/qemu/edk2-x86_64-code.fd", "/opt/share/qemu/edk2-i386-vars.fd");
	put_empty(root, "/home/.local/share/qemu/edk2-x86_64-code.fd");
	put_empty(root, "/home/.local/share/qemu/edk2-i386-vars.fd");
	assert_firmware(root, "x86_64", "/home/.local/share/qemu/edk2-x86_64-code.fd",
			"/home/.local/share/qemu/edk2-i386-vars.fd");
	assert_firmware(root, "aarch64", NULL, NULL);
	put_empty(root, "/usr/share/AAVMF/AAVMF_CODE.fd");
	put_empty(root, "/usr/share/AAVMF/AAVMF_VARS.fd");
	assert_firmware(root, "aarch64", "/usr/share/AAVMF/AAVMF_CODE.fd", "/usr/share/AAVMF/AAVMF_VARS.fd");
}

/* What a saved machine depends on changes its text, what it does not depend on leaves it. */
static void test_machine_text(void **state)
{
	static const struct {
		const char *yaml;
		bool same;
	} rows[] = {
		{ IMAGE "message: hello\n", true },
		{ IMAGE "portForwards: [{guestPort: 80, hostPort: 8080}]\n", true },
		{ IMAGE "env: {A: b}\n", true },
		{ IMAGE "memory: 3GiB\n", false },
		{ IMAGE "cpus: 3\n", false },
		{ IMAGE "mounts: [{location: /a}]\n", false },
		{ IMAGE "tuning: {initOnFree: true}\n", false },
		{ IMAGE "vmOpts: {qemu: {cpuType: {x86_64: max}}}\n", false },
		{ "images: [{location: /i, arch: x86_64}]\nguest: {init: openrc}\n", false },
	};
	struct err e = { 0 };
	struct plan p;
	auto_free char *base = NULL;

	(void)state;
	assert_int_equal(make("t", IMAGE, &p, &e), 0);
	base = plan_machine_text(&p);
	plan_free(&p);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		auto_free char *text = NULL;

		assert_int_equal(make("t", rows[i].yaml, &p, &e), 0);
		text = plan_machine_text(&p);
		if (!strcmp(text, base) != rows[i].same)
			fail_msg("%s: %s", rows[i].yaml, text);
		plan_free(&p);
	}
}

static void test_virtualization_flags(void **state)
{
	(void)state;
	assert_true(plan_host_cpu_virtualizes("processor\t: 0\nflags\t\t: fpu vmx sse\nbogomips: 1\n"));
	assert_true(plan_host_cpu_virtualizes("processor\t: 0\nflags\t\t: fpu svm"));
	assert_false(plan_host_cpu_virtualizes("processor\t: 0\nflags\t\t: fpu svm_lock xvmx\nvmx flags\t: vmx\n"));
	assert_false(plan_host_cpu_virtualizes("processor\t: 0\nFeatures: vmx\n"));
	assert_false(plan_host_cpu_virtualizes(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_golden_plans, tmp_dir_make, tmp_dir_remove),
		cmocka_unit_test(test_what_is_not_possible),
		cmocka_unit_test(test_socket_path_too_long),
		cmocka_unit_test(test_too_many_mounts),
		cmocka_unit_test(test_settings_text),
		cmocka_unit_test(test_kernel_arguments),
		cmocka_unit_test(test_arguments_of_the_guests_loader),
		cmocka_unit_test(test_too_many_kernel_arguments),
		cmocka_unit_test_setup_teardown(test_firmware_of_the_host, tmp_dir_make, tmp_dir_remove),
		cmocka_unit_test(test_machine_text),
		cmocka_unit_test(test_virtualization_flags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
