#include "agent/engine/call/call_internal.h"

#include "media/dtmf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CLIENT_DIGIT_NS (350 * NS_PER_MS)

static void info_next(void *arg);

static enum ua_state digit_state(char digit)
{
	if (digit == '*')
		return UA_CALL_DTMF_ASTERISK;
	if (digit == '#')
		return UA_CALL_DTMF_POUND;
	if (digit >= 'A')
		return (enum ua_state)(UA_CALL_DTMF_A + (digit - 'A'));
	return (enum ua_state)(UA_CALL_DTMF_0 + (digit - '0'));
}

static void report_digit(struct call *c, int64_t mono_ns,
			 const struct wire_event_dtmf *d)
{
	report_event(
		c->calls->report,
		wire_event_dtmf(report_time(c->calls->report, mono_ns), d));
}

static void digit_began(struct call *c, int64_t mono_ns, char digit)
{
	const char text[2] = {digit, '\0'};

	call_state(c, mono_ns, UA_CALL_DTMF_START, text);
	call_state(c, mono_ns, digit_state(digit), NULL);
}

static void digit_ended(struct call *c, int64_t mono_ns, char digit,
			enum dtmf_via via, double ms)
{
	const struct wire_event_dtmf event = {
		.call = c->name,
		.digit = digit,
		.via = dtmf_via_name(via),
		.has_ms = ms > 0,
		.ms = ms,
	};
	char text[48];

	if (event.has_ms)
		snprintf(text, sizeof(text), "%c, %.0f ms, %s", digit, ms,
			 event.via);
	else
		snprintf(text, sizeof(text), "%c, %s", digit, event.via);
	call_state(c, mono_ns, UA_CALL_DTMF_END, text);
	report_digit(c, mono_ns, &event);
	script_digit(&c->script, digit);
}

/* ---- the audio stream ---- */

static int media_send(struct call *c, const struct wire_dtmf *d)
{
	struct dtmf_order order = {
		.duration_ms = d->duration_ms,
		.gap_ms = d->gap_ms,
	};
	int err;

	memcpy(order.digits, d->digits, sizeof(d->digits));
	if (!c->media)
		err = -ENOTCONN;
	else if (c->action->dtmf_mode == WIRE_DTMF_INBAND)
		err = media_session_tones(c->media, &order);
	else
		err = media_session_dtmf(c->media, &order);
	if (err == -ENOTSUP) {
		script_acted(&c->script, WIRE_SCRIPT_DTMF,
			     "the peer did not agree to telephone-event");
		return 1;
	}
	return err ? err : 1;
}

void call_dtmf_media(struct call *c, const struct media_record *record)
{
	const struct media_dtmf *d = &record->u.dtmf;
	const struct wire_event_dtmf sent = {
		.call = c->name,
		.outgoing = true,
		.digit = d->digit,
		.via = dtmf_via_name(d->via),
		.has_ms = true,
		.ms = d->ms,
	};

	if (record->outgoing && d->ms <= 0) {
		script_acted(&c->script, WIRE_SCRIPT_DTMF,
			     d->via == DTMF_INBAND
				     ? "the codec changed while the tones were "
				       "sent"
				     : "telephone-event changed while the "
				       "digits were sent");
	} else if (record->outgoing) {
		report_digit(c, record->mono_ns, &sent);
		if (d->last)
			script_acted(&c->script, WIRE_SCRIPT_DTMF, NULL);
	} else if (d->ended) {
		digit_ended(c, record->mono_ns, d->digit, d->via, d->ms);
	} else {
		digit_began(c, record->mono_ns, d->digit);
	}
}

/* ---- INFO, and digits that the call's client sends ---- */

/* A client with media of its own sends digits, of its own length. */
static bool by_client(const struct call *c)
{
	return c->action->client != WIRE_CLIENT_NATIVE;
}

