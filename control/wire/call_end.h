/**
 * How a call ended, read from its `call` event (docs/internals/wire.md).
 * Thread: any.
 */
#ifndef OFFHOOK_CONTROL_WIRE_CALL_END_H
#define OFFHOOK_CONTROL_WIRE_CALL_END_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/**
 * True if a call ended in the way that the test asked for (table in
 * docs/reference/conditions.md). An event of an older agent has no
 * `expected_end`: then true unless `end` is "failed".
 * @param event  a call event, borrowed
 */
bool wire_call_ended_as_asked(const json_t *event);

/**
 * Write the final response of a call event in words: "486 Busy Here". If it
 * refuses our SDP offer (RFC 3261 21.4.13, 21.4.26, 21.6.4) the text names the
 * offer: "488 Not Acceptable Here to an offer of PCMA with sdes-mandatory". The
 * Warning header field of the response follows: ", the peer warns: 305 no
 * common codec".
 * @param text   empty if no final response of 300 or above ended the call
 * @param event  a call event, borrowed
 */
void wire_call_refusal_text(char *text, size_t size, const json_t *event);

#endif
