#include "limactl-c/driver/qemu_args.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/driver/shares.h"

struct args {
	char **v;
	size_t n;
};

static void add(struct args *a, char *value)
{
	a->v = xrealloc_array(a->v, a->n + 2, sizeof(*a->v));
	a->v[a->n++] = value;
	a->v[a->n] = NULL;
}

/* An option and its value; takes value, NULL for an option without one. */
static void option(struct args *a, const char *name, char *value)
{
	add(a, xstrdup(name));
	if (value)
		add(a, value);
}

/* QEMU splits option values at commas; one that belongs to a file name is written twice. */
static char *quote(const char *s)
{
	char *out = xcalloc(2 * strlen(s) + 1, 1), *to = out;

	for (; *s; s++) {
		if (*s == ',')
			*to++ = ',';
		*to++ = *s;
	}
	return out;
}

static void add_accel(struct args *a, const struct plan *p)
{
	/* One thread for all emulated CPUs: with a thread each, QEMU 7.2 lost 4 of 50 boots to the guest kernel's patching
	 * of its own code, and a boot took half as much processor time again (docs/tuning.md). */
	static const char *const names[] = { [PLAN_TCG] = "tcg,thread=single", [PLAN_KVM] = "kvm", [PLAN_HVF] = "hvf" };

	option(a, "-accel", p->accel == PLAN_TCG && p->tb_size ? xasprintf("%s,tb-size=%u", names[PLAN_TCG], p->tb_size) :
								 xstrdup(names[p->accel]));
}

/* Without a screen the BIOS speaks on the serial console: why nothing boots is then in serial.log. */
static char *machine(const struct plan *p)
{
	return xasprintf("%s%s%s%s%s", p->machine, p->boot == PLAN_BOOT_BIOS ? ",graphics=off" : "",
			 p->firmware ? ",pflash0=code" : "", p->vars ? ",pflash1=vars" : "",
			 p->virtiofsd ? ",memory-backend=ram" : "");
}

static void add_machine(struct args *a, const struct plan *p)
{
	uint64_t mib = (p->memory + (1 << 20) - 1) >> 20;

	option(a, "-name", xasprintf("lima-%s", p->name));
	option(a, "-nodefaults", NULL);
	option(a, "-no-user-config", NULL);
	option(a, "-machine", machine(p));
	add_accel(a, p);
	option(a, "-cpu", xstrdup(p->cpu));
	option(a, "-m", xasprintf("%" PRIu64 "M", mib));
	/* The servers of virtiofs read and write the guest's memory themselves. */
	if (p->virtiofsd)
		option(a, "-object", xasprintf("memory-backend-memfd,id=ram,size=%" PRIu64 "M,share=on", mib));
	option(a, "-smp", xasprintf("%u,sockets=1,cores=%u,threads=1", p->cpus, p->cpus));
	option(a, "-display", xstrdup("none"));
#ifdef __linux__
	/* States go through descriptors, so QEMU need not start anything. */
	option(a, "-sandbox", xstrdup("on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"));
#endif
}

/* A file as it is, as the node of that name. */
static void add_raw(struct args *a, const char *node, const char *path, bool readonly)
{
	auto_free char *file = quote(path);
	const char *mode = readonly ? ",read-only=on" : "";

	option(a, "-blockdev", xasprintf("driver=file,node-name=%s-file%s,filename=%s", node, mode, file));
	option(a, "-blockdev", xasprintf("driver=raw,node-name=%s%s,file=%s-file", node, mode, node));
}

static void add_boot(struct args *a, const struct plan *p)
{
	if (p->firmware)
		add_raw(a, "code", p->firmware, true);
	if (p->vars)
		add_raw(a, "vars", p->vars, false);
	if (!p->kernel)
		return;
	option(a, "-kernel", xstrdup(p->kernel));
	if (p->initrd)
		option(a, "-initrd", xstrdup(p->initrd));
	if (p->cmdline)
		option(a, "-append", xstrdup(p->cmdline));
}

static void add_socket(struct args *a, const char *id, enum qemu_fd fd)
{
	option(a, "-chardev", xasprintf("socket,id=%s,fd=%d,server=on,wait=off", id, fd));
}

static void add_monitors(struct args *a)
{
	add_socket(a, "qmp-ha", QEMU_FD_QMP_HA);
	option(a, "-mon", xstrdup("chardev=qmp-ha,mode=control"));
	add_socket(a, "qmp", QEMU_FD_QMP);
	option(a, "-mon", xstrdup("chardev=qmp,mode=control"));
}

/* What the guest frees is freed on the host. Zeros the guest writes are not looked for: that reads every block, and the
 * guest discards what it does not need. */
static void add_disk(struct args *a, const struct plan_disk *d, size_t i)
{
	auto_free char *file = quote(d->path);
	const char *mode = d->readonly ? "read-only=on" : "discard=unmap";

	option(a, "-blockdev", xasprintf("driver=file,node-name=file%zu,%s,filename=%s", i, mode, file));
	option(a, "-blockdev", xasprintf("driver=%s,node-name=disk%zu,%s,file=file%zu", d->format, i, mode, i));
	option(a, "-device", d->serial ? xasprintf("virtio-blk-pci,drive=disk%zu,serial=%s", i, d->serial) :
					 xasprintf("virtio-blk-pci,drive=disk%zu,bootindex=%zu", i, i + 1));
}

/* An ISO boots before the disk, which is empty at first: from the controller every boot loader and initramfs of an x86
 * machine knows. The seed is where Lima's guests find it. */
