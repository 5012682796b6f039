#include "sip/ua/dispatch.h"

#include <string.h>

#include "sip/call/call_control.h"
#include "sip/call/call_table.h"
#include "sip/call/extensions.h"
#include "sip/dialog/dialog.h"
#include "sip/dialog/originator.h"
#include "sip/event/event_dialog.h"
#include "sip/event/notifier.h"
#include "sip/event/referral.h"
#include "sip/event/subscribe.h"
#include "sip/message/message.h"
#include "sip/message/start_line.h"
#include "sip/transaction/client_transaction.h"
#include "sip/transaction/server_transaction.h"
#include "sip/transport/transport.h"
#include "sip/ua/account_events.h"
#include "sip/ua/account_internal.h"
#include "sip/ua/digest_server_internal.h"
#include "sip/ua/register.h"
#include "sip/ua/ua_internal.h"

static bool method_is(const struct sip_msg *msg, const char *method)
{
	return !pl_strcmp(&msg->met, method);
}

static bool contact_handler(struct le *le, void *arg)
{
	const struct sip_account *account = le->data;

	return !pl_strcmp(arg, originator_contact_user(account->origin));
}

static bool user_handler(struct le *le, void *arg)
{
	const struct sip_account *account = le->data;

	return !pl_strcmp(arg, originator_user(account->origin));
}

static struct sip_account *account_by_user(struct sip_ua *ua,
					   const struct sip_msg *msg)
{
	struct pl user = msg->uri.user;
	uint32_t key;
	struct le *le;

	if (!pl_isset(&user))
		return NULL;
	key = hash_joaat_pl(&user);
	le = hash_lookup(ua->contacts, key, contact_handler, &user);
	/* a peer without our Contact dials the user name: the first account
	 * that has it */
	if (!le)
		le = hash_lookup(ua->users, key, user_handler, &user);
	return list_ledata(le);
}

/* CSeq is below 2^31 (RFC 3261 8.1.1.5); libre accepts larger numbers. */
static bool cseq_valid(const struct sip_msg *msg)
{
	const struct sip_hdr *hdr = sip_msg_hdr(msg, SIP_HDR_CSEQ);
	uint64_t number = 0;
	size_t i;

	if (!hdr)
		return false;
	for (i = 0; i < hdr->val.l && hdr->val.p[i] >= '0' &&
		    hdr->val.p[i] <= '9' && number <= INT32_MAX;
	     i++)
		number = 10 * number + (uint64_t)(hdr->val.p[i] - '0');
	return i > 0 && number <= INT32_MAX && i < hdr->val.l &&
	       (hdr->val.p[i] == ' ' || hdr->val.p[i] == '\t');
}

static bool well_formed(const struct sip_msg *msg)
{
	return pl_isset(&msg->callid) && pl_isset(&msg->from.tag) &&
	       pl_isset(&msg->from.auri) && pl_isset(&msg->to.auri) &&
	       pl_isset(&msg->via.branch) && pl_isset(&msg->cseq.met) &&
	       !pl_cmp(&msg->cseq.met, &msg->met) && cseq_valid(msg);
}

/* The options of the call or account that the request is for. @return
 * borrowed; NULL: neither is found */
static const struct sip_call_options *options_of(struct sip_ua *ua,
						 const struct sip_msg *msg)
{
	const struct sip_call *call =
		pl_isset(&msg->to.tag) ? call_find(ua->calls, msg) : NULL;
	const struct sip_account *account =
		call ? NULL : account_by_user(ua, msg);

	return call      ? call_options(call)
	       : account ? &account->call_user.incoming_options
			 : NULL;
}

/* @return true: a subscription, a watcher or a referral took the request */
static bool event_received(struct sip_ua *ua, const struct sip_msg *msg)
{
	struct event_dialog *d = event_dialog_find(ua->events, msg);

	if (d && !d->notifier && method_is(msg, "NOTIFY"))
		subscription_notified(d, msg);
	else if (d && d->refers && method_is(msg, "SUBSCRIBE"))
		referral_refreshed(d, msg);
	else if (d && d->notifier && method_is(msg, "SUBSCRIBE"))
		watcher_refreshed(d, msg);
	else
		return false;
	return true;
}

