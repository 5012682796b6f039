#include "media/audio/dtmf_receive.h"

#include <string.h>

#define SEGMENT_TICKS UINT16_MAX /* full segment: RFC 4733 2.5.1.3 */

static void event_end(struct dtmf_receive *d, int64_t mono_ns,
		      struct dtmf_heard *ret)
{
	d->open = false;
	ret->steps[ret->count++] = (struct dtmf_step){
		.ended = true,
		.digit = dtmf_digit_of(d->event),
		.ms = 1000.0 * ((double)d->before_ticks + d->duration) /
		      (double)d->clock_hz,
		.mono_ns = mono_ns,
	};
}

static void event_start(struct dtmf_receive *d, const struct dtmf_arrival *a,
			struct dtmf_heard *ret)
{
	*d = (struct dtmf_receive){
		.open = true,
		.has_old = true,
		.ssrc = a->ssrc,
		.ts = a->ts,
		.event = a->payload.event,
		.clock_hz = a->clock_hz,
		.start_ns = a->mono_ns,
	};
	ret->steps[ret->count++] = (struct dtmf_step){
		.digit = dtmf_digit_of(d->event),
		.mono_ns = a->mono_ns,
	};
}

/* The event continues in a new segment, which begins where the last one
 * ended. */
static bool segment_next(struct dtmf_receive *d, const struct dtmf_arrival *a)
{
	if (!d->open || a->ssrc != d->ssrc || a->payload.event != d->event ||
	    d->duration != SEGMENT_TICKS || a->ts != d->ts + SEGMENT_TICKS)
		return false;
	d->before_ticks += SEGMENT_TICKS;
	d->ts = a->ts;
	d->duration = 0;
	return true;
}

void dtmf_receive_packet(struct dtmf_receive *d, const struct dtmf_arrival *a,
			 struct dtmf_heard *ret)
{
	bool same = d->has_old && a->ssrc == d->ssrc && a->ts == d->ts;

	memset(ret, 0, sizeof(*ret));
	if (a->payload.event >= DTMF_EVENTS || a->clock_hz == 0)
		return;
	if (!same && !segment_next(d, a)) {
		/* an old packet that arrived late */
		if (d->has_old && a->ssrc == d->ssrc &&
		    (int32_t)(a->ts - d->ts) < 0)
			return;
		if (d->open)
			event_end(d, a->mono_ns, ret); /* the end of the
							* previous event was
							* lost */
		event_start(d, a, ret);
	}
	if (!d->open)
		return; /* a repetition of the end */
	d->last_ns = a->mono_ns;
	if (a->payload.duration > d->duration)
		d->duration = a->payload.duration;
	if (a->payload.end)
		event_end(d, a->mono_ns, ret);
}

void dtmf_receive_time(struct dtmf_receive *d, int64_t mono_ns,
		       struct dtmf_heard *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (d->open && mono_ns - d->last_ns > DTMF_SILENCE_NS)
		event_end(d, d->last_ns, ret);
}
