/* {role}-transcription-conditions: agents of this version transcribe nothing.
 * The type may be named, to switch it off; a condition could not be judged. */
#include "control/server/judge/condition.h"

const struct condition_type condition_transcription = {
	.suffix = "transcription-conditions",
	.fields = (const char *const[]){NULL},
	.options = (const char *const[]){NULL},
};