static void request_in_dialog(struct sip_ua *ua, const struct sip_msg *msg)
{
	struct sip_call *call = call_find(ua->calls, msg);

	if (!call && event_received(ua, msg))
		return;
	if (call)
		call_request(call, msg);
	else
		(void)server_transaction_reply(
			NULL, ua->sip, msg, 481,
			"Call/Transaction Does Not Exist");
}

/* Answer a request for a user that no account has. Without any account, as before
 * the first step of a job, there may be one soon (RFC 3261 21.4.18, 21.4.5). */
static void user_unknown(struct sip_ua *ua, const struct sip_msg *msg)
{
	if (list_isempty(&ua->accounts))
		(void)server_transaction_reply(NULL, ua->sip, msg, 480,
					       "Temporarily Unavailable");
	else
		(void)server_transaction_reply(NULL, ua->sip, msg, 404,
					       "Not Found");
}

/* RFC 3428 section 7: only the addressed account accepts a MESSAGE. */
static void message_received(struct sip_ua *ua, const struct sip_msg *msg)
{
	struct sip_account *account = account_by_user(ua, msg);

	if (!account)
		user_unknown(ua, msg);
	else if (digest_server_request(account, msg))
		(void)server_transaction_reply(NULL, ua->sip, msg, 200, "OK");
}

static void notify_received(struct sip_ua *ua, const struct sip_msg *msg)
{
	struct sip_account *account = account_by_user(ua, msg);

	if (!account || !account_events_unsolicited(account, msg))
		(void)server_transaction_reply(NULL, ua->sip, msg, 481,
					       "Subscription Does Not Exist");
}

static void refer_outside(struct sip_ua *ua, const struct sip_msg *msg)
{
	struct sip_account *account = account_by_user(ua, msg);

	if (!account)
		user_unknown(ua, msg);
	else if (!account->event_user.refer_h)
		referral_declined(ua->sip, msg);
	else if (digest_server_request(account, msg))
		referral_received(&account->event_user, msg);
}

static void subscribe_received(struct sip_ua *ua, const struct sip_msg *msg)
{
	struct sip_account *account = account_by_user(ua, msg);

	if (!account)
		user_unknown(ua, msg);
	else if (!account->event_user.served)
		extensions_refuse_method(ua->sip, msg);
	else if (digest_server_request(account, msg))
		notifier_subscribed(&account->event_user, msg);
}

static void invite_received(struct sip_ua *ua, const struct sip_msg *msg)
{
	struct sip_account *account = account_by_user(ua, msg);

	if (!account)
		user_unknown(ua, msg);
	else if (!account->incoming_h ||
		 (!account->accepts && !sip_msg_hdr(msg, SIP_HDR_REPLACES)))
		(void)server_transaction_reply(NULL, ua->sip, msg, 480,
					       "Temporarily Unavailable");
	else if (call_table_is_full(ua->calls))
		(void)server_transaction_reply(NULL, ua->sip, msg, 503,
					       "Service Unavailable");
	else if (digest_server_request(account, msg))
		call_invited(&account->call_user, msg);
}

static void request_received(struct sip_ua *ua, const struct sip_msg *msg)
{
	if (method_is(msg, "ACK")) {
		call_acknowledged(ua->calls, msg);
		return;
	}
	if (!well_formed(msg)) {
		if (pl_isset(&msg->via.branch))
			(void)server_transaction_reply_once(ua->sip, msg, 400,
							    "Bad Request");
		return;
	}
	if (method_is(msg, "CANCEL")) {
		(void)server_transaction_reply_once(
			ua->sip, msg, 481, "Call/Transaction Does Not Exist");
		return;
	}
	if (extensions_refuse(ua->sip, msg, options_of(ua, msg)))
		return;
	if (pl_isset(&msg->to.tag))
		request_in_dialog(ua, msg);
	else if (method_is(msg, "INVITE"))
		invite_received(ua, msg);
	else if (method_is(msg, "OPTIONS"))
		extensions_reply(ua->sip, msg, options_of(ua, msg));
	else if (method_is(msg, "MESSAGE"))
		message_received(ua, msg);
	else if (method_is(msg, "SUBSCRIBE"))
		subscribe_received(ua, msg);
	else if (method_is(msg, "REFER"))
		refer_outside(ua, msg);
	else if (method_is(msg, "NOTIFY"))
		notify_received(ua, msg);
	else if (method_is(msg, "BYE") || method_is(msg, "INFO") ||
		 method_is(msg, "PRACK") || method_is(msg, "UPDATE"))
		(void)server_transaction_reply(
			NULL, ua->sip, msg, 481,
			"Call/Transaction Does Not Exist");
	else
		extensions_refuse_method(ua->sip, msg);
}

