/**
 * What a run produced, for the judge.
 * Thread: any; an object has one owner.
 */
#ifndef OFFHOOK_SERVER_JUDGE_JUDGE_INPUT_H
#define OFFHOOK_SERVER_JUDGE_JUDGE_INPUT_H

#include "control/wire/measure.h"
#include "media/analysis/summary.h"

#include <jansson.h>
#include <stdbool.h>

/* Limits of one run; above them the functions return -EMSGSIZE. */
#define JUDGE_RECORDS_MAX 4000000u /* of each kind of record */

/** What a run produced, collected record by record. */
struct judge_input;

int judge_input_new(struct judge_input **ret);
struct judge_input *judge_input_free(struct judge_input *in);

/**
 * Add the spec of a role (docs/internals/wire.md), passwords not needed. All
 * specs are added before the first event.
 * @return 0; -EINVAL not a spec; -ENOMEM; -EMSGSIZE
 */
int judge_input_add_spec(struct judge_input *in, json_t *spec);

/**
 * Leave a shard of a role out: it was lost, and the run went on without it. Its calls and
 * accounts are not expected. After the specs, before the first event; the caller adds no
 * event, message or point of it.
 * @param shard  from 0
 * @return 0; -EINVAL the role has no such shard
 */
int judge_input_leave_out(struct judge_input *in, const char *role,
			  int64_t shard);

/**
 * Add an event (docs/internals/wire.md, Events). Unknown kinds are ignored.
 * @param event  borrowed and kept referenced
 * @return 0; -EINVAL; -ENOMEM; -EMSGSIZE
 */
int judge_input_add_event(struct judge_input *in, const char *role,
			  json_t *event);

/** Add a SIP message (docs/internals/wire.md, SIP messages). @return as add_event */
int judge_input_add_message(struct judge_input *in, const char *role,
			    json_t *message);

/** One interval of one measure. */
struct judge_point {
	const char *role; /* copied */
	bool outgoing;
	enum measure measure;
	struct distribution d;
	json_t *sketch; /* NULL: none; kept referenced */
};

int judge_input_add_point(struct judge_input *in,
			  const struct judge_point *point);

/* Earlier runs that a condition may compare with. */
#define JUDGE_EARLIER_MAX 20u

/** The run was ended before all its calls were placed, as they were enough. */
void judge_input_ended_early(struct judge_input *in);

/** Begin the next earlier run, the newest one first. @return 0; -EMSGSIZE */
int judge_input_next_earlier(struct judge_input *in);

/**
 * Add a `call` event of the earlier run that was begun last. Calls of roles that this run has not
 * are left out.
 * @param event  borrowed
 * @return 0; -ENOMEM; -EMSGSIZE
 */
int judge_input_add_earlier(struct judge_input *in, const char *role,
			    const json_t *event);

#endif
