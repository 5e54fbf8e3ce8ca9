/* agentproto.h - what host agent and guest agent say to each other over lib/mux.
 *
 * Open requests say what a stream is connected to; messages carry the rest. All integers are little-endian.
 * The wire layout of each is in docs/protocol.md. Every pack function returns the length written, or -1 when
 * it does not fit; every unpack function checks each bound and returns -1 for anything that is not exact.
 */
#ifndef LIMA_AGENTPROTO_H
#define LIMA_AGENTPROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/mux.h"

/* --- open requests (host opens all of them but REVERSE) --- */

enum ap_open_kind {
	AP_OPEN_TCP = 1,  /* connect to address and port in the guest */
	AP_OPEN_UNIX = 2, /* connect to a socket path in the guest */
	AP_OPEN_EXEC = 3, /* run a command; the stream carries lib/execproto records */
	AP_OPEN_UDP = 4,  /* one client of a UDP server in the guest; the stream carries lib/dgram records */
	AP_OPEN_DNS = 5,  /* the guest answers on this address and port, and asks here (lib/dns_record.h) */
	AP_OPEN_REVERSE = 6, /* guest → host: somebody connected to the socket of that index (AP_MSG_REVERSE) */
	AP_OPEN_SOCKS = 8, /* a client of a SOCKS5 server whose connections leave from the guest */
	AP_OPEN_EVENTS = 9, /* changes in shared folders; the stream carries lib/fevent records to the guest */
	AP_OPEN_SSHFS = 10, /* a folder of the host, which serves it by SFTP, for the guest's sshfs to mount at path */
};

enum { AP_PATH_MAX = 1024 };

enum { AP_SSHFS_WRITABLE = 1, AP_SSHFS_CACHE = 2, AP_SSHFS_FOLLOW = 4 };

struct ap_open {
	enum ap_open_kind kind;
	uint8_t family;          /* TCP, UDP, DNS: 4 or 6 */
	uint8_t addr[16];        /* network order; the first 4 bytes for family 4 */
	uint16_t port;           /* host order */
	char path[AP_PATH_MAX];  /* UNIX, SSHFS */
	uint16_t index;          /* REVERSE, SSHFS: the host's, for AP_MSG_MOUNTED */
	uint8_t flags;           /* SSHFS */
};

ssize_t ap_open_pack(const struct ap_open *o, uint8_t *p, size_t n);
int ap_open_unpack(struct ap_open *o, const uint8_t *p, size_t n);

/* --- messages --- */

enum ap_message {
	AP_MSG_INFO = MUX_MESSAGE_FIRST, /* guest → host, first after up: struct ap_info */
	AP_MSG_PORTS,                    /* guest → host: changes of listening ports, see below */
	AP_MSG_PROVISION,                /* guest → host: struct ap_provision, one a script state change */
	AP_MSG_BOOT,                     /* guest → host: struct ap_boot */
	AP_MSG_TIME,                     /* host → guest: u64 nanoseconds since 1970 */
	AP_MSG_POWER_OFF,                /* host → guest: as if the power button were pressed; no body */
	AP_MSG_TROUBLE,                  /* guest → host: struct ap_trouble, one a change; all of them after up, before BOOT */
	AP_MSG_REVERSE,                  /* host → guest: struct ap_reverse, after up unless resumed */
	AP_MSG_CLOCK,                    /* guest → host: u64 stamp, what time is it?; host → guest: struct ap_clock */
	AP_MSG_HOST_KEYS = MUX_MESSAGE_FIRST + 10, /* guest → host: struct ap_host_keys, after up and when they are others */
	AP_MSG_MOUNTED = MUX_MESSAGE_FIRST + 12, /* guest → host: u16 index of an SSHFS request: it is mounted now */
	AP_MSG_SUSPEND = MUX_MESSAGE_FIRST + 16, /* host → guest: get ready to be saved, no body; guest → host: struct ap_suspend */
	AP_MSG_WOKEN, /* host → guest: struct ap_woken, when it goes on after that, saved or not, and from any saved memory */
};

struct ap_info {
	uint32_t pid;        /* of the agent, in the guest */
	uint64_t boot_id;    /* random, drawn by setup at each boot of the guest */
	char version[64];
	char hostname[65];
	char kernel[65];     /* uname -r */
	char port_events[16]; /* how port changes are noticed: "ebpf", "poll" */
};
ssize_t ap_info_pack(const struct ap_info *v, uint8_t *p, size_t n);
int ap_info_unpack(struct ap_info *v, const uint8_t *p, size_t n);

/* A listening port of the guest. */
struct ap_port {
	uint8_t proto;    /* AP_TCP, AP_UDP */
	uint8_t family;   /* 4 or 6 */
	uint8_t addr[16]; /* network order */
	uint16_t port;    /* host order */
};
enum { AP_TCP = 1, AP_UDP = 2 };

/* AP_MSG_PORTS: a list of changes. snapshot: forget everything known before first (sent after up, unless resumed). */
enum { AP_PORTS_MAX = 1024 }; /* changes in one message; more go in several */
struct ap_ports {
	bool snapshot;
	size_t count;
	struct {
		bool listening; /* opened, or closed */
		struct ap_port port;
	} change[AP_PORTS_MAX];
};
ssize_t ap_ports_pack(const struct ap_ports *v, uint8_t *p, size_t n);
int ap_ports_unpack(struct ap_ports *v, const uint8_t *p, size_t n);

