#include "media/dtmf.h"

#include "base/big_endian.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#define PI      3.14159265358979323846
#define FADE_MS 2 /* fade in and out, to avoid clicks */

/* Amplitudes of 16-bit sines: full scale is +3.14 dBm0 (G.711 table 5) */
#define LEVEL_HIGH 8100.0 /* -9 dBm0 */
#define LEVEL_LOW  6434.0 /* -11 dBm0 */

static const char digits[] = "0123456789*#ABCD";

/* ITU-T Q.23: rows and columns of the keypad */
static const double rows[] = {697, 770, 852, 941};
static const double columns[] = {1209, 1336, 1477, 1633};
static const char keypad[] = "123A456B789C*0#D";

const char *dtmf_via_name(enum dtmf_via via)
{
	static const char *const names[] = {
		[DTMF_RTPEVENT] = "rtpevent",
		[DTMF_INFO] = "info",
		[DTMF_INBAND] = "inband",
	};

	return names[via];
}

int dtmf_event_of(char digit)
{
	const char *p;

	if (digit == '\0')
		return -1;
	p = strchr(digits, toupper((unsigned char)digit));
	return p ? (int)(p - digits) : -1;
}

char dtmf_digit_of(unsigned event)
{
	return digits[event % DTMF_EVENTS];
}

int dtmf_order_check(struct dtmf_order *order)
{
	if (!order->digits[0] || order->duration_ms < DTMF_DURATION_MIN_MS ||
	    order->duration_ms > DTMF_DURATION_MAX_MS ||
	    order->gap_ms < DTMF_GAP_MIN_MS || order->gap_ms > DTMF_GAP_MAX_MS)
		return -EINVAL;
	for (char *p = order->digits; *p; p++) {
		if (dtmf_event_of(*p) < 0)
			return -EINVAL;
		*p = (char)toupper((unsigned char)*p);
	}
	return 0;
}

/*
 * The two frequencies of an event (ITU-T Q.23).
 * @param event  0..15
 * @param ret_low   Hz
 * @param ret_high  Hz
 */
static void dtmf_frequencies(unsigned event, double *ret_low, double *ret_high)
{
	const char *p = strchr(keypad, dtmf_digit_of(event));
	size_t at = (size_t)(p - keypad);

	*ret_low = rows[at / 4];
	*ret_high = columns[at % 4];
}

static size_t samples_of(unsigned ms, unsigned rate_hz)
{
	return (size_t)ms * rate_hz / 1000;
}

size_t dtmf_tone_samples(const struct dtmf_order *order, unsigned rate_hz)
{
	return strlen(order->digits) *
	       (samples_of(order->duration_ms, rate_hz) +
		samples_of(order->gap_ms, rate_hz));
}

/* Sample i of n. */
static int16_t tone_sample(size_t i, size_t n, unsigned event, unsigned rate_hz)
{
	size_t fade = samples_of(FADE_MS, rate_hz);
	size_t edge = i < n - 1 - i ? i : n - 1 - i;
	double gain = edge < fade ? (double)edge / (double)fade : 1.0;
	double t = 2 * PI * (double)i / rate_hz;
	double low, high;

	dtmf_frequencies(event, &low, &high);
	return (int16_t)lrint(
		gain * (LEVEL_LOW * sin(low * t) + LEVEL_HIGH * sin(high * t)));
}

void dtmf_tones_read(int16_t *dst, size_t from, size_t count,
		     const struct dtmf_order *order, unsigned rate_hz)
{
	size_t tone = samples_of(order->duration_ms, rate_hz);
	size_t each = tone + samples_of(order->gap_ms, rate_hz);

	for (size_t i = from; i < from + count; i++) {
		char digit = order->digits[i / each];

		*dst++ = i % each < tone
				 ? tone_sample(i % each, tone,
					       (unsigned)dtmf_event_of(digit),
					       rate_hz)
				 : 0;
	}
}

void dtmf_payload_write(uint8_t dst[static DTMF_PAYLOAD_BYTES],
			const struct dtmf_payload *p)
{
	dst[0] = p->event;
	dst[1] = (uint8_t)((p->end ? 0x80 : 0) | (p->volume & 0x3f));
	be16_put(dst + 2, p->duration);
}

int dtmf_payload_parse(struct dtmf_payload *ret, const uint8_t *data,
		       size_t bytes)
{
	if (bytes < DTMF_PAYLOAD_BYTES)
		return -EBADMSG;
	ret->event = data[0];
	ret->end = data[1] & 0x80;
	ret->volume = data[1] & 0x3f;
	ret->duration = be16(data + 2);
	return 0;
}
