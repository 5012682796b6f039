#include "agent/options.h"

#include "agent/calibrate/calibrate.h"
#include "base/str.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longest time to wait for a job: a week. */
#define ACQUIRE_MAX_S 604800

enum {
	OPTION_ACQUIRE = 256,
	OPTION_CALIBRATE,
	OPTION_CHECK,
	OPTION_HEALTH,
	OPTION_ENGINE,
	OPTION_FINGERPRINT,
	OPTION_FOREGROUND,
	OPTION_JOIN,
	OPTION_JSON,
	OPTION_VERBOSE,
};

static int calibrate_take(struct options *o, const char *argument)
{
	uint64_t seconds = CALIBRATE_SECONDS_DEFAULT;

	if (argument &&
	    (str_to_u64(argument, CALIBRATE_SECONDS_MAX, &seconds) != 0 ||
	     seconds < CALIBRATE_SECONDS_MIN)) {
		fprintf(stderr,
			"offhook-agent: --calibrate=%s: not a number of "
			"seconds from %d to %d\n",
			argument, CALIBRATE_SECONDS_MIN, CALIBRATE_SECONDS_MAX);
		return -EINVAL;
	}
	o->calibrate_s = (uint32_t)seconds;
	return 0;
}

static int take(struct options *o, int option, char *argument)
{
	uint64_t fd, seconds;

	switch (option) {
	case OPTION_ACQUIRE:
		o->acquire = true;
		if (argument &&
		    (str_to_u64(argument, ACQUIRE_MAX_S, &seconds) != 0 ||
		     seconds == 0)) {
			fprintf(stderr,
				"offhook-agent: --acquire=%s: not a number of "
				"seconds from 1 to %d\n",
				argument, ACQUIRE_MAX_S);
			return -EINVAL;
		}
		o->acquire_s = argument ? (uint32_t)seconds : 0;
		return 0;
	case 'c':
		o->config = argument;
		return 0;
	case OPTION_CALIBRATE:
		return calibrate_take(o, argument);
	case OPTION_CHECK:
		o->check_config = true;
		return 0;
	case OPTION_HEALTH:
		o->check_health = true;
		return 0;
	case OPTION_ENGINE:
		if (str_to_u64(argument, INT_MAX, &fd) != 0) {
			fprintf(stderr,
				"offhook-agent: --engine=%s: not a "
				"descriptor\n",
				argument);
			return -EINVAL;
		}
		o->engine_fd = (int)fd;
		return 0;
	case OPTION_FINGERPRINT:
		o->fingerprint = argument;
		return 0;
	case OPTION_FOREGROUND:
		return 0; /* accepted for scripts: it is always so */
	case OPTION_JSON:
		o->json = true;
		return 0;
	case OPTION_VERBOSE:
		o->verbose = true;
		return 0;
	case OPTION_JOIN:
		if (!argument[0] || str_copy(o->join_token, OPTIONS_TOKEN_BYTES,
					     argument) != 0) {
			fputs("offhook-agent: --join-token: empty or too "
			      "long\n",
			      stderr);
			return -EINVAL;
		}
		memset(argument, 'x', strlen(argument));
		return 0;
	case 'h':
		o->help = true;
		return 0;
	case 'V':
		o->version = true;
		return 0;
	default:
		fprintf(stderr, "Try offhook-agent --help.\n");
		return -EINVAL;
	}
}

int options_parse(struct options *ret, int argc, char **argv)
{
	static const struct option table[] = {
		{"acquire", optional_argument, NULL, OPTION_ACQUIRE},
		{"calibrate", optional_argument, NULL, OPTION_CALIBRATE},
		{"config", required_argument, NULL, 'c'},
		{"check-config", no_argument, NULL, OPTION_CHECK},
		{"check-health", no_argument, NULL, OPTION_HEALTH},
		{"engine", required_argument, NULL, OPTION_ENGINE},
		{"fingerprint", required_argument, NULL, OPTION_FINGERPRINT},
		{"foreground", no_argument, NULL, OPTION_FOREGROUND},
		{"join-token", required_argument, NULL, OPTION_JOIN},
		{"json", no_argument, NULL, OPTION_JSON},
		{"verbose", no_argument, NULL, OPTION_VERBOSE},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{NULL, 0, NULL, 0},
	};
	struct options o = {.config = OPTIONS_CONFIG_DEFAULT, .engine_fd = -1};
	int option;

	while ((option = getopt_long(argc, argv, "c:hV", table, NULL)) != -1) {
		int err = take(&o, option, optarg);

		if (err)
			return err;
	}
	if (optind < argc) {
		fprintf(stderr,
			"offhook-agent: %s: not expected\n"
			"Try offhook-agent --help.\n",
			argv[optind]);
		return -EINVAL;
	}
	if (o.json && !o.calibrate_s) {
		fputs("offhook-agent: --json is of use with --calibrate "
		      "only\n",
		      stderr);
		return -EINVAL;
	}
	*ret = o;
	return 0;
}

void options_print_help(void)
{
	puts("offhook-agent [options]\n"
	     "Carries out the calls of an Offhook controller on this host.\n"
	     "\n"
	     "  -c, --config FILE   configuration (" OPTIONS_CONFIG_DEFAULT
	     ")\n"
	     "      --acquire[=S]   take one job and end; if none comes in S "
	     "seconds,\n"
	     "                      end without one\n"
	     "      --calibrate[=S] measure in S seconds (60) what this host can "
	     "prove,\n"
	     "                      keep and print it, exit; with --json as "
	     "JSON\n"
	     "      --check-config  read the configuration, say what is wrong, "
	     "exit\n"
	     "      --check-health  exit with 0 if the running agent is in "
	     "touch with\n"
	     "                      its controller, else with 1\n"
	     "      --join-token T  join token of an agent pool, to enrol "
	     "with;\n"
	     "                      goes before the configuration's\n"
	     "      --fingerprint F of the controller's certificate, instead of "
	     "an\n"
	     "                      authority; goes before the "
	     "configuration's\n"
	     "      --foreground    accepted: the agent never leaves the "
	     "foreground\n"
	     "      --verbose       print registrations, calls, SIP and figures "
	     "as they\n"
	     "                      happen\n"
	     "  -h, --help          this text\n"
	     "  -V, --version       the version\n"
	     "\n"
	     "SIGUSR1 drains: no new jobs, exit after the last one. SIGTERM "
	     "does so with\na bound, a second SIGTERM cancels the running "
	     "jobs.\n"
	     "Exit status: 0 stopped, 1 failed, 2 command line or "
	     "configuration,\n3 the controller does not want this agent. With "
	     "--acquire: 0 the job was\ncompleted, 4 no job came, 5 the job "
	     "ended in another way.");
}
