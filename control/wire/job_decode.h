/**
 * Decode a job (job.h) from JSON.
 * Thread: any.
 */
#ifndef OFFHOOK_WIRE_JOB_DECODE_H
#define OFFHOOK_WIRE_JOB_DECODE_H

#include "control/wire/job_limits.h"

#include <jansson.h>

struct wire_job;

/**
 * Decode and check a spec. Unknown members are ignored (protocol rule);
 * unknown action types, names of sipclient_actions, codecs, transports and
 * values out of range are refused.
 * @param spec    borrowed
 * @param reason  written on failure: a JSON pointer and one sentence
 * @return 0; -EINVAL; -ENOMEM
 */
int wire_job_decode(struct wire_job **ret, json_t *spec,
		    char reason[static WIRE_REASON_BYTES]);

/** Release; passwords are wiped. @return NULL */
struct wire_job *wire_job_free(struct wire_job *job);

#endif
