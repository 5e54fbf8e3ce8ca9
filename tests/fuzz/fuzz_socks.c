/* A SOCKS client's bytes: what is whole stays what it is with more behind it, and no part of it is whole. */
#include <assert.h>
#include <string.h>

#include "guestagent/socks_proto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct socks_request r, again;
	bool acceptable;
	ssize_t n = socks_greeting(data, size, &acceptable);

	assert(n <= (ssize_t)size && n <= SOCKS_MESSAGE_MAX);
	for (ssize_t i = 0; i < n; i++)
		assert(socks_greeting(data, (size_t)i, &acceptable) == 0);
	n = socks_request(data, size, &r);
	if (n < 0)
		return 0;
	assert(n <= (ssize_t)size);
	if (r.refusal == SOCKS_ADDRESS)
		return 0;
	assert(n <= SOCKS_MESSAGE_MAX);
	for (ssize_t i = 0; i < n; i++)
		assert(socks_request(data, (size_t)i, &again) == 0);
	if (n && r.refusal == SOCKS_OK) {
		assert(r.port && r.host[0] && strlen(r.host) <= SOCKS_NAME_MAX);
		assert(socks_request(data, (size_t)n, &again) == n && !strcmp(again.host, r.host) && again.port == r.port);
	}
	return 0;
}
