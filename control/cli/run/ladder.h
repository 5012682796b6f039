/**
 * The SIP messages of a run as ladders of text: one for each dialog, and one for
 * all dialogs that had the same messages. Pure. Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_RUN_LADDER_H
#define OFFHOOK_CONTROL_CLI_RUN_LADDER_H

#include <jansson.h>
#include <stdio.h>

/**
 * Group messages by Call-ID, and fold dialogs with the same messages between the
 * same sides.
 * @param messages  array {t_ms, role, dir, peer, line, text} in order of time, as
 *                  of GET /run/details/SESSION/data; may be hostile
 * @return new array of {call_id, dialogs, messages: [{t_ms, from, to, label}],
 *         signature}: dialogs counts those alike, the rest is of the first one;
 *         NULL: out of memory
 */
json_t *ladder_fold(const json_t *messages);

/**
 * Print ladders: a column for each address, ours under its role, and times in ms
 * since the first message of the run.
 * @param folded  of ladder_fold()
 * @param width   of the terminal; 0: as wide as needed
 */
void ladder_print(FILE *out, const json_t *folded, size_t width);

#endif
