#include "sip/baresip/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define REGEXPIRE_DEFAULT_S 3600
#define REGISTER_MS         32000 /* RFC 3261 timer F */
/* If no event about a call came within this time, it was sent before the control
 * connection was up. */
#define MISSED_NS (2 * NS_PER_S)

int baresip_account_new(struct sip_account **ret, struct sip_ua *ua,
			const struct sip_account_params *params)
{
	struct baresip_ua *u = (struct baresip_ua *)ua;
	struct baresip_account *a;
	int err = baresip_line_check(params);

	if (err)
		return err;
	if (list_count(&u->accounts) >= BARESIP_ACCOUNTS_MAX)
		return baresip_account_refuse(
			params, "takes 64 accounts at most: each is a "
				"process");
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->object.ops = &baresip_ops;
	a->ua = u;
	a->username = strdup(params->username);
	a->rtcp_mux =
		params->media && params->media->rtcp_mux == MEDIA_MUX_OFFER;
	a->regexpire_s =
		params->regexpire_s ? params->regexpire_s : REGEXPIRE_DEFAULT_S;
	a->account_h = params->account_h;
	a->incoming_h = params->incoming_h;
	a->arg = params->arg;
	err = a->username ? baresip_line_set(a, params) : -ENOMEM;
	if (err) {
		free(a->username);
		free(a);
		return err;
	}
	list_append(&u->accounts, &a->le, a);
	*ret = (struct sip_account *)a;
	return 0;
}

struct sip_account *baresip_account_free(struct sip_account *account)
{
	struct baresip_account *a = (struct baresip_account *)account;

	a->account_h = NULL;
	a->incoming_h = NULL;
	mono_timer_cancel(&a->tmr_register);
	baresip_process_free(a->process);
	while (a->calls.head) {
		struct baresip_call *c = a->calls.head->data;

		/* its owner frees it */
		list_unlink(&c->le);
		c->account = NULL;
		if (!c->handler)
			baresip_call_release(c);
	}
	list_unlink(&a->le);
	explicit_bzero(a->params, sizeof(a->params));
	free(a->username);
	free(a);
	return NULL;
}

const char *baresip_account_username(const struct sip_account *account)
{
	return ((const struct baresip_account *)account)->username;
}

static void account_tell(struct baresip_account *a,
			 enum sip_account_event event,
			 struct sip_account_info *info)
{
	if (!info->reason)
		info->reason = "";
	if (a->account_h)
		a->account_h((struct sip_account *)a, event, info, a->arg);
}

/* ---- registration ---- */

static void register_overdue(void *arg)
{
	struct baresip_account *a = arg;
	struct sip_account_info info = {
		.mono_ns = clock_mono_ns(),
		.reason = "no answer within 32 s",
	};

	if (a->registration == BARESIP_REGISTERING) {
		a->registration = BARESIP_UNREGISTERED;
		account_tell(a, SIP_ACCOUNT_REGISTER_FAIL, &info);
	} else if (a->registration == BARESIP_REMOVING) {
		a->registration = BARESIP_UNREGISTERED;
		info.reason = "the removal was not answered";
		account_tell(a, SIP_ACCOUNT_UNREGISTERED, &info);
	}
}

static void register_begun(void *arg)
{
	struct baresip_account *a = arg;
	struct sip_account_info info = {.mono_ns = clock_mono_ns()};

	mono_timer_start(&a->tmr_register, REGISTER_MS, register_overdue, a);
	account_tell(a, SIP_ACCOUNT_REGISTERING, &info);
}

int baresip_account_register(struct sip_account *account)
{
	struct baresip_account *a = (struct baresip_account *)account;
	int err;

	/* baresip registers when it starts, and never later */
	if (a->process)
		return -EALREADY;
	a->registration = BARESIP_REGISTERING;
	a->register_sent_ns = 0;
	a->register_code = 0;
	a->challenged = false;
	err = baresip_account_start(a);
	if (err) {
		a->registration = BARESIP_UNREGISTERED;
		return err;
	}
	mono_timer_start(&a->tmr_register, 0, register_begun, a);
	return 0;
}

