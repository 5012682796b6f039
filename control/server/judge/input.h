/**
 * The judge's view of a run: records in the order received, and, after
 * judge_input_link(), calls and accounts with their states. Strings are
 * borrowed from the JSON that the input keeps.
 */
#ifndef OFFHOOK_SERVER_JUDGE_INPUT_H
#define OFFHOOK_SERVER_JUDGE_INPUT_H

#include "base/state.h"
#include "control/server/judge/judge_input.h"
#include "control/server/judge/sip_text.h"
#include "control/wire/share.h"

#include <stddef.h>
#include <stdint.h>

struct state_record {
	const char *role;
	const char *account;
	const char *call; /* NULL: a state of the account */
	enum ua_state state;
	int64_t mono_ns; /* clock of the role's machine */
	size_t order;    /* of arrival, for equal times */
};

struct stream_record {
	bool outgoing;
	const char *codec; /* "" unknown */
	bool has_mos;
	double mos;
	const char *no_score; /* NULL: not given */
	bool has_loss;
	double loss_pct;
	const json_t *audio;           /* NULL: not decoded */
	struct distribution jitter_ms; /* n 0: unknown */
	struct distribution rtt_ms;
};

struct dtmf_record {
	const char *role;
	const char *call;
	bool outgoing;
	char digit;
	const char *via; /* "" unknown */
	bool has_ms;
	double ms;
	int64_t mono_ns;
	size_t order;
};

struct call_record {
	const char *role;
	const char *name;
	const char *account; /* "" unknown */
	const char *peer;    /* "" unknown */
	const char *call_id; /* NULL unknown */
	bool finished;       /* its `call` event was received */
	bool outgoing;
	bool serves_other; /* placed for a transfer (REFER) of another call */
	bool established;
	bool has_pdd;
	double pdd_ms;
	int code; /* 0: none */
	const char *reason;
	const char *end;
	/* docs/reference/conditions.md; false without a `call` event */
	bool ended_as_asked;
	const json_t *event; /* the `call` event; NULL: none came */
	struct stream_record *streams;
	size_t stream_count;
	uint64_t reached;                  /* bit per enum ua_state */
	const struct state_record *states; /* by time */
	size_t state_count;
	const struct dtmf_record *digits; /* by time */
	size_t digit_count;
};

/* What figures of many calls need of a call (call_figure.h). */
struct call_values {
	bool established;
	bool outgoing;
	bool has_pdd;
	double pdd_ms;
	double mos;      /* of the worst received stream; 1: none */
	double loss_pct; /* likewise; 100: none */
};

void call_values_of(struct call_values *ret, const struct call_record *call);

/* A call of an earlier run. */
struct earlier_call {
	const char *role; /* of a role_record */
	struct call_values values;
};

struct account_record {
	const char *role;
	const char *name;
	uint32_t shard;    /* that has it, from 0; of a spec */
	unsigned attempts; /* register events */
	unsigned failures;
	bool has_ms;
	double worst_ms; /* slowest successful registration */
	int code;        /* of the last failure; 0: no answer */
	const char *reason;
	uint64_t reached;
	const struct state_record *states;
	size_t state_count;
};

struct assert_record {
	const char *role;
	const char *call;
	const char *action;
	const char *argument;
	const char *text;
};

/* A SIPp that has ended. */
struct sipp_record {
	const char *role;
	const char *scenario;
	bool ok;
	const char *end;
	const char *error; /* the first sentence of its error log; "" */
};

struct flaw_record {
	const char *role;
	const char *name;
	int64_t count;
	const char *text;
};

struct role_record {
	const char *role;
	uint64_t expected_calls; /* of the shards that are not left out */
	uint64_t shard_calls[WIRE_SHARDS_MAX];
	bool places_calls;
	bool answers;
	bool registers;
	uint32_t shards; /* 1 to WIRE_SHARDS_MAX */
	/* of the engines of a shard: a bit for each that came */
	unsigned evidence[WIRE_SHARDS_MAX];
	/* a bit for each that has all its evidence, or that is left out */
	unsigned shards_done;
};

struct message_record {
	const char *role;
	bool sent;
	int64_t mono_ns;
	size_t order;
	const char *peer;
	const char *data;
	struct sip_part call_id; /* in data; empty without one */
	char *decoded;           /* owned: data, where it came as base64 */
};

/* A growing array; items move when it grows. */
struct records {
	void *items;
	size_t count;
	size_t allocated;
};

struct judge_input {
	bool in_progress; /* calls without a `call` event may still end */
	bool ended_early;
	json_t *kept; /* array: what the strings are borrowed from */
	struct records states;
	struct records calls;    /* linked: by role, name */
	struct records accounts; /* linked: by role, name */
	struct records asserts;
	struct records sipps;
	struct records digits;
	struct records flaws;
	struct records roles;
	struct records messages; /* linked: by role, Call-ID, time */
	struct records points;
	struct records earlier[JUDGE_EARLIER_MAX]; /* calls of a run each */
	size_t earlier_count;
};

/** Append a zeroed item. @return the item; NULL: out of memory, or the ceiling
 * is reached (*err) */
void *records_add(struct records *r, size_t item_bytes, int *err);

/** Sort the records and assign states to calls and accounts. @return 0;
 * -ENOMEM; -EMSGSIZE */
int judge_input_link(struct judge_input *in);

/** Whether all engines of all its shards have told that they were not at fault. */
bool role_has_evidence(const struct role_record *record);

/* Messages of one dialog (one Call-ID), in the order of time. */
struct message_span {
	const struct message_record *first;
	size_t count;
};

/** Find the messages of a role's dialog; count 0: none. Linked input only. */
struct message_span judge_dialog(const struct judge_input *in, const char *role,
				 const char *call_id);
/** Find the position of a role's first message; without messages, the position
 * where they would be. Linked input only. */
size_t judge_role_messages(const struct judge_input *in, const char *role);
/** Get the dialog that begins at a position; count 0: another role's message,
 * or the end. */
struct message_span judge_dialog_at(const struct judge_input *in,
				    const char *role, size_t at);

#define RECORDS(in, kind, type) ((const struct type *)(in)->kind.items)

#endif
