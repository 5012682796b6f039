/**
 * `offhook tap`: live figures of the RTP on an interface. Docs: docs/reference/tap.md
 */
#ifndef OFFHOOK_CONTROL_CLI_TAP_H
#define OFFHOOK_CONTROL_CLI_TAP_H

#include <stdio.h>

#include "capture/capture.h"
#include "capture/tap.h"

/** argv[0] is "tap". @return exit status: 0 streams were seen, 1 none, or it
 * could not be tapped; 2 usage */
int tap_main(int argc, char **argv);

/* One line of JSON each. @return 0; -ENOMEM */
int tap_print_interval(FILE *out, const struct capture_stream *s,
		       const struct capture_interval *i);
int tap_print_stream(FILE *out, struct capture_stream *s,
		     const struct capture_options *options);
/** The tap itself, since its start. @param end_ns  of the interval */
int tap_print_state(FILE *out, struct capture *c, const struct tap_counters *n,
		    int64_t end_ns);
/** Round trips of every reporter. */
void tap_print_reporters(FILE *out, struct capture *c);

#endif
