/**
 * Sessions whose RTP another program on this host sends and receives. Its packets
 * are captured (capture/tap.h) and assigned to sessions by the program's port.
 * Thread: the loop creates and frees it while no media thread runs; otherwise RX.
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
	uint32_t session; /* as in tap_sessions_assign() */
	bool sent;        /* by the program; false: received by it */
	bool rtcp;        /* on the port for RTCP */
	int64_t ns;       /* Unix time */
	struct media_addr peer;
	const uint8_t *data; /* valid during the call */
	size_t captured;
	size_t bytes;
};

/** Gets a datagram. */
typedef void(tap_session_h)(const struct tap_session *d, void *arg);

/**
 * Tap the interface that has the address, and the loopback interface: packets
 * between addresses of this host pass that one.
 * @param address   of the program
 * @param port_min  lowest port of its RTP
 * @param port_max  highest port of its RTP; the one above may be RTCP's
 * @param reason    TAP_REASON_BYTES; written on failure: cause and remedy
 * @return 0; -EADDRNOTAVAIL no interface has it; as tap_open()
 */
int tap_sessions_new(struct tap_sessions **ret,
		     const struct media_addr *address, uint16_t port_min,
		     uint16_t port_max, char *reason);
/** Close the taps. @return NULL */
struct tap_sessions *tap_sessions_free(struct tap_sessions *t);

/** Descriptors that are readable when datagrams wait.
 * @param ret  room for 2
 * @return their number */
size_t tap_sessions_fds(const struct tap_sessions *t, int ret[2]);

/* The port of a session may become known after its first packets: so many packets
 * of unassigned ports are kept for so long. */
#define TAP_SESSIONS_KEPT_MAX   1024
#define TAP_SESSIONS_KEPT_BYTES 2048 /* of each datagram */
#define TAP_SESSIONS_KEPT_NS    INT64_C(2000000000)

/* Sessions whose ports are unknown yet; a new one replaces the oldest. */
#define TAP_SESSIONS_PENDING_MAX 256

/**
 * Assign a port of the program to a session. The handler gets the kept packets of the
 * port before this returns.
 *
 * A server-reflexive or relayed address belongs to a port as soon as the response of
 * the STUN or TURN server was captured; until then the session's former port stays.
 * Datagrams are handed out without the framing of the TURN server.
 * @param address  address and port that the program announced
 * @param rtcp     the port is for RTCP alone
 * @param session  1 and up
 */
void tap_sessions_assign(struct tap_sessions *t,
			 const struct media_addr *address, bool rtcp,
			 uint32_t session, tap_session_h *handler, void *arg);

/** Remove the ports of a session. */
void tap_sessions_release(struct tap_sessions *t, uint32_t session);

/** Hand out the waiting datagrams of all sessions. */
void tap_sessions_read(struct tap_sessions *t, tap_session_h *handler,
		       void *arg);

/** Number of frames that the kernel dropped since the last call. */
uint64_t tap_sessions_drops(struct tap_sessions *t);

#endif
