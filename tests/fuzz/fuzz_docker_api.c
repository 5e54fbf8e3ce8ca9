/* The head of a request; both sides of a connection to docker.sock, in pieces: each piece is a byte (its highest bit: which side; the others: its
 * length) and as many bytes. In smaller pieces they mean the same. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "limactl-c/hostagent/docker_api.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void feed(struct docker_api *d, uint8_t head, const uint8_t *p, size_t n)
{
	if (head & 0x80)
		docker_api_answered(d, p, n);
	else
		docker_api_asked(d, p, n);
}

static void check(int holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct docker_api whole = { 0 }, pieces = { 0 };

	/* What is one whole question is no longer one with a byte more, and is a part of one, or none, with a byte less. */
	if (docker_api_judge((const char *)data, len) == DOCKER_IS_QUESTION)
		check(docker_api_judge((const char *)data, len - 1) == DOCKER_IS_PART);

	while (len) {
		uint8_t head = *data++;
		size_t n = head & 0x7f;

		len--;
		n = n < len ? n : len;
		feed(&whole, head, data, n);
		for (size_t i = 0; i < n; i++)
			feed(&pieces, head, data + i, 1);
		check(docker_api_works(&whole) == docker_api_works(&pieces));
		check(docker_api_is_http(&whole) == docker_api_is_http(&pieces));
		check(whole.pendings <= DOCKER_PENDING_MAX && whole.asks.len < DOCKER_LINE_MAX && whole.answers.len < DOCKER_LINE_MAX);
		data += n;
		len -= n;
	}
	return 0;
}
