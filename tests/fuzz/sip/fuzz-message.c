/*
 * Datagrams to a user agent with an account and an outgoing call: parser,
 * transactions, dialogs. The user agent has a subscription and accepts
 * subscriptions, and its second account (1003) challenges requests. An input
 * holds several messages, separated by NUL. Placeholders: %c, %t, %b, %n and %u
 * are Call-ID, tag, branch and CSeq number of our last INVITE and the user of
 * our Contact; %s and %q are Call-ID and tag of our SUBSCRIBE; %h is host and
 * port of our Via.
 */
#include <stdlib.h>
#include <string.h>

#include "sip/call/call_control.h"
#include "sip/call/call_internal.h"
#include "sip/call/call_table.h"
#include "sip/dialog/dialog.h"
#include "sip/dialog/originator.h"
#include "sip/digest_server.h"
#include "sip/event/event_dialog.h"
#include "sip/transaction/server_transaction.h"
#include "sip/transaction/transaction_layer_internal.h"
#include "sip/transport/deferred.h"
#include "sip/transport/receive.h"
#include "sip/transport/transport.h"
#include "sip/transport/transport_internal.h"
#include "sip/ua/account_internal.h"
#include "sip/ua/ua_internal.h"

#define TEXT_MAX 65536

/* It reads nothing from the disk. */
static const struct sip_tls tls = {.verify = false};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);
const char *__asan_default_options(void);

/*
 * An input makes some 400 allocations. Recording a stack for each would cost
 * more than the input, as the record is not in the processor's cache.
 */
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=8:malloc_context_size=8";
}

/*
 * An input takes some 2700 branches, most of them the same in every input.
 * Weighing them by rarity (-entropic) would double the time of an input.
 */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static char option[] = "-entropic=0";
	static char *words[64];
	int count = *argc;

	if (count + 2 > (int)(sizeof(words) / sizeof(words[0])))
		return 0;
	memcpy(words, *argv, (size_t)count * sizeof(words[0]));
	memmove(words + 2, words + 1, (size_t)(count - 1) * sizeof(words[0]));
	words[1] = option; /* if it is given twice, the last one wins */
	*argc = count + 1;
	*argv = words;
	return 0;
}

/*
 * Replaces libre's functions, which ask OpenSSL. Here every input gets the same
 * numbers, so that its behaviour can be reproduced, at no cost.
 */
static uint64_t chance;

uint64_t rand_u64(void)
{
	chance = chance * 6364136223846793005u + 1442695040888963407u;
	return chance ^ chance >> 29;
}

uint32_t rand_u32(void)
{
	return (uint32_t)(rand_u64() >> 32);
}

uint16_t rand_u16(void)
{
	return (uint16_t)(rand_u64() >> 48);
}

/*
 * Replaces libc's: nobody listens at the destinations, and the kernel's error
 * for it would cost a fifth of an input.
 */
ssize_t sendto(int fd, const void *data, size_t len, int flags,
	       const struct sockaddr *dst, socklen_t dst_len)
{
	(void)fd;
	(void)data;
	(void)flags;
	(void)dst;
	(void)dst_len;
	return (ssize_t)len;
}

