#include "lib/dgram.h"

#include "lib/le.h"

enum dgram_result dgram_write(struct mux_stream *s, struct dgram *d)
{
	size_t n = DGRAM_HEADER + d->len;

	if (mux_room(s) < n)
		return DGRAM_LATER;
	le16_put(d->record, (uint16_t)d->len);
	return mux_write(s, d->record, n) == n ? DGRAM_DONE : DGRAM_BROKEN; /* memory is short */
}

enum dgram_result dgram_read(struct mux_stream *s, struct dgram *d)
{
	if (!mux_copy(s, d->record, DGRAM_HEADER))
		return DGRAM_LATER;
	d->len = le16_get(d->record);
	if (d->len > DGRAM_MAX)
		return DGRAM_BROKEN;
	if (!mux_copy(s, d->record, DGRAM_HEADER + d->len))
		return DGRAM_LATER;
	mux_consume(s, DGRAM_HEADER + d->len);
	return DGRAM_DONE;
}

bool dgram_room(struct mux_stream *s)
{
	return mux_room_for(s, DGRAM_RECORD_MAX);
}
