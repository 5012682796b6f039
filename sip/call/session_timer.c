#include "sip/call/session_timer.h"

#include <errno.h>
#include <strings.h>

#include "base/clock.h"
#include "base/str.h"
#include "sip/call.h"
#include "sip/message/text.h"
#include "sip/transaction/server_transaction.h"

/* RFC 4028 section 4: the least Min-SE. */
#define MIN_SE_S 90

/* After this many 422 responses in a call a request is not repeated any more. */
#define RAISES_MAX 5

/* Wait before a refresh or a BYE that could not be sent is tried again. */
#define BUSY_MS 1000

struct expires {
	bool given;
	uint32_t s;
	enum sip_refresher refresher;
};

void session_timer_init(struct session_timer *t,
			const struct sip_call_options *options,
			session_refresh_h *refresh_h,
			session_expired_h *expired_h, void *arg)
{
	t->options = options;
	t->refresh_h = refresh_h;
	t->expired_h = expired_h;
	t->arg = arg;
}

static uint32_t own_min_s(const struct session_timer *t)
{
	uint32_t s = t->options->session_timer_s;

	return s < MIN_SE_S ? s : MIN_SE_S;
}

/* Session-Expires: 1800;refresher=uac */
static struct expires expires_read(const struct sip_msg *msg)
{
	const struct sip_hdr *hdr = sip_msg_hdr(msg, SIP_HDR_SESSION_EXPIRES);
	struct expires expires = {.given = false};
	struct pl value, params, who;

	if (!hdr ||
	    re_regex(hdr->val.p, hdr->val.l, "[0-9]+[^]*", &value, &params))
		return expires;
	expires.given = true;
	expires.s = pl_u32(&value);
	if (!msg_param_decode(&params, "refresher", &who))
		expires.refresher = !pl_strcasecmp(&who, "uac")
					    ? SIP_REFRESHER_UAC
					    : SIP_REFRESHER_UAS;
	return expires;
}

static uint32_t min_se_read(const struct sip_msg *msg)
{
	const struct sip_hdr *hdr = sip_msg_hdr(msg, SIP_HDR_MIN_SE);

	return hdr ? pl_u32(&hdr->val) : 0;
}

static const char *refresher_text(enum sip_refresher refresher)
{
	if (refresher == SIP_REFRESHER_UAC)
		return ";refresher=uac";
	return refresher == SIP_REFRESHER_UAS ? ";refresher=uas" : "";
}

void session_timer_request(char dst[static SESSION_TIMER_BYTES],
			   const struct session_timer *t)
{
	char seconds[STR_DECIMAL_BYTES], least[STR_DECIMAL_BYTES];
	enum sip_refresher refresher = t->options->refresher;
	uint32_t s = t->options->session_timer_s;

	dst[0] = '\0';
	if (s == 0)
		return;
	if (t->interval_s) {
		s = t->interval_s;
		refresher = t->ours ? SIP_REFRESHER_UAC : SIP_REFRESHER_UAS;
	}
	if (s < t->min_s)
		s = t->min_s;
	str_join(dst, SESSION_TIMER_BYTES,
		 "Session-Expires: ", str_decimal(seconds, s),
		 refresher_text(refresher), "\r\nMin-SE: ",
		 str_decimal(least,
			     t->min_s > own_min_s(t) ? t->min_s : own_min_s(t)),
		 "\r\n", NULL);
}

int session_timer_response(struct re_printf *pf, const struct session_timer *t)
{
	if (t->interval_s == 0)
		return 0;
	return re_hprintf(pf, "%sSession-Expires: %u%s\r\n",
			  t->peer_knows && !t->ours ? "Require: timer\r\n" : "",
			  t->interval_s,
			  refresher_text(t->ours ? SIP_REFRESHER_UAS
						 : SIP_REFRESHER_UAC));
}

