/**
 * What the RX thread keeps of a session, and the commands about it. The loop
 * makes the session and fills the constant fields before COMMAND_ADD; from
 * then on the RX thread alone touches it until session_end.rx_done.
 * Docs: docs/internals/media.md
 */
#ifndef OFFHOOK_MEDIA_RX_RX_SESSION_H
#define OFFHOOK_MEDIA_RX_RX_SESSION_H

#include "base/prefetch.h"
#include "media/analysis/payload_map.h"
#include "media/command.h"
#include "media/handover.h"
#include "media/nat/relay_map.h"
#include "media/packet_copy.h"
#include "media/payload_ring.h"
#include "media/rx/rx_linger.h"
#include "media/rx/rx_path.h"
#include "media/security/session_key.h"
#include "media/socket.h"
#include "media/thread_records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rx_shared_socket;

struct rx_socket {
	struct rx_source source; /* first */
	struct rx_session *session;
	int fd;         /* constant; -1: none */
	bool rtcp;      /* constant */
	bool stream;    /* constant: frames of a TURN server, see
			 * media/nat/turn_stream.h */
	uint32_t drops; /* SO_RXQ_OVFL last seen */
	uint32_t turn;  /* of the thread, when it was last read */
	uint8_t batch;  /* datagrams it was asked for, > 0 */
	struct relay_map relay;
};

/* Replaced keys that are still tried. Re-INVITEs may follow each other within
 * a millisecond (hold, resume), each with a new key, while a packet that was
 * protected before the first of them is on its way. */
#define KEYS_REPLACED_MAX 3

/** Keys of one port. */
struct rx_keys {
	struct session_key *key; /* NULL: not known yet */
	struct {
		struct session_key *key; /* NULL: none */
		int64_t until_ns;      /* the first one: once `key` is known */
	} replaced[KEYS_REPLACED_MAX]; /* the newest first */
};

struct rx_session {
	/* hot: each packet; one line up to the peer's IPv4 or IPv6 address */
	/* SRTP is expected, or may be settled: nothing is read in plain */
	_Alignas(PREFETCH_LINE) bool encrypted;
	bool tap_secure;   /* a tapped one is SRTP: only headers can be read */
	bool tapped;       /* constant: media of another program */
	bool decodes;      /* constant: payloads go to the audio thread */
	bool decodes_sent; /* constant: so do those that a tapped program
			    * sends */
	bool captured;     /* constant: packets are copied to `copies` */
	uint32_t slot;     /* constant */
	uint32_t ssrc;     /* constant: ours */
	int64_t peer_ns;
	struct media_addr peer; /* negotiated RTP address; len 0: none */
	/* cold, but for the first bytes of what is read */
	struct rx_socket sockets[SOCKET_COUNT];
	struct rx_socket streams[SOCKET_COUNT];      /* fd -1: none */
	struct media_addr peer_before;               /* until peer_ns */
	uint32_t event_clock_hz[PACKET_PT_MASK + 1]; /* 0: no event type */
	struct rx_lingering linger;
	const struct rx_path *path; /* constant; not of a tapped one */
	/* constant; NULL: it has its own */
	struct rx_shared_socket *shared[SOCKET_COUNT];
	struct payload_ring *payloads; /* constant: to the audio thread */
	struct packet_copies copies;   /* constant; `local` of a tapped one:
					* the program's */
	struct session_end *end;       /* constant */
	struct media_addr rtcp_peer;   /* for DTLS; len 0: not known */
	bool rtcp_mux;                 /* no DTLS for RTCP alone */
	struct handover_gate dtls[SOCKET_COUNT];
	struct handover_gate stun;
	struct handover_gate stun_known; /* from the peer, or a server */
	struct handover_known known;     /* the peer's candidates */
	/* until then a packet that no key fits waits for the next key */
	int64_t rekeying_until_ns;
	struct rx_keys keys[SOCKET_COUNT]; /* as in struct rx_command */
	bool rtcp_keyed;
	uint32_t own_ssrc; /* whom the peer's reports are about: ours, or that
			    * of the program of a tapped session */
};

/** A command to the RX thread. */
struct rx_command {
	struct command_head head;
	struct rx_session *session;
	/* COMMAND_APPLY: the peer's; COMMAND_TAP: the tapped program's */
	struct media_addr rtp;
	struct media_addr rtcp; /* len 0: not known; of a tapped one: none */
	/* COMMAND_APPLY */
	struct handover_known known; /* ICE: the peer's candidates */
	const struct rtp_payload_map *map;
	bool any_peer; /* tapped: the program's ICE finds out who the peer is */
	/* SSRCs that the peer announces; the sockets are shared */
	uint32_t ssrcs[MEDIA_SSRCS_MAX];
	size_t ssrc_count;
	bool rtcp_mux;
	bool encrypted;  /* SRTP; a key that is NULL is still to come */
	bool rtcp_keyed; /* DTLS-SRTP on two ports (RFC 5764 section 3) */
	/* by port where rtcp_keyed; else keys[SOCKET_RTP] is for both */
	struct session_key *keys[SOCKET_COUNT];
	/* COMMAND_RELAY */
	unsigned socket;
	struct relay_map relay;
};

#endif