int baresip_account_unregister(struct sip_account *account)
{
	struct baresip_account *a = (struct baresip_account *)account;
	int err;

	if (!a->process || a->registration == BARESIP_UNREGISTERED)
		return -ENOTCONN;
	a->registration = BARESIP_REMOVING;
	err = baresip_process_command(a->process, "uadel", a->aor, "uadel");
	if (!err)
		mono_timer_start(&a->tmr_register, BARESIP_END_MS,
				 register_overdue, a);
	return err;
}

static uint32_t expires_of(const struct sip_msg *msg)
{
	const struct sip_hdr *contact = sip_msg_hdr(msg, SIP_HDR_CONTACT);
	struct pl value;

	if (contact && re_regex(contact->val.p, contact->val.l,
				"expires=[0-9]+", &value) == 0)
		return pl_u32(&value);
	return pl_isset(&msg->expires) ? pl_u32(&msg->expires) : 0;
}

static void register_settled(struct baresip_account *a, bool ok,
			     const char *why)
{
	struct sip_account_info info = {
		.mono_ns = a->register_answer_ns ? a->register_answer_ns
						 : clock_mono_ns(),
		.code = a->register_code,
		.reason = a->register_code ? a->register_reason : why,
		.expires_s = a->register_expires_s,
	};

	if (a->register_sent_ns)
		info.took_ns = info.mono_ns - a->register_sent_ns;
	a->register_sent_ns = 0;
	if (a->registration != BARESIP_REGISTERING &&
	    (ok || a->registration != BARESIP_REGISTERED))
		return; /* a refresh */
	mono_timer_cancel(&a->tmr_register);
	if (a->registration == BARESIP_REGISTERING || ok)
		a->registration =
			ok ? BARESIP_REGISTERED : BARESIP_UNREGISTERED;
	account_tell(a,
		     ok ? SIP_ACCOUNT_REGISTER_OK : SIP_ACCOUNT_REGISTER_FAIL,
		     &info);
}

static bool is_stale(const struct sip_msg *msg)
{
	const struct sip_hdr *h = sip_msg_hdr(
		msg, msg->scode == 401 ? SIP_HDR_WWW_AUTHENTICATE
				       : SIP_HDR_PROXY_AUTHENTICATE);

	return h && re_regex(h->val.p, h->val.l, "stale[ ]*=[ ]*true", NULL,
			     NULL) == 0;
}

/* Read from its SIP messages, as it registers before the control connection is up. */
void baresip_account_registers(struct baresip_account *a,
			       const struct sip_msg *msg, bool sent)
{
	int64_t now_ns = clock_mono_ns();
	struct sip_account_info info = {.mono_ns = now_ns};

	if (sent) {
		if (!a->register_sent_ns)
			a->register_sent_ns = now_ns;
		return;
	}
	if (msg->scode < 200)
		return;
	a->register_answer_ns = now_ns;
	a->register_code = msg->scode;
	a->register_expires_s = expires_of(msg);
	(void)pl_strcpy(&msg->reason, a->register_reason,
			sizeof(a->register_reason));
	/* the first challenge is answered, a second one is a refusal */
	if ((msg->scode == 401 || msg->scode == 407) &&
	    (!a->challenged || is_stale(msg))) {
		a->challenged = true;
		return;
	}
	a->challenged = false;
	if (a->registration != BARESIP_REMOVING) {
		register_settled(a, msg->scode < 300, a->register_reason);
		return;
	}
	mono_timer_cancel(&a->tmr_register);
	a->registration = BARESIP_UNREGISTERED;
	info.code = msg->scode;
	info.reason = a->register_reason;
	account_tell(a, SIP_ACCOUNT_UNREGISTERED, &info);
}

static void register_failed(struct baresip_account *a, const char *why)
{
	/* without a response: responses were handled before */
	if (!a->register_code)
		register_settled(a, false, why);
}

/* ---- its events ---- */

static void call_came(struct baresip_account *a, struct baresip_call *c)
{
	c->announced = true;
	if (a->accepts && a->incoming_h)
		a->incoming_h((struct sip_account *)a, (struct sip_call *)c,
			      a->arg);
	else
		baresip_call_reject((struct sip_call *)c, 486, NULL);
}

/* baresip receives calls before the control connection is up; their events are lost.
 * It sends 180 at once but the event only when STUN and TURN servers have answered:
 * until then the call cannot be answered. */
