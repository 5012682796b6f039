/**
 * The judged runs of one unchanged test, and what they had: agents, peers,
 * software, codecs. Pure: no database, no clock, no log.
 * Thread: any; an object has one owner.
 */
#ifndef OFFHOOK_SERVER_FLAKINESS_FLAKY_HISTORY_H
#define OFFHOOK_SERVER_FLAKINESS_FLAKY_HISTORY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Runs of a history. */
#define FLAKY_RUNS_MAX 21

/* Values of one attribute and role in one run; with more of them it is taken as
 * not known of this run. */
#define FLAKY_VALUES_MAX 32

/* Bytes of a value, terminated; longer ones are cut. */
#define FLAKY_VALUE_BYTES 101

/* What runs may have in common, in the order in which equal ones are named. */
enum flaky_attribute {
	FLAKY_AGENT,
	FLAKY_SOFTWARE,
	FLAKY_PEER,
	FLAKY_CODEC,
	FLAKY_VALUED, /* those before have values; the hour follows from the
		       * start of a run */
	FLAKY_HOUR = FLAKY_VALUED,
	FLAKY_ATTRIBUTES
};

struct flaky_history;

int flaky_history_new(struct flaky_history **ret);
struct flaky_history *flaky_history_free(struct flaky_history *h);

/**
 * Add a run. Messages, calls and agents that are added next belong to it.
 * @param started_ms  since 1970, UTC
 * @return 0; -ENOSPC above FLAKY_RUNS_MAX
 */
int flaky_history_add_run(struct flaky_history *h, bool failed,
			  int64_t started_ms);

/**
 * Add what the current run had; a value that it has already is added once.
 * @param attribute  below FLAKY_VALUED
 * @param value      "": nothing is added
 * @return 0; -ENOMEM
 */
int flaky_history_add(struct flaky_history *h, enum flaky_attribute attribute,
		      const char *role, const char *value);

/** Add the peer and its software of a SIP message (docs/internals/wire.md, SIP
 * messages). @return 0; -ENOMEM */
int flaky_history_add_message(struct flaky_history *h, const char *role,
			      const json_t *message);

/** Add the codecs of a call (docs/internals/wire.md, `call`, the event).
 * @return 0; -ENOMEM */
int flaky_history_add_call(struct flaky_history *h, const char *role,
			   const json_t *event);

#endif
