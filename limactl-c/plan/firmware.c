/* Where UEFI firmware lies on this host: code with a template of its variables, which only fit together. */
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/plan/host.h"

/* As QEMU itself ships it. */
static const struct {
	const char *arch, *code, *vars;
} shipped[] = {
	{ "x86_64", "edk2-x86_64-code.fd", "edk2-i386-vars.fd" },
	{ "aarch64", "edk2-aarch64-code.fd", "edk2-arm-vars.fd" },
};

/* As distributions do: Arch, Debian, Fedora, openSUSE. */
static const struct {
	const char *arch, *dir, *code, *vars;
} packaged[] = {
	{ "x86_64", "/usr/share/edk2/x64", "OVMF_CODE.4m.fd", "OVMF_VARS.4m.fd" },
	{ "x86_64", "/usr/share/OVMF", "OVMF_CODE_4M.fd", "OVMF_VARS_4M.fd" },
	{ "x86_64", "/usr/share/OVMF", "OVMF_CODE.fd", "OVMF_VARS.fd" },
	{ "x86_64", "/usr/share/edk2/ovmf", "OVMF_CODE.fd", "OVMF_VARS.fd" },
	{ "x86_64", "/usr/share/qemu", "ovmf-x86_64-4m-code.bin", "ovmf-x86_64-4m-vars.bin" },
	{ "x86_64", "/usr/share/qemu", "ovmf-x86_64-code.bin", "ovmf-x86_64-vars.bin" },
	{ "aarch64", "/usr/share/edk2/aarch64", "QEMU_CODE.fd", "QEMU_VARS.fd" },
	{ "aarch64", "/usr/share/AAVMF", "AAVMF_CODE.fd", "AAVMF_VARS.fd" },
	{ "aarch64", "/usr/share/edk2/aarch64", "QEMU_EFI-pflash.raw", "vars-template-pflash.raw" },
	{ "aarch64", "/usr/share/qemu", "aavmf-aarch64-code.bin", "aavmf-aarch64-vars.bin" },
};

static bool take(const char *dir, const char *code_name, const char *vars_name, char **code, char **vars)
{
	auto_free char *c = xasprintf("%s/%s", dir, code_name), *v = xasprintf("%s/%s", dir, vars_name);

	if (!fs_exists(c) || !fs_exists(v))
		return false;
	*code = steal(&c);
	*vars = steal(&v);
	return true;
}

static bool take_shipped(const char *arch, const char *dir, char **code, char **vars)
{
	for (size_t i = 0; i < sizeof(shipped) / sizeof(*shipped); i++)
		if (!strcmp(shipped[i].arch, arch) && take(dir, shipped[i].code, shipped[i].vars, code, vars))
			return true;
	return false;
}

char *plan_qemu_share(const char *qemu)
{
	auto_free char *bin = fs_parent(qemu), *prefix = fs_parent(bin);

	return xasprintf("%s/share/qemu", prefix);
}

void plan_firmware_find(const char *arch, const char *home, const char *qemu, const char *root, char **code,
			char **vars)
{
	auto_free char *own = xasprintf("%s/.local/share/qemu", home), *beside_qemu = qemu ? plan_qemu_share(qemu) : NULL;

	*code = *vars = NULL;
	if (take_shipped(arch, own, code, vars) || (beside_qemu && take_shipped(arch, beside_qemu, code, vars)))
		return;
	for (size_t i = 0; i < sizeof(packaged) / sizeof(*packaged); i++) {
		auto_free char *dir = xasprintf("%s%s", root, packaged[i].dir);

		if (!strcmp(packaged[i].arch, arch) && take(dir, packaged[i].code, packaged[i].vars, code, vars))
			return;
	}
}
