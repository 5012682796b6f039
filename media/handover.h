/**
 * Inside of the media engine: the RX thread hands datagrams that are not media
 * (DTLS, STUN) over to the loop, at a bounded rate. Docs:
 * docs/internals/media.md
 */
#ifndef OFFHOOK_MEDIA_HANDOVER_H
#define OFFHOOK_MEDIA_HANDOVER_H

#include "media/params.h"

#include <stdbool.h>
#include <stdint.h>

/* Longest datagram that is handed over, as long as the RX thread's buffer. A
 * longer one is neither an ICE check nor a DTLS flight of a sane MTU. linphone
 * sends a flight of 1649 bytes from its second call on. */
#define HANDOVER_BYTES 2048
/* Ceilings in datagrams per session and second. A DTLS handshake takes about
 * ten datagrams; each costs the loop at most one signature verification. */
#define HANDOVER_DTLS_RATE 50
/* ICE checks 20 pairs a second, and twice as many if both sides check (RFC 8445
 * section 14.2). */
#define HANDOVER_STUN_RATE 100

enum handover_kind {
	HANDOVER_DTLS,
	HANDOVER_STUN,
};

/** RX thread -> loop. */
struct handover {
	enum handover_kind kind;
	uint32_t slot;
	uint32_t ssrc; /* ours: tells whether the slot still belongs to this
			* session */
	bool rtcp;     /* it arrived on the RTCP socket */
	bool relayed;  /* through our TURN server; source is the peer */
	struct media_addr source;
	size_t bytes;
	uint8_t data[HANDOVER_BYTES];
};

/** Rate limit for one kind of datagram of a session. Thread: RX. */
struct handover_gate {
	bool open; /* the session uses this protocol; constant after start */
	unsigned rate;
	int64_t second_ns; /* start of the current second */
	unsigned taken;
};
/** Count a datagram.
 * @return it may go to the loop */
bool handover_take(struct handover_gate *gate, int64_t now_ns);

/** Addresses in the peer's SDP, each as a 64-bit hash. A stranger who finds
 * another address with the same hash gets the peer's rate, nothing else. */
struct handover_known {
	size_t count;
	uint64_t keys[MEDIA_CANDIDATES_MAX];
};
/** Add an address. With all places in use it is ignored. */
void handover_know(struct handover_known *known, const struct media_addr *addr);
/** @return the address was added, or another one with the same hash */
bool handover_knows(const struct handover_known *known,
		    const struct media_addr *addr);

#endif
