/* dns_message.h - whole DNS messages on their way between guest agent, host agent and resolver (docs/protocol.md).
 *
 * No I/O. All bytes may be hostile: every function stays within the n bytes it is given and follows no pointer.
 */
#ifndef LIMA_DNS_MESSAGE_H
#define LIMA_DNS_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/dns.h"

enum { DNS_QUESTION_MAX = DNS_HEADER + DNS_NAME_MAX + 4 }; /* a message with one question and nothing else */

/* The question alone as a message; q->wire_len is not 0. Returns its length. */
size_t dns_question_pack(const struct dns_question *q, uint8_t p[DNS_QUESTION_MAX]);

/* Makes a message at most max (at least DNS_QUESTION_MAX) bytes long, by whole records from its end; one without answers
 * or authorities it had is marked as truncated. The additional section, which may hold what was not for the guest, goes.
 * Returns the new length, 0 for what is no message of one question. */
size_t dns_trim(uint8_t *p, size_t n, size_t max);

/* Makes an answer one to q: its id, its recursion, an OPT (DNS_OPT_LEN bytes behind p[n]) when q knows EDNS. Returns the
 * new length. */
size_t dns_reply_to(uint8_t *p, size_t n, const struct dns_question *q);

void dns_set_id(uint8_t *p, uint16_t id);
enum dns_rcode dns_rcode_of(const uint8_t *p);

/* Whether a name is one that files and functions of a host may know: letters, digits, '-', '_' and dots. */
bool dns_name_of_host(const char *name);

/* The address a name below in-addr.arpa or ip6.arpa stands for: its length, 4 or 16, or 0. */
size_t dns_reverse_address(const char *name, uint8_t addr[16]);

#endif
