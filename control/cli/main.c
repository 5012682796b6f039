/* offhook: place and answer calls in the foreground; measure captures; start
 * offhook-records for the records of a controller. */
#include "control/cli/analyze.h"
#include "control/cli/emodel.h"
#include "control/cli/options.h"
#include "control/cli/plan.h"
#include "control/cli/program.h"
#include "control/cli/record_kinds.h"
#include "control/cli/session.h"
#include "control/cli/tap.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	char reason[CLI_REASON_BYTES];
	struct cli_options options;
	json_t *job = NULL;
	unsigned steps;
	int exit_code;
	int err;

	/* commands that place no call have options of their own */
	if (argc > 1 && strcmp(argv[1], "analyze") == 0)
		return analyze_main(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "tap") == 0)
		return tap_main(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "emodel") == 0)
		return emodel_main(argc - 1, argv + 1);
	/* a program of its own: loading the HTTP client takes longer than
	 * analyzing a small capture */
	if (argc > 1 && record_kind_find(argv[1])) {
		program_become("offhook-records", argv);
		return 1;
	}
	if (cli_options_read(&options, argc, argv))
		return CLI_EXIT_USAGE;
	if (options.command == CLI_HELP) {
		cli_usage();
		return 0;
	}
	if (options.command == CLI_VERSION) {
		puts("offhook " OFFHOOK_VERSION);
		return 0;
	}
	err = plan_build(&job, &steps, &options, reason);
	explicit_bzero(options.password, sizeof(options.password));
	explicit_bzero(options.turn_password, sizeof(options.turn_password));
	if (err) {
		fprintf(stderr, "offhook: %s\n", reason);
		if (err != -EINVAL)
			return CLI_EXIT_ERRORED;
		cli_usage_hint();
		return CLI_EXIT_USAGE;
	}
	exit_code = session_run(&options, job, steps);
	json_decref(job);
	return exit_code;
}
