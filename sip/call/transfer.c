#include "sip/call/transfer.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "sip/call.h"
#include "sip/call/call_internal.h"
#include "sip/call/call_table.h"
#include "sip/call/call_user.h"
#include "sip/call/fork.h"
#include "sip/call/in_dialog.h"
#include "sip/call/native_call.h"
#include "sip/call/uac.h"
#include "sip/dialog/contact.h"
#include "sip/dialog/dialog.h"
#include "sip/dialog/originator.h"
#include "sip/dialog/peer.h"
#include "sip/error.h"
#include "sip/event/refer_request.h"
#include "sip/message/headers.h"
#include "sip/message/message.h"
#include "sip/message/replaces_header.h"
#include "sip/message/text.h"
#include "sip/transaction/server_transaction.h"
#include "sip/transport/transport.h"

/* ---- we refer ---- */

/* The first NOTIFY is due within 64*T1 (RFC 6665 4.1.2.4, timer N); each
 * NOTIFY then says how long the subscription lasts, of which we wait at most
 * NOTIFY_MAX_S. */
#define NOTIFY_WAIT_S 32
#define NOTIFY_MAX_S  300

#define REPLACES_BYTES 512

static void transfer_end(struct sip_call *call, bool good)
{
	struct call_event *event;

	if (!call->refer.transferring)
		return;
	call->refer.transferring = false;
	mono_timer_cancel(&call->refer.tmr);
	event = call_event(&call->events,
			   good ? SIP_CALL_TRANSFERRED : SIP_CALL_TRANSFER_FAIL,
			   true, transport_event_ns(call->transport));
	if (!event)
		return;
	event->code = call->refer.code;
	(void)str_copy(event->reason, sizeof(event->reason),
		       call->refer.reason);
}

static void transfer_note(struct sip_call *call, uint16_t code,
			  const char *reason)
{
	call->refer.code = code;
	str_print(call->refer.reason, sizeof(call->refer.reason), "%s", reason);
}

static void overdue_handler(void *arg)
{
	struct sip_call *call = arg;
	char reason[REASON_BYTES];

	str_print(reason, sizeof(reason),
		  "no NOTIFY said how the transfer ended, the last one: %s",
		  call->refer.reason);
	transfer_note(call, 0, reason);
	transfer_end(call, false);
}

static void notify_wait(struct sip_call *call, uint32_t s)
{
	mono_timer_start(&call->refer.tmr, (uint64_t)s * 1000, overdue_handler,
			 call);
}

void transfer_stop(struct sip_call *call)
{
	if (!call->refer.transferring)
		return;
	transfer_note(call, 0, "the call ended before its transfer did");
	transfer_end(call, false);
}

/* Subscription-State: active;expires=60 */
static uint32_t expires_of(const struct pl *state)
{
	struct pl expires;
	uint32_t s;

	if (msg_param_decode(state, "expires", &expires))
		return NOTIFY_MAX_S;
	s = pl_u32(&expires);
	return s < NOTIFY_MAX_S ? s : NOTIFY_MAX_S;
}

static void refer_answered(struct sip_call *call, const char *method,
			   const struct sip_msg *msg)
{
	char reason[REASON_BYTES];
	(void)method;

	if (!msg) {
		transfer_note(call, 0, "no answer to our REFER");
		transfer_end(call, false);
		return;
	}
	msg_line(reason, sizeof(reason), msg);
	/* a NOTIFY with a later status may have overtaken the 202 */
	if (msg->scode >= 300 || call->refer.code < 200)
		transfer_note(call, msg->scode, reason);
	if (msg->scode >= 300) {
		transfer_end(call, false);
		return;
	}
	if (refer_request_is_silent(msg))
		transfer_end(call, true); /* RFC 4488 section 4 */
	else if (call->refer.transferring &&
		 !mono_timer_running(&call->refer.tmr))
		notify_wait(call, NOTIFY_WAIT_S);
}

/* "SIP/2.0 200 OK" (RFC 3515 2.4.5) */
static bool fragment_read(const struct sip_msg *msg, uint16_t *ret_code,
			  char *reason, size_t size)
{
	struct pl code, phrase;

	if (!msg_ctype_cmp(&msg->ctyp, "message", "sipfrag") ||
	    re_regex((const char *)mbuf_buf(msg->mb), mbuf_get_left(msg->mb),
		     "SIP/2.0 [0-9]3 [^\r\n]*", &code, &phrase))
		return false;
	*ret_code = (uint16_t)pl_u32(&code);
	(void)pl_strcpy(&phrase, reason, size);
	return true;
}