static bool via_count_handler(const struct sip_hdr *hdr,
			      const struct sip_msg *msg, void *arg)
{
	unsigned *count = arg;
	(void)hdr;
	(void)msg;

	return ++*count > 1;
}

/* A response has one Via, with our address (RFC 3261 18.1.2, 8.1.3.3), and a
 * status of the classes of section 7.2; another one is discarded. @return
 * NULL; else why it is discarded */
static const char *response_fault(const struct sip_ua *ua,
				  const struct sip_msg *msg)
{
	const struct sa *laddr = transport_laddr(ua->transport);
	const struct sa *sentby = &msg->via.addr;
	unsigned vias = 0;

	if (!start_line_is_response(msg))
		return "its start line is not of SIP/2.0 with a status of "
		       "100 to 699";
	sip_msg_hdr_apply(msg, true, SIP_HDR_VIA, via_count_handler, &vias);
	if (vias != 1)
		return "it has more than one Via";
	if (!sa_cmp(sentby, laddr, SA_ADDR) ||
	    sip_transp_port(msg->tp, sa_port(sentby)) != sa_port(laddr))
		return "its Via is not ours";
	return NULL;
}

/* It belongs to no client transaction. */
static void response_received(struct sip_ua *ua, const struct sip_msg *msg)
{
	if (msg->scode / 100 == 2 && !pl_strcmp(&msg->cseq.met, "INVITE"))
		call_answered_again(ua->calls, msg);
}

/* Refuse a malformed request, without a transaction. */
static void request_refuse(struct sip_ua *ua, const struct sip_msg *msg,
			   uint16_t code, const char *reason)
{
	if (msg->req && pl_isset(&msg->via.branch))
		(void)server_transaction_reply_once(ua->sip, msg, code, reason);
}

void dispatch_other_version(struct sip_ua *ua, const struct sip_msg *msg)
{
	request_refuse(ua, msg, 505, "Version Not Supported");
}

static void response_take(struct sip_ua *ua, const struct sip_msg *msg,
			  const char *fault)
{
	if (!fault)
		fault = response_fault(ua, msg);
	if (fault)
		client_transaction_discarded(ua->sip, msg, fault);
	else if (!client_transaction_response(ua->sip, msg))
		response_received(ua, msg);
}

void dispatch_message(struct sip_ua *ua, const struct sip_msg *msg)
{
	const char *fault = list_count(&msg->hdrl) > HEADERS_MAX
				    ? "Too Many Header Fields"
				    : msg_length_fault(msg);

	if (!msg->req)
		response_take(ua, msg, fault);
	else if (fault)
		request_refuse(ua, msg, 400, fault);
	else if (!server_transaction_request(ua->sip, msg))
		request_received(ua, msg);
}

/* ---- the trace ---- */

/* The Call-ID header field of a request of ours, as dialog.c writes it. */
static bool callid_find(struct pl *ret, const char *text, size_t len)
{
	static const char name[] = "\r\nCall-ID: ";
	const char *p = memmem(text, len, name, sizeof(name) - 1);
	const char *end;

	if (!p)
		return false;
	p += sizeof(name) - 1;
	end = memchr(p, '\r', len - (size_t)(p - text));
	if (!end)
		return false;
	ret->p = p;
	ret->l = (size_t)(end - p);
	return true;
}

static bool trace_account_handler(struct le *le, void *arg)
{
	const struct sip_account *account = le->data;

	return account->dialog &&
	       !pl_strcmp(arg, dialog_callid(account->dialog));
}

void dispatch_sent(struct sip_ua *ua, const struct sip_trace *trace)
{
	const char *text = trace->data;
	size_t len = trace->len;
	struct pl callid;
	struct le *le;

	if (len > 9 && memcmp(text, "INVITE ", 7) == 0 &&
	    callid_find(&callid, text, len)) {
		call_invite_sent(ua->calls, &callid, trace->mono_ns);
	} else if (len > 9 && memcmp(text, "REGISTER ", 9) == 0 &&
		   callid_find(&callid, text, len)) {
		le = hash_lookup(ua->registers, hash_joaat_pl(&callid),
				 trace_account_handler, &callid);
		if (le)
			register_sent(le->data, trace->mono_ns);
	}
}
