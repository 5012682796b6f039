/**
 * What the user sees: a live line a second, the final table.
 */
#ifndef OFFHOOK_CONTROL_CLI_VIEW_H
#define OFFHOOK_CONTROL_CLI_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct view {
	FILE *out;
	bool terminal;    /* out understands ANSI sequences */
	bool line_open;   /* a live line stands there, not ended */
	int64_t start_ns; /* of the first live line, 0: none yet */
	/* what comes with the peer's reports, in and out: last known */
	struct view_reported {
		double rtt_ms; /* < 0: unknown */
		double jitter_ms;
		double mos;
	} reported[2];
};

void view_init(struct view *v, FILE *out);
/** A `live` message. */
void view_live(struct view *v, json_t *message, int64_t now_ns);
/** A `state`, `dtmf`, `assert` or `flaw` event as a line. */
void view_event(struct view *v, json_t *event);
/** A SIP message. */
void view_sip(struct view *v, json_t *message);
/** The table of a `call` event. */
void view_call(struct view *v, json_t *event);
/** The tester's own figures: an `evidence` event. */
void view_evidence(struct view *v, json_t *event);
/** A line of its own. */
void view_line(struct view *v, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
