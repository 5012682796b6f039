/**
 * `offhook tap`: live figures of the RTP on an interface. Docs: docs/reference/tap.md
 */
#ifndef OFFHOOK_CONTROL_CLI_MEASURE_TAP_H
#define OFFHOOK_CONTROL_CLI_MEASURE_TAP_H

#include <stdio.h>

#include "capture/capture.h"
#include "capture/tap.h"

/** Run `offhook tap`; argv[0] is "tap". @return exit status: 0 streams were
 * seen; 1 no stream, or the interface cannot be tapped; 2 wrong usage */
int tap_main(int argc, char **argv);

/* Each function below prints one line of JSON. @return 0; -ENOMEM */

/** Print one interval of a stream. */
int tap_print_interval(FILE *out, const struct capture_stream *s,
		       const struct capture_interval *i);
/** Print the figures of a whole stream. */
int tap_print_stream(FILE *out, struct capture_stream *s,
		     const struct capture_options *options);
/** Print the counters of the tap itself, since its start.
 * @param end_ns  end of the interval, Unix time */
int tap_print_state(FILE *out, struct capture *c, const struct tap_counters *n,
		    int64_t end_ns);
/** Print the round-trip times from each RTCP reporter's reports. */
void tap_print_reporters(FILE *out, struct capture *c);

#endif
