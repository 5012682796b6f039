/**
 * Whose a datagram of a shared socket is: by the SSRC that its session's peer has
 * announced (a=ssrc, RFC 5576), or by the address that only one peer has. A
 * datagram that cannot be told for certain belongs to no session.
 *
 * | the peer's description | its datagrams |
 * |---|---|
 * | announces SSRCs | have one of these, and come from its address; or from another one, if no other session announces the SSRC |
 * | announces none | come from its address, which is that of no other session |
 *
 * The loop and the RX thread have a table each and change them in the same order:
 * what the loop's accepts, RX's does. Its memory is allocated at once.
 * Thread: one owner.
 */
#ifndef OFFHOOK_MEDIA_PEER_TABLE_H
#define OFFHOOK_MEDIA_PEER_TABLE_H

#include "media/params.h"

#include <stdbool.h>
#include <stdint.h>

/* Sessions that may announce the same SSRC, at different addresses: one that all
 * calls of a peer announce is a fault of the peer. */
#define PEER_SAME_SSRC_MAX 8

/** An address in the form that the table compares. */
struct peer_addr {
	uint64_t ip[2]; /* IPv4: the first is 0 */
	uint32_t port;  /* and family; 0: no address */
};

/** What a session's peer has told. */
struct peer_told {
	struct media_addr rtp; /* len 0: not known */
	struct media_addr rtcp;
	uint32_t ssrcs[MEDIA_SSRCS_MAX];
	size_t ssrc_count; /* 0: none is announced */
};

struct peer_table;

/** @param slots  sessions have numbers below it
 * @return 0; -ENOMEM */
int peer_table_new(struct peer_table **ret, uint32_t slots);
/** @param t  may be NULL @return NULL */
struct peer_table *peer_table_free(struct peer_table *t);

/**
 * Set or replace what the peer of a session has told. SSRCs announced before stay
 * valid: their packets may be on their way.
 * @return 0; -EADDRINUSE another session has one of the addresses, and one of the
 *         two announces no SSRC; -EEXIST another session announces the same SSRC
 *         at the same address, or PEER_SAME_SSRC_MAX do at any (on each: nothing
 *         changed)
 */
int peer_table_settle(struct peer_table *t, uint32_t slot,
		      const struct peer_told *peer);

/** A session has ended: it still gets what was on its way, but others may have
 * its address and SSRC. */
void peer_table_end(struct peer_table *t, uint32_t slot);

/** Forget a session. It may be unknown. */
void peer_table_remove(struct peer_table *t, uint32_t slot);

/** Convert an address. @return false: neither IPv4 nor IPv6 */
bool peer_addr_of(struct peer_addr *ret, const struct media_addr *addr);

/**
 * Find the session of a datagram.
 * @param source  where it came from
 * @param ssrc    of the RTP packet, or the sender's of the first RTCP packet
 * @return false: it cannot be told, or there is none
 */
bool peer_table_find(struct peer_table *t, const struct peer_addr *source,
		     uint32_t ssrc, uint32_t *ret_slot);

#endif
