/* A guest's SFTP: whatever it says, what lies beside the folder stays as it was, and every answer is a whole packet. */
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/be.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/sftp/packet.h"
#include "limactl-c/sftp/server.h"

enum { PACKETS_MAX = 32 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *dir, *share, *beside;

static void remove_all(void)
{
	struct err e = { 0 };

	fs_remove_tree(dir, &e);
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static void make(void)
{
	static char base[] = "/tmp/fz.XXXXXX", paths[3][64];

	if (!dir) {
		dir = mkdtemp(base);
		assert(dir);
		atexit(remove_all);
		snprintf(paths[0], sizeof(paths[0]), "%s/share", dir);
		snprintf(paths[1], sizeof(paths[1]), "%s/beside", dir);
		snprintf(paths[2], sizeof(paths[2]), "%s/share/a", dir);
		share = paths[0];
		beside = paths[1];
		put(beside, "beside");
		umask(0);
	}
	mkdir(share, 0700);
	put(paths[2], "a file");
	snprintf(paths[2], sizeof(paths[2]), "%s/share/l", dir);
	assert(symlink("../beside", paths[2]) == 0);
	snprintf(paths[2], sizeof(paths[2]), "%s/share/a", dir);
}

static void check_answers(const struct buf *out)
{
	size_t at = 0;

	while (at < out->len) {
		assert(out->len - at >= 9);
		at += 4 + (size_t)be_get((const uint8_t *)out->data + at, 4);
	}
	assert(at == out->len);
}

/* The first byte says how it is served; packets follow, each u16 length and bytes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_buf out = BUF_INIT(SIZE_MAX / 2);
	struct err e = { 0 };
	struct sftp *s;
	struct stat st;

	if (!size)
		return 0;
	make();
	s = sftp_new(open(share, O_RDONLY | O_DIRECTORY | O_CLOEXEC), data[0] & 1, data[0] & 2);
	data++;
	size--;
	for (int i = 0; i < PACKETS_MAX && size >= 2; i++) {
		size_t n = be16_get(data);

		data += 2;
		size -= 2;
		n = n < size ? n : size;
		if (sftp_packet(s, data, n, &out) < 0)
			break;
		data += n;
		size -= n;
		check_answers(&out);
		out.len = 0;
	}
	sftp_free(s);
	assert(lstat(beside, &st) == 0 && st.st_size == 6 && st.st_mode == (S_IFREG | 0600) && st.st_nlink == 1);
	chmod(share, 0700);
	assert(fs_remove_tree(share, &e) == 0);
	return 0;
}
