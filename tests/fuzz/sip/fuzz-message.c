/*
 * Datagrams to a user agent with two accounts: parser, transactions, dialogs. The
 * first account accepts subscriptions; the second one, 1003, answers requests with a
 * digest challenge. An input holds several pieces, separated by NUL. One that begins
 * with ! is not a message: its letters are what the user does meanwhile (act()), its
 * digits how much later it is (later()). Messages have placeholders:
 * %c %t %b %n  Call-ID, tag, branch, CSeq number of the INVITE of our call
 * %s %q %w %v  Call-ID, tag, branch, CSeq number of our SUBSCRIBE
 * %i %f %r %m  Call-ID, tag, branch, CSeq number of our REGISTER
 * %k %g        our tag, and number of our last reliable response, in the call of the peer
 * %l %o        lines Via, From, Call-ID and CSeq, and value of To, of our last request
 * %u           user of our Contact
 * %h           host and port of our Via
 * Call, subscription, registration and second account are made only for an
 * input that names them: they would be most of the time of any other. Where the user
 * does something, that is all: calls of the peer are not answered by themselves, either.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#include "sip/call/call_control.h"
#include "sip/call/call_internal.h"
#include "sip/call/call_table.h"
#include "sip/dialog/dialog.h"
#include "sip/dialog/originator.h"
#include "sip/digest_server.h"
#include "sip/event/event_dialog.h"
#include "sip/mono_timer.h"
#include "sip/transaction/server_transaction.h"
#include "sip/transaction/transaction_layer_internal.h"
#include "sip/transport/deferred.h"
#include "sip/transport/receive.h"
#include "sip/transport/transport.h"
#include "sip/transport/transport_internal.h"
#include "sip/ua/account_internal.h"
#include "sip/ua/ua_internal.h"

#include "tests/fuzz/sip/world.h"

#define TEXT_MAX 65536

/* It reads nothing from the disk. */
static const struct sip_tls tls = {.verify = false};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a response must repeat of a request. */
struct sent {
	char callid[64];
	char tag[64];
	char branch[64];
	char cseq[16];
};

struct fuzz {
	struct sip_ua *ua;
	struct sip_account *account, *second;
	struct sip_call *call, *incoming;
	struct sip_subscription *subscription;
	struct sip_publication *publication;
	struct sip_call_options options;
	bool acts; /* the input says what the user does */
	struct sent invite, subscribe, registration;
	bool keeps_last;
	char last[1024], last_to[256]; /* lines of our last request */
	char host[64];
};

static const struct media_local *media(void)
{
	static struct media_local local;
	struct sa sa;

	sa_set_str(&sa, "127.0.0.1", 30000);
	memcpy(&local.rtp.ss, &sa.u, sa.len);
	local.rtp.len = sa.len;
	local.rtcp = local.rtp;
	local.codecs[0] = (struct media_codec){"PCMU", 0, 1, 8000, ""};
	local.codec_count = 1;
	local.ptime_ms = 20;
	return &local;
}

static bool begins(const struct sip_trace *trace, const char *method)
{
	return trace->len > strlen(method) &&
	       memcmp(trace->data, method, strlen(method)) == 0;
}

/* What stands behind a name, until a character of 'end'. */
static void take(char *dst, size_t size, const struct sip_trace *trace,
		 const char *name, const char *end)
{
	const char *p = memmem(trace->data, trace->len, name, strlen(name));
	struct pl value;

	if (!p)
		return;
	value.p = p + strlen(name);
	value.l = strcspn(value.p, end);
	(void)pl_strcpy(&value, dst, size);
}

/* A whole line of a message, behind those that are there. */
static void take_line(char *dst, size_t size, const struct sip_trace *trace,
		      const char *name)
{
	const char *end = trace->data + trace->len;
	const char *p = memmem(trace->data, trace->len, name, strlen(name));
	const char *stop =
		p ? memmem(p + 2, (size_t)(end - p - 2), "\r\n", 2) : NULL;
	size_t used = strlen(dst);

	if (stop)
		(void)re_snprintf(dst + used, size - used, "%b\r\n", p + 2,
				  (size_t)(stop - p - 2));
}

static void keep_last(struct fuzz *f, const struct sip_trace *trace)
{
	f->last[0] = f->last_to[0] = '\0';
	take_line(f->last, sizeof(f->last), trace, "\r\nVia: ");
	take_line(f->last, sizeof(f->last), trace, "\r\nFrom: ");
	take_line(f->last, sizeof(f->last), trace, "\r\nCall-ID: ");
	take_line(f->last, sizeof(f->last), trace, "\r\nCSeq: ");
	take(f->last_to, sizeof(f->last_to), trace, "\r\nTo: ", "\r");
}

