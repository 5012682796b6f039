#include "sip/baresip/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define REGEXPIRE_DEFAULT_S 3600
#define REGISTER_MS         32000 /* RFC 3261 timer F */
/* An account's parameter cannot have these: baresip knows no quoting. */
#define PARAM_STOPS " \t\r\n;<>\""

/* ---- what its account line says ---- */

static const char *encryption_name(enum media_encryption e)
{
	switch (e) {
	case MEDIA_ENCRYPTION_SDES:
		return "srtp";
	case MEDIA_ENCRYPTION_SDES_MANDATORY:
		return "srtp-mand";
	case MEDIA_ENCRYPTION_DTLS:
		return "dtls_srtp";
	case MEDIA_ENCRYPTION_NONE:
		break;
	}
	return NULL;
}

/* The names of media/codec.h, as baresip writes them. */
static const char *codec_name(const char *name)
{
	static const char *const names[][2] = {
		{"PCMU", "PCMU/8000/1"},      {"PCMA", "PCMA/8000/1"},
		{"G722", "G722/16000/1"},     {"opus", "opus/48000/2"},
		{"GSM", "GSM/8000/1"},        {"L16", "L16/8000/1"},
		{"L16/8000", "L16/8000/1"},   {"L16/16000", "L16/16000/1"},
		{"L16/44100", "L16/44100/1"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i][0], name) == 0)
			return names[i][1];
	}
	return NULL;
}

static int media_print(struct buf *b, const struct sip_account_media *m)
{
	static const char *const otherwise[] = {"PCMU", "PCMA"};
	const char *const *codecs = m->codec_count ? m->codecs : otherwise;
	size_t count = m->codec_count ? m->codec_count : 2;
	const char *encryption = encryption_name(m->encryption);
	int err = buf_print(b, ";audio_codecs=");

	for (size_t i = 0; !err && i < count; i++) {
		const char *name = codec_name(codecs[i]);

		err = name ? buf_print(b, "%s%s", i ? "," : "", name) : -EINVAL;
	}
	if (!err && m->ptime_ms)
		err = buf_print(b, ";ptime=%u", m->ptime_ms);
	if (!err && encryption)
		err = buf_print(b, ";mediaenc=%s", encryption);
	return err;
}

/* It knows one server: a TURN server tells of our own address, too. */
static const struct media_addr *nat_server(const struct media_nat_params *n)
{
	bool turn = n->mode == MEDIA_NAT_TURN ||
		    (n->mode == MEDIA_NAT_ICE && n->turn_server.len > 0);

	return turn ? &n->turn_server : &n->stun_server;
}

static bool nat_wants_turn(const struct media_nat_params *n)
{
	return n->mode != MEDIA_NAT_NONE && nat_server(n) == &n->turn_server;
}

static int nat_print(struct buf *b, const struct media_nat_params *n)
{
	static const char *const names[] = {
		[MEDIA_NAT_STUN] = "stun",
		[MEDIA_NAT_TURN] = "turn",
		[MEDIA_NAT_ICE] = "ice",
	};
	const struct media_addr *server = nat_server(n);
	bool turn = nat_wants_turn(n);
	char text[INET6_ADDRSTRLEN + 16];
	struct sa sa;
	int err;

	if (n->mode == MEDIA_NAT_NONE)
		return 0;
	err = buf_print(b, ";medianat=%s", names[n->mode]);
	if (err || server->len == 0)
		return err;
	if (sa_set_sa(&sa, (const struct sockaddr *)&server->ss) ||
	    re_snprintf(text, sizeof(text), "%J", &sa) < 0)
		return -EINVAL;
	return buf_print(b, ";stunserver=\"%s:%s\"", turn ? "turn" : "stun",
			 text);
}

static int refuse(const struct sip_account_params *p, const char *what)
{
	if (p->reason)
		snprintf(p->reason, SIP_REASON_BYTES, "client baresip %s",
			 what);
	return -EINVAL;
}

static bool fits(const char *text)
{
	return !text || !strpbrk(text, PARAM_STOPS);
}

static int check_nat(const struct sip_account_params *p)
{
	const struct media_nat_params *n = &p->media->nat;

	if (!nat_wants_turn(n))
		return 0;
	if (!n->username || !n->username[0] || !n->password || !n->password[0])
		return refuse(p, "needs a user name and a password at the TURN "
				 "server: turn_credential_pool");
	if (!fits(n->username) || !fits(n->password))
		return refuse(p, "takes no user name or password at the TURN "
				 "server with a blank, a semicolon, a quote or "
				 "<>");
	return 0;
}

