#include "limactl-c/plan/host.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/io.h"
#include "lib/sock.h"
#include "limactl-c/base/env.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/prefix.h"
#include "limactl-c/base/spawn.h"
#include "limactl-c/store/paths.h"

enum { CPUINFO_MAX = 4 << 20, FIRST_LINE_MAX = 4096 };

static void probe_user(struct plan_host *h)
{
	struct passwd *pw = getpwuid(getuid());
	const char *home = getenv("HOME");

	h->uid = getuid();
	h->user = xstrdup(pw ? pw->pw_name : "lima");
	h->comment = xstrdup(pw && pw->pw_gecos ? pw->pw_gecos : "");
	/* Of the comma-separated fields the first is the full name. */
	h->comment[strcspn(h->comment, ",")] = '\0';
	h->home = xstrdup(home && *home ? home : pw ? pw->pw_dir : "/");
}

/* The first line of a small file, without spaces around it; NULL when there is none. */
static char *first_line(const char *path)
{
	auto_buf text = BUF_INIT(FIRST_LINE_MAX);
	struct err ignored;
	char *p;

	if (io_read_file(path, &text, &ignored) < 0 || !text.data)
		return NULL;
	p = text.data + strspn(text.data, " \t");
	p[strcspn(p, " \t\r\n")] = '\0';
	return *p ? xstrdup(p) : NULL;
}

/* The name is what follows the folder of time zones in the target of /etc/localtime. */
static char *probe_timezone(void)
{
	static const char below[] = "/zoneinfo/";
	char *name = first_line("/etc/timezone");
	auto_free char *target = name ? NULL : realpath("/etc/localtime", NULL);
	const char *at = target ? strstr(target, below) : NULL;

	return name ? name : at ? xstrdup(at + strlen(below)) : NULL;
}

static char *probe_machine_id(void)
{
	char *id = first_line("/etc/machine-id");

	if (!id)
		id = first_line("/var/lib/dbus/machine-id");
	return id ? id : xstrdup("");
}

/* Both spellings: which of them wins is the plan's matter. */
static void probe_proxies(struct plan_host *h)
{
	static const char *const names[PLAN_PROXIES] = { "all_proxy", "ftp_proxy", "http_proxy", "https_proxy", "no_proxy",
							 "ALL_PROXY", "FTP_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY" };

	for (size_t i = 0; i < PLAN_PROXIES; i++) {
		const char *value = getenv(names[i]);

		if (value)
			h->proxy[h->proxies++] = (struct plan_pair){ xstrdup(names[i]), xstrdup(value) };
	}
}

static char *probe_ssh_agent(void)
{
	const char *path = getenv("SSH_AUTH_SOCK");

	return path && path[0] == '/' && strlen(path) <= SOCK_PATH_MAX ? xstrdup(path) : NULL;
}

char *plan_host_zone(const struct plan_host *h, const char *name)
{
	auto_free char *path = h->zoneinfo ? xasprintf("%s/%s", h->zoneinfo, name) : NULL;
	struct stat st;

	/* It becomes part of a path, here and in the guest. */
	if (!path || !*name || *name == '/' || strstr(name, "..") || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	return steal(&path);
}

const char *plan_host_arch(void)
{
	static struct utsname u;

	if (uname(&u) < 0)
		return "";
	return !strcmp(u.machine, "arm64") ? "aarch64" : !strcmp(u.machine, "amd64") ? "x86_64" : u.machine;
}

int plan_host_probe(struct plan_host *h, struct err *e)
{
	const char *driver = getenv("LIMACTL_C_DRIVER");
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE), cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct utsname u;

	*h = (struct plan_host){ 0 };
	if (uname(&u) < 0)
		return err_errno(e, "uname");
	h->arch = xstrdup(plan_host_arch());
	h->darwin = !strcmp(u.sysname, "Darwin");
	h->cpus = cpus > 0 ? (unsigned)cpus : 1;
	h->memory = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : (uint64_t)1 << 30;
	h->fake = driver && !strcmp(driver, plan_driver_word(PLAN_FAKE));
	h->probe_seconds = env_seconds("LIMACTL_C_PROBE_SECONDS", 200 * 3); /* Lima's 200 tries of 3 s */
	probe_user(h);
	h->timezone = probe_timezone();
	h->machine_id = probe_machine_id();
	h->zoneinfo = xstrdup("/usr/share/zoneinfo");
	probe_proxies(h);
	h->ssh_auth_sock = probe_ssh_agent();
	h->lima_home = paths_home(e);
	return h->lima_home ? 0 : -1;
}

