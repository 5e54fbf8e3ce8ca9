/* The bytes of a peer on a stream of records, datagrams or questions of names, as they like: what is read is what was
 * written, up to the first bad length. Input: u8 how many bytes go at a time, then the bytes. */
#include <assert.h>
#include <string.h>

#include "lib/dgram.h"
#include "lib/dns_message.h"
#include "lib/dns_record.h"
#include "lib/le.h"
#include "tests/unit/mux_link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As a receiver does: all that are there. False once the stream is of no use. */
static bool take_dgrams(struct mux_link *l, const uint8_t **at, const uint8_t *end)
{
	static struct dgram d;
	enum dgram_result got;

	while ((got = dgram_read(l->to, &d)) == DGRAM_DONE) {
		assert((size_t)(end - *at) >= DGRAM_HEADER + d.len && d.len <= DGRAM_MAX);
		assert(le16_get(*at) == d.len && !memcmp(dgram_payload(&d), *at + DGRAM_HEADER, d.len));
		*at += DGRAM_HEADER + d.len;
	}
	assert(got == DGRAM_LATER || le16_get(*at) > DGRAM_MAX);
	return got == DGRAM_LATER;
}

static bool take_questions(struct mux_link *l, const uint8_t **at, const uint8_t *end)
{
	uint8_t record[DNS_RECORD_HEADER + DNS_QUESTION_MAX];
	ssize_t k;

	while ((k = dns_record_read(l->to, record, sizeof(record))) > 0) {
		assert(end - *at >= k && (size_t)k == DNS_RECORD_HEADER + dns_record_len(record));
		assert(!memcmp(record, *at, (size_t)k));
		*at += k;
	}
	assert(k == 0 || dns_record_len(*at) > DNS_QUESTION_MAX);
	return k == 0;
}

static void run(const uint8_t *data, const uint8_t *end, size_t piece,
		bool (*take)(struct mux_link *l, const uint8_t **at, const uint8_t *end))
{
	const uint8_t *at = data;
	struct mux_link l;

	link_begin(&l);
	while (data < end) {
		size_t n = (size_t)(end - data) < piece ? (size_t)(end - data) : piece;

		data += mux_write(l.from, data, n);
		if (data == end)
			mux_finish(l.from);
		link_run(&l, SIZE_MAX);
		if (!take(&l, &at, data))
			break;
	}
	link_end(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	run(data + 1, data + size, (size_t)data[0] * 16 + 1, take_dgrams);
	run(data + 1, data + size, (size_t)data[0] * 16 + 1, take_questions);
	return 0;
}
