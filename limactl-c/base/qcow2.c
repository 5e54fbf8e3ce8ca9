#include "limactl-c/base/qcow2.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/be.h"
#include "lib/cleanup.h"
#include "lib/io.h"

/* Byte offsets in the header, all numbers big-endian. */
enum {
	AT_VERSION = 4,
	AT_BACKING_FILE = 8,
	AT_SIZE = 24,
	AT_INCOMPATIBLE = 72, /* version 3 */
	LEN_V2 = 72,
	LEN_V3 = 104,
};

#define EXTERNAL_DATA_FILE 4u /* bit of the incompatible features */

int qcow2_parse(const unsigned char *head, size_t len, uint64_t file_size, struct qcow2_info *out, struct err *e)
{
	uint64_t version;

	out->format = "raw";
	out->size = file_size;
	if (len < 4 || memcmp(head, "QFI\xfb", 4) != 0)
		return 0;
	if (len < LEN_V2)
		return err_set(e, ERR_INVALID, "it ends within its header");
	version = be_get(head + AT_VERSION, 4);
	if (version != 2 && version != 3)
		return err_set(e, ERR_INVALID, "it is of qcow version %u, only 2 and 3 are known", (unsigned)version);
	if (version == 3 && len < LEN_V3)
		return err_set(e, ERR_INVALID, "it ends within its header");
	if (be_get(head + AT_BACKING_FILE, 8) ||
	    (version == 3 && be_get(head + AT_INCOMPATIBLE, 8) & EXTERNAL_DATA_FILE))
		return err_set(e, ERR_INVALID, "it refers to another file, which is not allowed for an image");
	out->format = "qcow2";
	out->size = be_get(head + AT_SIZE, 8);
	return 0;
}

int qcow2_inspect(const char *path, struct qcow2_info *out, struct err *e)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	unsigned char head[QCOW2_HEADER_MAX];
	struct stat st;
	ssize_t k;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, "cannot open %s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_INVALID, "%s is no regular file", path);
	k = io_read_full(fd, head, sizeof(head));
	if (k < 0)
		return err_errno(e, "cannot read %s", path);
	if (qcow2_parse(head, (size_t)k, (uint64_t)st.st_size, out, e) < 0)
		return err_wrap(e, "%s", path);
	return 0;
}
