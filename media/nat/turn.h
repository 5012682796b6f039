/**
 * A TURN client (RFC 8656) with one allocation, or a STUN client that only asks for
 * our public address (RFC 8489). It has no socket: the owner passes in the server's
 * datagrams and the time, and sends what send() is given. Data to and from peers does
 * not pass through here: see turn_frame.h.
 *
 * libre's TURN client (re_turn.h) is not used: it would put the RTP sockets on libre's
 * loop. Its STUN codec is used.
 *
 * Thread: one owner. No function blocks.
 */
#ifndef OFFHOOK_MEDIA_NAT_TURN_H
#define OFFHOOK_MEDIA_NAT_TURN_H

#include "media/params.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TURN_USER_BYTES 256
/* Most peers of a client that have a permission or a channel */
#define TURN_PEERS_MAX 24
/* A request is sent this often, at intervals that double (RFC 8489 section 6.2.1) */
#define TURN_RTO_NS     INT64_C(500000000)
#define TURN_SENDS_MAX  4 /* it fails after 7.5 s */
#define TURN_LIFETIME_S 600
/* Refresh a permission after this time; it lasts 300 s (RFC 8656 section 9) */
#define TURN_PERMISSION_NS INT64_C(240000000000)

#define TURN_REASON_BYTES 128

struct turn;

/** Send a datagram to the server. */
typedef void(turn_send_h)(const uint8_t *data, size_t bytes, void *arg);

struct turn_params {
	bool stun;     /* only ask for our public address */
	bool reliable; /* TCP or TLS: send each request once */
	bool ipv6;     /* allocate an IPv6 address (RFC 8656 section 5) */
	const char *username; /* copied */
	const char *password; /* copied */
	turn_send_h *send;
	void *arg;
};

/** Make a client. It sends its first request in turn_tick().
 * @return 0; -EINVAL the name or the password is too long; -ENOMEM */
int turn_new(struct turn **ret, const struct turn_params *params);
/** Free it without telling the server; see turn_end(). @return NULL */
struct turn *turn_free(struct turn *t);

enum turn_state {
	TURN_ASKING, /* no final response yet */
	TURN_READY,  /* turn_mapped() and turn_relayed() are valid */
	TURN_FAILED, /* final; turn_reason() says why */
};

enum turn_state turn_state(const struct turn *t);
const char *turn_reason(const struct turn *t);
/** Our address as the server sees it (XOR-MAPPED-ADDRESS). */
const struct media_addr *turn_mapped(const struct turn *t);
/** The address it relays from (XOR-RELAYED-ADDRESS). */
const struct media_addr *turn_relayed(const struct turn *t);

/** Take a datagram of the server. One that answers no open request is ignored. */
void turn_input(struct turn *t, const uint8_t *data, size_t bytes,
		int64_t now_ns);
/** Send and repeat what is due. Call it about every 20 ms. */
void turn_tick(struct turn *t, int64_t now_ns);

/** Ask for a permission for a peer (RFC 8656 section 9).
 * @return 0; -ENOSPC too many peers; -EINVAL it is not of the relay's address family */
int turn_permit(struct turn *t, const struct media_addr *peer);
/** Ask for a channel to a peer, which includes a permission (RFC 8656 section 12). The
 * request is sent by the next turn_tick(); call that at once, as the server drops what
 * the peer sends until then. A channel that exists becomes the newest one.
 * @return like turn_permit() */
int turn_bind(struct turn *t, const struct media_addr *peer);
/** @return the number of the channel to a peer; 0: none is bound (yet) */
uint16_t turn_channel(const struct turn *t, const struct media_addr *peer);
/** The n-th bound channel, for a loop over all: the newest is the last one.
 * @return its number; 0: no more */
uint16_t turn_channel_at(const struct turn *t, size_t n,
			 struct media_addr *ret_peer);
/** A number that grows whenever the state or the channels or their order change, also
 * when a channel is asked for. */
unsigned turn_version(const struct turn *t);

/** The connection to the server has been lost: the client fails with this reason. */
void turn_lost(struct turn *t, const char *reason);

/** Release the allocation by one Refresh with lifetime 0 (RFC 8656 section 7). */
void turn_end(struct turn *t);

#endif
