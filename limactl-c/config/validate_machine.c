/* validate_machine.c - rules of what the machine is: system, architecture, hardware. */
#include <string.h>

#include "limactl-c/base/mem.h"
#include "limactl-c/config/check.h"
#include "limactl-c/config/where.h"

static bool is_one_of(const char *word, const char *const *words)
{
	for (; *words; words++) {
		if (!strcmp(word, *words))
			return true;
	}
	return false;
}

static void check_windows(struct check *k)
{
	static const char *const arches[] = { "x86_64", "aarch64", NULL };
	const struct cfg *c = k->c;

	if (strcmp(c->os, "Windows"))
		return;
	if (strcmp(c->vm_type, "qemu"))
		check_bad(k, xstrdup("os"), "can be Windows only with vmType qemu; it is %s", c->vm_type);
	if (!is_one_of(c->arch, arches))
		check_bad(k, xstrdup("os"), "can be Windows only with arch x86_64 or aarch64; it is %s", c->arch);
}

static void check_cpu_models(struct check *k)
{
	static const char *const arches[] = { "x86_64", "aarch64", "armv7l", "ppc64le", "riscv64", "s390x", NULL };

	for (size_t i = 0; i < k->c->cpu_models; i++) {
		const char *arch = k->c->cpu_model[i].key;

		if (!is_one_of(arch, arches))
			check_bad_key(k, xasprintf("vmOpts.qemu.cpuType.%s", arch),
				      "is no architecture: [x86_64 aarch64 armv7l ppc64le riscv64 s390x]");
	}
}

static void check_tpm(struct check *k)
{
	static const char *const arches[] = { "x86_64", "aarch64", "armv7l", "riscv64", NULL };

	if (k->c->tpm && !is_one_of(k->c->arch, arches))
		check_bad(k, xstrdup("tpm"), "is not possible on %s", k->c->arch);
}

static void check_mount_type(struct check *k)
{
	/* A driver and what it cannot mount. */
	static const struct {
		const char *vm_type, *mount_type;
	} never[] = { { "vz", "9p" }, { "vz", "wsl2" }, { "qemu", "wsl2" } };
	const struct cfg *c = k->c;

	for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++) {
		if (!strcmp(c->vm_type, never[i].vm_type) && !strcmp(c->mount_type, never[i].mount_type))
			check_bad(k, xstrdup("mountType"), "cannot be %s with vmType %s", c->mount_type, c->vm_type);
	}
	for (size_t i = 0; i < c->mount_types_unsupported; i++) {
		if (!strcmp(c->mount_type_unsupported[i], c->mount_type))
			check_bad(k, xstrdup("mountType"), "must not be %s, which is in `mountTypesUnsupported`",
				  c->mount_type);
	}
}

void check_machine(struct check *k)
{
	check_windows(k);
	check_cpu_models(k);
	check_tpm(k);
	check_mount_type(k);
	check_port(k, k->c->ssh.local_port, xstrdup("ssh.localPort"));
}
