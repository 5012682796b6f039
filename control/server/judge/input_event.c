/* One event of an agent into the records that conditions look at. */
#include "control/server/judge/input_internal.h"
#include "control/wire/event.h"
#include "control/wire/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int64_t integer_of(const json_t *object, const char *member)
{
	return json_integer_value(json_object_get(object, member));
}

static bool number_of(double *ret, const json_t *object, const char *member)
{
	const json_t *value = json_object_get(object, member);

	if (!json_is_number(value))
		return false;
	*ret = json_number_value(value);
	return true;
}

static void distribution_of(struct distribution *d, const json_t *object)
{
	*d = (struct distribution){0};
	if (!json_is_object(object))
		return;
	if (!number_of(&d->min, object, "min") ||
	    !number_of(&d->max, object, "max") ||
	    !number_of(&d->avg, object, "avg") ||
	    !number_of(&d->median, object, "median") ||
	    !number_of(&d->p75, object, "p75") ||
	    !number_of(&d->p90, object, "p90") ||
	    !number_of(&d->p95, object, "p95") ||
	    !number_of(&d->stddev, object, "stddev"))
		return;
	if (integer_of(object, "n") > 0)
		d->n = (uint64_t)integer_of(object, "n");
}

static void stream_of(struct stream_record *s, const json_t *object)
{
	s->outgoing = strcmp(text_of(object, "dir"), "out") == 0;
	s->codec = text_of(object, "codec");
	s->has_mos = number_of(&s->mos, object, "mos_total");
	s->no_score = json_string_value(json_object_get(object, "no_score"));
	s->has_loss = number_of(&s->loss_pct, object, "loss_pct");
	s->audio = json_object_get(object, "audio");
	distribution_of(&s->jitter_ms, json_object_get(object, "jitter_ms"));
	distribution_of(&s->rtt_ms, json_object_get(object, "rtt_ms"));
}

static int add_call(struct judge_input *in, const char *role,
		    const json_t *event)
{
	const json_t *streams = json_object_get(event, "streams");
	size_t count = json_array_size(streams);
	struct stream_record *records = NULL;
	struct call_record *call;
	int err = 0;

	if (!text_of(event, "call")[0])
		return -EINVAL;
	if (count) {
		records = calloc(count, sizeof(*records));
		if (!records)
			return -ENOMEM;
	}
	call = records_add(&in->calls, sizeof(*call), &err);
	if (!call) {
		free(records);
		return err;
	}
	for (size_t i = 0; i < count; i++)
		stream_of(&records[i], json_array_get(streams, i));
	call->role = role;
	call->name = text_of(event, "call");
	call->account = text_of(event, "account");
	call->peer = text_of(event, "peer");
	call->call_id = json_string_value(json_object_get(event, "call_id"));
	call->finished = true;
	call->outgoing = strcmp(text_of(event, "direction"), "out") == 0;
	call->serves_other = text_of(event, "placed_for")[0];
	call->established = json_is_true(json_object_get(event, "established"));
	call->has_pdd = number_of(&call->pdd_ms, event, "pdd_ms");
	call->code = (int)integer_of(event, "code");
	call->reason = text_of(event, "reason");
	call->end = text_of(event, "end");
	call->ended_as_asked = wire_call_ended_as_asked(event);
	call->event = event;
	call->streams = records;
	call->stream_count = count;
	return 0;
}

static int add_state(struct judge_input *in, const char *role,
		     const json_t *event)
{
	struct state_record *record;
	enum ua_state state;
	const char *call = text_of(event, "call");
	int err = 0;

	if (!ua_state_parse(text_of(event, "state"), &state))
		return 0; /* of a newer agent: no condition can name it */
	record = records_add(&in->states, sizeof(*record), &err);
	if (!record)
		return err;
	record->role = role;
	record->account = text_of(event, "account");
	record->call = call[0] ? call : NULL;
	record->state = state;
	record->mono_ns = integer_of(event, "mono");
	record->order = in->states.count;
	return 0;
}

