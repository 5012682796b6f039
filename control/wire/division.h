/**
 * Whether a job can be divided into parts that know nothing of each other: over several
 * agents, or over several engine processes of one agent (share.h).
 * Thread: any; pure.
 */
#ifndef OFFHOOK_WIRE_DIVISION_H
#define OFFHOOK_WIRE_DIVISION_H

#include "control/wire/job.h"

/* Why a job cannot be divided. */
struct wire_division_problem {
	size_t step;
	const struct wire_action *action; /* of the job */
	const char *member;               /* its parameter; "type" */
	char reason[WIRE_REASON_BYTES];   /* what is wrong, and the remedy */
};

/**
 * Check whether each of so many parts has a call, a limit and accounts of its own, and
 * whether what the job does can be done by each part without the others.
 * @param problem  NULL: not wanted; else written where false is returned
 * @return true if parts is 1
 */
bool wire_job_divisible(const struct wire_job *job, uint32_t parts,
			struct wire_division_problem *problem);

#endif