void transfer_notify_received(struct sip_call *call, const struct sip_msg *msg)
{
	const struct sip_hdr *event = sip_msg_hdr(msg, SIP_HDR_EVENT);
	const struct sip_hdr *state =
		sip_msg_hdr(msg, SIP_HDR_SUBSCRIPTION_STATE);
	char reason[REASON_BYTES];
	uint16_t code = 0;

	if (!event || event->val.l < 5 ||
	    strncasecmp(event->val.p, "refer", 5) != 0) {
		(void)server_transaction_reply(NULL, call->sip, msg, 489,
					       "Bad Event");
		return;
	}
	if (!call->refer.transferring || !state) {
		(void)server_transaction_reply(
			NULL, call->sip, msg,
			call->refer.transferring ? 400 : 481,
			call->refer.transferring
				? "Bad Request"
				: "Subscription Does Not Exist");
		return;
	}
	(void)server_transaction_reply(NULL, call->sip, msg, 200, "OK");
	if (fragment_read(msg, &code, reason, sizeof(reason)))
		transfer_note(call, code, reason);
	if (code >= 200)
		transfer_end(call, code < 300);
	else if (state->val.l >= 10 &&
		 strncasecmp(state->val.p, "terminated", 10) == 0)
		transfer_end(call, false);
	else
		notify_wait(call, expires_of(&state->val));
}

static int refer_send(struct sip_call *call, const char *target, bool silent)
{
	char *headers = NULL;
	int err;

	if (call->state != CALL_UP)
		return -ENOTCONN;
	if (call->refer.transferring)
		return -EBUSY;
	err = text_print(&headers, "Refer-To: <%s>\r\nReferred-By: <%s>\r\n%s",
			 target, originator_aor(call->origin),
			 silent ? "Refer-Sub: false\r\n"
				  "Supported: norefersub\r\n"
				: "");
	if (!err) {
		call->refer.transferring = true;
		transfer_note(call, 0, "");
		err = in_dialog_send(call, "REFER", headers, NULL, NULL,
				     refer_answered);
		if (err)
			call->refer.transferring = false;
	}
	mem_deref(headers);
	return err;
}

int native_call_transfer(struct sip_call *call, const char *uri, bool silent)
{
	char *target;
	int err = peer_uri(&target, call->origin, uri);

	if (err)
		return err;
	err = refer_send(call, target, silent);
	mem_deref(target);
	return err;
}

/* URI for Refer-To: a call to the peer of this one that replaces it. */
static int replaces_uri(char **ret, const struct sip_call *other)
{
	const struct dialog *dialog = other->dialog;
	char text[REPLACES_BYTES];
	struct pl pl;

	/* the tags from the peer's side of the dialog */
	if (re_snprintf(text, sizeof(text), "%s;to-tag=%s;from-tag=%s",
			dialog_callid(dialog), dialog_remote_tag(dialog),
			dialog_local_tag(dialog)) < 0)
		return -ENAMETOOLONG;
	pl_set_str(&pl, text);
	return text_print(ret, "%s?Replaces=%H", other->peer, uri_header_escape,
			  &pl);
}

int native_call_transfer_attended(struct sip_call *call,
				  const struct sip_call *other)
{
	char *target;
	int err = other->state == CALL_UP ? replaces_uri(&target, other)
					  : -ENOTCONN;

	if (err)
		return err;
	err = refer_send(call, target, false);
	mem_deref(target);
	return err;
}

/* ---- we are referred ---- */

