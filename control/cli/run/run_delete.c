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

/* @return 0: the user agrees; else the exit status */
static int confirm(int count, const char *first)
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

static int delete_one(struct client *c, const char *id)
{
	char path[PATH_BYTES];
	struct remote_answer a;
	json_t *run;
	int status = run_report_run(c, id, &run);

	if (status)
		return status;
	str_print(path, sizeof(path), "/runs/%s", text_of(run, "session_id"));
	status = client_call(c, "DELETE", path, NULL, NULL, &a);
	if (!status) {
		printf("run %lld was deleted\n",
		       (long long)json_integer_value(
			       json_object_get(run, "id")));
		remote_answer_release(&a);
	}
	json_decref(run);
	return status;
}

int run_delete_main(struct client *c, int argc, char **argv)
{
	static const struct option options[] = {{"yes", no_argument, NULL, 'y'},
						{NULL, 0, NULL, 0}};
	bool yes = false;
	int option, status, worst = 0;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option != 'y')
			return client_usage("`run delete` takes no option %s",
					    argv[optind - 1]);
		yes = true;
	}
	if (optind == argc)
		return client_usage("run delete of which one?");
	status = yes ? 0 : confirm(argc - optind, argv[optind]);
	if (status)
		return status;
	/* one that is refused does not keep the others */
	for (int i = optind; i < argc; i++) {
		status = delete_one(c, argv[i]);
		if (status > worst)
			worst = status;
	}
	return worst;
}