struct fuzz {
	struct sip_ua *ua;
	struct sip_account *account, *second;
	struct sip_call *call, *incoming;
	struct sip_subscription *subscription;
	char branch[64];
	char cseq[16];
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

static void sent_handler(const struct sip_trace *trace, void *arg)
{
	struct fuzz *f = arg;
	const char *p;
	struct pl branch;

	if (!trace->sent || trace->len < 7 || memcmp(trace->data, "INVITE ", 7))
		return;
	p = memmem(trace->data, trace->len, "branch=", 7);
	if (!p)
		return;
	branch.p = p + 7;
	branch.l = strcspn(branch.p, ";\r");
	(void)pl_strcpy(&branch, f->branch, sizeof(f->branch));
	p = memmem(trace->data, trace->len, "CSeq: ", 6);
	if (!p)
		return;
	branch.p = p + 6;
	branch.l = strspn(branch.p, "0123456789");
	(void)pl_strcpy(&branch, f->cseq, sizeof(f->cseq));
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
	    sip_call_answer(call, media()))
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

/* What the user agent does besides calls. */
static void events_begin(struct fuzz *f)
{
	static const struct sip_presence presence = {.open = true};
	static const struct sip_mwi mwi = {.waiting = true};
	static const struct sip_event_state both = {&presence, &mwi};
	static const struct sip_event_state one = {&presence, NULL};
	static const struct sip_user user = {"2001", "secret"};
	const struct sip_digest_server_params check = {
		.code = 401, .all = true, .users = &user, .user_count = 1};
	const struct sip_subscribe_params watch = {
		.expires_s = 60, .handler = subscription_handler, .arg = f};
	static struct sip_digest_server *verifier;

	if ((!verifier && sip_digest_server_new(&verifier, &check)) ||
	    sip_account_serve(f->account, &both, watcher_handler, f) ||
	    sip_account_serve(f->second, &one, watcher_handler, f))
		abort();
	(void)sip_account_verify(f->second, verifier);
	(void)sip_subscribe(&f->subscription, f->account, &watch);
}

static const char *event_word(const struct fuzz *f, uint8_t letter)
{
	const struct event_dialog *d = (const void *)f->subscription;

	if (!d || !d->dialog)
		return NULL;
	return letter == 's'   ? dialog_callid(d->dialog)
	       : letter == 'q' ? dialog_local_tag(d->dialog)
			       : NULL;
}

static size_t fill(char *dst, const uint8_t *text, size_t len,
		   const struct fuzz *f)
{
	size_t used = 0;

	for (size_t i = 0; i < len && used < TEXT_MAX; i++) {
		const char *word = NULL;

		if (text[i] == '%' && i + 1 < len && f->call) {
			word = text[i + 1] == 'c'
				       ? dialog_callid(f->call->dialog)
			       : text[i + 1] == 't'
				       ? dialog_local_tag(f->call->dialog)
			       : text[i + 1] == 'b' ? f->branch
			       : text[i + 1] == 'n' ? f->cseq
						    : NULL;
		}
		if (text[i] == '%' && i + 1 < len && text[i + 1] == 'u')
			word = originator_contact_user(f->account->origin);
		if (text[i] == '%' && i + 1 < len && text[i + 1] == 'h')
			word = f->host;
		if (text[i] == '%' && i + 1 < len && !word)
			word = event_word(f, text[i + 1]);
		if (!word) {
			dst[used++] = (char)text[i];
			continue;
		}
		if (used + strlen(word) > TEXT_MAX)
			break;
		memcpy(dst + used, word, strlen(word));
		used += strlen(word);
		i++;
	}
	return used;
}

static void feed(struct fuzz *f, const uint8_t *data, size_t size)
{
	static char text[TEXT_MAX];
	struct sa src;
	struct arrival arrival = {
		.tp = SIP_TRANSP_UDP,
		.src = &src,
		.dst = transport_laddr(f->ua->transport),
	};

	sa_set_str(&src, "127.0.0.1", 9);
	while (size > 0) {
		const uint8_t *end = memchr(data, '\0', size);
		size_t len = end ? (size_t)(end - data) : size;
		size_t used = fill(text, data, len, f);
		uint8_t *copy = malloc(used ? used : 1);

		if (!copy)
			return;
		memcpy(copy, text, used);
		arrival.data = copy;
		arrival.len = used;
		receive_message(f->ua->transport, &arrival);
		free(copy);
		deferred_run(transport_deferred(f->ua->transport));
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
	chance = 1;
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
	const struct sip_account_params account = {
		.username = "1001",
		.password = "secret",
		.target = {"127.0.0.1", 9, SIP_TRANSPORT_UDP},
		.tls = &tls,
		.account_h = account_handler,
		.incoming_h = incoming_handler,
		.arg = &f,
	};
	struct sip_account_params second = account;
	const struct sip_call_options options = {.prack = SIP_PRACK_SUPPORTED};
	const struct sip_call_params call = {
		.uri = "1002",
		.media = media(),
		.options = &options,
		.call_h = call_handler,
		.arg = &f,
	};

	second.username = "1003";
	if (sip_account_new(&f.account, f.ua, &account) ||
	    sip_account_new(&f.second, f.ua, &second) ||
	    sip_account_mwi(f.account, mwi_handler) ||
	    sip_account_refer(f.account, refer_handler))
		abort();
	(void)re_snprintf(f.host, sizeof(f.host), "%J",
			  transport_laddr(f.ua->transport));
	events_begin(&f);
	sip_account_call_options(f.account, &options);
	(void)sip_account_register(f.account);
	(void)sip_call_dial(&f.call, f.account, &call);
	feed(&f, data, size);
	f.call = sip_call_free(f.call);
	f.incoming = sip_call_free(f.incoming);
	f.subscription = sip_subscription_free(f.subscription);
	f.second = sip_account_free(f.second);
	f.account = sip_account_free(f.account);
	ua_empty(f.ua);
	return 0;
}
