#include "control/cli/remote_commands.h"

#include "control/cli/capacity/capacity.h"
#include "control/cli/capacity/capacity_search.h"
#include "control/cli/client/client.h"
#include "control/cli/client/login.h"
#include "control/cli/code/apply.h"
#include "control/cli/command/commands.h"
#include "control/cli/common/exit_code.h"
#include "control/cli/local/local.h"
#include "control/cli/record/record_edit.h"
#include "control/cli/record/record_verbs.h"
#include "control/cli/rescore/rescore.h"
#include "control/cli/run/run_start.h"
#include "control/cli/run/run_verbs.h"

#include <getopt.h>
#include <string.h>

/* Verbs of their own. list, show, create, ... of records: record_verbs.c. */
static const struct remote_verb verbs[] = {
	{"apply", NULL, apply_main},
	{"capacity", NULL, capacity_main},
	{"capacity-search", "show", capacity_search_show},
	{"capacity-search", "watch", capacity_search_watch},
	{"capacity-search", "stop", capacity_search_stop},
	{"export", NULL, export_main},
	{"artifact", "list", record_artifact_list},
	{"artifact", "save", record_artifact_save},
	{"names", NULL, record_names_main},
	{"local", NULL, local_main},
	{"login", NULL, login_main},
	{"logout", NULL, login_logout},
	{"profile", "list", login_profile_list},
	{"profile", "use", login_profile_use},
	{"rescore", NULL, rescore_main},
	{"run", "list", run_list_main},
	{"run", "show", run_show_main},
	{"run", "watch", run_watch_main},
	{"run", "stop", run_stop_main},
	{"run", "delete", run_delete_main},
	{"run", "keep", run_keep_main},
	{"run", "stats", run_stats_main},
	{"run", "ladder", run_ladder_main},
	{"run", "download", run_download_main},
	{"run", "compare", run_compare_main},
	{"key", "create", record_key_create},
	{"project", "run", run_start_project},
	{"scenario", "run", run_start_scenario},
	{"test", "export", record_test_export},
	{"test", "run", run_start_test},
};

const struct remote_verb *remote_verb_find(const char *command,
					   const char *verb)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (strcmp(verbs[i].command, command) == 0 &&
		    (verbs[i].verb && verb ? strcmp(verbs[i].verb, verb) == 0
					   : verbs[i].verb == verb))
			return &verbs[i];
	return NULL;
}

/* @param argv  [0] is the command */
static int run(const struct command *command, struct client *c, int argc,
	       char **argv)
{
	const char *name = NULL;
	const struct remote_verb *own;
	int skip = 0;

	if (command->verbs) {
		if (argc < 2) {
			command_help(stderr, command, NULL);
			return CLI_EXIT_USAGE;
		}
		name = argv[1];
		if (!command_verb_find(command, name))
			return command_unknown(command, name);
		skip = 1;
	}
	optind = 0; /* getopt(3): start anew */
	own = remote_verb_find(command->name, name);
	if (own)
		return own->main(c, argc - skip, argv + skip);
	return record_verb_main(c, command->name, argc - skip, argv + skip);
}

int remote_commands_main(int argc, char **argv)
{
	const struct command *command;
	struct client *c;
	int status = client_new(&c, &argc, argv);

	if (status)
		return status;
	command = argc > 1 ? command_find(argv[1]) : NULL;
	if (!command || !command->program ||
	    strcmp(command->program, COMMANDS_REMOTE) != 0) {
		fputs("offhook-records is a part of offhook: see `offhook "
		      "help`\n",
		      stderr);
		status = CLI_EXIT_USAGE;
	} else {
		status = run(command, c, argc - 1, argv + 1);
	}
	client_free(c);
	return status;
}
