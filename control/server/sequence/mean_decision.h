/**
 * Is the mean of a sequence of values above or below a limit? One may look after each value; the
 * first answer counts. The chance of a wrong "above" is at most the error, and so is that of a
 * wrong "below" (mean_test.h).
 * Thread: any; an object has one owner.
 */
#ifndef OFFHOOK_SERVER_SEQUENCE_MEAN_DECISION_H
#define OFFHOOK_SERVER_SEQUENCE_MEAN_DECISION_H

#include "control/server/sequence/mean_test.h"

#include <stddef.h>

enum mean_side {
	MEAN_OPEN, /* too few values to tell */
	MEAN_ABOVE,
	MEAN_BELOW
};

struct mean_decision {
	struct mean_test above, below;
	double enough; /* evidence */
	enum mean_side side;
	size_t count; /* values looked at: none after the answer */
};

/**
 * @param above  0 to 1: "above" is about this limit
 * @param below  0 to 1: "below" is about this one; the same, or another one where the limit itself
 *               is known as an interval only
 * @param error  chance of a wrong "above", and of a wrong "below"; above 0, below 1
 */
void mean_decision_begin(struct mean_decision *d, double above, double below,
			 double error);

/** Take the next value. @param above, below  0 to 1: the value, as either limit has it */
void mean_decision_add(struct mean_decision *d, double above, double below);

#endif
