/**
 * What the engines report, as lines for a person at a terminal
 * (offhook-agent --verbose).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_AGENT_SUPERVISOR_TERMINAL_H
#define OFFHOOK_AGENT_SUPERVISOR_TERMINAL_H

#include <jansson.h>

/**
 * Print a message of an engine on standard output: registrations, states and ends of
 * calls, first lines of SIP messages, figures, the outcome. What a peer sent is printed
 * without control characters.
 * @param role     of the job
 * @param message  docs/internals/wire.md, "Supervisor and engine"; borrowed
 */
void terminal_show(const char *role, json_t *message);

#endif