static void calls_missed(struct baresip_account *a, int64_t now_ns)
{
	struct le *le;

	if (!a->heard_ns)
		a->heard_ns = now_ns;

	for (le = a->calls.head; le;) {
		struct baresip_call *c = le->data;

		le = le->next;
		if (!c->outgoing && c->rang_ns && !c->announced && !c->closed &&
		    c->rang_ns < a->heard_ns && now_ns - c->rang_ns > MISSED_NS)
			call_came(a, c);
	}
}

static void message_told(const struct baresip_message *m, void *arg)
{
	struct baresip_account *a = arg;
	struct sip_call_info info = {.mono_ns = clock_mono_ns()};
	struct baresip_call *c = m->id[0] ? baresip_call_find(a, m->id) : NULL;

	switch (m->event) {
	case BARESIP_ANSWER:
		baresip_call_answered(a, m);
		calls_missed(a, info.mono_ns);
		return;
	case BARESIP_REGISTER_FAIL:
		register_failed(a, m->text);
		return;
	case BARESIP_CALL_INCOMING:
		if (c && !c->announced)
			call_came(a, c);
		return;
	case BARESIP_CALL_CLOSED:
		/* it may fail before there is an INVITE */
		if (!c && m->outgoing)
			c = baresip_call_dialled(a);
		if (c)
			baresip_call_close(c, m->text);
		return;
	case BARESIP_CALL_TRANSFER_FAILED:
		info.reason = m->text;
		if (c && c->transferring) {
			c->transferring = false;
			baresip_call_emit(c, SIP_CALL_TRANSFER_FAIL, &info);
		}
		return;
	case BARESIP_CALL_MENC:
		info.reason = m->text;
		if (c && c->has_settled && c->settled.dtls)
			baresip_call_emit(c, SIP_CALL_SECURED, &info);
		return;
	case BARESIP_CALL_DTMF_START:
		if (!c)
			return;
		/* only digits that the tap cannot read and that were not INFO */
		if (!c->info_digit && c->has_settled && c->settled.encrypted) {
			info.digit = m->text[0];
			info.digit_in_rtp = true;
			baresip_call_emit(c, SIP_CALL_DTMF, &info);
		}
		c->info_digit = false;
		return;
	case BARESIP_AUDIO_ERROR:
		log_warning("account %s: baresip's audio: %s", a->username,
			    m->text);
		return;
	case BARESIP_OTHER:
		return;
	}
}

/* ---- the process ---- */

static void process_up(void *arg)
{
	(void)arg; /* queued commands are sent by control.c */
}

static void process_lost(const char *reason, void *arg)
{
	struct baresip_account *a = arg;
	struct sip_account_info info = {.mono_ns = clock_mono_ns()};
	char text[SIP_REASON_BYTES];
	struct le *le;

	(void)str_copy(text, sizeof(text), reason);
	info.reason = text;
	log_warning("account %s: %s", a->username, text);
	a->process = baresip_process_free(a->process);
	a->registration = BARESIP_UNREGISTERED;
	mono_timer_cancel(&a->tmr_register);
	for (le = a->calls.head; le;) {
		struct baresip_call *c = le->data;

		le = le->next;
		baresip_call_close(c, text);
	}
	account_tell(a, SIP_ACCOUNT_LOST, &info);
}

static bool same_end(const struct media_addr *a, const char *host,
		     uint16_t port)
{
	struct sa is;
	struct sa want;

	return sa_set_sa(&is, (const struct sockaddr *)&a->ss) == 0 &&
	       sa_set_str(&want, host, port) == 0 && sa_cmp(&is, &want, SA_ALL);
}

/* Whether baresip sent the message: by its port. A TCP connection that it opened has
 * another port, which is known from the first message on it. */
