/**
 * A TURN client (RFC 8656) with one allocation, and STUN's question for our own
 * address (RFC 8489), as a machine without a socket: datagrams and times in,
 * datagrams out. What the peers send and get travels as turn_frame.h says.
 *
 * libre's client (re_turn.h) sends by a socket of libre's, which has RTP's on
 * its loop; its STUN codec is used.
 *
 * Thread: one at a time; nothing blocks.
 */
#ifndef OFFHOOK_MEDIA_NAT_TURN_H
#define OFFHOOK_MEDIA_NAT_TURN_H

#include "media/params.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TURN_USER_BYTES 256
/* Peers with a channel or a permission, each */
#define TURN_PEERS_MAX 24
/* Requests are sent so often (RFC 8489 6.2.1, doubling), then fail */
#define TURN_RTO_NS     INT64_C(500000000)
#define TURN_SENDS_MAX  4 /* 7.5 s */
#define TURN_LIFETIME_S 600
/* A permission lasts 300 s (RFC 8656 9), also that of a channel */
#define TURN_PERMISSION_NS INT64_C(240000000000)

#define TURN_REASON_BYTES 128

struct turn;

/** To the server. */
typedef void(turn_send_h)(const uint8_t *data, size_t bytes, void *arg);

struct turn_params {
	bool stun;            /* ask for our address only, allocate nothing */
	bool reliable;        /* over TCP or TLS: nothing is repeated */
	bool ipv6;            /* relay from such an address (RFC 8656 5) */
	const char *username; /* copied */
	const char *password; /* copied */
	turn_send_h *send;
	void *arg;
};

/** Nothing is sent before turn_tick(). @return 0; -EINVAL; -ENOMEM */
int turn_new(struct turn **ret, const struct turn_params *params);
struct turn *turn_free(struct turn *t);

enum turn_state {
	TURN_ASKING,
	TURN_READY,  /* turn_mapped(), turn_relayed() */
	TURN_FAILED, /* for good: turn_reason() */
};

enum turn_state turn_state(const struct turn *t);
const char *turn_reason(const struct turn *t);
/** How the server sees us. */
const struct media_addr *turn_mapped(const struct turn *t);
/** Where it relays from. */
const struct media_addr *turn_relayed(const struct turn *t);

/** An answer of the server. What is none changes nothing. */
void turn_input(struct turn *t, const uint8_t *data, size_t bytes,
		int64_t now_ns);
/** What is due; to be called every 20 ms or so. */
void turn_tick(struct turn *t, int64_t now_ns);

/** Let a peer send to us, and us to it. @return 0; -ENOSPC; -EINVAL */
int turn_permit(struct turn *t, const struct media_addr *peer);
/** Bind a channel to a peer; it permits, too. The request leaves with the next
 * turn_tick(): not to be waited for, as until the server has it, it drops what
 * the peer sends. @return 0; -ENOSPC; -EINVAL */
int turn_bind(struct turn *t, const struct media_addr *peer);
/** @return its number; 0: none is bound, yet */
uint16_t turn_channel(const struct turn *t, const struct media_addr *peer);
/** The n-th of those that are bound. @return its number; 0: no more */
uint16_t turn_channel_at(const struct turn *t, size_t n,
			 struct media_addr *ret_peer);
/** Grows when state or channels change, also when one is asked for. */
unsigned turn_version(const struct turn *t);

/** The connection to the server is gone. */
void turn_lost(struct turn *t, const char *reason);

/** Give the allocation back; nothing is repeated. */
void turn_end(struct turn *t);

#endif