static void add_cdroms(struct args *a, const struct plan *p)
{
	bool ide = !strcmp(p->arch, "x86_64");

	if (p->seed || (p->iso && !ide))
		option(a, "-device", xstrdup("virtio-scsi-pci,id=scsi0"));
	if (p->iso) {
		add_raw(a, "iso", p->iso, true);
		/* With a kernel given to QEMU that index is the kernel's. */
		option(a, "-device", xasprintf("%s,drive=iso%s", ide ? "ide-cd,bus=ide.0" : "scsi-cd,bus=scsi0.0",
					       p->kernel ? "" : ",bootindex=0"));
	}
	if (p->seed) {
		add_raw(a, "seed", p->seed, true);
		option(a, "-device", xstrdup("scsi-cd,bus=scsi0.0,drive=seed"));
	}
}

/* Mounts have slots of their own from the top, eight in each, so that all other devices keep theirs whatever is mounted: by
 * them a guest names its network card. A folder may hold several file systems, whose inode numbers are kept apart. */
enum { MOUNT_SLOT = 0x1e, SLOT_FUNCTIONS = 8 };

static void add_mount(struct args *a, const struct plan *p, size_t i)
{
	const struct plan_mount *m = &p->mount[i];
	bool ninep = m->type == PLAN_MOUNT_9P;
	auto_free char *server = ninep ? NULL : vm_share_socket(p, i), *path = quote(ninep ? m->host_path : server);
	auto_free char *at = xasprintf("addr=0x%zx.%zu,multifunction=on", MOUNT_SLOT - i / SLOT_FUNCTIONS, i % SLOT_FUNCTIONS);

	if (ninep) {
		option(a, "-fsdev", xasprintf("local,id=mount%zu,path=%s,security_model=%s,multidevs=remap%s", i, path,
					      m->security_model, m->writable ? "" : ",readonly=on"));
		option(a, "-device", xasprintf("virtio-9p-pci,fsdev=mount%zu,mount_tag=%s,%s", i, m->tag, at));
	} else if (m->type == PLAN_MOUNT_VIRTIOFS) {
		option(a, "-chardev", xasprintf("socket,id=mount%zu,path=%s", i, path));
		option(a, "-device", xasprintf("vhost-user-fs-pci,chardev=mount%zu,tag=%s,queue-size=%u,%s", i, m->tag,
					       m->queue_size, at));
	}
}

/* Outward only: ports of the guest are reached through the agent, or where it has none through its SSH server. A seed names addresses of Lima's network. IPv6 costs a
 * router's advertisement every 200 to 600 s (docs/tuning.md). */
static void add_net(struct args *a, const struct plan *p)
{
	auto_free char *ssh = p->ssh_key ? xasprintf(",hostfwd=tcp:127.0.0.1:%u-:22", p->ssh_port) : xstrdup("");

	option(a, "-netdev", xasprintf("user,id=net0%s%s",
				       p->seed ? ",net=" PLAN_NET ",dhcpstart=" PLAN_NET_ADDRESS : "", ssh));
	option(a, "-device", p->mac ? xasprintf("virtio-net-pci,netdev=net0,romfile=,mac=%s", p->mac) :
				      xstrdup("virtio-net-pci,netdev=net0,romfile="));
}

/* An emulated processor passes on itself what it writes to the port: waking QEMU's other thread for that costs more. */
static void add_channel(struct args *a, const struct plan *p)
{
	add_socket(a, "agent", QEMU_FD_AGENT);
	option(a, "-device", xasprintf("virtio-serial-pci,id=serial0,max_ports=2%s",
				       p->accel == PLAN_TCG ? ",ioeventfd=off" : ""));
	option(a, "-device", xstrdup("virtserialport,bus=serial0.0,chardev=agent,name=io.limactl-c.agent.0"));
	add_socket(a, "console", QEMU_FD_CONSOLE);
	option(a, "-serial", xstrdup("chardev:console"));
}

/* Pages the guest frees are reported and given back. A new vmgenid at every start tells a restored guest that it is one:
 * its kernel then reseeds its random numbers. */
static void add_memory_devices(struct args *a, const struct plan *p)
{
	option(a, "-device", xstrdup("virtio-balloon-pci,id=balloon0,free-page-reporting=on"));
	if (!strcmp(p->arch, "x86_64"))
		option(a, "-device", xstrdup("vmgenid,guid=auto"));
}

/* Last, so that all other devices keep their slots. With "master" a saved machine has the content too. */
static void add_shared_memory(struct args *a, const struct plan *p)
{
	if (!p->shared_memory)
		return;
	option(a, "-object", xasprintf("memory-backend-memfd,id=shared,size=%" PRIu64 ",share=on", p->shared_memory));
	option(a, "-device", xstrdup("ivshmem-plain,memdev=shared,master=on"));
}

char **qemu_args_make(const struct plan *p, bool incoming)
{
	struct args a = { 0 };

	add(&a, xstrdup(p->qemu));
	add_machine(&a, p);
	add_boot(&a, p);
	add_monitors(&a);
	for (size_t i = 0; i < p->disks; i++)
		add_disk(&a, &p->disk[i], i);
	add_cdroms(&a, p);
	for (size_t i = 0; i < p->mounts; i++)
		add_mount(&a, p, i);
	add_net(&a, p);
	add_channel(&a, p);
	add_memory_devices(&a, p);
	add_shared_memory(&a, p);
	if (incoming) {
		option(&a, "-S", NULL); /* loaded, it waits: the state's file goes before the machine runs */
		option(&a, "-incoming", xstrdup("defer"));
	}
	return a.v;
}
