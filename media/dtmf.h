/**
 * DTMF digits: their names, event codes (RFC 4733 table 3) and tones (ITU-T
 * Q.23), and the telephone-event payload (RFC 4733 section 2.3).
 * Docs: docs/internals/media.md "DTMF"
 * Thread: any; nothing blocks or allocates.
 */
#ifndef OFFHOOK_MEDIA_DTMF_H
#define OFFHOOK_MEDIA_DTMF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DTMF_DIGITS_MAX    64 /* digits of one order */
#define DTMF_EVENTS        16 /* 0-9 * # A-D */
#define DTMF_PAYLOAD_BYTES 4
#define DTMF_CLOCK_HZ      8000 /* used if no other clock rate was negotiated */

/* Duration of a digit. The maximum fits the 16-bit duration field at 48 kHz, so
 * no event needs segments (RFC 4733 section 2.5.1.3). */
#define DTMF_DURATION_MIN_MS     40
#define DTMF_DURATION_MAX_MS     1300
#define DTMF_DURATION_DEFAULT_MS 100
#define DTMF_GAP_MIN_MS          40
#define DTMF_GAP_MAX_MS          5000
#define DTMF_GAP_DEFAULT_MS      100

/** A sequence of digits with their timing. */
struct dtmf_order {
	char digits[DTMF_DIGITS_MAX + 1]; /* 0-9 * # A-D, capitals */
	uint16_t duration_ms;
	uint16_t gap_ms; /* pause after each digit, at least */
};

/** How a digit was transported. */
enum dtmf_via {
	DTMF_RTPEVENT,
	DTMF_INFO,
	DTMF_INBAND,
};

/** @return "rtpevent", "info" or "inband", static */
const char *dtmf_via_name(enum dtmf_via via);

/** @param digit  0-9 * # A-D, a-d too
 * @return its event code (RFC 4733 table 3); -1: not a digit */
int dtmf_event_of(char digit);
/** @param event  0..15
 * @return the digit, a capital */
char dtmf_digit_of(unsigned event);

/**
 * Check an order and convert its letters to capitals.
 * @param order  in/out, borrowed; on failure some letters may be converted
 * @return 0; -EINVAL no digits, an invalid character, a time out of range
 */
int dtmf_order_check(struct dtmf_order *order);

/** @return the length of an order as tones, in samples */
size_t dtmf_tone_samples(const struct dtmf_order *order, unsigned rate_hz);
/**
 * Write samples [from, from + count) of an order as tones. Each digit is
 * followed by its gap. The high frequency has -9 dBm0, the low one -11 dBm0.
 * Both are faded, so that they do not click.
 * @param dst  room for count samples
 * @param from  first sample; from + count is at most dtmf_tone_samples()
 * @param order  checked by dtmf_order_check()
 */
void dtmf_tones_read(int16_t *dst, size_t from, size_t count,
		     const struct dtmf_order *order, unsigned rate_hz);

/** Payload of a telephone-event packet (RFC 4733 section 2.3). */
struct dtmf_payload {
	uint8_t event; /* 0..255: not all are DTMF digits */
	bool end;
	uint8_t volume;    /* -dBm0, 0..63 */
	uint16_t duration; /* RTP timestamp units */
};

/** Write a telephone-event payload. */
void dtmf_payload_write(uint8_t dst[static DTMF_PAYLOAD_BYTES],
			const struct dtmf_payload *p);
/** Parse a telephone-event payload. If a packet holds several events, which RFC
 * 4733 section 2.3.5 forbids, the first one is read.
 * @return 0; -EBADMSG too short */
int dtmf_payload_parse(struct dtmf_payload *ret, const uint8_t *data,
		       size_t bytes);

#endif