static bool is_sent(struct baresip_account *a, const struct baresip_traced *m)
{
	uint16_t port = baresip_process_port(a->process);
	const char *host = a->ua->bind_addr;
	struct sa src;
	struct sa dst;

	if (same_end(&m->src, host, port))
		return true;
	if (same_end(&m->dst, host, port))
		return false;
	if (sa_set_sa(&src, (const struct sockaddr *)&m->src.ss) ||
	    sa_set_sa(&dst, (const struct sockaddr *)&m->dst.ss))
		return true;
	if (!sa_isset(&a->tcp_local, SA_ALL))
		a->tcp_local = src;
	if (sa_cmp(&src, &a->tcp_local, SA_ALL))
		return true;
	if (sa_cmp(&dst, &a->tcp_local, SA_ALL))
		return false;
	/* it has opened another connection */
	a->tcp_local = src;
	return true;
}

/* The same by the topmost Via, in which the sender of the request names itself (RFC 3261
 * section 18.1.1). */
static bool is_sent_by_via(const struct baresip_account *a,
			   const struct sip_msg *msg)
{
	uint16_t port = baresip_process_port(a->process);
	struct sa own;
	bool ours = sa_set_str(&own, a->ua->bind_addr, port) == 0 &&
		    sa_cmp(&msg->via.addr, &own, SA_ADDR) &&
		    (sa_port(&msg->via.addr) == port ||
		     sa_port(&msg->via.addr) == port + 1); /* TLS */

	return ours == msg->req;
}

static void traced_tell(struct baresip_account *a,
			const struct baresip_traced *m,
			const struct sip_trace *trace)
{
	struct sip_trace told = *trace;

	if (m->addressed) {
		told.transport = m->transport;
		told.local = trace->sent ? m->src : m->dst;
		told.peer = trace->sent ? m->dst : m->src;
		a->last = (struct baresip_way){
			.transport = told.transport,
			.local = told.local,
			.peer = told.peer,
		};
	} else {
		told.transport = a->last.transport;
		told.local = a->last.local;
		told.peer = a->last.peer;
	}
	if (a->ua->trace_h && told.local.len > 0)
		a->ua->trace_h(&told, a->ua->arg);
}

static void message_traced(const struct baresip_traced *m, void *arg)
{
	struct baresip_account *a = arg;
	struct mbuf *mb = mbuf_alloc(m->len ? m->len : 1);
	struct sip_trace trace = {
		.mono_ns = clock_mono_ns(),
		.data = m->data,
		.len = m->len,
	};
	struct sip_msg *msg = NULL;

	if (mb && mbuf_write_mem(mb, (const uint8_t *)m->data, m->len) == 0) {
		mb->pos = 0;
		(void)sip_msg_decode(&msg, mb);
	}
	if (m->addressed || msg) {
		trace.sent =
			m->addressed ? is_sent(a, m) : is_sent_by_via(a, msg);
		traced_tell(a, m, &trace);
	}
	if (msg)
		baresip_dialog_message(a, msg, trace.sent, trace.mono_ns);
	else
		log_warning(
			"account %s: a SIP message in baresip's output cannot "
			"be read",
			a->username);
	mem_deref(msg);
	mem_deref(mb);
}

int baresip_account_start(struct baresip_account *a)
{
	char line[BARESIP_ACCOUNT_BYTES + 64];
	char reason[SIP_REASON_BYTES] = "";
	const struct baresip_process_params params = {
		.account = line,
		.bind_addr = a->ua->bind_addr,
		.rtp_min = a->ua->rtp_min,
		.rtp_max = a->ua->rtp_max,
		.rtcp_mux = a->rtcp_mux,
		.up_h = process_up,
		.message_h = message_told,
		.traced_h = message_traced,
		.lost_h = process_lost,
		.arg = a,
	};
	int err;

	if (a->process)
		return 0;
	memset(&a->tcp_local, 0, sizeof(a->tcp_local));
	memset(&a->last, 0, sizeof(a->last));
	a->heard_ns = 0;
	(void)str_print(line, sizeof(line), "%s;regint=%u\n", a->params,
			a->registration == BARESIP_REGISTERING ? a->regexpire_s
							       : 0);
	err = baresip_process_new(&a->process, &params, reason);
	explicit_bzero(line, sizeof(line));
	if (err)
		log_error("account %s: %s", a->username,
			  reason[0] ? reason : strerror(-err));
	return err;
}

void baresip_account_accept_calls(struct sip_account *account, bool accept)
{
	struct baresip_account *a = (struct baresip_account *)account;

	a->accepts = accept;
	if (accept)
		baresip_account_start(a);
}
