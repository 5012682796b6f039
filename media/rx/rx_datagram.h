/**
 * Inside of the RX thread: what a datagram is, whose it is, and what is to be
 * done with it. rx.c and the media paths read the sockets. Docs: docs/internals/media.md
 * Thread: RX, all functions.
 */
#ifndef OFFHOOK_MEDIA_RX_RX_DATAGRAM_H
#define OFFHOOK_MEDIA_RX_RX_DATAGRAM_H

#include "base/stamp.h"
#include "media/analysis/rtp_header.h"
#include "media/media_thread.h"
#include "media/rx/rx.h"
#include "media/rx/rx_linger.h"
#include "media/rx/rx_secure.h"
#include "media/rx/rx_session.h"
#include "media/tap/tap_sessions.h"

#include <stdalign.h>
#include <sys/socket.h>

#define BATCH 32
/* Larger datagrams are cut: their header is read, their true size is known. */
#define DATAGRAM_BYTES 2048

struct slot {
	uint8_t data[DATAGRAM_BYTES];
	struct sockaddr_storage source;
	alignas(struct cmsghdr)
		uint8_t control[STAMP_SPACE + CMSG_SPACE(sizeof(uint32_t))];
	struct iovec iov;
};

struct rx_pace {
	bool on;
	int64_t window_ns; /* when it began */
	unsigned events;   /* in it */
};

struct rx {
	struct rx_params p;
	struct rx_counters counters;
	uint64_t received_pushed;
	uint64_t rtcp_pushed;
	struct rx_session **tapped; /* by slot; NULL: nothing is tapped */
	struct stamp_clock clock;   /* behind the reading of the batch */
	struct mmsghdr messages[BATCH];
	struct slot slots[BATCH];
	struct rx_linger linger;
	uint32_t turn; /* counts those of the thread */
	struct rx_pace pace;
	struct rx_stash stash;
	struct handover handover; /* on its way to the loop */
};

struct datagram {
	struct rx_socket *socket;
	uint8_t *data; /* decrypted in place */
	size_t captured;
	size_t bytes;
	int64_t mono_ns;
	struct media_addr source;
	bool relayed; /* by our TURN server */
};

/** Is it from another address than the settled one (at its receive time), and
 * from none of the peer's ICE candidates? Media may come from each of them
 * (RFC 8445 section 12.2). */
static inline bool rx_stranger(const struct datagram *d)
{
	const struct rx_session *rx = d->socket->session;
	const struct media_addr *peer =
		d->mono_ns < rx->peer_ns ? &rx->peer_before : &rx->peer;

	return peer->len > 0 && !media_addr_equal(peer, &d->source) &&
	       !handover_knows(&rx->known, &d->source);
}

/** A socket tells how many datagrams it has dropped (SO_RXQ_OVFL).
 * @param last  in/out: what it told before; it wraps at 2^32 */
static inline void rx_drops_seen(struct rx *rx, uint32_t *last, uint32_t drops)
{
	uint32_t more = drops - *last;

	if (more > 0)
		COUNTER_ADD(&rx->counters.queue_drops, more);
	*last = drops;
}

/** Prepare slots for reading, at first and after they were used.
 * @param used  how many were */
void rx_slots_reset(struct rx *rx, int used);

/** Process a datagram that a socket of a session received. @param d  changed */
void rx_datagram_arrived(struct rx *rx, struct datagram *d);

/** Keys are settled: process the datagrams that waited for them, with their
 * own receive times. */
void rx_stash_read(struct rx *rx, const struct rx_session *s);
/** The session ends: count and drop the datagrams that still wait. */
void rx_stash_discard(struct rx *rx, const struct rx_session *s);

/** Read the frames that the tap has captured. */
void rx_tapped_read(struct rx *rx);
/** Assign these local addresses to a tapped session. @param rtcp  len 0: none */
void rx_tapped_assign(struct rx *rx, struct rx_session *s,
		      const struct media_addr *rtp,
		      const struct media_addr *rtcp);
/** A tapped session ends: read what was captured until now. */
void rx_tapped_stop(struct rx *rx, struct rx_session *s);

#endif
