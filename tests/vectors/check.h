/**
 * Compare figures with a JSON expectation. Every difference is printed with its
 * path and counted.
 */
#ifndef OFFHOOK_TESTS_VECTORS_CHECK_H
#define OFFHOOK_TESTS_VECTORS_CHECK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct check {
	const char *where; /* printed before the path, for example capture
			    * and stream */
	unsigned compared;
	unsigned failed;
};

/** Check a member that must be an integer equal to got; a missing one fails. */
void check_int(struct check *c, const json_t *object, const char *name,
	       int64_t got);
/** Check a number within the tolerance. */
void check_real(struct check *c, const json_t *object, const char *name,
		double got, double tolerance);
/** As check_real(); the expectation must be null exactly if !known. */
void check_maybe(struct check *c, const json_t *object, const char *name,
		 bool known, double got, double tolerance);
void check_bool(struct check *c, const json_t *object, const char *name,
		bool got);
void check_text(struct check *c, const json_t *object, const char *name,
		const char *got);
void check_fail(struct check *c, const char *name, const char *what);
/** Return a member that must exist; NULL and a failure if it does not. */
const json_t *check_member(struct check *c, const json_t *object,
			   const char *name);

#endif
