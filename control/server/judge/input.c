#include "control/server/judge/input.h"

#include "control/wire/call_end.h"
#include "control/wire/text.h"

#include <errno.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/* ---- growing arrays ---- */

void *records_add(struct records *r, size_t item_bytes, int *err)
{
	void *item;

	if (r->count >= JUDGE_RECORDS_MAX) {
		*err = -EMSGSIZE;
		return NULL;
	}
	if (r->count == r->allocated) {
		size_t more = r->allocated ? r->allocated * 2 : 16;
		void *items = reallocarray(r->items, more, item_bytes);

		if (!items) {
			*err = -ENOMEM;
			return NULL;
		}
		r->items = items;
		r->allocated = more;
	}
	item = (char *)r->items + r->count * item_bytes;
	memset(item, 0, item_bytes);
	r->count++;
	return item;
}

/* ---- the input of a run ---- */

int judge_input_new(struct judge_input **ret)
{
	struct judge_input *in = calloc(1, sizeof(*in));

	if (!in)
		return -ENOMEM;
	in->kept = json_array();
	if (!in->kept) {
		free(in);
		return -ENOMEM;
	}
	*ret = in;
	return 0;
}

struct judge_input *judge_input_free(struct judge_input *in)
{
	struct call_record *calls;
	struct message_record *messages;
	struct judge_point *points;

	if (!in)
		return NULL;
	calls = in->calls.items;
	for (size_t i = 0; i < in->calls.count; i++)
		free(calls[i].streams);
	messages = in->messages.items;
	for (size_t i = 0; i < in->messages.count; i++)
		free(messages[i].decoded);
	points = in->points.items;
	for (size_t i = 0; i < in->points.count; i++)
		json_decref(points[i].sketch);
	free(in->states.items);
	free(in->calls.items);
	free(in->accounts.items);
	free(in->asserts.items);
	free(in->sipps.items);
	free(in->digits.items);
	free(in->flaws.items);
	free(in->roles.items);
	free(in->messages.items);
	free(in->points.items);
	for (size_t i = 0; i < in->earlier_count; i++)
		free(in->earlier[i].items);
	json_decref(in->kept);
	free(in);
	return NULL;
}

/* Keep an object, borrowed, for the input's life. @return its own text of the
 * role; NULL out of memory */
static const char *keep_object(struct judge_input *in, const char *role,
			       json_t *object)
{
	json_t *name = json_string(role);

	/* Keep an object for the input's life; takes a reference of its own. */
	if (!name || json_array_append_new(in->kept, name) ||
	    json_array_append(in->kept, object))
		return NULL;
	return json_string_value(name);
}

/* @return NULL: the run has no such role */
static struct role_record *find_role(struct judge_input *in, const char *role)
{
	struct role_record *roles = in->roles.items;

	for (size_t i = 0; i < in->roles.count; i++)
		if (strcmp(roles[i].role, role) == 0)
			return &roles[i];
	return NULL;
}

/* Decode a message that was sent as base64 because it is not UTF-8. A 0 in it
 * would end the text. */
static int decode(struct message_record *record)
{
	size_t len = strlen(record->data), used;

	record->decoded = malloc(len + 1);
	if (!record->decoded)
		return -ENOMEM;
	if (sodium_base642bin((unsigned char *)record->decoded, len,
			      record->data, len, "\r\n", &used, NULL,
			      sodium_base64_VARIANT_ORIGINAL))
		used = 0;
	for (size_t i = 0; i < used; i++)
		if (!record->decoded[i])
			record->decoded[i] = '?';
	record->decoded[used] = '\0';
	record->data = record->decoded;
	return 0;
}

int judge_input_add_message(struct judge_input *in, const char *role,
			    json_t *message)
{
	struct message_record *record;
	int err = 0;

	if (!json_is_object(message))
		return -EINVAL;
	role = keep_object(in, role, message);
	if (!role)
		return -ENOMEM;
	record = records_add(&in->messages, sizeof(*record), &err);
	if (!record)
		return err;
	record->role = role;
	record->sent = strcmp(text_of(message, "dir"), "sent") == 0;
	record->mono_ns = json_integer_value(json_object_get(message, "mono"));
	record->order = in->messages.count;
	record->peer = text_of(message, "peer");
	record->data = text_of(message, "data");
	if (text_of(message, "encoding")[0])
		err = decode(record);
	if (err || !sip_header(record->data, "Call-ID", 0, &record->call_id))
		record->call_id = (struct sip_part){"", 0};
	return err;
}

