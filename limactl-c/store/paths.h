/* paths.h - every file name of an instance folder, in one table. */
#ifndef LIMA_PATHS_H
#define LIMA_PATHS_H

#include "lib/err.h"

/* Folders of the installation (share, libexec) are base/prefix.h's. */
enum path_name {
	PATH_YAML,        /* lima.yaml */
	PATH_VERSION,     /* lima-version */
	PATH_PROTECTED,   /* protected */
	PATH_PLAN,        /* plan.json */
	PATH_HA_LOCK,     /* ha.lock: flock held by the living host agent */
	PATH_HOLD_LOCK,   /* hold.lock: flock held by a command that changes or copies what stands still */
	PATH_HA_PID,      /* ha.pid: for compatibility only */
	PATH_HA_SOCK,     /* ha.sock: control socket */
	PATH_HA_STDOUT,   /* ha.stdout.log: event lines */
	PATH_HA_STDERR,   /* ha.stderr.log */
	PATH_VM_LOCK,     /* vm.lock: flock inherited by the machine's process, so held as long as it lives */
	PATH_QEMU_PID,    /* qemu.pid: for compatibility only */
	PATH_QMP_HA,      /* qmp-ha.sock: ours */
	PATH_QMP,         /* qmp.sock: for people and tests */
	PATH_AGENT_SOCK,  /* agent.sock: virtio-serial port io.limactl-c.agent.0 */
	PATH_SERIAL_SOCK, /* serial.sock: the guest's serial console, read by the driver */
	PATH_SERIAL_LOG,  /* serial.log */
	PATH_DRIVER_LOG,  /* driver.stderr.log */
	PATH_DISK,        /* disk */
	PATH_INITRD,      /* initrd */
	PATH_EFI_VARS,    /* efi-vars.fd: what UEFI remembers */
	PATH_CIDATA,      /* cidata.iso: seed of a guest with an init of its own */
	PATH_SSH_CONFIG,  /* ssh.config: for ssh -F */
	PATH_KNOWN_HOSTS, /* known_hosts: what the guest's SSH server is known by, as the guest agent told it */
	PATH_STATE,       /* vm.state: saved machine */
	PATH_STATE_META,  /* vm.state.json: what it fits */
	PATH_HARVEST,     /* harvest/: kernel and initramfs taken out of the guest */
	PATH_MACHINE_ID,  /* machine-id: given to a clone, whose disk has another's */
	PATH_SNAPSHOTS,   /* snapshots/: what the memory in snapshots fits */
	PATH_SOCK_DIR,    /* sock/: relative hostSocket paths */
	PATH_COUNT
};

/* Bytes of an answer at ha.sock: the host agent says no more, head and all, and its client takes a body of as many. */
enum { PATH_HA_ANSWER_MAX = 16 << 20 };

const char *path_file(enum path_name name);                /* "ha.sock" */
char *path_in(const char *dir, enum path_name name);       /* malloc'd "dir/ha.sock" */

/* Removes the sockets and the pid file of a machine that has ended: they mislead people and programs. */
void paths_remove_machine(const char *dir);

/* The user's home folder: $HOME as everywhere, else what the user database says; malloc'd. */
char *paths_user_home(struct err *e);
/* $LIMA_HOME or ~/.lima, absolute, malloc'd; not created. */
char *paths_home(struct err *e);
/* $XDG_CACHE_HOME/limactl-c or ~/.cache/limactl-c, malloc'd. */
char *paths_cache(struct err *e);
/* "cache:NAME" → the file's path in our cache (<cache>/names/NAME); other locations are copied. ERR_NOTFOUND when absent. */
char *paths_cached(const char *location, struct err *e);

/* Refuses an instance folder in which a socket path would be too long, with the number of bytes, and one whose path
 * is not UTF-8: the plan is JSON, which cannot name it. */
int paths_check_dir(const char *dir, struct err *e);

#endif
