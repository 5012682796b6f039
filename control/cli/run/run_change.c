/* Verbs that change stored runs, one after the other: delete, keep. */
#include "control/cli/run/run_verbs.h"

#include "base/str.h"
#include "control/cli/client/client.h"
#include "control/cli/common/exit_code.h"
#include "control/cli/common/terminal.h"
#include "control/cli/run/run_report.h"
#include "control/wire/text.h"

#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

#define PATH_BYTES 200

struct change {
	const char *method;
	const char *suffix; /* of the path, behind the run */
	const char *words;  /* what the run is afterwards */
};

static int change_one(struct client *c, const char *id,
		      const struct change *change)
{
	char path[PATH_BYTES];
	struct remote_answer a;
	json_t *run;
	int status = run_report_run(c, id, &run);

	if (status)
		return status;
	str_print(path, sizeof(path), "/runs/%s%s", text_of(run, "session_id"),
		  change->suffix);
	status = client_call(c, change->method, path, NULL, NULL, &a);
	if (!status) {
		printf("run %lld %s\n",
		       (long long)json_integer_value(
			       json_object_get(run, "id")),
		       change->words);
		remote_answer_release(&a);
	}
	json_decref(run);
	return status;
}

/* One that is refused does not keep the others. @return the highest exit status */
static int change_all(struct client *c, int count, char **ids,
		      const struct change *change)
{
	int worst = 0;

	for (int i = 0; i < count; i++) {
		int status = change_one(c, ids[i], change);

		if (status > worst)
			worst = status;
	}
	return worst;
}

/* Read the only option of a verb, 'o'; optind is the first run then.
 * @param given  whether the option is there
 * @return 0; exit status */
static int read_option(int argc, char **argv, const char *verb,
		       const struct option *options, bool *given)
{
	int option;

	*given = false;
	opterr = 0;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option != 'o')
			return client_usage("`run %s` takes no option %s", verb,
					    argv[optind - 1]);
		*given = true;
	}
	return optind < argc ? 0 : client_usage("run %s of which one?", verb);
}

/* @return 0: the user agrees; else the exit status */
static int confirm_deletion(int count, const char *first)
{
	char question[300];

	if (isatty(STDIN_FILENO) != 1)
		return client_usage("run delete cannot ask without a terminal: "
				    "add --yes");
	if (count == 1)
		str_print(question, sizeof(question),
			  "Delete run %s with all its data?", first);
	else
		str_print(question, sizeof(question),
			  "Delete %d runs with all their data?", count);
	return terminal_confirm(question) ? 0 : CLI_EXIT_USAGE;
}

int run_delete_main(struct client *c, int argc, char **argv)
{
	static const struct option options[] = {{"yes", no_argument, NULL, 'o'},
						{NULL, 0, NULL, 0}};
	static const struct change deletion = {"DELETE", "", "was deleted"};
	bool yes;
	int status = read_option(argc, argv, "delete", options, &yes);

	if (!status && !yes)
		status = confirm_deletion(argc - optind, argv[optind]);
	return status ? status
		      : change_all(c, argc - optind, argv + optind, &deletion);
}

int run_keep_main(struct client *c, int argc, char **argv)
{
	static const struct option options[] = {{"off", no_argument, NULL, 'o'},
						{NULL, 0, NULL, 0}};
	static const struct change keep = {"PUT", "/keep", "is kept for ever"};
	static const struct change leave = {"DELETE", "/keep",
					    "is left to retention"};
	bool off;
	int status = read_option(argc, argv, "keep", options, &off);

	return status ? status
		      : change_all(c, argc - optind, argv + optind,
				   off ? &leave : &keep);
}
