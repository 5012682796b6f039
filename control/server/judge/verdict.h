/**
 * A verdict as an entry of the array `verdicts` (docs/reference/conditions.md), and how a call
 * ended, for its sentence.
 * Thread: any.
 */
#ifndef OFFHOOK_SERVER_JUDGE_VERDICT_H
#define OFFHOOK_SERVER_JUDGE_VERDICT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct call_record;

struct verdict {
	const char *role;
	const char *condition_type;
	const char *text;
	bool passed;
	bool undecided; /* not passed, and not failed: too few calls to tell */
	bool built_in;
	const char *expected;
	const char *actual;   /* "": nothing to compare */
	const char *call;     /* NULL: about no single call */
	const char *sentence; /* when failed or undecided */
};

/** Append a verdict. @return 0; -ENOMEM */
int verdict_add(json_t *verdicts, const struct verdict *v);

/** True if a call of the role failed: it was not established, or did not end as
 * the test asked for. */
bool call_failed(const struct call_record *call);

#define CALL_END_BYTES 320

/** How a call ended, for sentences: "486 Busy Here", "no answer".
 * @param text  CALL_END_BYTES hold it */
void call_end_text(char *text, size_t size, const struct call_record *call);

#endif
