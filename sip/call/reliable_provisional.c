#include "sip/call/reliable_provisional.h"

#include <errno.h>
#include <string.h>

#include "base/random.h"
#include "base/str.h"
#include "sip/call.h"
#include "sip/call/call_internal.h"
#include "sip/call/extensions.h"
#include "sip/call/offer_answer.h"
#include "sip/call/uas.h"
#include "sip/call/warning.h"
#include "sip/message/text.h"
#include "sip/transaction/retransmit.h"
#include "sip/transaction/server_transaction.h"

/* Provisional responses that wait until the PRACK for the one before has
 * come. */
#define PRACK_QUEUE_MAX 8

#define WAIT_MS ((uint64_t)64 * SIP_T1)

/* A provisional response that waits for its turn. */
struct waiting {
	struct le le;
	uint16_t code;
	bool has_media;
	struct media_local media;
};

static void waiting_destructor(void *arg)
{
	struct waiting *waiting = arg;

	list_unlink(&waiting->le);
}

bool reliable_wanted(const struct sip_call *call)
{
	return call->options.prack != SIP_PRACK_NONE &&
	       (extensions_has(call->uas.invite, SIP_HDR_REQUIRE, "100rel") ||
		extensions_has(call->uas.invite, SIP_HDR_SUPPORTED, "100rel"));
}

static void acknowledged(struct sip_call *call)
{
	struct reliable *r = &call->reliable;

	mono_timer_cancel(&r->tmr);
	mono_timer_cancel(&r->tmr_end);
	r->mb = mem_deref(r->mb);
}

void reliable_stop(struct sip_call *call)
{
	acknowledged(call);
	call->reliable.answer_next = false;
	list_flush(&call->reliable.queue);
}

static void again_handler(void *arg)
{
	struct sip_call *call = arg;
	struct reliable *r = &call->reliable;

	(void)server_transaction_resend(call->sip, call->uas.invite, r->mb);
	r->count++;
	mono_timer_start(&r->tmr,
			 retransmit_interval_ms(r->count, RETRANSMIT_NO_CAP),
			 again_handler, call);
}

static void unacknowledged_handler(void *arg)
{
	struct sip_call *call = arg;

	/* RFC 3262 section 3: a 5xx to the INVITE. */
	(void)server_transaction_reply(&call->uas.transaction, call->sip,
				       call->uas.invite, 504,
				       "Server Time-out");
	call_set_end(call, SIP_END_FAILED, true, 504,
		     "no PRACK for our provisional response within 32 s");
	call_close(call);
}

/* @return 1: it goes with SDP; 0: without; -errno */
static int describe(struct sip_call *call, const struct media_local *media,
		    char *reason)
{
	struct reliable *r = &call->reliable;
	int err;

	if (!media || r->answered || r->offers)
		return 0;
	err = offer_answer_local_set(call, media);
	if (err)
		return err;
	if (call->session.remote)
		err = offer_answer_new_answer(call, media->direction, reason);
	else
		err = offer_answer_new_offer(call, media->direction);
	if (err)
		return err;
	r->answered = call->session.remote != NULL;
	r->offers = !r->answered;
	return 1;
}

static int send_now(struct sip_call *call, uint16_t code,
		    const struct media_local *media, char *reason)
{
	struct reliable *r = &call->reliable;
	char header[64];
	int sdp, err;

	sdp = describe(call, media, reason);
	if (sdp < 0)
		return sdp;
	r->rseq = r->rseq ? r->rseq + 1 : 1u + random_u16();
	str_print(header, sizeof(header), "Require: 100rel\r\nRSeq: %u\r\n",
		  r->rseq);
	err = uas_provisional(call, &r->mb, code, header, sdp);
	if (err)
		return err;
	r->count = 1;
	mono_timer_start(&r->tmr, SIP_T1, again_handler, call);
	mono_timer_start(&r->tmr_end, WAIT_MS, unacknowledged_handler, call);
	return 0;
}