static int add_register(struct judge_input *in, const char *role,
			const json_t *event)
{
	struct account_record *account;
	double ms;
	int err = 0;

	account = records_add(&in->accounts, sizeof(*account), &err);
	if (!account)
		return err;
	account->role = role;
	account->name = text_of(event, "account");
	account->attempts = 1;
	account->reason = "";
	if (!json_is_true(json_object_get(event, "ok"))) {
		account->failures = 1;
		account->code = (int)integer_of(event, "code");
		account->reason = text_of(event, "reason");
	} else if (number_of(&ms, event, "ms")) {
		account->has_ms = true;
		account->worst_ms = ms;
	}
	return 0;
}

static int add_assert(struct judge_input *in, const char *role,
		      const json_t *event)
{
	struct assert_record *record;
	int err = 0;

	record = records_add(&in->asserts, sizeof(*record), &err);
	if (!record)
		return err;
	record->role = role;
	record->call = text_of(event, "call");
	record->action = text_of(event, "action");
	record->argument = text_of(event, "argument");
	record->text = text_of(event, "text");
	return 0;
}

static int add_dtmf(struct judge_input *in, const char *role,
		    const json_t *event)
{
	struct dtmf_record *record;
	int err = 0;

	record = records_add(&in->digits, sizeof(*record), &err);
	if (!record)
		return err;
	record->role = role;
	record->call = text_of(event, "call");
	record->outgoing = strcmp(text_of(event, "direction"), "out") == 0;
	record->digit = text_of(event, "digit")[0];
	record->via = text_of(event, "via");
	record->has_ms = number_of(&record->ms, event, "ms");
	record->mono_ns = integer_of(event, "mono");
	record->order = in->digits.count;
	return 0;
}

static int add_flaw(struct judge_input *in, const char *role, const char *name,
		    int64_t count, const char *text)
{
	struct flaw_record *record;
	int err = 0;

	record = records_add(&in->flaws, sizeof(*record), &err);
	if (!record)
		return err;
	record->role = role;
	record->name = name;
	record->count = count;
	record->text = text;
	return 0;
}

/* Packets that the tester's own side lost make every figure untrue. */
static int add_evidence(struct judge_input *in, const char *role,
			const json_t *event)
{
	struct role_record *record = judge_input_role(in, role);
	int64_t queue = integer_of(event, "receive_queue_drops");
	int64_t ring = integer_of(event, "ring_drops");
	int err = 0;

	if (record)
		record->has_evidence = true;
	if (queue > 0)
		err = add_flaw(in, role, "receive_queue_drops", queue,
			       "packets were dropped in the agent's receive "
			       "queue");
	if (!err && ring > 0)
		err = add_flaw(in, role, "ring_drops", ring,
			       "packets were received but not measured, the "
			       "agent was too busy");
	return err;
}

int judge_input_add_event(struct judge_input *in, const char *role,
			  json_t *event)
{
	const char *kind;

	if (!json_is_object(event))
		return -EINVAL;
	role = judge_input_keep(in, role, event);
	if (!role)
		return -ENOMEM;
	kind = text_of(event, "kind");
	if (strcmp(kind, "state") == 0)
		return add_state(in, role, event);
	if (strcmp(kind, "register") == 0)
		return add_register(in, role, event);
	if (strcmp(kind, "call") == 0)
		return add_call(in, role, event);
	if (strcmp(kind, "dtmf") == 0)
		return add_dtmf(in, role, event);
	if (strcmp(kind, "assert") == 0)
		return add_assert(in, role, event);
	if (strcmp(kind, "evidence") == 0)
		return add_evidence(in, role, event);
	if (strcmp(kind, "flaw") == 0)
		return add_flaw(in, role, text_of(event, "name"),
				integer_of(event, "count"),
				text_of(event, "text"));
	return 0;
}
