/* dns_tcp.h - questions by TCP: connections of the guest's name server. */
#ifndef LIMA_DNS_TCP_H
#define LIMA_DNS_TCP_H

#include <stddef.h>
#include <stdint.h>

#include "guestagent/loop.h"

struct dns_tcp;
struct dns_conn;

/* Listens on fd, which is taken. asked() gets each question, which dns_tcp_answer() answers, then or later; -1: it was none; gone() says that
 * a connection is about to go and is to be answered no more. NULL: no memory. */
struct dns_tcp *dns_tcp_new(struct ga_loop *loop, int fd,
			    int (*asked)(void *ctx, struct dns_conn *c, const uint8_t *p, size_t n),
			    void (*gone)(void *ctx, struct dns_conn *c), void *ctx);
void dns_tcp_free(struct dns_tcp *t); /* closes them all, each with gone() */

void dns_tcp_answer(struct dns_conn *c, const uint8_t *p, size_t n); /* n: at most 65535 */

#endif
