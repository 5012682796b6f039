/**
 * Terminal output: one live line per second, then the final table. On a terminal
 * both fit its width, and 80 columns.
 */
#ifndef OFFHOOK_CONTROL_CLI_CALL_VIEW_H
#define OFFHOOK_CONTROL_CLI_CALL_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct view {
	FILE *out;
	bool terminal;    /* out is a terminal: it takes ANSI sequences */
	bool line_open;   /* a live line was printed without its line end */
	int64_t start_ns; /* of the first live line, 0: none yet */
	/* last known figures of the peer's RTCP reports: in, out */
	struct view_reported {
		double rtt_ms; /* < 0: unknown */
		double jitter_ms;
		double mos;
	} reported[2];
};

void view_init(struct view *v, FILE *out);
/** Print a `live` message as the live line. @param now_ns  monotonic */
void view_live(struct view *v, json_t *message, int64_t now_ns);
/** Print a `state`, `dtmf`, `assert` or `flaw` event as a line. */
void view_event(struct view *v, json_t *event);
/** Print a SIP message. */
void view_sip(struct view *v, json_t *message);
/** Print the table of a `call` event. */
void view_call(struct view *v, json_t *event);
/** Print the tester's own figures: an `evidence` event. */
void view_evidence(struct view *v, json_t *event);
/** Print a line below the live line. */
void view_line(struct view *v, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