void transfer_refer_received(struct sip_call *call, const struct sip_msg *msg)
{
	struct contact_params contact;
	struct call_event *event;
	char *target = NULL;
	char *replaces = NULL;

	if (call->state != CALL_UP && call->state != CALL_ACCEPTED) {
		(void)server_transaction_reply(
			NULL, call->sip, msg, 481,
			"Call/Transaction Does Not Exist");
		return;
	}
	if (refer_request_target(&target, &replaces, msg)) {
		mem_deref(replaces);
		(void)server_transaction_reply(NULL, call->sip, msg, 400,
					       "Bad Refer-To");
		return;
	}
	event = call->refer.referred
			? NULL
			: call_event(&call->events, SIP_CALL_REFERRED, false,
				     transport_received_ns(call->transport));
	if (!event) {
		mem_deref(target);
		mem_deref(replaces);
		(void)server_transaction_reply(NULL, call->sip, msg, 603,
					       "Decline");
		return;
	}
	event->target = target;
	event->replaces = replaces;
	call->refer.referred = true;
	call->refer.silent = refer_request_is_silent(msg);
	call->refer.cseq = msg->cseq.num;
	contact_answer(&contact, call->origin, msg);
	(void)server_transaction_replyf(
		NULL, NULL, call->sip, msg, true, 202, "Accepted",
		"%H%sContent-Length: 0\r\n\r\n", contact_print, &contact,
		call->refer.silent ? "Refer-Sub: false\r\n" : "");
	/* An immediate NOTIFY is due (RFC 3515 2.4.4). */
	(void)native_call_refer_progress(call, 100, "Trying");
}

int native_call_refer_progress(struct sip_call *call, uint16_t code,
			       const char *reason)
{
	char headers[REFER_HEADERS_BYTES], body[REFER_BODY_BYTES];

	if (!call->refer.referred)
		return -EALREADY;
	if (code < 100 || code > 699 || !header_text_valid(reason))
		return -EINVAL;
	call->refer.referred = code < 200;
	if (call->refer.silent)
		return 0;
	if (call->state != CALL_UP && call->state != CALL_ACCEPTED)
		return -ENOTCONN;
	refer_request_status(headers, body, call->refer.cseq, code, reason);
	return in_dialog_send(call, "NOTIFY", headers, REFER_TYPE, body, NULL);
}

/* ---- Replaces (RFC 3891) ---- */

static bool match_handler(struct le *le, void *arg)
{
	const struct sip_call *call = le->data;
	const struct replaces_header *r = arg;
	const struct dialog *dialog = call->dialog;
	struct le *branch;

	if (pl_strcmp(&r->callid, dialog_callid(dialog)) ||
	    pl_strcmp(&r->to_tag, dialog_local_tag(dialog)))
		return false;
	if (dialog_remote_tag(dialog) &&
	    !pl_strcmp(&r->from_tag, dialog_remote_tag(dialog)))
		return true;
	LIST_FOREACH(&call->branches.early, branch)
	{
		const struct early *early = branch->data;

		if (dialog_remote_tag(early->dialog) &&
		    !pl_strcmp(&r->from_tag, dialog_remote_tag(early->dialog)))
			return true;
	}
	return false;
}

/* RFC 3891 section 3. @return 0; else the status that refuses the INVITE */
static uint16_t replaceable(const struct sip_call *old,
			    const struct replaces_header *r)
{
	switch (old->state) {
	case CALL_INVITING:
		return 0;
	case CALL_INCOMING: /* an early dialog that the peer began */
		return 481;
	case CALL_ACCEPTED:
	case CALL_UP:
		return r->early_only ? 486 : 0;
	case CALL_ENDING:
	case CALL_DONE:
		break;
	}
	return 603;
}

uint16_t transfer_replaces(struct sip_call *call, const struct sip_msg *msg)
{
	const struct sip_hdr *hdr = sip_msg_hdr(msg, SIP_HDR_REPLACES);
	struct sip_call *old;
	struct replaces_header r;
	uint16_t code;

	if (!hdr)
		return 0;
	if (sip_msg_hdr_count(msg, SIP_HDR_REPLACES) != 1 ||
	    replaces_header_read(&r, &hdr->val))
		return 400;
	old = call_table_find(call->user->table, &r.callid, match_handler, &r);
	if (!old)
		return 481;
	code = replaceable(old, &r);
	if (code == 0)
		call->uas.replaces = mem_ref(old);
	return code;
}

void transfer_replace(struct sip_call *call)
{
	static const char why[] = "replaced by another call";
	struct sip_call *old = call->uas.replaces;

	if (!old)
		return;
	call->uas.replaces = NULL;
	if (old->state == CALL_INVITING) {
		call_set_end(old, SIP_END_CANCELLED, true, 0, why);
		uac_cancel(old);
	} else if (old->state == CALL_UP) {
		call_set_end(old, SIP_END_LOCAL, true, 0, why);
		call_bye(old);
	} else if (old->state == CALL_ACCEPTED) {
		old->uas.bye_after_ack = true;
	}
	mem_deref(old);
}

const struct sip_call *native_call_replaced(const struct sip_call *call)
{
	return call->uas.replaces;
}
