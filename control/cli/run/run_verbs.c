#include "control/cli/run/run_verbs.h"

#include "base/str.h"
#include "control/cli/client/client.h"
#include "control/cli/common/exit_code.h"
#include "control/cli/common/table.h"
#include "control/cli/common/terminal.h"
#include "control/cli/run/ladder.h"
#include "control/cli/run/run_compare.h"
#include "control/cli/run/run_files.h"
#include "control/cli/run/run_report.h"
#include "control/wire/text.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#define PATH_BYTES   200
#define FOLDER_BYTES 40

/* Read the arguments of a verb without options.
 * @param values  at most count arguments; NULL: absent
 * @return 0; exit status */
static int read_arguments(int argc, char **argv, const char **values, int count)
{
	static const struct option none[] = {{NULL, 0, NULL, 0}};

	opterr = 0;
	if (getopt_long(argc, argv, "", none, NULL) != -1)
		return client_usage("`run %s` takes no option %s", argv[0],
				    argv[optind - 1]);
	for (int i = 0; i < count; i++)
		values[i] = optind < argc ? argv[optind++] : NULL;
	return optind < argc ? client_usage("%s is too much", argv[optind]) : 0;
}

/* ---- stop ---- */

int run_stop_main(struct client *c, int argc, char **argv)
{
	char path[PATH_BYTES];
	const char *id = NULL;
	struct remote_answer a;
	json_t *run;
	int status = read_arguments(argc, argv, &id, 1);

	if (!status)
		status = run_report_run(c, id, &run);
	if (status)
		return status;
	str_print(path, sizeof(path), "/runs/%s/stop",
		  text_of(run, "session_id"));
	status = client_call(c, "POST", path, NULL, NULL, &a);
	if (!status && client_json(c))
		client_print_json(stdout, a.body);
	else if (!status)
		printf("run %lld is being stopped\n",
		       (long long)json_integer_value(
			       json_object_get(run, "id")));
	if (!status)
		remote_answer_release(&a);
	json_decref(run);
	return status;
}

/* ---- ladder ---- */

static void tell_omitted(const json_t *report)
{
	json_int_t omitted =
		json_integer_value(json_object_get(report, "messages_omitted"));

	if (omitted > 0)
		fprintf(stderr,
			"offhook: %lld further messages are left out: `offhook "
			"run download` has all of them\n",
			(long long)omitted);
}

int run_ladder_main(struct client *c, int argc, char **argv)
{
	const char *id = NULL;
	json_t *report, *folded, *dialog;
	size_t i;
	int status = read_arguments(argc, argv, &id, 1);

	if (!status)
		status = run_report_read(c, id, &report);
	if (status)
		return status;
	folded = ladder_fold(json_object_get(report, "messages"));
	if (!folded)
		status = client_refused(c, strerror(ENOMEM));
	json_array_foreach(folded, i, dialog)
	{
		json_object_del(dialog, "signature");
	}
	if (!status && client_json(c))
		client_print_json(stdout, folded);
	else if (!status && json_array_size(folded))
		ladder_print(stdout, folded, table_width(stdout));
	else if (!status)
		puts("no SIP message was recorded");
	if (!status)
		tell_omitted(report);
	json_decref(folded);
	json_decref(report);
	return status;
}

/* ---- compare ---- */

/* @return the exit status for the two runs */
static int compare_exit(const json_t *differences)
{
	const json_t *run;
	size_t i;

	json_array_foreach(json_object_get(differences, "runs"), i, run)
	{
		if (strcmp(text_of(run, "status"), "running") != 0)
			continue;
		fprintf(stderr,
			"offhook: run %lld is in progress: it has no verdict "
			"yet\n",
			(long long)json_integer_value(
				json_object_get(run, "id")));
		return CLI_EXIT_ERRORED;
	}
	return run_compare_alike(differences) ? CLI_EXIT_OK : CLI_EXIT_FAILED;
}

