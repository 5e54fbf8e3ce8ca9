/* connection.h - one SSH connection to the guest's server: made, checked, kept going; channels are opened on it.
 *
 * Nothing blocks: connection_step() goes as far as it can, connection_poll() says what to wait for. libssh2 cannot do anything
 * else while a socket has taken a packet only in part, so it never hears of that: what it sends goes into a buffer of ours. It
 * reads the socket in connection_step() alone, so that nothing comes for a channel after its turn. What it keeps in memory for
 * a server has a bound.
 */
#ifndef LIMA_SSH_CONNECTION_H
#define LIMA_SSH_CONNECTION_H

#include <libssh2.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/agentproto.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/list.h"

enum {
	CONNECTION_SESSIONS = 9,   /* channels of type "session": OpenSSH allows ten, and we keep one to ourselves */
	CONNECTION_CHANNELS = 200, /* of any type */
	CONNECTION_DYING = 256,    /* channels whose end the server has not confirmed */
	CONNECTION_ROOM = 256 * 1024, /* bytes that may wait for the socket before nothing more is sent */
};

/* How the server is reached and known. Strings are borrowed. */
struct server {
	uint16_t port;             /* of 127.0.0.1 */
	const char *user;
	const char *key;           /* path of the private key; the public one lies beside it as .pub */
	struct ap_host_keys known; /* what it may be known by; none: the first that lets us in sets it */
};

/* A channel, embedded in what it belongs to; all zero at first. */
enum chan_state { CHAN_NONE, CHAN_WAITING, CHAN_OPENING, CHAN_OPEN, CHAN_REFUSED, CHAN_LOST };
struct chan {
	struct node in_line;   /* pool.h */
	enum chan_state state;
	bool crowded;          /* CHAN_REFUSED, while others of its type are open there */
	struct connection *on; /* while it is being opened and open */
	LIBSSH2_CHANNEL *ssh;  /* CHAN_OPEN */
	const char *type;      /* "session", "direct-tcpip", …: a constant */
	uint8_t *request;      /* owned until it is being opened; may be NULL */
	size_t request_len;
};

enum connection_state {
	CONNECTION_CONNECTING,
	CONNECTION_SHAKING, /* hands: keys are agreed on */
	CONNECTION_LOGIN,
	CONNECTION_CONTROL, /* the channel of ours is being opened */
	CONNECTION_READY,
	CONNECTION_LOST,    /* channels are gone; it waits to be freed */
};

struct connection {
	struct server *server;
	enum connection_state state;
	struct err why;      /* CONNECTION_LOST */
	bool stranger;       /* it was lost since the server is not the one we know */
	int fd;
	bool pending;        /* connect() is under way */
	LIBSSH2_SESSION *ssh;
	LIBSSH2_CHANNEL *control; /* carries nothing; to read it is to read the socket */
	char host_key[AP_HOST_KEY_MAX];
	struct buf out;      /* what the socket has not taken yet */
	size_t budget;       /* bytes that libssh2 may read now */
	size_t memory;       /* that libssh2 holds */
	int64_t deadline;    /* clock_ms(), until it is ready */

	struct {
		struct chan *chan; /* NULL: nobody wants it any more, or there is none */
		const char *type;  /* NULL: none */
		uint8_t *request;
		size_t request_len;
		int64_t since;
	} opening; /* one at a time, as libssh2 has it */
	LIBSSH2_CHANNEL *dying[CONNECTION_DYING];
	size_t dyings;
	size_t channels, sessions, sessions_max;
};

/* Begins to connect; c->state tells what became of it. server is borrowed. */
struct connection *connection_new(struct server *server);
void connection_free(struct connection *c); /* NULL is allowed; no channel is open on it */

void connection_step(struct connection *c);  /* after each wait */
void connection_flush(struct connection *c); /* before each wait */
struct pollfd connection_poll(const struct connection *c);
bool connection_has_room(const struct connection *c); /* to send more */

/* Whether ch could be opened on it, now or once the one being opened is. */
bool connection_fits(const struct connection *c, const char *type);
void connection_open(struct connection *c, struct chan *ch); /* CHAN_WAITING; nothing is being opened on c */
/* Lets go of a channel in any state but CHAN_WAITING; it may be used anew. */
void connection_close(struct chan *ch);
/* Where the connection is lost its channels are, too: to be asked before ch->ssh is used. */
bool chan_is_open(struct chan *ch);

#endif
