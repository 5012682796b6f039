#include "control/cli/run/run_verbs.h"

#include "base/str.h"
#include "control/cli/client/client.h"
#include "control/cli/run/run_report.h"
#include "control/wire/text.h"

#include <getopt.h>
#include <stdio.h>

#define PATH_BYTES 200

static int keep_one(struct client *c, const char *id, bool off)
{
	char path[PATH_BYTES];
	struct remote_answer a;
	json_t *run;
	int status = run_report_run(c, id, &run);

	if (status)
		return status;
	str_print(path, sizeof(path), "/runs/%s/keep",
		  text_of(run, "session_id"));
	status = client_call(c, off ? "DELETE" : "PUT", path, NULL, NULL, &a);
	if (!status) {
		printf("run %lld is %s\n",
		       (long long)json_integer_value(
			       json_object_get(run, "id")),
		       off ? "left to retention" : "kept for ever");
		remote_answer_release(&a);
	}
	json_decref(run);
	return status;
}

int run_keep_main(struct client *c, int argc, char **argv)
{
	static const struct option options[] = {{"off", no_argument, NULL, 'o'},
						{NULL, 0, NULL, 0}};
	bool off = false;
	int option, status, worst = 0;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option != 'o')
			return client_usage("`run keep` takes no option %s",
					    argv[optind - 1]);
		off = true;
	}
	if (optind == argc)
		return client_usage("run keep of which one?");
	for (int i = optind; i < argc; i++) {
		status = keep_one(c, argv[i], off);
		if (status > worst)
			worst = status;
	}
	return worst;
}
