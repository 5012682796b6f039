/* wire_job_decode() takes its input from a controller over the network. */
#include "control/wire/job.h"
#include "control/wire/job_decode.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char reason[WIRE_REASON_BYTES];
	json_t *spec = json_loadb((const char *)data, size, 0, NULL);
	struct wire_job *job = NULL;
	int err;

	if (!spec)
		return 0;
	err = wire_job_decode(&job, spec, reason);
	if (err && (job || memchr(reason, '\0', sizeof(reason)) == NULL ||
		    reason[0] == '\0'))
		abort();
	for (size_t s = 0; !err && s < job->step_count; s++) {
		for (size_t i = 0; i < job->steps[s].action_count; i++) {
			const struct wire_action *a = &job->steps[s].actions[i];
			char text[64];

			if (a->dial_destination)
				wire_expand_dial(text, sizeof(text),
						 a->dial_destination, job, 7,
						 "user");
		}
	}
	wire_job_free(job);
	json_decref(spec);
	return 0;
}