static void sent_handler(const struct sip_trace *trace, void *arg)
{
	struct fuzz *f = arg;
	struct sent *sent = NULL;

	if (!trace->sent)
		return;
	if (f->keeps_last && !begins(trace, "SIP/2.0 ") &&
	    !begins(trace, "ACK "))
		keep_last(f, trace);
	if (begins(trace, "INVITE "))
		sent = &f->invite;
	else if (begins(trace, "REGISTER "))
		sent = &f->registration;
	else if (begins(trace, "SUBSCRIBE "))
		sent = &f->subscribe;
	else
		return;
	take(sent->branch, sizeof(sent->branch), trace, "branch=", ";\r");
	take(sent->tag, sizeof(sent->tag), trace, "tag=", ";\r");
	take(sent->callid, sizeof(sent->callid), trace, "Call-ID: ", "\r");
	take(sent->cseq, sizeof(sent->cseq), trace, "CSeq: ", " ");
}

static void call_handler(struct sip_call *call, enum sip_call_event event,
			 const struct sip_call_info *info, void *arg)
{
	struct fuzz *f = arg;

	if (!info->reason)
		abort();
	if (event == SIP_CALL_REFERRED)
		(void)sip_call_refer_progress(call, 200, "OK");
	if (event != SIP_CALL_CLOSED)
		return;
	if (call == f->call)
		f->call = sip_call_free(call);
	else if (call == f->incoming)
		f->incoming = sip_call_free(call);
	else
		abort();
}

static void incoming_handler(struct sip_account *account, struct sip_call *call,
			     void *arg)
{
	struct fuzz *f = arg;

	(void)account;
	if (f->incoming) {
		(void)sip_call_reject(call, 486, NULL);
		return;
	}
	f->incoming = call;
	if (sip_call_adopt(call, call_handler, f) ||
	    (!f->acts && sip_call_answer(call, media())))
		sip_call_hangup(call);
}

static void account_handler(struct sip_account *account,
			    enum sip_account_event event,
			    const struct sip_account_info *info, void *arg)
{
	(void)account;
	(void)event;
	(void)arg;
	if (!info->reason)
		abort();
}

static void subscription_handler(struct sip_subscription *s,
				 enum sip_subscription_event event,
				 const struct sip_subscription_info *info,
				 void *arg)
{
	struct fuzz *f = arg;

	if (!info->reason)
		abort();
	if (event == SIP_SUBSCRIBE_FAIL || event == SIP_UNSUBSCRIBED)
		f->subscription = sip_subscription_free(s);
}

static void publication_handler(struct sip_publication *publication,
				enum sip_publication_event event,
				const struct sip_publication_info *info,
				void *arg)
{
	(void)publication;
	(void)event;
	(void)arg;
	if (!info->reason)
		abort();
}

static void request_handler(const struct sip_request_info *info, void *arg)
{
	(void)arg;
	if (!info->reason)
		abort();
}

static void watcher_handler(struct sip_account *account,
			    enum sip_watcher_event event,
			    const struct sip_watcher_info *info, void *arg)
{
	(void)account;
	(void)arg;
	if (!info->reason || !info->uri ||
	    (event == SIP_WATCHER_NEW && !info->watchers))
		abort();
}

static void mwi_handler(struct sip_account *account,
			const struct sip_subscription_info *info, void *arg)
{
	(void)account;
	(void)arg;
	if (!info->reason || !info->state[0])
		abort();
}

static void refer_handler(struct sip_account *account,
			  struct sip_referral *referral,
			  const struct sip_refer_info *info, void *arg)
{
	(void)account;
	(void)arg;
	if (!info->target)
		abort();
	(void)sip_referral_progress(referral, 200, "OK");
	(void)sip_referral_free(referral);
}

/* The letters of the placeholders of an input, a bit for each. */
static uint32_t letters_named(const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size;
	uint32_t named = 0;

	while ((data = memchr(data, '%', (size_t)(end - data))) &&
	       ++data < end) {
		if (*data >= 'a' && *data <= 'z')
			named |= UINT32_C(1) << (*data - 'a');
	}
	return named;
}

