/**
 * A condition type, one file each: how an entry of `conditions` is checked and
 * judged. condition.c has the table of types.
 */
#ifndef OFFHOOK_SERVER_JUDGE_CONDITION_H
#define OFFHOOK_SERVER_JUDGE_CONDITION_H

#include "control/server/judge/condition_type.h"
#include "control/server/judge/input.h"
#include "control/server/judge/judge_conditions.h"
#include "control/server/judge/verdict.h"

enum compare {
	COMPARE_GE,
	COMPARE_LE,
	COMPARE_GT,
	COMPARE_LT,
	COMPARE_EQ
};

/* The limit of `value`, and the operator. */
struct limit {
	enum compare compare;
	double value;
	unsigned decimals; /* of the limit as written: `eq` rounds to them */
};

struct condition_set;

/* One entry of `conditions`. Each type uses what it needs. */
struct condition {
	const struct condition_set *set;
	struct limit limit;
	bool negated; /* hasnot */
	enum ua_state state;
	bool outgoing;
	enum measure measure;
	unsigned via;      /* transport of digits; 0: any */
	unsigned choice;   /* the type's own: statistic, count, ... */
	double confidence; /* %, of condition_confidence, condition_regression */
	double margin;     /* of condition_regression */
	unsigned runs;     /* likewise */
	const json_t *item;
};

struct condition_set {
	const struct condition_type *type;
	const char *role;
	const char *name; /* "ROLE-..." */
	struct condition *conditions;
	size_t count;
	uint32_t options; /* bit per entry of type->options */
};

struct judge_conditions {
	json_t *kept;
	struct condition_set *sets;
	size_t count;
};

extern const struct condition_type condition_state;
extern const struct condition_type condition_pdd;
extern const struct condition_type condition_mos;
extern const struct condition_type condition_loss;
extern const struct condition_type condition_jitter;
extern const struct condition_type condition_rtt;
extern const struct condition_type condition_call_count;
extern const struct condition_type condition_register_time;
extern const struct condition_type condition_dtmf;
extern const struct condition_type condition_audio;
extern const struct condition_type condition_sip;
extern const struct condition_type condition_cli;
extern const struct condition_type condition_rtp;
extern const struct condition_type condition_transcription;
extern const struct condition_type condition_confidence;
extern const struct condition_type condition_regression;

/* What `type` may be beside a number, and directions; NULL-terminated. */
extern const char *const condition_compares[];
extern const char *const condition_directions[];
extern const char *const condition_statistics[];

/** Write what is wrong with a member of the entry. @return -EINVAL */
int condition_refuse(struct judge_problem *problem, const char *member,
		     const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** Parse `type` and `value` of an entry. @return 0; -EINVAL */
int limit_parse(struct limit *ret, const json_t *item, double min, double max,
		struct judge_problem *problem);

/** Parse a member that is one of the names. @return 0; -EINVAL */
int condition_choice(unsigned *ret, const struct condition *c,
		     const char *member, const char *const *names,
		     struct judge_problem *problem);

bool limit_holds(const struct limit *limit, double actual);

/* "at least 3.5"; unit "" or " ms". */
#define LIMIT_TEXT_BYTES 64
void limit_text(char text[static LIMIT_TEXT_BYTES], const struct limit *limit,
		const char *unit);
#define NUMBER_TEXT_BYTES 48
void number_text(char text[static NUMBER_TEXT_BYTES], double value,
		 const char *unit);

/* Figures of several calls against one limit: the worst miss and the range. */
struct tally {
	size_t subjects;
	size_t misses;
	double lowest;
	double highest;
	size_t figures;
	const char *miss_call;          /* first miss */
	char miss[JUDGE_REASON_BYTES];  /* its sentence without the role */
	char actual[NUMBER_TEXT_BYTES]; /* its figure; "": none */
	char held[NUMBER_TEXT_BYTES];   /* text instead of a figure */
	const char *label;              /* of the call looked at; NULL: none */
	char also[160];                 /* calls of the other misses */
	bool also_full;
};

/** Add a figure. @return true if it is within the limit */
bool tally_figure(struct tally *t, const struct limit *limit, double figure);

/** Count a miss; the first one's call, actual figure and sentence are kept. */
void tally_miss(struct tally *t, const char *call, const char *actual,
		const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/** Make the verdict of c. @param none  the sentence if there was nothing to
 * judge */
int tally_verdict(const struct tally *t, const struct condition *c,
		  const char *text, const char *expected, const char *unit,
		  const char *none, json_t *verdicts);

#endif
