#include "control/cli/capacity/capacity_options.h"

#include "base/str.h"
#include "control/cli/client/client.h"
#include "control/cli/run/run_wait.h"

#include <getopt.h>
#include <string.h>

#define SECONDS_MAX    86400
#define REPEATS_MAX    100
#define WIDTH_DEFAULT  0.1
#define TRIAL_S        10
#define WARM_UP_S      2
#define COOL_DOWN_S    2
#define REPEATS        2
#define TRIALS_DEFAULT 60
#define NUMBER_BYTES   32

static int set_count(const char *name, const char *text, unsigned min,
		     unsigned max, unsigned *ret)
{
	uint64_t value;

	if (str_to_u64(text, max, &value) || value < min)
		return client_usage("--%s %s: it must be a whole number, %u to "
				    "%u",
				    name, text, min, max);
	*ret = (unsigned)value;
	return 0;
}

static int set_number(const char *name, const char *text, double min,
		      double max, double *ret)
{
	double value;

	if (str_to_double(text, &value) || value < min || value > max)
		return client_usage("--%s %s: it must be a number, %.10g to "
				    "%.10g",
				    name, text, min, max);
	*ret = value;
	return 0;
}

/* "5-50" @param lowest, highest  that either end may be */
static int set_range(struct capacity_options *o, const char *name,
		     const char *text, double lowest, double highest)
{
	const char *dash = strchr(text, '-');
	char first[NUMBER_BYTES];
	bool known = dash && (size_t)(dash - text) < sizeof(first);

	if (o->search.max > 0)
		return client_usage("one of --rate and --calls, and once");
	if (known) {
		str_print(first, sizeof(first), "%.*s", (int)(dash - text),
			  text);
		known = str_to_double(first, &o->search.min) == 0 &&
			str_to_double(dash + 1, &o->search.max) == 0;
	}
	if (known && o->search.min >= lowest && o->search.max <= highest &&
	    o->search.min < o->search.max)
		return 0;
	return client_usage("--%s %s: it must be MIN-MAX, of %.10g to %.10g",
			    name, text, lowest, highest);
}

static int take_range(struct capacity_options *o, int option, const char *value)
{
	o->plan.is_rate = option == 'r';
	if (o->plan.is_rate)
		return set_range(o, "rate", value, TRIAL_RATE_MIN,
				 TRIAL_RATE_MAX);
	if (strchr(value, '.'))
		return client_usage("--calls %s: they must be whole numbers",
				    value);
	return set_range(o, "calls", value, 1, TRIAL_CALLS_MAX);
}

static int take_width(struct capacity_options *o, const char *value)
{
	double percent = 0;
	int status = set_number("width", value, 100 * SEARCH_WIDTH_MIN,
				100 * SEARCH_WIDTH_MAX, &percent);

	if (!status)
		o->search.width = percent / 100;
	return status;
}

static int take_set(struct capacity_options *o, char *value)
{
	if (o->set_count == CAPACITY_SETS_MAX)
		return client_usage("there are more than %d --set",
				    CAPACITY_SETS_MAX);
	o->sets[o->set_count++] = value;
	return 0;
}

static int take_option(struct capacity_options *o, int option, char *value)
{
	switch (option) {
	case 'r':
	case 'c':
		return take_range(o, option, value);
	case 't':
		return set_count("trial", value, 1, SECONDS_MAX,
				 &o->plan.trial_s);
	case 'u':
		return set_count("warm-up", value, 0, SECONDS_MAX,
				 &o->plan.warm_up_s);
	case 'd':
		return set_count("cool-down", value, 0, SECONDS_MAX,
				 &o->cool_down_s);
	case 'w':
		return take_width(o, value);
	case 'n':
		return set_count("repeats", value, 1, REPEATS_MAX,
				 &o->search.repeats);
	case 'm':
		return set_count("max-trials", value, 1, SEARCH_TRIALS_MAX,
				 &o->search.trials_max);
	case 'l':
		return set_number("least", value, TRIAL_RATE_MIN,
				  TRIAL_CALLS_MAX, &o->least);
	case 'f':
		return set_count("retry-for", value, 0, RUN_WAIT_RETRY_S_MAX,
				 &o->retry_s);
	case 's':
		return take_set(o, value);
	case 'a':
		o->action = value;
		return 0;
	case 'p':
		o->plot = value;
		return 0;
	case 'k':
		o->state = value;
		return 0;
	default:
		o->junit = value;
		return 0;
	}
}

static int check_range(struct capacity_options *o)
{
	if (o->search.max <= 0)
		return client_usage("--rate MIN-MAX or --calls MIN-MAX: which "
				    "loads may be tried?");
	o->search.step = trial_step(&o->plan, o->search.min, o->search.width);
	if (trial_calls(&o->plan, o->search.max) > TRIAL_TOTAL_MAX)
		return client_usage("%.10g calls/s for %u s are more than %d "
				    "calls a trial",
				    o->search.max, o->plan.trial_s,
				    TRIAL_TOTAL_MAX);
	if (o->search.max - o->search.min < o->search.step)
		return client_usage("the range has one load only");
	return 0;
}

int capacity_options_read(struct capacity_options *ret, int argc, char **argv)
{
	static const struct option options[] = {
		{"rate", required_argument, NULL, 'r'},
		{"calls", required_argument, NULL, 'c'},
		{"trial", required_argument, NULL, 't'},
		{"warm-up", required_argument, NULL, 'u'},
		{"cool-down", required_argument, NULL, 'd'},
		{"width", required_argument, NULL, 'w'},
		{"repeats", required_argument, NULL, 'n'},
		{"max-trials", required_argument, NULL, 'm'},
		{"least", required_argument, NULL, 'l'},
		{"retry-for", required_argument, NULL, 'f'},
		{"set", required_argument, NULL, 's'},
		{"action", required_argument, NULL, 'a'},
		{"plot", required_argument, NULL, 'p'},
		{"junit", required_argument, NULL, 'j'},
		{"state", required_argument, NULL, 'k'},
		{NULL, 0, NULL, 0},
	};
	int option, status = 0;

	*ret = (struct capacity_options){
		.plan = {.trial_s = TRIAL_S, .warm_up_s = WARM_UP_S},
		.search = {.width = WIDTH_DEFAULT,
			   .repeats = REPEATS,
			   .trials_max = TRIALS_DEFAULT},
		.cool_down_s = COOL_DOWN_S,
		.retry_s = RUN_WAIT_RETRY_S,
	};
	opterr = 0;
	while (!status &&
	       (option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == '?')
			return client_usage("capacity: wrong option %s, or its "
					    "value is missing; `offhook help "
					    "capacity` lists them",
					    argv[optind - 1]);
		status = take_option(ret, option, optarg);
	}
	if (status)
		return status;
	if (optind + 1 != argc)
		return client_usage("capacity of which test? It takes one");
	ret->test = argv[optind];
	return check_range(ret);
}
