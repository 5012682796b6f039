/**
 * Inside of the TX thread. Docs: docs/internals/media.md
 * Thread: TX, all functions; none blocks or allocates.
 *
 * tx.c       the thread: timers, commands
 * tx_rtp.c   RTP: prompt, digits, places in time
 * tx_rtcp.c  RTCP
 * tx_send.c  encryption, and the way to the peer
 */
#ifndef OFFHOOK_MEDIA_TX_TX_INTERNAL_H
#define OFFHOOK_MEDIA_TX_TX_INTERNAL_H

#include "media/tx/tx_heap.h"
#include "media/tx/tx_params.h"
#include "media/tx/tx_session.h"

#include <sys/types.h>

struct tx {
	struct tx_params p;
	struct tx_heap heap;
	struct tx_session **sessions; /* by slot; applied, not stopped */
	uint64_t sent_pushed;
	struct tx_counters counters;
};

/** There is a key for it, or none is needed. */
bool tx_keyed(const struct tx_session *s, bool rtcp);
/** What must be encrypted is, in place. @return 0; -errno: it cannot be */
int tx_secure(struct tx_session *s, uint8_t *data, size_t *bytes, size_t room,
	      bool rtcp);

/** To the peer, straight or in a channel of the TURN server.
 * @return as of sendto() */
ssize_t tx_transmit(const struct tx_session *s, unsigned socket,
		    const struct media_addr *to, uint16_t channel,
		    const uint8_t *data, size_t bytes);

/** tx_transmit() failed. Ten RTP packets in a row, or three of RTCP, that the
 * kernel refuses before it takes the first one to an address that the peer named
 * are told (MEDIA_RECORD_UNREACHABLE); all else is an error of ours.
 * @param err  errno */
void tx_refused(struct tx *t, struct tx_session *s, bool rtcp, int err);
/** tx_transmit() succeeded for the first time to an address: what was refused
 * before was no fault of the address. */
void tx_reached(struct tx *t, struct tx_session *s, bool rtcp);
/** Other addresses are applied: before they are in force. */
void tx_refused_forget(struct tx_session *s, const struct tx_command *c);

/** Direction, limit and keys allow the next packet. */
bool tx_rtp_may(const struct tx_session *s);
/** Send the next packet, and set the timer of the one after. Where no encoding
 * is there for it, the place passes, and is counted. */
void tx_rtp_due(struct tx *t, struct tx_session *s);
/** The next packet's place in a clip that keeps step with the wall clock: its
 * due time becomes a multiple of the packet time there. */
void tx_rtp_align(const struct tx *t, struct tx_session *s);
/** After direction or limit changed. */
void tx_rtp_review(struct tx *t, struct tx_session *s, int64_t now_ns);
/** Play a file once. @param c  COMMAND_PLAY, held until it is over, or cut
 * because it was encoded for other packets (MEDIA_RECORD_PLAYED) */
void tx_rtp_play_begin(struct tx *t, struct tx_session *s,
		       const struct tx_command *c);
/** Send digits as tones; at most one order at a time. @param c  COMMAND_TONES,
 * as above (MEDIA_RECORD_DTMF) */
void tx_rtp_tones_begin(struct tx *t, struct tx_session *s,
			const struct tx_command *c);
/** After codec or packet time changed: what does not fit is cut. */
void tx_rtp_codec_changed(struct tx *t, struct tx_session *s);
/** The session ends: commands that are held are given back. */
void tx_rtp_end(struct tx_session *s);

/** The session begins: when its first report is due. */
void tx_rtcp_start(struct tx *t, struct tx_session *s, int64_t start_ns);
/** @param answer  NULL: no report block */
void tx_rtcp_send(struct tx *t, struct tx_session *s,
		  const struct report_answer *answer, bool bye);
/** Ask the analysis for a report, or send one without it. */
void tx_rtcp_due(struct tx *t, struct tx_session *s, int64_t now_ns);
/** Send the reports that the analysis answered for. */
void tx_rtcp_answers(struct tx *t);
/**
 * Take leave with a BYE, if anything was ever sent (RFC 3550 6.3.7). It leaves
 * with a report block of all that was received until now, which the analysis
 * is asked for; then, or at once without a BYE, tx_session_done() is called.
 */
void tx_rtcp_leave(struct tx *t, struct tx_session *s);

/** Nothing more is sent: the session is not touched after. */
void tx_session_done(struct tx *t, struct tx_session *s);

#endif
