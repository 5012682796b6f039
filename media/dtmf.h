/**
 * DTMF digits: their names, event codes (RFC 4733 table 3) and tones (ITU-T
 * Q.23), and the telephone-event payload (RFC 4733 2.3). Docs: docs/internals/media.md "DTMF"
 * Thread: any; nothing blocks or allocates.
 */
#ifndef OFFHOOK_MEDIA_DTMF_H
#define OFFHOOK_MEDIA_DTMF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DTMF_DIGITS_MAX    64 /* of one order */
#define DTMF_EVENTS        16 /* 0..9 * # A..D */
#define DTMF_PAYLOAD_BYTES 4
#define DTMF_CLOCK_HZ      8000 /* where no other was agreed */

/* Of each digit. The longest fits the 16 bits of a duration at 48 kHz, so that
 * no event needs segments (RFC 4733 2.5.1.3). */
#define DTMF_DURATION_MIN_MS     40
#define DTMF_DURATION_MAX_MS     1300
#define DTMF_DURATION_DEFAULT_MS 100
#define DTMF_GAP_MIN_MS          40
#define DTMF_GAP_MAX_MS          5000
#define DTMF_GAP_DEFAULT_MS      100

/** Digits in a row, and how long. */
struct dtmf_order {
	char digits[DTMF_DIGITS_MAX + 1]; /* 0-9 * # A-D, capitals */
	uint16_t duration_ms;
	uint16_t gap_ms; /* from the end of one to the next at least */
};

/** How a digit travelled. */
enum dtmf_via {
	DTMF_RTPEVENT,
	DTMF_INFO,
	DTMF_INBAND,
};

/** "rtpevent", "info", "inband" */
const char *dtmf_via_name(enum dtmf_via via);

/** Event code of a digit, a..d too. @return -1: no digit */
int dtmf_event_of(char digit);
/** @param event  0..15 @return the digit */
char dtmf_digit_of(unsigned event);

/**
 * Check an order and bring it to capitals.
 * @return 0; -EINVAL no digits, another character, a time out of range
 */
int dtmf_order_check(struct dtmf_order *order);

/** The two frequencies of an event, Hz. */
void dtmf_frequencies(unsigned event, double *ret_low, double *ret_high);

/** Samples of an order as tones. */
size_t dtmf_tone_samples(const struct dtmf_order *order, unsigned rate_hz);
/**
 * Some of them: each digit is followed by its gap; -9 dBm0 for the high and -11
 * dBm0 for the low frequency, without clicks.
 * @param from  first; from + count are there
 */
void dtmf_tones_read(int16_t *dst, size_t from, size_t count,
		     const struct dtmf_order *order, unsigned rate_hz);

/** The payload of a telephone-event packet. */
struct dtmf_payload {
	uint8_t event; /* 0..255: others than digits exist */
	bool end;
	uint8_t volume;    /* -dBm0, 0..63 */
	uint16_t duration; /* ticks */
};

void dtmf_payload_write(uint8_t dst[static DTMF_PAYLOAD_BYTES],
			const struct dtmf_payload *p);
/** Of several events in a packet (2.3.5 forbids them) the first is read.
 * @return 0; -EBADMSG shorter than an event */
int dtmf_payload_parse(struct dtmf_payload *ret, const uint8_t *data,
		       size_t bytes);

#endif