static bool is_named(uint32_t named, const char *letters)
{
	for (; *letters; letters++) {
		if (named & UINT32_C(1) << (*letters - 'a'))
			return true;
	}
	return false;
}

static const struct sip_presence presence = {.open = true};
static const struct sip_presence away = {.open = false};
static const struct sip_mwi mwi = {.waiting = true};

static void second_begin(struct fuzz *f,
			 const struct sip_account_params *params)
{
	static const struct sip_event_state one = {&presence, NULL};
	static const struct sip_user user = {"2001", "secret"};
	static struct sip_digest_server *verifier;
	const struct sip_digest_server_params check = {
		.code = 401, .all = true, .users = &user, .user_count = 1};
	struct sip_account_params second = *params;

	second.username = "1003";
	if ((!verifier && sip_digest_server_new(&verifier, &check)) ||
	    sip_account_new(&f->second, f->ua, &second) ||
	    sip_account_serve(f->second, &one, watcher_handler, f))
		abort();
	(void)sip_account_verify(f->second, verifier);
}

static void dial(struct fuzz *f)
{
	const struct sip_call_params call = {
		.uri = "1002",
		.media = media(),
		.options = &f->options,
		.call_h = call_handler,
		.arg = f,
	};

	if (!f->call)
		(void)sip_call_dial(&f->call, f->account, &call);
}

static void subscribe(struct fuzz *f)
{
	const struct sip_subscribe_params watch = {
		.expires_s = 60, .handler = subscription_handler, .arg = f};

	if (!f->subscription)
		(void)sip_subscribe(&f->subscription, f->account, &watch);
}

/* The account, and what the input names of it. */
static void begin(struct fuzz *f, const uint8_t *data, size_t size)
{
	static const struct sip_event_state both = {&presence, &mwi};
	const struct sip_account_params account = {
		.username = "1001",
		.password = "secret",
		.target = {"127.0.0.1", 9, SIP_TRANSPORT_UDP},
		.tls = &tls,
		.account_h = account_handler,
		.incoming_h = incoming_handler,
		.arg = f,
	};
	uint32_t named = letters_named(data, size);

	f->options.prack = SIP_PRACK_SUPPORTED;
	f->acts = size > 0 && (data[0] == '!' || memmem(data, size, "\0!", 2));
	f->keeps_last = is_named(named, "lo");

	if (sip_account_new(&f->account, f->ua, &account) ||
	    sip_account_mwi(f->account, mwi_handler) ||
	    sip_account_refer(f->account, refer_handler) ||
	    sip_account_serve(f->account, &both, watcher_handler, f))
		abort();
	if (memmem(data, size, "1003", 4))
		second_begin(f, &account);
	sip_account_call_options(f->account, &f->options);
	if (f->acts)
		return;
	if (is_named(named, "sqwv"))
		subscribe(f);
	if (is_named(named, "ifrm"))
		(void)sip_account_register(f->account);
	if (is_named(named, "ctbn"))
		dial(f);
}

static const char *rseq_of(const struct sip_call *call)
{
	static char text[16];

	(void)re_snprintf(text, sizeof(text), "%u", call->reliable.rseq);
	return text;
}

/* @return NULL: it stands for itself */
static const char *word_of(const struct fuzz *f, uint8_t letter)
{
	const struct event_dialog *d = (const void *)f->subscription;

	switch (letter) {
	case 'c':
		return f->call ? dialog_callid(f->call->dialog) : NULL;
	case 't':
		return f->call ? dialog_local_tag(f->call->dialog) : NULL;
	case 'b':
		return f->invite.branch;
	case 'n':
		return f->invite.cseq;
	case 's':
		return d && d->dialog ? dialog_callid(d->dialog) : NULL;
	case 'q':
		return d && d->dialog ? dialog_local_tag(d->dialog) : NULL;
	case 'w':
		return f->subscribe.branch;
	case 'v':
		return f->subscribe.cseq;
	case 'i':
		return f->registration.callid;
	case 'f':
		return f->registration.tag;
	case 'r':
		return f->registration.branch;
	case 'm':
		return f->registration.cseq;
	case 'k':
		return f->incoming && f->incoming->dialog
			       ? dialog_local_tag(f->incoming->dialog)
			       : NULL;
	case 'g':
		return f->incoming ? rseq_of(f->incoming) : NULL;
	case 'l':
		return f->last;
	case 'o':
		return f->last_to;
	case 'u':
		return originator_contact_user(f->account->origin);
	case 'h':
		return f->host;
	default:
		return NULL;
	}
}

