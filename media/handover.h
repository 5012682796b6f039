/**
 * Inside of the media engine: datagrams that are no media and that the RX
 * thread hands over to the loop, at a bounded rate. Docs: docs/internals/media.md
 */
#ifndef OFFHOOK_MEDIA_HANDOVER_H
#define OFFHOOK_MEDIA_HANDOVER_H

#include "media/params.h"

#include <stdbool.h>
#include <stdint.h>

/* A datagram that is kept, as long as the RX thread reads; a longer one is no
 * check, and no handshake of a sane MTU. linphone sends a flight of 1649 bytes
 * from its second call on. */
#define HANDOVER_BYTES 2048
/* Datagrams of a session and second that reach the loop. A DTLS handshake
 * takes about ten, and each costs the loop at most one verification of a
 * signature; */
#define HANDOVER_DTLS_RATE 50
/* ICE checks 20 pairs a second, twice while both do: RFC 8445 14.2. */
#define HANDOVER_STUN_RATE 100

enum handover_kind {
	HANDOVER_DTLS,
	HANDOVER_STUN,
};

/** RX thread -> loop. */
struct handover {
	enum handover_kind kind;
	uint32_t slot;
	uint32_t ssrc; /* ours: tells whether the slot is still the session's */
	bool rtcp;     /* the socket it came to */
	bool relayed;  /* by our TURN server; source is the peer */
	struct media_addr source;
	size_t bytes;
	uint8_t data[HANDOVER_BYTES];
};

/** RX thread: may it go to the loop? Counts it. */
struct handover_gate {
	bool open; /* the session wants such; constant after start */
	unsigned rate;
	int64_t second_ns; /* start of the one that is counted */
	unsigned taken;
};
bool handover_take(struct handover_gate *gate, int64_t now_ns);

/** Addresses that the peer's SDP names, each as a hash of 64 bits: a stranger who
 * finds another address with the same one wins the peer's rate, no more. */
struct handover_known {
	size_t count;
	uint64_t keys[MEDIA_CANDIDATES_MAX];
};
/** Add one; behind the last place it is forgotten. */
void handover_know(struct handover_known *known, const struct media_addr *addr);
bool handover_knows(const struct handover_known *known,
		    const struct media_addr *addr);

#endif
