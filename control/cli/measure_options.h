/**
 * Options that `offhook analyze` and `offhook tap` have in common: one table,
 * which each puts before its own.
 */
#ifndef OFFHOOK_CONTROL_CLI_MEASURE_OPTIONS_H
#define OFFHOOK_CONTROL_CLI_MEASURE_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>

#include "capture/capture.h"

enum measure_option {
	MEASURE_OPTION_JSON = 256,
	MEASURE_OPTION_INTERVAL,
	MEASURE_OPTION_SDP_ONLY,
	MEASURE_OPTION_MAX_STREAMS,
	MEASURE_OPTION_CODEC,
	MEASURE_OPTION_HELP,
	MEASURE_OPTION_OWN, /* the program's own begin here */
};

/* clang-format off */
#define MEASURE_OPTIONS                                                        \
	{"json", no_argument, NULL, MEASURE_OPTION_JSON},                      \
	{"interval", required_argument, NULL, MEASURE_OPTION_INTERVAL},        \
	{"sdp-only", no_argument, NULL, MEASURE_OPTION_SDP_ONLY},              \
	{"max-streams", required_argument, NULL, MEASURE_OPTION_MAX_STREAMS},  \
	{"codec", required_argument, NULL, MEASURE_OPTION_CODEC},              \
	{"help", no_argument, NULL, MEASURE_OPTION_HELP}
/* clang-format on */

struct measure_options {
	const char *program;   /* "analyze", "tap" */
	double interval_min_s; /* that it takes */
	bool json;
	bool help;
	bool has_interval; /* it was given */
	struct emodel_declarations declarations;
	struct capture_options capture; /* points to `declarations` */
};

/** Defaults. @param o  not moved from here on */
void measure_options_init(struct measure_options *o, const char *program,
			  double interval_min_s);

/**
 * Read options up to one of the program's own, with getopt_long(): its
 * argument is optarg. Complains on standard error.
 * @param table  MEASURE_OPTIONS, own ones and an end
 * @return its code; 0 no more options, the rest is at optind; -EINVAL
 */
int measure_options_next(struct measure_options *o, int argc, char **argv,
			 const struct option *table);

/** Seconds from optarg, in ns. @return 0; -EINVAL, after a complaint */
int measure_options_seconds(const struct measure_options *o, const char *name,
			    double min_s, double max_s, int64_t *ret_ns);

/** Say what is wrong on standard error, and where help is. @return -EINVAL */
int measure_options_complain(const struct measure_options *o, const char *fmt,
			     ...) __attribute__((format(printf, 2, 3)));

#endif