/* With memchr() and memcpy(), as a comparison for each octet would be recorded
 * by libFuzzer. */
static size_t fill(char *dst, const uint8_t *text, size_t len,
		   const struct fuzz *f)
{
	const uint8_t *end = text + len;
	size_t used = 0;

	while (text < end) {
		const uint8_t *sign = memchr(text, '%', (size_t)(end - text));
		const char *word =
			sign && sign + 1 < end ? word_of(f, sign[1]) : NULL;
		size_t plain = (size_t)((sign ? sign + !word : end) - text);
		size_t more = word ? strlen(word) : 0;

		if (used + plain + more > TEXT_MAX)
			break;
		memcpy(dst + used, text, plain);
		used += plain;
		if (word)
			memcpy(dst + used, word, more);
		used += more;
		text += plain + (word ? 2 : 0);
	}
	return used;
}

static void stop_loop(void *arg)
{
	(void)arg;
	sip_loop_stop();
}

/* Let time pass; what is due by then happens. */
static void later(unsigned digit)
{
	static const int64_t ms[] = {500,   1500,  4000,  12000,  33000,
				     46000, 60000, 95000, 190000, 3601000};
	struct mono_timer stop = {0};

	world_pass(ms[digit] * NS_PER_MS);
	mono_timer_start(&stop, 0, stop_loop, NULL);
	if (sip_loop_run())
		abort();
	mono_timer_cancel(&stop);
}

static void set_options(struct fuzz *f, uint8_t letter)
{
	switch (letter) {
	case 'S':
	case 'T':
		f->options.session_timer_s = 90;
		f->options.refresher =
			letter == 'S' ? SIP_REFRESHER_UAC : SIP_REFRESHER_UAS;
		break;
	case 'P':
		f->options.prack = SIP_PRACK_REQUIRED;
		break;
	case 'L':
		f->options.late_offer = true;
		break;
	case 'R':
		f->options.redirects_max = 2;
		break;
	default:
		return;
	}
	sip_account_call_options(f->account, &f->options);
}

/* What the user does with a call of the peer that is not answered. */
static void act_on_incoming(struct sip_call *call, uint8_t letter)
{
	switch (letter) {
	case 'a':
		(void)sip_call_answer(call, media());
		break;
	case 'b':
		(void)sip_call_progress(call, 183, media());
		break;
	case 'c':
		(void)sip_call_ring(call);
		break;
	case 'd':
		(void)sip_call_reject(call, 486, NULL);
		break;
	case 'e':
		(void)sip_call_redirect(call, 302, "1003,sip:1004@127.0.0.1");
		break;
	default:
		break;
	}
}

/* What the user does with a call. */
static void act_on_call(struct fuzz *f, struct sip_call *call, uint8_t letter)
{
	switch (letter) {
	case 'f':
		(void)sip_call_hold(call);
		break;
	case 'g':
		(void)sip_call_resume(call);
		break;
	case 'h':
		(void)sip_call_reinvite(call);
		break;
	case 'i':
		(void)sip_call_update(call);
		break;
	case 'j':
		(void)sip_call_request(call, "INFO", "application/dtmf-relay",
				       "Signal=1\r\nDuration=100\r\n");
		break;
	case 'k':
		(void)sip_call_request(call, "MESSAGE", "text/plain", "hello");
		break;
	case 'l':
	case 'm':
		(void)sip_call_transfer(call, "1003", letter == 'm');
		break;
	case 'n':
		if (f->call && f->incoming && f->call != f->incoming)
			(void)sip_call_transfer_attended(f->call, f->incoming);
		break;
	case 'o':
		sip_call_hangup(call);
		break;
	case 'q':
		(void)sip_call_relocate(call, media());
		break;
	default:
		break;
	}
}

/* What the user does with the account. */
static void act_on_account(struct fuzz *f, uint8_t letter)
{
	const struct sip_event_state open = {&presence, NULL},
				     other = {&away, NULL};

	switch (letter) {
	case 'A':
		(void)sip_account_register(f->account);
		break;
	case 'B':
		(void)sip_account_unregister(f->account);
		break;
	case 'C':
		subscribe(f);
		break;
	case 'D':
		dial(f);
		break;
	case 'E':
		if (f->subscription)
			sip_unsubscribe(f->subscription);
		break;
	case 'U':
		if (!f->publication)
			(void)sip_publish(&f->publication, f->account, &open,
					  60, publication_handler, f);
		break;
	case 'V':
		if (f->publication)
			(void)sip_publication_modify(f->publication, &other);
		break;
	case 'W':
		if (f->publication)
			sip_unpublish(f->publication);
		break;
	case 'X':
		(void)sip_account_request(f->account, "MESSAGE", "1002",
					  "text/plain", "hello",
					  request_handler, f);
		break;
	case 'Y':
		(void)sip_account_serve(f->account, &other, watcher_handler, f);
		break;
	case 'Z':
		sip_account_serve_end(f->account);
		break;
	default:
		set_options(f, letter);
		break;
	}
}

