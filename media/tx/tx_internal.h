/**
 * Inside of the TX thread. Docs: docs/internals/media.md
 * Thread: TX, all functions; none blocks or allocates.
 *
 * tx.c            the thread: timers, commands
 * tx_rtp.c        RTP: prompt, digits, times of packets
 * tx_rtcp.c       RTCP
 * tx_send.c       encryption, copies, refusals
 * tx_path_call.c    sending, a socket a call
 * tx_path_shared.c  sending by shared sockets
 */
#ifndef OFFHOOK_MEDIA_TX_TX_INTERNAL_H
#define OFFHOOK_MEDIA_TX_TX_INTERNAL_H

#include "media/tx/tx_heap.h"
#include "media/tx/tx_params.h"
#include "media/tx/tx_path.h"
#include "media/tx/tx_session.h"

#include <sys/types.h>

/* An RTP header without extension (RFC 3550 section 5.1), payload, SRTP tag. */
#define TX_PACKET_BYTES_MAX (12 + CODEC_PAYLOAD_MAX + SRTP_OVERHEAD_BYTES)

struct tx {
	struct tx_params p;
	struct tx_heap heap;
	struct tx_session **sessions; /* by slot; NULL: not applied, or
				       * stopped */
	uint64_t sent_pushed;
	struct tx_counters counters;
	struct tx_queue *queue; /* of sessions that share sockets; NULL: there
				 * was none yet */
};

/** @return there is a key, or none is needed */
bool tx_keyed(const struct tx_session *s, bool rtcp);
/**
 * Encrypt in place if the session is encrypted.
 * @param bytes  in/out
 * @param room   of data
 * @return 0; -ENOKEY no key yet; -errno
 */
int tx_secure(struct tx_session *s, uint8_t *data, size_t *bytes, size_t room,
	      bool rtcp);

/** Send to the peer, directly or through a channel of the TURN server.
 * @param channel  0: directly
 * @return as sendto() */
ssize_t tx_transmit(const struct tx_session *s, unsigned socket,
		    const struct media_addr *to, uint16_t channel,
		    const uint8_t *data, size_t bytes);

/**
 * A packet was sent, or refused: count it, tell the analysis, copy it.
 * @param packet  its data are read if it is copied
 * @param now_ns  when it was sent
 * @param err     errno; 0: it was sent
 */
void tx_rtp_left(struct tx *t, const struct tx_packet *packet, int64_t now_ns,
		 int err);

/** Copy a packet that was sent for the capture file. @param now_ns  when */
void tx_copy(const struct tx_session *s, bool rtcp, int64_t now_ns,
	     const uint8_t *data, size_t bytes);

/**
 * tx_transmit() failed. If the kernel refuses the peer's address ten times in a
 * row for RTP, or three times for RTCP, before it accepts a first packet to it,
 * report MEDIA_RECORD_UNREACHABLE. All other failures count as send errors.
 * @param err  errno
 */
void tx_refused(struct tx *t, struct tx_session *s, bool rtcp, int err);
/** tx_transmit() succeeded for the first time to an address: count earlier
 * refusals as send errors, since the address is reachable. */
void tx_reached(struct tx *t, struct tx_session *s, bool rtcp);
/** New addresses are about to be applied: reset the refusal counts of those
 * that change. */
void tx_refused_forget(struct tx_session *s, const struct tx_command *c);

/** @return direction, time limit and keys allow the next packet */
bool tx_rtp_may(const struct tx_session *s);
/** Send the next packet and set the timer for the one after. If it is not
 * encoded yet, its time passes without a packet, which is counted. */
void tx_rtp_due(struct tx *t, struct tx_session *s);
/** For a clip that is in step with the wall clock: move the due time to the
 * next multiple of the packet time, and find the packet of the clip for it. */
void tx_rtp_align(const struct tx *t, struct tx_session *s);
/** Start or stop sending after direction or time limit changed. */
void tx_rtp_review(struct tx *t, struct tx_session *s, int64_t now_ns);
/** Play a file once.
 * @param c  COMMAND_PLAY, held until the file has ended or was cut because it
 *           was encoded for another codec or packet time
 *           (MEDIA_RECORD_PLAYED) */
void tx_rtp_play_begin(struct tx *t, struct tx_session *s,
		       const struct tx_command *c);
/** Send digits as tones; at most one order at a time.
 * @param c  COMMAND_TONES, held in the same way (MEDIA_RECORD_DTMF) */
void tx_rtp_tones_begin(struct tx *t, struct tx_session *s,
			const struct tx_command *c);
/** Codec, packet time or telephone-event may have changed: cut a file, tones or
 * events of the old ones. */
void tx_rtp_codec_changed(struct tx *t, struct tx_session *s);
/** The session ends: return the commands that are held. */
void tx_rtp_end(struct tx_session *s);

/** The session begins: schedule its first report. */
void tx_rtcp_start(struct tx *t, struct tx_session *s, int64_t start_ns);
/** A report is due: ask the analysis for report blocks, or send without them if
 * it did not answer. */
void tx_rtcp_due(struct tx *t, struct tx_session *s, int64_t now_ns);
/** Send the reports for which the analysis has answered. */
void tx_rtcp_answers(struct tx *t);
/**
 * Leave with a BYE, if anything was ever sent (RFC 3550 section 6.3.7). The
 * analysis is first asked for a report block about all that was received until
 * now, which goes with the BYE. Afterwards, or at once without a BYE,
 * tx_session_done() is called.
 */
void tx_rtcp_leave(struct tx *t, struct tx_session *s);

/** Nothing more is sent. The session is not touched afterwards. */
void tx_session_done(struct tx *t, struct tx_session *s);

#endif