int reliable_send(struct sip_call *call, uint16_t code,
		  const struct media_local *media, char *reason)
{
	struct reliable *r = &call->reliable;
	struct waiting *waiting;

	if (!r->mb)
		return send_now(call, code, media, reason);
	if (list_count(&r->queue) >= PRACK_QUEUE_MAX)
		return -EBUSY;
	waiting = mem_zalloc(sizeof(*waiting), waiting_destructor);
	if (!waiting)
		return -ENOMEM;
	waiting->code = code;
	waiting->has_media = media != NULL;
	if (media)
		memcpy(&waiting->media, media, media_local_bytes(media));
	list_append(&r->queue, &waiting->le, waiting);
	return 0;
}

/* Send the next queued response, then the 2xx if it was asked for. */
static void go_on(struct sip_call *call)
{
	struct reliable *r = &call->reliable;
	struct waiting *waiting;
	int err = 0;

	while (!err && !r->mb && call->state == CALL_INCOMING &&
	       (waiting = list_ledata(list_head(&r->queue)))) {
		list_unlink(&waiting->le);
		err = uas_progress(call, waiting->code,
				   waiting->has_media ? &waiting->media : NULL);
		mem_deref(waiting);
	}
	if (err) {
		uas_refuse(call, 500, "Server Internal Error");
		return;
	}
	if (r->mb || call->state != CALL_INCOMING || !r->answer_next)
		return;
	r->answer_next = false;
	uas_answer(call);
}

/* RAck: 776656 1 INVITE (RFC 3262 7.2) */
static bool rack_match(const struct sip_call *call, const struct sip_msg *msg)
{
	const struct sip_hdr *rack = sip_msg_hdr(msg, SIP_HDR_RACK);
	struct pl rseq, cseq, method;

	return call->reliable.mb && rack &&
	       !re_regex(rack->val.p, rack->val.l,
			 "[0-9]+[ \t]+[0-9]+[ \t]+[^ \t]+", &rseq, NULL, &cseq,
			 NULL, &method) &&
	       rseq.p == rack->val.p && pl_u32(&rseq) == call->reliable.rseq &&
	       pl_u32(&cseq) == call->uas.invite->cseq.num &&
	       !pl_strcmp(&method, "INVITE");
}

static void prack_accept(struct sip_call *call, const struct sip_msg *msg,
			 bool sdp)
{
	const char *type = sdp ? "Content-Type: application/sdp\r\n" : "";
	size_t len = sdp ? call->session.sdp.used : 0;

	(void)server_transaction_replyf(NULL, NULL, call->sip, msg, false, 200,
					"OK", "%sContent-Length: %zu\r\n\r\n%b",
					type, len,
					sdp ? call->session.sdp.data : "", len);
}

/* The PRACK answers our offer. */
static void answer_received(struct sip_call *call, const struct sip_msg *msg)
{
	char reason[REASON_BYTES] = "";
	int err;

	call->reliable.offers = false;
	err = offer_answer_conclude(
		call, msg, "the PRACK has no SDP to answer our offer", reason);
	if (!err) {
		call->reliable.answered = true;
		prack_accept(call, msg, false);
		return;
	}
	warning_refuse(NULL, call->sip, msg, err, reason);
	/* the body type of the INVITE itself was fine: no 415 */
	warning_refuse(&call->uas.transaction, call->sip, call->uas.invite,
		       err == -EPROTONOSUPPORT ? -EBADMSG : err, reason);
	call_set_end(call, SIP_END_REJECTED, true, 488, reason);
	call_close(call);
}

void reliable_received(struct sip_call *call, const struct sip_msg *msg)
{
	char reason[REASON_BYTES] = "";
	int r = 1;

	if (call->state != CALL_INCOMING || !rack_match(call, msg)) {
		(void)server_transaction_reply(
			NULL, call->sip, msg, 481,
			"Call/Transaction Does Not Exist");
		return;
	}
	mem_ref(call);
	acknowledged(call);
	if (call->reliable.offers) {
		answer_received(call, msg);
	} else {
		if (!offer_answer_empty(msg))
			r = call->reliable.answered
				    ? offer_answer_offered(call, msg, reason)
				    : -EINVAL;
		if (r < 0)
			warning_refuse(NULL, call->sip, msg, r,
				       reason[0] ? reason : NULL);
		else
			prack_accept(call, msg, r == 0);
		if (r == 0)
			offer_answer_answered(call);
	}
	go_on(call);
	mem_deref(call);
}
