/**
 * How a call ended, out of its `call` event (docs/internals/wire.md).
 * Thread: any.
 */
#ifndef OFFHOOK_CONTROL_WIRE_CALL_END_H
#define OFFHOOK_CONTROL_WIRE_CALL_END_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/**
 * Whether a call ended by what the test asked for; docs/reference/conditions.md has the
 * table. An event without `expected_end` is of an older agent: its call did
 * unless its `end` is "failed".
 * @param event  a call event, borrowed
 */
bool wire_call_ended_as_asked(const json_t *event);

/**
 * The final answer of a call event in words: "486 Busy Here". Where it refuses
 * what our SDP offered (RFC 3261 21.4.13, 21.4.26, 21.6.4) the offer is named:
 * "488 Not Acceptable Here to an offer of PCMA with sdes-mandatory". What the
 * peer warned of follows: ", the peer warns: 305 no common codec".
 * @param text  empty where no answer from 300 ended the call
 */
void wire_call_refusal_text(char *text, size_t size, const json_t *event);

#endif
