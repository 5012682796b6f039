/**
 * Masks what a public report must not show (docs/reference/report.md): digits
 * that were sent and received, which may be a PIN, in events and sentences.
 * Pure; thread: any.
 */
#ifndef OFFHOOK_SERVER_REPORT_PUBLIC_H
#define OFFHOOK_SERVER_REPORT_PUBLIC_H

#include <jansson.h>

struct buf;

#define PUBLIC_MASK "\xe2\x80\xa2" /* U+2022, a bullet, for each digit */

/**
 * Append a sentence of the judge's, or several with "; " between, with the
 * digits of its DTMF conditions, actions and states masked.
 * @param text  untouched; any bytes
 * @return 0; -ENOMEM; -EMSGSIZE
 */
int public_sentence(struct buf *out, const char *text);

/**
 * Mask a report as report_data() collects it, in place.
 * @return 0; -ENOMEM (the report must not be shown)
 */
int public_mask(json_t *report);

#endif
