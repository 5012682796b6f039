#include "media/audio/dtmf_send.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>

#define VOLUME    7 /* -dBm0: the two tones of dtmf_tones_read() together */
#define END_TIMES 3 /* RFC 4733 section 2.5.1.4 */

int dtmf_send_order(struct dtmf_send *d, const struct dtmf_order *order,
		    uint32_t clock_hz)
{
	int64_t next_ns = d->next_ns;

	if (d->order.digits[0])
		return -EBUSY;
	/* keep the gap after the previous order */
	*d = (struct dtmf_send){
		.order = *order,
		.clock_hz = clock_hz,
		.next_ns = next_ns,
	};
	return 0;
}

char dtmf_send_cut(struct dtmf_send *d)
{
	char digit = d->order.digits[0] ? d->order.digits[d->at] : '\0';

	*d = (struct dtmf_send){.next_ns = d->next_ns};
	return digit;
}

static void digit_finish(struct dtmf_send *d, struct dtmf_packet *ret)
{
	ret->finished = true;
	ret->digit = d->order.digits[d->at];
	d->next_ns = d->start_ns +
		     (d->order.duration_ms + d->order.gap_ms) * NS_PER_MS;
	d->begun = false;
	d->ends = 0;
	if (d->order.digits[++d->at])
		return;
	ret->last = true;
	d->order.digits[0] = '\0';
}

bool dtmf_send_next(struct dtmf_send *d, int64_t due_ns, uint32_t ts,
		    uint16_t ptime_ms, struct dtmf_packet *ret)
{
	int64_t elapsed_ms;
	uint32_t ms;

	if (!d->order.digits[0] || (!d->begun && due_ns < d->next_ns))
		return false;
	memset(ret, 0, sizeof(*ret));
	if (!d->begun) {
		d->begun = true;
		d->start_ts = ts;
		d->start_ns = due_ns;
		ret->marker = true;
	}
	elapsed_ms = (due_ns - d->start_ns) / NS_PER_MS + ptime_ms;
	ms = elapsed_ms < d->order.duration_ms ? (uint32_t)elapsed_ms
					       : d->order.duration_ms;
	ret->ts = d->start_ts;
	ret->payload = (struct dtmf_payload){
		.event = (uint8_t)dtmf_event_of(d->order.digits[d->at]),
		.end = ms == d->order.duration_ms,
		.volume = VOLUME,
		.duration = (uint16_t)((uint64_t)ms * d->clock_hz / 1000),
	};
	if (ret->payload.end && ++d->ends == END_TIMES)
		digit_finish(d, ret);
	return true;
}
