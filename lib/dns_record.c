#include "lib/dns_record.h"

ssize_t dns_record_read(struct mux_stream *s, uint8_t *p, size_t max)
{
	size_t n;

	if (!mux_copy(s, p, DNS_RECORD_HEADER))
		return 0;
	n = DNS_RECORD_HEADER + dns_record_len(p);
	if (n > max)
		return -1;
	if (!mux_copy(s, p, n))
		return 0;
	mux_consume(s, n);
	return (ssize_t)n;
}