static int check(const struct sip_account_params *p)
{
	if (p->username[0] == '\0' ||
	    strspn(p->username,
		   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
		   "UVWXYZ0123456789-_.!~*'()+$") != strlen(p->username))
		return refuse(p, "takes user names of letters, digits and "
				 "-_.!~*'()+$ only");
	if (!fits(p->password) || !fits(p->auth_username))
		return refuse(p, "takes no password or authentication name "
				 "with a blank, a semicolon, a quote or <>");
	if (p->display_name && strpbrk(p->display_name, "\"\\<>\r\n"))
		return refuse(p, "takes no display name with quotes or <>");
	if (!fits(p->domain) || !fits(p->outbound_proxy) ||
	    !fits(p->target.host))
		return refuse(p, "takes no such domain, proxy or host");
	if (p->target.transport == SIP_TRANSPORT_TLS)
		return refuse(p, "does not verify certificates: transport tls "
				 "is for the native client");
	if (p->header_count > 0)
		return refuse(p, "sends no custom headers");
	return p->media ? check_nat(p) : 0;
}

static int target_print(struct buf *b, const struct sip_account_params *p)
{
	const char *transport =
		p->target.transport == SIP_TRANSPORT_TCP ? "tcp" : "udp";
	bool v6 = strchr(p->target.host, ':') && p->target.host[0] != '[';
	int err;

	if (p->outbound_proxy && p->outbound_proxy[0])
		return buf_print(b, ";outbound=\"%s%s\"",
				 strncmp(p->outbound_proxy, "sip:", 4) == 0
					 ? ""
					 : "sip:",
				 p->outbound_proxy);
	if (p->direct)
		return 0;
	err = buf_print(b, ";outbound=\"sip:%s%s%s", v6 ? "[" : "",
			p->target.host, v6 ? "]" : "");
	if (!err && p->target.port)
		err = buf_print(b, ":%u", p->target.port);
	return err ? err : buf_print(b, ";transport=%s\"", transport);
}

/* Behind "<sip:user@domain>". */
static int params_print(struct buf *b, const struct sip_account_params *p)
{
	static const struct sip_account_media none;
	const struct sip_account_media *m = p->media ? p->media : &none;
	bool turn = nat_wants_turn(&m->nat);
	/* unsaid they are those of the account */
	int err = buf_print(b,
			    ";answermode=manual;call_transfer=no;mwi=no"
			    ";stunuser=%s;stunpass=%s",
			    turn ? m->nat.username : "",
			    turn ? m->nat.password : "");

	if (!err && p->auth_username && p->auth_username[0])
		err = buf_print(b, ";auth_user=%s", p->auth_username);
	if (!err)
		err = buf_print(b, ";auth_pass=%s",
				p->password ? p->password : "");
	if (!err)
		err = target_print(b, p);
	if (!err)
		err = media_print(b, m);
	return err ? err : nat_print(b, &m->nat);
}

static int line_set(struct baresip_account *a,
		    const struct sip_account_params *p)
{
	bool v6;
	struct buf b;
	int err;

	err = str_copy(a->domain, sizeof(a->domain),
		       p->domain ? p->domain : p->target.host);
	if (err)
		return err;
	v6 = strchr(a->domain, ':') && a->domain[0] != '[' &&
	     strchr(a->domain, ':') != strrchr(a->domain, ':');
	if (str_print(a->aor, sizeof(a->aor), v6 ? "sip:%s@[%s]" : "sip:%s@%s",
		      p->username, a->domain) < 0)
		return -ENAMETOOLONG;
	buf_init(&b, BARESIP_ACCOUNT_BYTES - 1);
	err = 0;
	if (p->display_name && p->display_name[0])
		err = buf_print(&b, "\"%s\" ", p->display_name);
	if (!err)
		err = buf_print(&b, "<%s>", a->aor);
	if (!err)
		err = params_print(&b, p);
	if (!err)
		err = str_copy(a->params, sizeof(a->params), b.data);
	if (b.data)
		explicit_bzero(b.data, b.allocated);
	buf_release(&b);
	return err;
}

