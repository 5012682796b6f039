#include "base/str.h"
#include "control/cli/client/client.h"
#include "control/cli/common/exit_code.h"
#include "control/cli/common/table.h"
#include "control/cli/run/run_report.h"
#include "control/cli/run/run_result.h"
#include "control/cli/run/run_verbs.h"
#include "control/cli/run/run_wait.h"
#include "control/wire/text.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

static bool is_over(const json_t *run)
{
	return strcmp(text_of(run, "status"), "running") != 0;
}

static void print_head(const json_t *run)
{
	json_int_t attempt =
		json_integer_value(json_object_get(run, "attempt"));

	printf("%-10s%lld, %s\n", "run",
	       (long long)json_integer_value(json_object_get(run, "id")),
	       text_of(run, "session_id"));
	table_member("project", text_of(run, "project_name"));
	table_member("pool", text_of(run, "agentpool_name"));
	table_member("started", text_of(run, "started_at"));
	table_member("ended", text_of(run, "stopped_at"));
	if (attempt > 1)
		printf("%-10s%lld, after %s\n", "attempt", (long long)attempt,
		       text_of(run, "retry_of"));
	table_member("retried by", text_of(run, "retried_by"));
	if (json_integer_value(json_object_get(run, "keep")))
		table_member("kept", "for ever");
}

/* Of a run in progress. */
static void print_progress(const json_t *run)
{
	printf("%-10s%s, %.0f %%\n", "phase", text_of(run, "phase"),
	       100 * json_number_value(json_object_get(run, "progress")));
	table_member("waits for", text_of(run, "waiting_for"));
	table_member("report", text_of(run, "report_url"));
}

static void print_run(struct client *c, json_t *run)
{
	if (client_json(c)) {
		json_t *body =
			json_pack("{s:O, s:i}", "run", run, "status", 200);

		client_print_json(stdout, body);
		json_decref(body);
	} else if (is_over(run)) {
		run_result_print(c, run);
	} else {
		print_progress(run);
	}
}

int run_show_main(struct client *c, int argc, char **argv)
{
	static const struct option none[] = {{NULL, 0, NULL, 0}};
	json_t *run;
	int status;

	opterr = 0;
	if (getopt_long(argc, argv, "", none, NULL) != -1)
		return client_usage("wrong option of `run show`");
	if (optind + 1 < argc)
		return client_usage("%s is too much", argv[optind + 1]);
	status = run_report_run(c, optind < argc ? argv[optind] : NULL, &run);
	if (status)
		return status;
	if (!client_json(c))
		print_head(run);
	print_run(c, run);
	json_decref(run);
	return CLI_EXIT_OK;
}

/* ---- watch ---- */

static int read_watch(int argc, char **argv, unsigned *ret_retry_s)
{
	static const struct option options[] = {
		{"retry-for", required_argument, NULL, 'r'},
		{NULL, 0, NULL, 0},
	};
	int option, status;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option != 'r')
			return client_usage("wrong option of `run watch`");
		status = run_wait_read_retry(optarg, ret_retry_s);
		if (status)
			return status;
	}
	return optind + 1 < argc
		       ? client_usage("%s is too much", argv[optind + 1])
		       : 0;
}

int run_watch_main(struct client *c, int argc, char **argv)
{
	/* an interrupt ends this command: who watches a run does not own it */
	struct run_wait_params params = {
		.client = c, .retry_s = RUN_WAIT_RETRY_S, .signals = -1};
	json_t *run, *last = NULL;
	int status = read_watch(argc, argv, &params.retry_s);

	if (!status)
		status = run_report_run(c, optind < argc ? argv[optind] : NULL,
					&run);
	if (status)
		return status;
	params.uuid = text_of(run, "session_id");
	params.report_url = text_of(run, "report_url");
	status = run_wait(&params, &last);
	if (!status) {
		print_run(c, last);
		status = run_result_exit(text_of(last, "status"));
	}
	json_decref(last);
	json_decref(run);
	return status;
}