static const char *member_of_run(const json_t *report, const char *member)
{
	return text_of(json_object_get(report, "run"), member);
}

/* Ask the controller what changed, for the sentences.
 * @return 0; exit status, the complaint was printed */
static int add_sentences(struct client *c, json_t *differences,
			 const json_t *before, const json_t *after)
{
	char path[PATH_BYTES];
	struct remote_answer a;
	int status;

	if (strcmp(member_of_run(before, "status"), "running") == 0 ||
	    strcmp(member_of_run(after, "status"), "running") == 0)
		return 0;
	str_print(path, sizeof(path), "/runs/%s/differences?with=%s",
		  member_of_run(after, "session_id"),
		  member_of_run(before, "session_id"));
	status = client_call(c, "GET", path, NULL, NULL, &a);
	if (status)
		return status;
	json_object_set(differences, "differences",
			json_object_get(a.body, "differences"));
	json_object_set(differences, "further",
			json_object_get(a.body, "further"));
	/* not from an earlier controller */
	json_object_set(differences, "not_compared",
			json_object_get(a.body, "not_compared"));
	remote_answer_release(&a);
	return 0;
}

int run_compare_main(struct client *c, int argc, char **argv)
{
	const char *ids[2] = {NULL, NULL};
	json_t *before = NULL, *after = NULL, *differences;
	int status = read_arguments(argc, argv, ids, 2);

	if (!status)
		status = run_report_read(c, ids[0], &before);
	if (!status)
		status = run_report_read(c, ids[1], &after);
	if (!status) {
		differences = run_compare(before, after);
		status = differences
				 ? add_sentences(c, differences, before, after)
				 : client_refused(c, strerror(ENOMEM));
		if (!status && client_json(c))
			client_print_json(stdout, differences);
		else if (!status)
			run_compare_print(stdout, differences,
					  table_width(stdout));
		if (!status)
			status = compare_exit(differences);
		json_decref(differences);
	}
	json_decref(before);
	json_decref(after);
	return status;
}

/* ---- download ---- */

static void print_saved(struct client *c, const json_t *saved)
{
	const json_t *file;
	size_t i;

	if (client_json(c)) {
		client_print_json(stdout, saved);
		return;
	}
	json_array_foreach(saved, i, file)
	{
		terminal_print(stdout, json_string_value(file), 0);
		putchar('\n');
	}
}

static int download(struct client *c, const json_t *run, const char *folder,
		    bool replace, json_t *saved)
{
	const char *session = text_of(run, "session_id");
	int status = run_files_artifacts(c, session, folder, replace, saved);

	if (!status)
		status = run_files_recorded(c, session, folder, replace, saved);
	if (!status && strcmp(text_of(run, "status"), "running") == 0)
		fputs("offhook: the run is in progress: its reports are made "
		      "when it is over\n",
		      stderr);
	else if (!status)
		status = run_files_reports(c, session, folder, replace, saved);
	return status;
}

int run_download_main(struct client *c, int argc, char **argv)
{
	static const struct option options[] = {
		{"force", no_argument, NULL, 'f'},
		{NULL, 0, NULL, 0},
	};
	char own[FOLDER_BYTES];
	const char *folder;
	bool replace = false;
	json_t *run, *saved;
	int option, status;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option != 'f')
			return client_usage("wrong option of `run download`");
		replace = true;
	}
	if (optind + 2 < argc)
		return client_usage("%s is too much", argv[optind + 2]);
	status = run_report_run(c, optind < argc ? argv[optind] : NULL, &run);
	if (status)
		return status;
	str_print(own, sizeof(own), "run-%lld",
		  (long long)json_integer_value(json_object_get(run, "id")));
	folder = optind + 1 < argc ? argv[optind + 1] : own;
	saved = json_array();
	status = download(c, run, folder, replace, saved);
	print_saved(c, saved); /* also those before a failure */
	json_decref(saved);
	json_decref(run);
	return status;
}
