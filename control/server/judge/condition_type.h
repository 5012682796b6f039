/**
 * What a condition type is made of: the members of its entries with their
 * words, and how they are checked and judged.
 * Thread: any; constant.
 */
#ifndef OFFHOOK_SERVER_JUDGE_CONDITION_TYPE_H
#define OFFHOOK_SERVER_JUDGE_CONDITION_TYPE_H

#include <jansson.h>
#include <stdbool.h>

struct condition;

/* What is known of a condition while the run is in progress. */
enum condition_answer {
	ANSWER_OPEN,
	ANSWER_HOLDS,
	ANSWER_FAILS
};

struct condition_set;
struct judge_input;
struct judge_problem;

/* A figure's unit and range. */
struct condition_range {
	const char *unit; /* NULL: none */
	double min;
	double max;
};

/* A member of an entry. The words are for users. */
struct condition_field {
	const char *name; /* NULL: the end of the list */
	const char *word;
	const char *const *choices; /* NULL-terminated; NULL: none */
	const char *(*choice_at)(unsigned index); /* a list too long to write
						  * down; NULL: none */
	const char *fallback; /* choice that is meant without it; NULL: none */
	bool optional;        /* of a member without fallback */
	/* of numbers: by the choice of the member `range_by`; NULL: no number */
	struct condition_range (*range)(unsigned choice);
	const char *range_by;
	const char *only; /* "member choice ...": it goes with these only */
	const char *help; /* NULL: the words say all */
};

struct condition_type {
	const char *suffix; /* after "ROLE-" */
	const char *word;
	const char *scope; /* what a condition is about: "every call" */
	const char *help;  /* when it holds */
	const struct condition_field *fields; /* members of an entry */
	const char *const *options;           /* NULL-terminated */
	bool needs_messages;
	bool needs_points;
	/* True if the entry needs decoded audio; NULL: none does. */
	bool (*needs_audio)(const struct condition *c);
	/* True if the entry says which calls are to be established, in place of the
	 * built-in rule; NULL: none does. */
	bool (*replaces_calls)(const struct condition *c);
	/* NULL: conditions of the type cannot be judged. */
	int (*parse)(struct condition *c, struct judge_problem *problem);
	/* Whether the calls so far decide it, for the option stop_early; NULL: only the
	 * end of the run does. @return 0; -ENOMEM */
	int (*answer)(const struct judge_input *in, const struct condition *c,
		      enum condition_answer *ret);
	/* Adds one verdict. */
	int (*judge)(const struct judge_input *in, const struct condition *c,
		     json_t *verdicts);
	/* After the entries, for options; NULL: none. */
	int (*judge_set)(const struct judge_input *in,
			 const struct condition_set *set, json_t *verdicts);
};

/** Find the description of a member. @return NULL: there is none */
const struct condition_field *condition_field_find(
	const struct condition_type *type, const char *name);

/** Get condition type i. @return NULL: no more */
const struct condition_type *condition_type_at(size_t i);

#endif
