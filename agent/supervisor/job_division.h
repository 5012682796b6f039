/**
 * Over how many engine processes a job is divided (docs/internals/engine.md, "Several
 * engines for one job").
 * Thread: any.
 */
#ifndef OFFHOOK_AGENT_SUPERVISOR_JOB_DIVISION_H
#define OFFHOOK_AGENT_SUPERVISOR_JOB_DIVISION_H

#include <jansson.h>
#include <stdint.h>

/* A job with fewer calls at a time and a lower rate has one engine. */
#define JOB_DIVISION_CONCURRENT 200u
#define JOB_DIVISION_RATE       100.0

/**
 * The most engines of a job.
 * @param configured  0 to WIRE_ENGINES_MAX; 0: one for each processor that this
 *                    process may use, at most WIRE_ENGINES_MAX
 * @return 1 to WIRE_ENGINES_MAX
 */
uint32_t job_division_most(uint32_t configured);

/**
 * Pure.
 * @param spec            of the job; one that cannot be decoded has one engine, which
 *                        says why
 * @param engines_max     of job_division_most()
 * @param ret_interval_s  of its statistics; written only if more than 1 is returned
 * @return 1 to engines_max
 */
uint32_t job_division(json_t *spec, uint32_t engines_max,
		      uint32_t *ret_interval_s);

#endif
