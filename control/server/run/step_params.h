/**
 * The parameters of actions: what the server accepts, and how they are named
 * and explained to users. docs/reference/parameters.md has the same table.
 * Thread: any; constant.
 */
#ifndef OFFHOOK_CONTROL_SERVER_RUN_STEP_PARAMS_H
#define OFFHOOK_CONTROL_SERVER_RUN_STEP_PARAMS_H

#include <stdbool.h>
#include <stddef.h>

/** A parameter of an action. */
struct step_param {
	const char *name;
	const char *type;     /* integer number string boolean array */
	const char *fallback; /* JSON text of the default; NULL: none */
	const char *actions;  /* types that have it, separated by blanks */

	/* for users; not of parameters that only override a start */
	const char *group;    /* heading above it */
	const char *word;     /* its name in words */
	const char *unit;     /* NULL: none */
	const char *choices;  /* separated by blanks; NULL: any value. Of an
			      * array: the choices of its entries */
	const char *records;  /* kind of record it names, as in a path of the
			      * API; NULL: none */
	const char *required; /* types that it is required of; NULL: none */
	const char *help;     /* one sentence; code within backticks */
	bool ranged;          /* min and max hold */
	double min;
	double max;
};

/** Get parameter i. @return constant; NULL: no more */
const struct step_param *step_param_at(size_t i);

/** Find a parameter of an action type. @return constant; NULL: none */
const struct step_param *step_param_find(const char *action_type,
					 const char *name);

/** True for an action type that has parameters. */
bool step_type_known(const char *action_type);

/** What a job has in the place of a pool: "credentials" for
 * "credential_pool". @return NULL: the parameter names no pool */
const char *step_pool_member(const char *name);

/** Get the pool parameter of a job's member: "credential_pool" for
 * "credentials". @return NULL: no pool has this member */
const char *step_pool_param(const char *as);

#endif
