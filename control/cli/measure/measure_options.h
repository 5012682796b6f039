/**
 * Options that `offhook analyze` and `offhook tap` have in common. Each puts
 * them in its table before its own options.
 */
#ifndef OFFHOOK_CONTROL_CLI_MEASURE_MEASURE_OPTIONS_H
#define OFFHOOK_CONTROL_CLI_MEASURE_MEASURE_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>

#include "capture/capture.h"

enum measure_option {
	MEASURE_OPTION_JSON = 256,
	MEASURE_OPTION_INTERVAL,
	MEASURE_OPTION_SDP_ONLY,
	MEASURE_OPTION_MAX_STREAMS,
	MEASURE_OPTION_CODEC,
	MEASURE_OPTION_OWN, /* codes of the command's own options begin here */
};

/* clang-format off */
#define MEASURE_OPTIONS                                                        \
	{"json", no_argument, NULL, MEASURE_OPTION_JSON},                      \
	{"interval", required_argument, NULL, MEASURE_OPTION_INTERVAL},        \
	{"sdp-only", no_argument, NULL, MEASURE_OPTION_SDP_ONLY},              \
	{"max-streams", required_argument, NULL, MEASURE_OPTION_MAX_STREAMS},  \
	{"codec", required_argument, NULL, MEASURE_OPTION_CODEC}
/* clang-format on */

struct measure_options {
	const char *program;   /* "analyze", "tap" */
	double interval_min_s; /* least value of --interval */
	bool json;
	bool has_interval; /* --interval was given */
	struct emodel_declarations declarations;
	struct capture_options capture; /* points to `declarations` */
};

/** Set the defaults. @param o  contains pointers into itself: must not be moved
 * afterwards */
void measure_options_init(struct measure_options *o, const char *program,
			  double interval_min_s);

/**
 * Read common options with getopt_long() until one of the command's own comes.
 * Its argument is in optarg. Complains on standard error.
 * @param table  MEASURE_OPTIONS, the command's own options, and a zero entry
 * @return the code of the command's own option; 0 no more options, the other
 *         arguments begin at optind; -EINVAL
 */
int measure_options_next(struct measure_options *o, int argc, char **argv,
			 const struct option *table);

/** Read seconds from optarg. @param name  of the option, for the complaint
 * @param ret_ns  ns @return 0; -EINVAL after a complaint */
int measure_options_seconds(const struct measure_options *o, const char *name,
			    double min_s, double max_s, int64_t *ret_ns);

/** Print what is wrong, and where help is, on standard error.
 * @return -EINVAL */
int measure_options_complain(const struct measure_options *o, const char *fmt,
			     ...) __attribute__((format(printf, 2, 3)));

#endif
