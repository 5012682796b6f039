/* offhook: place and answer calls in the foreground; measure captures; start
 * offhook-records for the records of a controller. */
#include "base/core_dump.h"
#include "base/version.h"
#include "control/cli/calibrate.h"
#include "control/cli/call/options.h"
#include "control/cli/call/plan.h"
#include "control/cli/call/session.h"
#include "control/cli/command/commands.h"
#include "control/cli/command/completion.h"
#include "control/cli/common/exit_code.h"
#include "control/cli/common/program.h"
#include "control/cli/import/import.h"
#include "control/cli/measure/analyze.h"
#include "control/cli/measure/emodel.h"
#include "control/cli/measure/tap.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* call, answer and register: their command may stand after options. */
static int call_main(int argc, char **argv)
{
	char reason[CLI_REASON_BYTES];
	struct cli_options options;
	json_t *job = NULL;
	unsigned steps;
	int exit_code;
	int err;

	if (cli_options_read(&options, argc, argv))
		return CLI_EXIT_USAGE;
	if (options.command == CLI_VERSION) {
		version_print("offhook");
		return CLI_EXIT_OK;
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

/* The commands of the table that this program does itself. */
static const struct {
	const char *name;
	int (*main)(int argc, char **argv);
} mains[] = {
	{"analyze", analyze_main},       {"tap", tap_main},
	{"emodel", emodel_main},         {"help", command_help_main},
	{"completion", completion_main}, {"import", import_main},
	{"calibrate", calibrate_main},
};

/* @param at  index of the command in argv */
static int dispatch(const struct command *command, int at, int argc,
		    char **argv)
{
	if (command->program) {
		program_become(command->program, argv);
		return CLI_EXIT_ERRORED;
	}
	for (size_t i = 0; i < sizeof(mains) / sizeof(*mains); i++)
		if (strcmp(mains[i].name, command->name) == 0)
			return mains[i].main(argc - at, argv + at);
	return call_main(argc, argv);
}

int main(int argc, char **argv)
{
	const char *const *words = (const char *const *)argv;
	int at = command_index(argc, words);
	const struct command *command = at ? command_find(argv[at]) : NULL;

	core_dump_disable();
	if (argc < 2) {
		command_overview(stderr);
		return CLI_EXIT_USAGE;
	}
	if (command && command->group == COMMAND_TOPIC)
		command = NULL;
	if (command_help_asked(argc, words)) {
		if (command)
			command_help(stdout, command,
				     at + 1 < argc
					     ? command_verb_find(command,
								 argv[at + 1])
					     : NULL);
		else
			command_overview(stdout);
		return CLI_EXIT_OK;
	}
	if (command)
		return dispatch(command, at, argc, argv);
	/* behind options of calls the command is found by getopt_long() */
	if (at && argv[1][0] != '-')
		return command_unknown(NULL, argv[at]);
	return call_main(argc, argv);
}
