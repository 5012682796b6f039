/**
 * The TX thread's part of a media path: how the packets of a session get to the
 * network. The loop's part is in media/engine/session_path.h, the RX thread's in
 * media/rx/rx_path.h. Docs: docs/internals/media.md "Media paths"
 */
#ifndef OFFHOOK_MEDIA_TX_TX_PATH_H
#define OFFHOOK_MEDIA_TX_TX_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tx;
struct tx_session;

/** An RTP packet that is ready to be sent. */
struct tx_packet {
	struct tx_session *session;
	int64_t due_ns;
	uint32_t rtp_ts;
	uint16_t seq;
	uint16_t payload_bytes; /* before encryption */
	uint8_t marker_pt;      /* second byte of the header */
	bool talkspurt;         /* `marker` of the session before it */
	const uint8_t *data;    /* encrypted, if the session is */
	size_t bytes;
};

struct tx_path {
	/**
	 * Send a packet to the session's peer, now or at the next flush.
	 * tx_rtp_left() is called once for it.
	 * @param packet  borrowed during the call, with its data
	 */
	void (*send)(struct tx *t, const struct tx_packet *packet);
	/** Send what waits. The thread calls it at the end of a turn, and
	 * before a session with waiting packets changes or sends RTCP. */
	void (*flush)(struct tx *t);
};

extern const struct tx_path tx_path_call; /* a socket a call */

#endif
