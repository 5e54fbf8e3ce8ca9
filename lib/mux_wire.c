#include "lib/mux_wire.h"

#include <string.h>

#include "lib/le.h"

/* Its first byte is no frame type. The bytes after it are those a text or line-mangling carrier would change. */
const uint8_t wire_magic[WIRE_MAGIC] = { 0x89, 'L', 'I', 'M', 'A', 'm', 'u', 'x', '\r', '\n', 0x1a, '\n',
					 0x00, 0xff, 0xc3, 0x5a };

enum { HELLO_GUEST = 1, HELLO_RESUME = 2, HELLO_SHARED = 4 };

/* What a frame of each type may be. */
static const struct {
	uint32_t min, max;
	uint8_t flags;
} rule[WIRE_TYPES] = {
	[WIRE_RESUME] = { 0, MUX_FRAME_MAX, WIRE_LAST },
	[WIRE_CONTROL] = { 1, MUX_FRAME_MAX, 0 },
	[WIRE_CREDIT] = { 0, 0, 0 },
	[WIRE_DATA] = { 0, WIRE_DATA_MAX, WIRE_FIN },
	[WIRE_SHARED] = { 0, 0, 0 },
};

static uint64_t scramble(uint64_t h)
{
	h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
	h = (h ^ h >> 27) * 0x94d049bb133111ebu;
	return h ^ h >> 31;
}

uint64_t wire_mix(uint64_t a, uint64_t b)
{
	uint64_t h = scramble(scramble(a + 0x9e3779b97f4a7c15u) ^ b);

	return h ? h : 1;
}

uint64_t wire_hash(uint64_t h, const uint8_t *p, size_t n)
{
	for (; n; n--)
		h = (h + *p++ + 1) * 0x100000001b3u;
	return h;
}

static uint64_t frame_check(const struct wire_frame *f, uint64_t link, uint32_t seq)
{
	uint64_t h = link ^ (uint64_t)seq * 0x9e3779b97f4a7c15u;

	h = scramble(h ^ f->type ^ (uint64_t)f->flags << 8 ^ (uint64_t)f->len << 32);
	return scramble(h ^ f->id ^ (uint64_t)f->arg << 32);
}

uint32_t wire_trailer(const struct wire_frame *f, uint64_t link, uint32_t seq)
{
	uint32_t t = (uint32_t)frame_check(f, link, seq);

	return t ? t : 1;
}

void wire_header_pack(uint8_t p[WIRE_HEADER], const struct wire_frame *f, uint64_t link, uint32_t seq)
{
	p[0] = f->type;
	p[1] = f->flags;
	le16_put(p + 2, (uint16_t)(frame_check(f, link, seq) >> 48));
	le32_put(p + 4, f->len);
	le32_put(p + 8, f->id);
	le32_put(p + 12, f->arg);
}

int wire_header_unpack(struct wire_frame *f, const uint8_t p[WIRE_HEADER], uint64_t link, uint32_t seq)
{
	*f = (struct wire_frame){
		.type = p[0], .flags = p[1], .len = le32_get(p + 4), .id = le32_get(p + 8), .arg = le32_get(p + 12)
	};
	if (f->type == 0 || f->type >= WIRE_TYPES || f->flags & ~rule[f->type].flags)
		return -1;
	if (f->len < rule[f->type].min || f->len > rule[f->type].max)
		return -1;
	return le16_get(p + 2) == (uint16_t)(frame_check(f, link, seq) >> 48) ? 0 : -1;
}

static uint32_t crc32(const uint8_t *p, size_t n)
{
	uint32_t c = 0xffffffff;

	for (; n; n--) {
		c ^= *p++;
		for (int bit = 0; bit < 8; bit++)
			c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
	}
	return ~c;
}

void wire_hello_pack(uint8_t p[WIRE_HELLO], const struct wire_hello *h)
{
	const uint64_t word[] = { h->epoch, h->link, h->echo, h->conversation, h->rx, h->rx_hash, h->tx_base,
				  h->tx_sent };
	uint8_t *at = p + WIRE_MAGIC + 8;

	memcpy(p, wire_magic, WIRE_MAGIC);
	le16_put(p + WIRE_MAGIC, WIRE_HELLO);
	le16_put(p + WIRE_MAGIC + 2, h->version);
	le32_put(p + WIRE_MAGIC + 4, (h->guest ? HELLO_GUEST : 0) | (h->resume ? HELLO_RESUME : 0) |
						  (h->shared ? HELLO_SHARED : 0));
	for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++, at += 8)
		le64_put(at, word[i]);
	le32_put(at, crc32(p, (size_t)(at - p)));
}

int wire_hello_unpack(struct wire_hello *h, const uint8_t *p, size_t n)
{
	uint64_t *const word[] = { &h->epoch, &h->link, &h->echo, &h->conversation, &h->rx, &h->rx_hash,
				   &h->tx_base, &h->tx_sent };
	const uint8_t *at = p + WIRE_MAGIC + 8;
	uint32_t flags;
	size_t len;

	if (memcmp(p, wire_magic, n < WIRE_MAGIC ? n : WIRE_MAGIC))
		return -1;
	if (n < WIRE_HELLO)
		return 0;
	len = le16_get(p + WIRE_MAGIC);
	if (len < WIRE_HELLO || len > WIRE_HELLO_MAX)
		return -1;
	if (n < len)
		return 0;
	if (le32_get(p + len - 4) != crc32(p, len - 4))
		return -1;
	flags = le32_get(p + WIRE_MAGIC + 4);
	h->version = le16_get(p + WIRE_MAGIC + 2);
	h->guest = flags & HELLO_GUEST;
	h->resume = flags & HELLO_RESUME;
	h->shared = flags & HELLO_SHARED;
	for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++, at += 8)
		*word[i] = le64_get(at);
	return h->version && h->epoch && h->link ? (int)len : -1;
}

void wire_record_pack(uint8_t p[WIRE_RECORD], const struct wire_record *r)
{
	le32_put(p, r->id);
	le32_put(p + 4, 0);
	le64_put(p + 8, r->rx_received);
	le64_put(p + 16, r->rx_consumed);
	le64_put(p + 24, r->tx_base);
	le64_put(p + 32, r->tx_sent);
}

void wire_record_unpack(struct wire_record *r, const uint8_t p[WIRE_RECORD])
{
	r->id = le32_get(p);
	r->rx_received = le64_get(p + 8);
	r->rx_consumed = le64_get(p + 16);
	r->tx_base = le64_get(p + 24);
	r->tx_sent = le64_get(p + 32);
}
