/**
 * Arguments of the script actions that send and expect DTMF digits
 * (docs/reference/script-actions.md).
 * Thread: any; pure.
 */
#ifndef OFFHOOK_WIRE_DTMF_H
#define OFFHOOK_WIRE_DTMF_H

#include <stdbool.h>
#include <stdint.h>

#define WIRE_DIGITS_MAX 64
/* Argument of a `dtmf` action: "1234# 100 100". */
struct wire_dtmf {
	char digits[WIRE_DIGITS_MAX + 1]; /* A to D as capitals */
	uint16_t duration_ms;             /* of each; default 100 */
	uint16_t gap_ms;                  /* between two; default 100 */
};

/* Argument of an `assert_dtmf` action: "1234# 5000". */
struct wire_dtmf_expect {
	char digits[WIRE_DIGITS_MAX + 1];
	bool has_wait;
	uint32_t wait_ms; /* the longest wait */
};

/** Parse the argument of a `dtmf` action. @return 0; -EINVAL */
int wire_dtmf_parse(const char *text, struct wire_dtmf *ret);
/** Parse the argument of an `assert_dtmf` action. @return 0; -EINVAL */
int wire_dtmf_expect_parse(const char *text, struct wire_dtmf_expect *ret);

#endif