int judge_input_add_point(struct judge_input *in,
			  const struct judge_point *point)
{
	struct judge_point *record;
	json_t *name;
	int err = 0;

	name = json_string(point->role);
	if (!name || json_array_append_new(in->kept, name))
		return -ENOMEM;
	record = records_add(&in->points, sizeof(*record), &err);
	if (!record)
		return err;
	*record = *point;
	record->role = json_string_value(name);
	record->sketch = json_incref(point->sketch);
	return 0;
}

static int add_accounts(struct judge_input *in, const struct role_record *role,
			const json_t *action)
{
	const json_t *credentials = json_object_get(action, "credentials");
	const json_t *credential;
	size_t i;

	json_array_foreach(credentials, i, credential)
	{
		struct account_record *account;
		int err = 0;

		account = records_add(&in->accounts, sizeof(*account), &err);
		if (!account)
			return err;
		account->role = role->role;
		account->name = text_of(credential, "username");
		account->shard = (uint32_t)(i % role->shards);
		account->reason = "";
	}
	return 0;
}

static void expect_calls(struct role_record *record, uint32_t count)
{
	record->expected_calls += count;
	for (uint32_t k = 0; k < record->shards; k++) {
		const struct wire_share share = {k, record->shards};

		record->shard_calls[k] += wire_share_count(&share, count);
	}
}

static int add_action(struct judge_input *in, struct role_record *record,
		      const json_t *action)
{
	const char *type = text_of(action, "type");
	const json_t *calls = json_object_get(action, "max_total_calls");

	/* SIPp judges its own scenario, whatever calls that has, and reports how it
	 * ended (judge_sipps() of judge.c) */
	if (strcmp(text_of(action, "client"), "sipp") == 0)
		return 0;
	if (strcmp(type, "call") == 0 || strcmp(type, "stream") == 0) {
		int64_t count = json_integer_value(calls);

		record->places_calls = true;
		/* Default of docs/internals/wire.md: one call. */
		expect_calls(record, count > 0 && count < UINT32_MAX
					     ? (uint32_t)count
					     : 1);
	} else if (strcmp(type, "answer") == 0) {
		record->answers = true;
	} else if (strcmp(type, "register") == 0) {
		record->registers = true;
		return add_accounts(in, record, action);
	}
	return 0;
}

int judge_input_add_spec(struct judge_input *in, json_t *spec)
{
	const json_t *steps = json_object_get(spec, "steps");
	struct role_record *record;
	const json_t *step, *action;
	const char *role = text_of(spec, "role");
	struct wire_share share;
	size_t s, a;
	int err = 0;

	if (!role[0] || !json_is_array(steps) ||
	    wire_share_decode(&share, json_object_get(spec, "share"),
			      WIRE_SHARDS_MAX))
		return -EINVAL;
	role = keep_object(in, role, spec);
	if (!role)
		return -ENOMEM;
	record = find_role(in, role);
	if (!record) {
		record = records_add(&in->roles, sizeof(*record), &err);
		if (!record)
			return err;
		record->role = role;
		record->shards = share.of;
	}
	json_array_foreach(steps, s, step)
	{
		json_array_foreach(step, a, action)
		{
			err = add_action(in, record, action);
			if (err)
				return err;
		}
	}
	return 0;
}

int judge_input_leave_out(struct judge_input *in, const char *role,
			  int64_t shard)
{
	struct account_record *accounts = in->accounts.items;
	struct role_record *record = find_role(in, role);
	size_t kept = 0;

	if (!record || shard < 0 || shard >= record->shards)
		return -EINVAL;
	for (size_t i = 0; i < in->accounts.count; i++) {
		if (accounts[i].role == record->role &&
		    accounts[i].shard == shard)
			continue;
		accounts[kept++] = accounts[i];
	}
	in->accounts.count = kept;
	record->expected_calls -= record->shard_calls[shard];
	record->shard_calls[shard] = 0;
	record->shards_done |= 1u << shard;
	return 0;
}

/* ---- convert an agent's event to the records of conditions ---- */

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