enum ap_provision_state {
	AP_PROVISION_RUNNING = 1,
	AP_PROVISION_OK,
	AP_PROVISION_FAILED,
	AP_PROVISION_ASKS, /* the host is to edit the file of a yq entry (guestagent/provision.h) */
};
enum {
	AP_TAIL_MAX = 2048,
	AP_PROVISION_UPGRADE = 1000, /* the index of upgradePackages; entries of the template are below */
};
struct ap_provision {
	uint16_t index; /* position in provision[] of the template, or AP_PROVISION_UPGRADE */
	uint8_t state;
	int32_t status;          /* exit code, or -signal, when FAILED */
	char tail[AP_TAIL_MAX];  /* its last output lines, when FAILED */
};
ssize_t ap_provision_pack(const struct ap_provision *v, uint8_t *p, size_t n);
int ap_provision_unpack(struct ap_provision *v, const uint8_t *p, size_t n);

/* How far the guest has come. Sent when it changes and after up. */
enum ap_boot_phase { AP_BOOT_SETUP = 1, AP_BOOT_PROVISIONING, AP_BOOT_DONE, AP_BOOT_STOPPING };
struct ap_boot {
	uint8_t phase;
	char detail[256]; /* a warning of setup, or empty */
};
ssize_t ap_boot_pack(const struct ap_boot *v, uint8_t *p, size_t n);
int ap_boot_unpack(struct ap_boot *v, const uint8_t *p, size_t n);

/* Something that should work and does not. */
struct ap_trouble {
	char what[64];  /* its name: "dockerd"; never empty */
	char why[512];  /* one line; empty: it works again */
};
ssize_t ap_trouble_pack(const struct ap_trouble *v, uint8_t *p, size_t n);
int ap_trouble_unpack(struct ap_trouble *v, const uint8_t *p, size_t n);

/* The sockets the guest is to listen on, all of them; a connection to one is opened to the host with its index. */
enum { AP_REVERSE_MAX = 64, AP_GROUP_MAX = 33 };
struct ap_reverse {
	size_t count;
	struct ap_reverse_socket {
		uint16_t index;           /* the host's, which it takes back only as given */
		uint16_t mode;            /* of the socket: at most 0777 */
		char group[AP_GROUP_MAX]; /* a name in the guest; empty: the user's own */
		char path[AP_PATH_MAX];   /* absolute */
	} socket[AP_REVERSE_MAX];
};
ssize_t ap_reverse_pack(const struct ap_reverse *v, uint8_t *p, size_t n);
int ap_reverse_unpack(struct ap_reverse *v, const uint8_t *p, size_t n);

/* What the guest's SSH server is to be known by: all of its public host keys. */
enum { AP_HOST_KEYS_MAX = 8, AP_HOST_KEY_MAX = 3072 };
struct ap_host_keys {
	size_t count;
	char key[AP_HOST_KEYS_MAX][AP_HOST_KEY_MAX]; /* "ssh-ed25519 AAAA…", see ap_host_key_ok() */
};
ssize_t ap_host_keys_pack(const struct ap_host_keys *v, uint8_t *p, size_t n);
int ap_host_keys_unpack(struct ap_host_keys *v, const uint8_t *p, size_t n);
/* Whether it is two words, a kind of key and its base64, and nothing else: safe in a line of known_hosts. */
bool ap_host_key_ok(const char *key);

/* The host's time, with the stamp of the guest's question. */
struct ap_clock {
	uint64_t stamp, ns; /* ns since 1970 */
};
ssize_t ap_clock_pack(const struct ap_clock *v, uint8_t *p, size_t n);
int ap_clock_unpack(struct ap_clock *v, const uint8_t *p, size_t n);

/* The guest is ready to be saved, or says why it cannot be. */
struct ap_suspend {
	char why[512]; /* one line; empty: it is ready */
};
ssize_t ap_suspend_pack(const struct ap_suspend *v, uint8_t *p, size_t n);
int ap_suspend_unpack(struct ap_suspend *v, const uint8_t *p, size_t n);

/* Two machines may go on from one memory: what they draw from here on must differ. */
enum { AP_SEED_SIZE = 32 };
struct ap_woken {
	uint8_t seed[AP_SEED_SIZE]; /* random */
};
ssize_t ap_woken_pack(const struct ap_woken *v, uint8_t *p, size_t n);
int ap_woken_unpack(struct ap_woken *v, const uint8_t *p, size_t n);

/* AP_MSG_MOUNTED */
ssize_t ap_mounted_pack(uint16_t index, uint8_t *p, size_t n);
int ap_mounted_unpack(uint16_t *index, const uint8_t *p, size_t n);

/* AP_MSG_TIME, and the stamp of a question */
ssize_t ap_time_pack(uint64_t ns, uint8_t *p, size_t n);
int ap_time_unpack(uint64_t *ns, const uint8_t *p, size_t n);

#endif
