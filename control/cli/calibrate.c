#include "control/cli/calibrate.h"

#include "base/str.h"
#include "control/cli/common/exit_code.h"
#include "control/cli/common/program.h"

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* offhook-agent --calibrate=S --config FILE --json, NULL */
#define ARGUMENTS_MAX 6

static int complain(const char *argument, const char *what)
{
	fprintf(stderr, "offhook calibrate: %s: %s\n", argument, what);
	return CLI_EXIT_USAGE;
}

int calibrate_main(int argc, char **argv)
{
	static const struct option table[] = {
		{"config", required_argument, NULL, 'c'},
		{"json", no_argument, NULL, 'j'},
		{NULL, 0, NULL, 0},
	};
	static char program[] = "offhook-agent", config_option[] = "--config",
		    json_option[] = "--json";
	char seconds[48] = "--calibrate";
	char *arguments[ARGUMENTS_MAX] = {program, seconds};
	const char *config = NULL;
	bool json = false;
	int count = 2, option;

	while ((option = getopt_long(argc, argv, "c:", table, NULL)) != -1) {
		if (option == 'c')
			config = optarg;
		else if (option == 'j')
			json = true;
		else
			return CLI_EXIT_USAGE;
	}
	if (argc - optind > 1)
		return complain(argv[optind + 1], "not expected");
	if (optind < argc && str_print(seconds, sizeof(seconds),
				       "--calibrate=%s", argv[optind]) < 0)
		return complain(argv[optind], "not a number of seconds");
	if (config) {
		arguments[count++] = config_option;
		arguments[count++] = (char *)(uintptr_t)config;
	}
	if (json)
		arguments[count] = json_option;
	(void)program_become(program, arguments);
	return CLI_EXIT_ERRORED;
}