bool plan_host_cpu_virtualizes(const char *cpuinfo)
{
	static const char *const words[] = { "vmx", "svm" };
	const char *flags = strstr(cpuinfo, "\nflags"), *end;

	if (!flags)
		return false;
	flags++;
	end = flags + strcspn(flags, "\n");
	for (size_t i = 0; i < 2; i++)
		for (const char *p = flags; (p = strstr(p, words[i])) && p < end; p++)
			if (isspace((unsigned char)p[-1]) && (!p[3] || isspace((unsigned char)p[3])))
				return true;
	return false;
}

/* KVM needs a processor that can (here /dev/kvm may open where guests then hang) and the right to use it. */
static bool kvm_works(const char *arch)
{
	auto_buf info = BUF_INIT(CPUINFO_MAX);
	auto_close int fd = -1;
	struct err ignored = { 0 };

	if (!strcmp(arch, "x86_64") &&
	    (io_read_file("/proc/cpuinfo", &info, &ignored) < 0 || !info.data || !plan_host_cpu_virtualizes(info.data)))
		return false;
	fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	return fd >= 0;
}

static int probe_accel(struct plan_host *h, const char *arch, struct err *e)
{
	static const char *const words[] = { [PLAN_TCG] = "tcg", [PLAN_KVM] = "kvm", [PLAN_HVF] = "hvf" };
	const char *env = getenv("LIMACTL_C_ACCEL");

	if (env && *env) {
		for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
			if (!strcmp(env, words[i])) {
				h->accel = (enum plan_accel)i;
				return 0;
			}
		return err_set(e, ERR_INVALID, "LIMACTL_C_ACCEL is \"%s\"; possible are kvm, tcg and hvf", env);
	}
	h->accel = PLAN_TCG;
	if (!strcmp(arch, h->arch) && h->darwin)
		h->accel = PLAN_HVF;
	else if (!strcmp(arch, h->arch) && kvm_works(arch))
		h->accel = PLAN_KVM;
	return 0;
}

/* $QEMU_SYSTEM_X86_64 and its like name the program. */
static char *qemu_program(const char *arch)
{
	auto_free char *name = xasprintf("QEMU_SYSTEM_%s", arch);
	const char *env;

	for (char *p = name; *p; p++)
		*p = (char)toupper((unsigned char)*p);
	env = getenv(name);
	return env && *env ? xstrdup(env) : xasprintf("qemu-system-%s", arch);
}

/* Some builds are without the device. Its name is looked for in the program, which takes 2.5 ms; QEMU itself takes 17 to say. */
static bool has_ivshmem(const char *qemu)
{
	static const char name[] = "ivshmem-plain";
	auto_close int fd = open(qemu, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *p;
	bool has;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size <= 0)
		return false;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return false;
	has = memmem(p, (size_t)st.st_size, name, sizeof(name)) != NULL;
	munmap(p, (size_t)st.st_size);
	return has;
}

int plan_host_for_guest(struct plan_host *h, const char *arch, struct err *e)
{
	auto_free char *below = xasprintf("lima-guestagent.Linux-%s", arch), *qemu = NULL;
	struct err none;

	if (probe_accel(h, arch, e) < 0)
		return -1;
	free(h->qemu);
	free(h->agent);
	free(h->provision);
	h->qemu = qemu_program(arch);
	free(h->firmware);
	free(h->firmware_vars);
	h->agent = prefix_share(below, e);
	h->provision = prefix_share("provision", e);
	qemu = spawn_find(h->qemu, &none);
	/* Elsewhere it was not measured, and some processors show host and guest such memory differently. */
	h->ivshmem = h->accel == PLAN_TCG && !h->darwin && qemu && has_ivshmem(qemu);
	plan_firmware_find(arch, h->home, qemu, "", &h->firmware, &h->firmware_vars);
	return h->agent && h->provision ? 0 : -1;
}

struct cfg_host plan_host_facts(const struct plan_host *h)
{
	return (struct cfg_host){
		.arch = h->arch,
		.user = h->user,
		.comment = h->comment,
		.home = h->home,
		.timezone = h->timezone,
		.machine_id = h->machine_id,
		.uid = h->uid,
		.cpus = h->cpus,
		.memory = h->memory,
		.darwin = h->darwin,
	};
}

static void free_list(char **text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(text[i]);
	free(text);
}

void plan_host_free(struct plan_host *h)
{
	free(h->arch);
	free(h->user);
	free(h->comment);
	free(h->home);
	free(h->timezone);
	free(h->machine_id);
	free(h->zoneinfo);
	for (size_t i = 0; i < h->proxies; i++) {
		free(h->proxy[i].key);
		free(h->proxy[i].value);
	}
	free(h->lima_home);
	free(h->ssh_auth_sock);
	free_list(h->ssh_key, h->ssh_keys);
	free_list(h->ssh_identity, h->ssh_identities);
	free(h->qemu);
	free(h->agent);
	free(h->provision);
	free(h->firmware);
	free(h->firmware_vars);
	free(h->virtiofsd);
	*h = (struct plan_host){ 0 };
}
