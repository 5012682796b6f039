#include "control/cli/measure/measure_options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/str.h"

#define INTERVAL_MAX_S 3600.0

void measure_options_init(struct measure_options *o, const char *program,
			  double interval_min_s)
{
	*o = (struct measure_options){
		.program = program,
		.interval_min_s = interval_min_s,
		.capture =
			{
				.interval_ns = NS_PER_S,
				.fixed_delay_ms = JB_FIXED_DELAY_MS,
				.streams_max = CAPTURE_STREAMS_DEFAULT,
			},
	};
}

int measure_options_complain(const struct measure_options *o, const char *fmt,
			     ...)
{
	va_list args;

	fprintf(stderr, "offhook %s: ", o->program);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "\n       offhook %s --help says more\n", o->program);
	return -EINVAL;
}

int measure_options_seconds(const struct measure_options *o, const char *name,
			    double min_s, double max_s, int64_t *ret_ns)
{
	double x;

	if (str_to_double(optarg, &x) || x < min_s || x > max_s)
		return measure_options_complain(o, "%s is %g to %.0f seconds",
						name, min_s, max_s);
	*ret_ns = (int64_t)(x * 1e9 + 0.5);
	return 0;
}

static int take_max_streams(struct measure_options *o)
{
	uint64_t n;

	if (str_to_u64(optarg, CAPTURE_STREAMS_MAX, &n) || n == 0)
		return measure_options_complain(o, "--max-streams is 1 to %d",
						CAPTURE_STREAMS_MAX);
	o->capture.streams_max = (size_t)n;
	return 0;
}

static int take_codec(struct measure_options *o)
{
	const char *reason;

	if (emodel_declare(&o->declarations, optarg, &reason))
		return measure_options_complain(o, "--codec %s: %s", optarg,
						reason);
	o->capture.declarations = &o->declarations;
	return 0;
}

/* @return 0; -EINVAL; the code of an option that is not a common one */
static int take(struct measure_options *o, int code)
{
	switch (code) {
	case MEASURE_OPTION_JSON:
		o->json = true;
		return 0;
	case MEASURE_OPTION_INTERVAL:
		o->has_interval = true;
		return measure_options_seconds(
			o, "--interval", o->interval_min_s, INTERVAL_MAX_S,
			&o->capture.interval_ns);
	case MEASURE_OPTION_SDP_ONLY:
		o->capture.sdp_only = true;
		return 0;
	case MEASURE_OPTION_MAX_STREAMS:
		return take_max_streams(o);
	case MEASURE_OPTION_CODEC:
		return take_codec(o);
	case '?':
		return measure_options_complain(o, "wrong usage");
	default:
		return code;
	}
}

int measure_options_next(struct measure_options *o, int argc, char **argv,
			 const struct option *table)
{
	int code;

	while ((code = getopt_long(argc, argv, "", table, NULL)) != -1) {
		int err = take(o, code);

		if (err)
			return err;
	}
	return 0;
}
