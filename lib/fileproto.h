/* fileproto.h - records of a tree of files on its way from a sender to a receiver.
 *
 * A record is u8 type, three zero bytes, u32 length (LE), payload. Each side says FILEPROTO_MAGIC before its first; the receiver
 * speaks only when it is asked (FILE with ask) and at the end, so neither can block the other.
 *
 *   sender → receiver:  [TOTAL], then trees of DIR … LEAVE, FILE, LINK; END. PROBLEM anywhere
 *                       after FILE: [OFFER of the receiver, FROM], DATA and HOLE in any order, then DONE or DROP
 *   receiver → sender:  OFFER, when asked; behind END PROBLEMs and END
 *
 * A name is one component, so there is no path that could lead anywhere.
 */
#ifndef LIMA_FILEPROTO_H
#define LIMA_FILEPROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FILEPROTO_MAGIC "LFILES1\n"

enum fp_type {
	FP_TOTAL = 1, /* u64 bytes of all files, for who shows a percentage */
	FP_DIR,       /* entry; what follows is in it. An empty name: in the target itself */
	FP_LEAVE,     /* the last DIR is complete */
	FP_FILE,      /* entry */
	FP_LINK,      /* entry with what the link says */
	FP_OFFER,     /* u64 bytes of the content that are there already (FP_UNWANTED: send none), u64 hash of them */
	FP_FROM,      /* u64: where DATA begins, what was offered or 0 */
	FP_DATA,      /* bytes */
	FP_HOLE,      /* u64 bytes that are zeros */
	FP_DONE,      /* u64 size: the file is complete */
	FP_DROP,      /* it could not be read to its end, for which there was a PROBLEM */
	FP_PROBLEM,   /* u8 1 for a warning, text */
	FP_END,
};

enum {
	FP_HEADER = 8,
	FP_PAYLOAD_MAX = 128 * 1024,
	FP_ENTRY_FIXED = 28,
	FP_NAME_MAX = 255,
	FP_LINK_MAX = 4095,
	FP_ENTRY_MAX = FP_ENTRY_FIXED + FP_NAME_MAX + FP_LINK_MAX,
	FP_TEXT_MAX = 600,
	FP_DEPTH_MAX = 200, /* folders within each other; each is an open descriptor */
	FP_MODE = 07777,
};
#define FP_UNWANTED UINT64_MAX
#define FP_SIZE_MAX INT64_MAX

/* A file, folder or symbolic link. */
struct fp_entry {
	uint32_t mode;     /* permission bits */
	int64_t mtime;     /* seconds since 1970 */
	uint32_t mtime_ns;
	uint64_t size;     /* of a file as it was when it was opened */
	bool ask;          /* the sender waits for an OFFER */
	char name[FP_NAME_MAX + 1];
	char link[FP_LINK_MAX + 1];
};

void fp_header_pack(uint8_t p[FP_HEADER], enum fp_type type, size_t len);
/* -1 when the type is unknown, a reserved byte is set or the length is beyond FP_PAYLOAD_MAX. */
int fp_header_unpack(const uint8_t p[FP_HEADER], enum fp_type *type, size_t *len);

/* Length written to p, which has room for FP_ENTRY_MAX. */
size_t fp_entry_pack(const struct fp_entry *v, uint8_t *p);
/* Refuses a name that is no single component, an empty one but for folders, and a link that says nothing. */
int fp_entry_unpack(struct fp_entry *v, enum fp_type type, const uint8_t *p, size_t n);

/* One component of a path, neither "." nor "..". */
bool fp_is_name(const char *name);
/* The last component of a path and its length, slashes at the end left out. */
const char *fp_last(const char *path, size_t *len);

#endif
