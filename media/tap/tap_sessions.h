/**
 * Sessions whose RTP is another program's on this host: their packets are
 * tapped (capture/tap.h) and told apart by their port here.
 * Thread: made and freed by the loop while no other thread runs; else RX.
 */
#ifndef OFFHOOK_MEDIA_TAP_TAP_SESSIONS_H
#define OFFHOOK_MEDIA_TAP_TAP_SESSIONS_H

#include "media/socket.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tap_sessions;

/** A UDP datagram of a tapped session. */
struct tap_session {
	uint32_t session; /* its number, as tap_sessions_assign() was told */
	bool sent;        /* by the other program; false: to it */
	bool rtcp;        /* the port for RTCP */
	int64_t ns;       /* Unix time */
	struct media_addr peer;
	const uint8_t *data; /* valid during the call */
	size_t captured;
	size_t bytes;
};
typedef void(rx_tapped_h)(const struct tap_session *d, void *arg);

/**
 * Tap the interface that has the address, and the loopback interface, which
 * packets to an address of this host pass.
 * @param reason  TAP_REASON_BYTES; written on failure: cause and remedy
 * @return 0; -EADDRNOTAVAIL no interface has it; as tap_open()
 */
int tap_sessions_new(struct tap_sessions **ret,
		     const struct media_addr *address, uint16_t port_min,
		     uint16_t port_max, char *reason);
struct tap_sessions *tap_sessions_free(struct tap_sessions *t);

/** @param ret  descriptors that are readable when there is work; 2 places
 *  @return how many */
size_t tap_sessions_fds(const struct tap_sessions *t, int ret[2]);

/* Where a program receives may be known after its first packets passed: so many
 * of nobody's are kept for so long. */
#define RX_TAP_KEPT_MAX   1024
#define RX_TAP_KEPT_BYTES 2048 /* of each: all, for who listens */
#define RX_TAP_KEPT_NS    INT64_C(2000000000)

/* Sessions whose ports are not known yet: the oldest makes room. */
#define RX_TAP_WANTED_MAX 256

/**
 * What comes to and from the program's port with this address is a session's,
 * of what was kept, too: handler is called before the return. An address at
 * which a STUN or TURN server has it is a port's as soon as the server's
 * answer has passed, and the port before it stays until then; what travels
 * through the TURN server is taken out.
 * @param rtcp     it is the port for RTCP alone
 * @param session  a number for it, 1 and up
 */
void tap_sessions_assign(struct tap_sessions *t,
			 const struct media_addr *address, bool rtcp,
			 uint32_t session, rx_tapped_h *handler, void *arg);

/** The session has no ports any more. */
void tap_sessions_release(struct tap_sessions *t, uint32_t session);

void tap_sessions_read(struct tap_sessions *t, rx_tapped_h *handler, void *arg);

/** Datagrams the kernel dropped since the last call. */
uint64_t tap_sessions_drops(struct tap_sessions *t);

#endif
