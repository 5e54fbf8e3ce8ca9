/* What is taken from a guest's SSH server: the beginning of a command's output, its host key, names of signals. The first byte
 * says in which pieces the output comes. Names of files, too. */
#include <assert.h>
#include <string.h>

#include "limactl-c/ssh/greeting.h"
#include "limactl-c/ssh/hostkey.h"
#include "limactl-c/ssh/remote.h"
#include "limactl-c/ssh/sftp_send.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void greet(const uint8_t *p, size_t len, size_t piece)
{
	struct greeting g = GREETING_INIT;

	for (size_t at = 0, n; at < len && !g.over; at += n) {
		n = len - at < piece ? len - at : piece;
		if (n > GREETING_MAX - g.held.len)
			n = GREETING_MAX - g.held.len;
		greeting_take(&g, p + at, n);
	}
	greeting_end(&g);
	assert(strspn(g.pid, "0123456789") == strlen(g.pid) && strlen(g.pid) < GREETING_PID && *g.pid != '0');
	assert(g.held.len <= len && g.held.len <= GREETING_MAX);
	buf_free(&g.held);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ap_host_keys known;
	char text[AP_HOST_KEY_MAX], name[FP_NAME_MAX + 2];
	struct err e;

	if (!size)
		return 0;
	if (size <= sizeof(name)) {
		memcpy(name, data, size);
		if (sftp_send_name(name, size - 1))
			assert(strlen(name) == size - 1 && !strchr(name, '/') && strcmp(name, "..") && strcmp(name, "."));
	}
	greet(data + 1, size - 1, data[0] + 1u);
	if (hostkey_text((const char *)data + 1, size - 1, text) == 0)
		assert(ap_host_key_ok(text));
	if (size > 1 && !data[size - 1]) {
		remote_signal_number((const char *)data + 1);
		if (hostkey_parse((const char *)data + 1, "lima-a", &known, &e) == 0)
			for (size_t i = 0; i < known.count; i++)
				assert(ap_host_key_ok(known.key[i]));
	}
	return 0;
}