static int info_send(struct call *c)
{
	struct call_info_dtmf *k = &c->info_dtmf;
	bool plain = c->action->dtmf_mode == WIRE_DTMF_INFO_PLAIN;
	char body[64];

	if (plain)
		snprintf(body, sizeof(body), "%c", k->order.digits[k->at]);
	else
		snprintf(body, sizeof(body), "Signal=%c\r\nDuration=%u\r\n",
			 k->order.digits[k->at], k->order.duration_ms);
	k->answered = false;
	k->next_ns = clock_mono_ns() +
		     (k->order.duration_ms + k->order.gap_ms) * NS_PER_MS;
	/* it sends a digit within this time, whatever the order says */
	if (by_client(c) && k->next_ns < clock_mono_ns() + CLIENT_DIGIT_NS)
		k->next_ns = clock_mono_ns() + CLIENT_DIGIT_NS;
	if (by_client(c))
		return sip_call_digit(c->sip, k->order.digits[k->at]);
	return sip_call_request(
		c->sip, "INFO",
		plain ? "application/dtmf" : "application/dtmf-relay", body);
}

static void info_stop(struct call *c, const char *refusal)
{
	c->info_dtmf.order.digits[0] = '\0';
	mono_timer_cancel(&c->info_dtmf.tmr);
	script_acted(&c->script, WIRE_SCRIPT_DTMF, refusal);
}

/* Send the next digit, when the last one was answered and its time is over. */
static void info_next(void *arg)
{
	struct call *c = arg;
	struct call_info_dtmf *k = &c->info_dtmf;
	int64_t now_ns = clock_mono_ns();
	char text[96];
	int err;

	if (!k->order.digits[0] || !k->answered)
		return;
	if (now_ns < k->next_ns) {
		mono_timer_start(&k->tmr, clock_ms_until(k->next_ns, now_ns),
				 info_next, c);
		return;
	}
	k->at++;
	if (!k->order.digits[k->at]) {
		info_stop(c, NULL);
	} else {
		err = info_send(c);
		snprintf(text, sizeof(text), "could not be sent: %s",
			 strerror(-err));
		if (err)
			info_stop(c, text);
	}
	call_go_on(c);
}

void call_dtmf_answered(struct call *c, const char *refusal)
{
	struct call_info_dtmf *k = &c->info_dtmf;
	const struct wire_event_dtmf sent = {
		.call = c->name,
		.outgoing = true,
		.digit = k->order.digits[k->at],
		.via = dtmf_via_name(by_client(c) ? DTMF_RTPEVENT : DTMF_INFO),
		.has_ms = c->action->dtmf_mode == WIRE_DTMF_INFO,
		.ms = k->order.duration_ms,
	};

	if (!k->order.digits[0] || k->answered)
		return;
	if (refusal) {
		info_stop(c, refusal);
		return;
	}
	report_digit(c, clock_mono_ns(), &sent);
	k->answered = true;
	/* later, as the script must not continue within this event */
	mono_timer_start(&k->tmr, 0, info_next, c);
}

void call_dtmf_info(struct call *c, const struct sip_call_info *info)
{
	digit_began(c, info->mono_ns, info->digit);
	digit_ended(c, info->mono_ns, info->digit,
		    info->digit_in_rtp ? DTMF_RTPEVENT : DTMF_INFO,
		    info->digit_ms);
}

/* ---- the action ---- */

int call_dtmf_send(struct call *c, const char *argument)
{
	struct wire_dtmf order;
	int err;

	/* Checked when the job was decoded. */
	if (wire_dtmf_parse(argument, &order))
		return -EINVAL;
	if ((c->action->dtmf_mode == WIRE_DTMF_RTPEVENT ||
	     c->action->dtmf_mode == WIRE_DTMF_INBAND) &&
	    !by_client(c))
		return media_send(c, &order);
	if (c->info_dtmf.order.digits[0])
		return -EBUSY;
	c->info_dtmf.order = order;
	c->info_dtmf.at = 0;
	err = info_send(c);
	if (err)
		c->info_dtmf.order.digits[0] = '\0';
	return err ? err : 1;
}
