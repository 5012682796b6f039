/**
 * What the analysis keeps of one session: its received streams and the sent
 * one, put together into one second and one total a direction. No clock, ring
 * or thread in here.
 * Thread: analysis.
 */
#ifndef OFFHOOK_MEDIA_MEASURE_MEASURE_SESSION_H
#define OFFHOOK_MEDIA_MEASURE_MEASURE_SESSION_H

#include "media/engine/media_engine.h"

/** An RTP packet came before the start: kept for it, at most
 * EARLY_PACKETS_MAX of them, else stray. */
void measure_session_early(struct measure_session *a,
			   const struct packet_record *r);

/** There will be no start: what was kept is stray. */
void measure_session_never(struct measure_session *a);

/** First settled parameters: the measurement starts at c->mono_ns, or with the
 * first packet of the EARLY_NS before. The caller takes a->early then. */
void measure_session_start(struct measure_session *a, const struct command *c,
			   uint32_t ssrc);

/** Later ones. */
void measure_session_apply(struct measure_session *a, const struct command *c);

/** The program of a tapped session sent an RTP packet. */
void measure_session_tapped(struct measure_session *a,
			    const struct packet_record *r);

/** An SRTP packet was not authentic, or seen before. In any state. */
void measure_session_srtp(struct measure_session *a,
			  const struct packet_record *r);

/** An RTP packet came. */
void measure_session_received(struct measure_session *a,
			      const struct packet_record *r);

/** RTCP came. @param received_ntp  middle bits of our SRs' clock at arrival */
void measure_session_rtcp(struct measure_session *a,
			  const struct rtcp_event *event,
			  uint32_t received_ntp);

/** Fill what the next RTCP packet shall say: a block for each source heard
 * since the last one (RFC 3550 6.4), first that of the source heard last; the
 * next XR interval begins. */
void measure_session_report(struct measure_session *a,
			    struct report_answer *ret);

/**
 * Close the open second of what was received. Counters are the sums over all
 * streams; jitter, MOS and R are of the stream with most packets in it.
 */
void measure_session_close_in(struct measure_session *a, int64_t end_ns,
			      struct stream_second *ret);

/** Nothing more comes: what was open until more packets came is final. Once,
 * before the last second is closed. */
void measure_session_finish(struct measure_session *a);

/** Something was counted since the last second was closed. */
bool measure_session_second_open(struct measure_session *a);

/**
 * The n-th source of what was received, by the time of its first packet.
 * @param n  0 and up
 * @return false: there are no more
 */
bool measure_session_source(struct measure_session *a, uint32_t n,
			    struct stream_source *ret);

/**
 * Total of what was received. Counters are the sums over all streams and
 * packets of none; SSRC, codec, distributions, burst ratio and score are of
 * the stream with most packets.
 */
void measure_session_total_in(struct measure_session *a,
			      struct stream_total *ret);

#endif