bool session_timer_asked(struct session_timer *t, struct transaction_layer *sip,
			 const struct sip_msg *msg)
{
	struct expires asked = expires_read(msg);
	uint32_t min_s = min_se_read(msg);
	enum sip_refresher refresher;

	if (t->options->session_timer_s == 0)
		return true;
	t->peer_knows =
		sip_msg_hdr_has_value(msg, SIP_HDR_SUPPORTED, "timer") ||
		sip_msg_hdr_has_value(msg, SIP_HDR_REQUIRE, "timer");
	if (asked.given && asked.s < own_min_s(t) && t->peer_knows) {
		(void)server_transaction_replyf(
			NULL, NULL, sip, msg, false, 422,
			"Session Interval Too Small",
			"Min-SE: %u\r\nContent-Length: 0\r\n\r\n",
			own_min_s(t));
		return false;
	}
	/* The UAS may lower the interval, but not below Min-SE. */
	t->interval_s = t->options->session_timer_s;
	if (asked.given && asked.s < t->interval_s)
		t->interval_s = asked.s;
	if (t->interval_s < min_s)
		t->interval_s = min_s;
	if (t->interval_s < own_min_s(t))
		t->interval_s = own_min_s(t);
	refresher = asked.refresher ? asked.refresher : t->options->refresher;
	t->ours = !t->peer_knows || refresher == SIP_REFRESHER_UAS;
	return true;
}

void session_timer_answered(struct session_timer *t, const struct sip_msg *msg)
{
	struct expires agreed = expires_read(msg);

	if (t->options->session_timer_s == 0)
		return;
	t->interval_s = agreed.given ? agreed.s : 0;
	t->ours = agreed.refresher != SIP_REFRESHER_UAS;
	session_timer_run(t);
}

bool session_timer_raise(struct session_timer *t, const struct sip_msg *msg)
{
	uint32_t min_s = min_se_read(msg);

	if (t->options->session_timer_s == 0 || min_s <= t->min_s ||
	    t->raises >= RAISES_MAX)
		return false;
	t->raises++;
	t->min_s = min_s;
	if (t->interval_s && t->interval_s < min_s)
		t->interval_s = min_s;
	return true;
}

static void expired_handler(void *arg)
{
	struct session_timer *t = arg;
	char reason[REASON_BYTES];

	str_print(reason, sizeof(reason),
		  "the session timer expired: no refresh within %u s%s",
		  t->interval_s,
		  t->ours ? ", the peer did not accept ours" : "");
	if (t->expired_h(reason, t->arg) == -EBUSY)
		mono_timer_start(&t->tmr, BUSY_MS, expired_handler, t);
}

static uint64_t ms_of(uint32_t s)
{
	return (uint64_t)s * 1000;
}

/* RFC 4028 section 10: BYE so long before the session expires. */
static uint64_t expiry_ms(const struct session_timer *t)
{
	uint64_t third = ms_of(t->interval_s) / 3;

	return ms_of(t->interval_s) - (third < 32000 ? third : 32000);
}

static void refresh_handler(void *arg)
{
	struct session_timer *t = arg;
	bool busy = t->refresh_h(t->arg) == -EBUSY;
	uint64_t left_ms = clock_ms_until(t->expiry_ns, clock_mono_ns());

	if (busy && left_ms > BUSY_MS)
		mono_timer_start(&t->tmr, BUSY_MS, refresh_handler, t);
	else
		mono_timer_start(&t->tmr, left_ms, expired_handler, t);
}

void session_timer_run(struct session_timer *t)
{
	mono_timer_cancel(&t->tmr);
	if (t->interval_s == 0)
		return;
	t->expiry_ns = clock_mono_ns() + (int64_t)expiry_ms(t) * NS_PER_MS;
	if (t->ours)
		mono_timer_start(&t->tmr, ms_of(t->interval_s) / 2,
				 refresh_handler, t);
	else
		mono_timer_start(&t->tmr, expiry_ms(t), expired_handler, t);
}

void session_timer_peer(struct session_timer *t, const struct sip_msg *msg)
{
	if (sip_msg_hdr(msg, SIP_HDR_ALLOW))
		t->peer_updates =
			sip_msg_hdr_has_value(msg, SIP_HDR_ALLOW, "UPDATE");
}

void session_timer_stop(struct session_timer *t)
{
	mono_timer_cancel(&t->tmr);
}
