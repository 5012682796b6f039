/**
 * Offer and answer of a call (RFC 3264).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_OFFER_ANSWER_H
#define OFFHOOK_SIP_CALL_OFFER_ANSWER_H

#include <re.h>

#include "media/params.h"

struct call_event;
struct sip_call;

/** Set the media of our next offer or answer; copied. @return 0; -EINVAL */
int offer_answer_local_set(struct sip_call *call,
			   const struct media_local *media);
/** @return the media of our next offer or answer; nothing is set in it before
 *         offer_answer_local_set(); never NULL */
const struct media_local *offer_answer_local(const struct sip_call *call);
/** Make our offer, in call->session.sdp. @return 0; -errno */
int offer_answer_new_offer(struct sip_call *call,
			   enum media_direction direction);
/**
 * Answer call->session.remote, in call->session.sdp.
 * @param reason  REASON_BYTES, why the offer is unusable
 * @return 0; -errno, offer_answer_refusable() says whether it is the peer's fault
 */
int offer_answer_new_answer(struct sip_call *call, enum media_direction want,
			    char *reason);
/** An error of offer_answer_read(), offer_answer_new_answer() or offer_answer_offered() that
 * the peer's description is to blame for: its offer is answered with 488. */
bool offer_answer_refusable(int err);
/**
 * Take the peer's description from a message, whose body it is or a part of
 * whose multipart body (RFC 5621).
 * @param reason  REASON_BYTES, why it is unusable
 * @return 1 there is none; 0 parsed, in call->session.remote; -errno
 */
int offer_answer_read(struct sip_call *call, const struct sip_msg *msg,
		      char *reason);
/** call->session.remote has no audio that we could take. @return -errno, reason */
int offer_answer_no_audio(const struct sip_call *call, char *reason);
/** The message has no description, and nothing that has to be understood. */
bool offer_answer_empty(const struct sip_msg *msg);
/** The remote description answers our offer. @return 0; -errno, reason */
int offer_answer_accept(struct sip_call *call, char *reason);
/**
 * The answer to our offer, with its events: where every offer of ours ends.
 * @param missing  the reason if the message has none
 * @return 0; -errno with the reason: media is what it was
 */
int offer_answer_conclude(struct sip_call *call, const struct sip_msg *msg,
			  const char *missing, char *reason);
/**
 * An offer within the call: make our answer, in call->session.sdp.
 * @param reason  REASON_BYTES, why it is unusable; "" if nothing is wrong
 * @return 0; 1 there is none; -errno: everything is what it was
 */
int offer_answer_offered(struct sip_call *call, const struct sip_msg *msg,
			 char *reason);
/** The answer of offer_answer_offered() was sent: the events. */
void offer_answer_answered(struct sip_call *call);
/** The negotiated media differ from those reported last. */
bool offer_answer_news(const struct sip_call *call);
/** Add the negotiated media to an event, if they have not been reported yet. */
void offer_answer_event_media(struct sip_call *call, struct call_event *event);
/** The peer's description was taken: SIP_CALL_HELD or SIP_CALL_RESUMED if that
 * changes whether the peer holds us. Before the call is established the state
 * is kept without an event. */
void offer_answer_hold_events(struct sip_call *call, int64_t mono_ns);
/** SIP_CALL_ESTABLISHED was told: SIP_CALL_HELD follows if the peer's first
 * offer or answer holds us. */
void session_established(struct sip_call *call);
/** The direction of our next offer. @param held  by us */
enum media_direction offer_answer_wanted(const struct sip_call *call,
					 bool held);

#endif