int baresip_account_new(struct sip_account **ret, struct sip_ua *ua,
			const struct sip_account_params *params)
{
	struct baresip_ua *u = (struct baresip_ua *)ua;
	struct baresip_account *a;
	int err = check(params);

	if (err)
		return err;
	if (list_count(&u->accounts) >= BARESIP_ACCOUNTS_MAX)
		return refuse(params, "takes 64 accounts at most: each is a "
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
	tmr_init(&a->tmr_register);
	err = a->username ? line_set(a, params) : -ENOMEM;
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
	tmr_cancel(&a->tmr_register);
	baresip_process_free(a->process);
	while (a->calls.head) {
		struct baresip_call *c = a->calls.head->data;

		/* whoever holds it releases it */
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

/* ---- the process ---- */

static void tell(struct baresip_account *a, enum sip_account_event event,
		 struct sip_account_info *info)
{
	if (!info->reason)
		info->reason = "";
	if (a->account_h)
		a->account_h((struct sip_account *)a, event, info, a->arg);
}

static void process_up(void *arg)
{
	(void)arg; /* what waited for it goes out by itself */
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
	tmr_cancel(&a->tmr_register);
	for (le = a->calls.head; le;) {
		struct baresip_call *c = le->data;

		le = le->next;
		baresip_call_close(c, text);
	}
	tell(a, SIP_ACCOUNT_LOST, &info);
}

static bool same_end(const struct media_addr *a, const char *host,
		     uint16_t port)
{
	struct sa is;
	struct sa want;

	return sa_set_sa(&is, (const struct sockaddr *)&a->ss) == 0 &&
	       sa_set_str(&want, host, port) == 0 && sa_cmp(&is, &want, SA_ALL);
}

/* Sent, or received? Its own port tells; a TCP connection that it made has
 * another one, which is that of the first message on it. */
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
	/* another connection of its own */
	a->tcp_local = src;
	return true;
}

static void message_traced(const struct baresip_traced *m, void *arg)
{
	struct baresip_account *a = arg;
	struct mbuf *mb = mbuf_alloc(m->len ? m->len : 1);
	struct sip_trace trace = {
		.mono_ns = clock_mono_ns(),
		.sent = is_sent(a, m),
		.transport = m->transport,
		.data = m->data,
		.len = m->len,
	};
	struct sip_msg *msg = NULL;

	trace.local = trace.sent ? m->src : m->dst;
	trace.peer = trace.sent ? m->dst : m->src;
	if (a->ua->trace_h)
		a->ua->trace_h(&trace, a->ua->arg);
	if (!mb || mbuf_write_mem(mb, (const uint8_t *)m->data, m->len))
		goto out;
	mb->pos = 0;
	if (sip_msg_decode(&msg, mb))
		goto out;
	baresip_dialog_message(a, msg, trace.sent, trace.mono_ns);
out:
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
		.message_h = baresip_account_message,
		.traced_h = message_traced,
		.lost_h = process_lost,
		.arg = a,
	};
	int err;

	if (a->process)
		return 0;
	memset(&a->tcp_local, 0, sizeof(a->tcp_local));
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
		tell(a, SIP_ACCOUNT_REGISTER_FAIL, &info);
	} else if (a->registration == BARESIP_REMOVING) {
		a->registration = BARESIP_UNREGISTERED;
		info.reason = "the removal was not answered";
		tell(a, SIP_ACCOUNT_UNREGISTERED, &info);
	}
}

static void register_begun(void *arg)
{
	struct baresip_account *a = arg;
	struct sip_account_info info = {.mono_ns = clock_mono_ns()};

	tmr_start(&a->tmr_register, REGISTER_MS, register_overdue, a);
	tell(a, SIP_ACCOUNT_REGISTERING, &info);
}

int baresip_account_register(struct sip_account *account)
{
	struct baresip_account *a = (struct baresip_account *)account;
	int err;

	/* it registers by itself when it starts, and never later */
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
	tmr_start(&a->tmr_register, 0, register_begun, a);
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
		tmr_start(&a->tmr_register, BARESIP_END_MS, register_overdue,
			  a);
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
	tmr_cancel(&a->tmr_register);
	if (a->registration == BARESIP_REGISTERING || ok)
		a->registration =
			ok ? BARESIP_REGISTERED : BARESIP_UNREGISTERED;
	tell(a, ok ? SIP_ACCOUNT_REGISTER_OK : SIP_ACCOUNT_REGISTER_FAIL,
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

/* From its messages: it registers before its events can be heard. */
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
	/* a challenge is answered, one after that is a refusal */
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
	tmr_cancel(&a->tmr_register);
	a->registration = BARESIP_UNREGISTERED;
	info.code = msg->scode;
	info.reason = a->register_reason;
	tell(a, SIP_ACCOUNT_UNREGISTERED, &info);
}

/* ---- what it says ---- */

void baresip_account_message(const struct baresip_message *m, void *arg)
{
	struct baresip_account *a = arg;
	struct sip_call_info info = {.mono_ns = clock_mono_ns()};
	struct baresip_call *c = m->id[0] ? baresip_call_find(a, m->id) : NULL;

	switch (m->event) {
	case BARESIP_ANSWER:
		baresip_call_answered(a, m);
		return;
	case BARESIP_REGISTER_FAIL:
		/* without an answer: those with one were seen */
		if (!a->register_code)
			register_settled(a, false, m->text);
		return;
	case BARESIP_CALL_INCOMING:
		if (!c || c->announced)
			return;
		c->announced = true;
		if (a->accepts && a->incoming_h)
			a->incoming_h((struct sip_account *)a,
				      (struct sip_call *)c, a->arg);
		else
			baresip_call_reject((struct sip_call *)c, 486, NULL);
		return;
	case BARESIP_CALL_CLOSED:
		/* it may give up before there is an INVITE */
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
		/* what the tap cannot read, and what was no INFO */
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