/* Fill a record from a `call` event; strings are borrowed from it. @return 0; -EINVAL; -ENOMEM */
static int call_of(struct call_record *call, const char *role,
		   const json_t *event)
{
	const json_t *streams = json_object_get(event, "streams");
	size_t count = json_array_size(streams);
	struct stream_record *records = NULL;

	if (!text_of(event, "call")[0])
		return -EINVAL;
	if (count) {
		records = calloc(count, sizeof(*records));
		if (!records)
			return -ENOMEM;
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

static int add_call(struct judge_input *in, const char *role,
		    const json_t *event)
{
	struct call_record call = {.role = NULL}, *record;
	int err = call_of(&call, role, event);

	if (err)
		return err;
	record = records_add(&in->calls, sizeof(*record), &err);
	if (record)
		*record = call;
	else
		free(call.streams);
	return err;
}

/* The worst received stream. A call without a figure is as bad as can be. */
static double worst(const struct call_record *call, bool of_loss)
{
	double found = of_loss ? 0 : 5;
	size_t streams = 0;

	for (size_t i = 0; i < call->stream_count; i++) {
		const struct stream_record *s = &call->streams[i];

		if (s->outgoing)
			continue;
		streams++;
		if (of_loss)
			found = fmax(found, s->has_loss ? s->loss_pct : 100);
		else
			found = fmin(found, s->has_mos ? s->mos : 1);
	}
	if (!streams)
		return of_loss ? 100 : 1;
	return found;
}

void call_values_of(struct call_values *ret, const struct call_record *call)
{
	*ret = (struct call_values){
		.established = call->established,
		.outgoing = call->outgoing,
		.has_pdd = call->has_pdd,
		.pdd_ms = call->pdd_ms,
		.mos = worst(call, false),
		.loss_pct = fmin(worst(call, true), 100),
	};
}

void judge_input_ended_early(struct judge_input *in)
{
	in->ended_early = true;
}

int judge_input_next_earlier(struct judge_input *in)
{
	if (in->earlier_count == JUDGE_EARLIER_MAX)
		return -EMSGSIZE;
	in->earlier_count++;
	return 0;
}

int judge_input_add_earlier(struct judge_input *in, const char *role,
			    const json_t *event)
{
	const struct role_record *known = find_role(in, role);
	struct call_record call = {.role = NULL};
	struct earlier_call *record;
	int err = 0;

	if (!known || !in->earlier_count)
		return 0;
	err = call_of(&call, known->role, event);
	if (err)
		return err == -EINVAL ? 0 : err;
	record = records_add(&in->earlier[in->earlier_count - 1],
			     sizeof(*record), &err);
	if (record) {
		record->role = known->role;
		call_values_of(&record->values, &call);
	}
	free(call.streams);
	return err;
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

static int add_sipp(struct judge_input *in, const char *role,
		    const json_t *event)
{
	const char *error = json_string_value(
		json_array_get(json_object_get(event, "errors"), 0));
	struct sipp_record *record;
	int err = 0;

	record = records_add(&in->sipps, sizeof(*record), &err);
	if (!record)
		return err;
	record->role = role;
	record->scenario = text_of(event, "scenario");
	record->ok = json_is_true(json_object_get(event, "ok"));
	record->end = text_of(event, "end");
	record->error = error ? error : "";
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

/* Each engine of a shard vouches for its own calls only (docs/internals/wire.md). */
static void evidence_came(struct role_record *record, const json_t *event)
{
	int64_t engine = integer_of(event, "engine");
	int64_t engines = integer_of(event, "engines");
	int64_t shard = integer_of(event, "shard");

	if (shard < 1 || shard > record->shards)
		shard = 1;
	if (engines < 1 || engines > WIRE_ENGINES_MAX || engine < 1 ||
	    engine > engines)
		engine = engines = 1;
	record->evidence[shard - 1] |= 1u << (engine - 1);
	if (record->evidence[shard - 1] == (1u << engines) - 1)
		record->shards_done |= 1u << (shard - 1);
}

bool role_has_evidence(const struct role_record *record)
{
	return record->shards_done == (1u << record->shards) - 1;
}

/* Packets that the tester itself lost make every measurement invalid. */
static int add_evidence(struct judge_input *in, const char *role,
			const json_t *event)
{
	struct role_record *record = find_role(in, role);
	int64_t queue = integer_of(event, "receive_queue_drops");
	int64_t ring = integer_of(event, "ring_drops");
	int err = 0;

	if (record)
		evidence_came(record, event);
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
	role = keep_object(in, role, event);
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
	if (strcmp(kind, "sipp") == 0)
		return add_sipp(in, role, event);
	if (strcmp(kind, "evidence") == 0)
		return add_evidence(in, role, event);
	if (strcmp(kind, "flaw") == 0)
		return add_flaw(in, role, text_of(event, "name"),
				integer_of(event, "count"),
				text_of(event, "text"));
	return 0;
}