/* A letter behind + is about the call of the peer. */
static void act(struct fuzz *f, const uint8_t *letters, size_t count)
{
	bool incoming = false;

	for (size_t i = 0; i < count; i++) {
		uint8_t letter = letters[i];
		struct sip_call *call = incoming ? f->incoming : f->call;

		if (letter >= '0' && letter <= '9')
			later(letter - '0');
		else if (letter >= 'A' && letter <= 'Z')
			act_on_account(f, letter);
		else if (letter >= 'a' && letter <= 'e' && f->incoming)
			act_on_incoming(f->incoming, letter);
		else if (letter >= 'f' && letter <= 'z' && call)
			act_on_call(f, call, letter);
		deferred_run(transport_deferred(f->ua->transport));
		incoming = letter == '+';
	}
}

static void feed_message(struct fuzz *f, const uint8_t *data, size_t len)
{
	static char text[TEXT_MAX];
	struct sa src;
	struct arrival arrival = {
		.tp = SIP_TRANSP_UDP,
		.src = &src,
		.dst = transport_laddr(f->ua->transport),
	};
	size_t used = fill(text, data, len, f);
	uint8_t *copy = malloc(used ? used : 1);

	if (!copy)
		return;
	sa_set_str(&src, "127.0.0.1", 9);
	memcpy(copy, text, used);
	arrival.data = copy;
	arrival.len = used;
	receive_message(f->ua->transport, &arrival);
	free(copy);
	deferred_run(transport_deferred(f->ua->transport));
}

static void feed(struct fuzz *f, const uint8_t *data, size_t size)
{
	while (size > 0) {
		const uint8_t *end = memchr(data, '\0', size);
		size_t len = end ? (size_t)(end - data) : size;

		if (data[0] == '!')
			act(f, data + 1, len - 1);
		else
			feed_message(f, data, len);
		data += len + (end != NULL);
		size -= len + (end != NULL);
	}
}

/*
 * A user agent, and an account that keeps its TLS context, are created once, as
 * that costs more than an input. The effects of an input are undone.
 */
static struct sip_ua *ua_of(struct fuzz *f)
{
	static struct sip_ua *ua;
	static struct sip_account *anchor;
	static const struct sip_account_params nobody = {
		.username = "0",
		.target = {"127.0.0.1", 9, SIP_TRANSPORT_UDP},
		.tls = &tls,
	};
	const struct sip_ua_params params = {
		.bind_addr = "127.0.0.1",
		.calls_max = 4,
		.name_servers = "127.0.0.1:9",
		.trace_h = sent_handler,
	};

	if (!ua && (sip_loop_init() || sip_ua_new(&ua, &params) ||
		    sip_account_new(&anchor, ua, &nobody)))
		abort();
	world_begin();
	ua->arg = f;
	ua->contact_count = 1;
	return ua;
}

/* As sip_ua_free() does. */
static void ua_empty(struct sip_ua *ua)
{
	client_transaction_close_all(ua->sip);
	server_transaction_close_all(ua->sip);
	call_abandon_all(ua->calls);
	transport_flush(ua->transport);
	ua->sip->closing = false;
	deferred_run(transport_deferred(ua->transport));
	if (call_table_count(ua->calls) || list_count(&ua->accounts) != 1)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = {.ua = ua_of(&f)};

	(void)re_snprintf(f.host, sizeof(f.host), "%J",
			  transport_laddr(f.ua->transport));
	begin(&f, data, size);
	feed(&f, data, size);
	f.call = sip_call_free(f.call);
	f.incoming = sip_call_free(f.incoming);
	f.subscription = sip_subscription_free(f.subscription);
	f.publication = sip_publication_free(f.publication);
	f.second = sip_account_free(f.second);
	f.account = sip_account_free(f.account);
	ua_empty(f.ua);
	return 0;
}
