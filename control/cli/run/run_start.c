#include "control/cli/run/run_start.h"

#include "base/str.h"
#include "control/cli/client/client.h"
#include "control/cli/client/fields.h"
#include "control/cli/client/record_kinds.h"
#include "control/cli/common/exit_code.h"
#include "control/cli/run/run_post.h"
#include "control/cli/run/run_result.h"
#include "control/cli/run/run_wait.h"
#include "control/wire/text.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 400
#define SETS_MAX   1000
#define FORMATS    3

struct start {
	/* constant */
	struct client *client;
	const char *command;      /* "test" */
	const char *start_path;   /* printf format with the id */
	const char *run_path;     /* the same with the uuid */
	const char *const *known; /* names of --set besides paths; NULL: none */
	/* options */
	bool wait;
	unsigned retry_s;
	const char *reports[FORMATS]; /* files; NULL: none */
	char *sets[SETS_MAX];
	int set_count;
	json_t *tags;
	/* arguments */
	const char *name;
	char **fields;
	int field_count;
	/* what was started */
	json_t *answer; /* the data of the answer */
	const char *uuid;
	char report_url[PATH_BYTES]; /* "": unknown */
};

static const char *const formats[FORMATS] = {"junit", "markdown", "html"};

/* ---- the command line ---- */

static int read_number(struct start *s, const char *text)
{
	uint64_t value;

	if (str_to_u64(text, RUN_WAIT_RETRY_S_MAX, &value))
		return client_usage("--retry-for %s: it must be seconds, 0 to "
				    "%d",
				    text, RUN_WAIT_RETRY_S_MAX);
	s->retry_s = (unsigned)value;
	return 0;
}

static int take_option(struct start *s, int option, char *value)
{
	switch (option) {
	case 'w':
		s->wait = true;
		return 0;
	case 'r':
		return read_number(s, value);
	case 's':
		if (!s->known)
			return client_usage("%s run takes NAME=VALUE without "
					    "--set",
					    s->command);
		if (s->set_count == SETS_MAX)
			return client_usage("there are more than %d --set",
					    SETS_MAX);
		s->sets[s->set_count++] = value;
		return 0;
	case 't':
		return json_array_append_new(s->tags, json_string(value))
			       ? client_usage("--tag %s is not UTF-8", value)
			       : 0;
	default:
		s->reports[option] = value;
		return 0;
	}
}

static int read_options(struct start *s, int argc, char **argv)
{
	static const struct option options[] = {
		{"junit", required_argument, NULL, 0},
		{"markdown", required_argument, NULL, 1},
		{"html", required_argument, NULL, 2},
		{"wait", no_argument, NULL, 'w'},
		{"retry-for", required_argument, NULL, 'r'},
		{"set", required_argument, NULL, 's'},
		{"tag", required_argument, NULL, 't'},
		{NULL, 0, NULL, 0},
	};
	int option, status = 0;

	s->retry_s = RUN_WAIT_RETRY_S;
	opterr = 0;
	while (!status &&
	       (option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == '?' ||
		    (option == 't' && strcmp(s->command, "project") != 0))
			return client_usage("%s run: wrong option %s; `offhook "
					    "help %s run` lists them",
					    s->command, argv[optind - 1],
					    s->command);
		status = take_option(s, option, optarg);
	}
	if (status)
		return status;
	for (size_t i = 0; i < FORMATS; i++)
		if (s->reports[i] && !s->wait)
			return client_usage("--%s needs --wait: a report "
					    "exists when the run is over",
					    formats[i]);
	if (optind == argc)
		return client_usage("%s run of which one?", s->command);
	s->name = argv[optind++];
	s->fields = argv + optind;
	s->field_count = argc - optind;
	if (s->field_count && s->known)
		return client_usage("%s is too much%s", argv[optind],
				    strchr(argv[optind], '=')
					    ? ": --set overrides a value"
					    : "");
	return 0;
}

/* Complain about report files before the run, not after it. */
static int check_reports(const struct start *s)
{
	for (size_t i = 0; i < FORMATS; i++) {
		int err = s->reports[i] ? client_may_replace(s->reports[i]) : 0;

		if (err)
			return client_usage("--%s %s: %s", formats[i],
					    s->reports[i], strerror(-err));
	}
	return 0;
}

/* Scenarios are named in the path itself, other records by their id. */
static int find_id(struct start *s, char id[static CLIENT_ID_BYTES])
{
	if (strcmp(s->command, "scenario") != 0)
		return client_id(s->client, record_kind_find(s->command),
				 s->name, id);
	if (s->name[strspn(s->name, "abcdefghijklmnopqrstuvwxyz0123456789-")] ||
	    str_copy(id, CLIENT_ID_BYTES, s->name) < 0)
		return client_usage("scenario run of which one?");
	return 0;
}

static int read_fields(const struct start *s, json_t *fields)
{
	int status = fields_read(fields, s->sets, s->set_count);
	char *tags;

	if (!status && s->known)
		status = fields_check_paths(fields, s->known);
	if (!status)
		status = fields_read(fields, s->fields, s->field_count);
	if (status || !json_array_size(s->tags))
		return status;
	tags = json_dumps(s->tags, JSON_COMPACT);
	json_object_set_new(fields, "tags", json_string(tags));
	free(tags);
	return 0;
}

/* ---- the start ---- */

/* True if the refusal is about a name that --set gave: the command line is wrong
 * then. */
static bool is_about_set(const struct start *s, const char *reason)
{
	for (int i = 0; i < s->set_count; i++) {
		size_t len = strcspn(s->sets[i], "=");

		if (strncmp(reason, s->sets[i], len) == 0 &&
		    strchr(":/", reason[len]))
			return true;
	}
	return false;
}

static int refused(const struct start *s, int err, const char *reason)
{
	int status = client_refused(s->client, reason);

	if (err == -EIO || err == -EINTR)
		fputs("       whether the run was started is not known: look "
		      "at the runs before you start it again\n",
		      stderr);
	if (!is_about_set(s, reason))
		return status;
	fprintf(stderr,
		"Usage: `offhook %s show %s` lists steps, actions and roles\n",
		s->command, s->name);
	return CLI_EXIT_USAGE;
}

/* Only the answer about a run names its report; of a project run it is made from
 * the controller's own URL in status_url. */
static void note_started(struct start *s, json_t *body)
{
	json_t *data = json_object_get(body, "data");
	const char *url;

	s->answer = json_incref(data ? data : body);
	if (data) {
		s->uuid = text_of(data, "session_id");
		(void)str_copy(s->report_url, sizeof(s->report_url),
			       text_of(data, "report_url"));
		return;
	}
	json_object_del(body, "status");
	s->uuid = text_of(body, "project_run_uuid");
	url = text_of(body, "status_url");
	if (strstr(url, "/api/"))
		(void)str_print(s->report_url, sizeof(s->report_url),
				"%.*s/run/project/%s",
				(int)(strstr(url, "/api/") - url), url,
				s->uuid);
}

static int post(struct start *s, const char *id, json_t *fields, int signals)
{
	char path[PATH_BYTES], reason[REMOTE_REASON_BYTES];
	struct run_post_params params = {.path = path,
					 .fields = fields,
					 .retry_s = s->retry_s,
					 .signals = signals};
	struct remote_answer a;
	int status = client_connect(s->client), err;

	if (status)
		return status;
	str_print(path, sizeof(path), "%s%s%s", s->start_path, id,
		  strcmp(s->command, "scenario") == 0 ? "" : "/run");
	params.remote = client_remote(s->client);
	err = run_post(&params, &a, reason);
	if (err)
		return refused(s, err, reason);
	if (client_json(s->client) && !s->wait)
		client_print_json(stdout, a.body);
	note_started(s, a.body);
	remote_answer_release(&a);
	return 0;
}

/* ---- the end ---- */

/* @return the exit status, or CLI_EXIT_ERRORED if a passed run lacks a report */
static int save_reports(const struct start *s, const char *uuid, int status)
{
	for (size_t i = 0; i < FORMATS; i++) {
		char path[PATH_BYTES];

		if (!s->reports[i])
			continue;
		str_print(path, sizeof(path), "%s%s/report/%s", s->run_path,
			  uuid, formats[i]);
		if (client_replace(s->client, path, s->reports[i]) &&
		    status == CLI_EXIT_OK)
			status = CLI_EXIT_ERRORED;
	}
	return status;
}

static int finish(const struct start *s, json_t *run)
{
	bool project = strcmp(s->command, "project") == 0;
	const char *state = text_of(run, project ? "run_status" : "status");
	const char *uuid = project ? s->uuid : text_of(run, "session_id");

	if (client_json(s->client)) {
		json_t *body =
			json_pack("{s:O, s:i}", "run", run, "status", 200);

		client_print_json(stdout, body);
		json_decref(body);
	} else if (project) {
		run_result_print_project(s->name, run, s->report_url);
	} else {
		run_result_print(s->client, run);
	}
	fflush(stdout);
	return save_reports(s, uuid, run_result_exit(state));
}

static int wait_for_end(const struct start *s, int signals)
{
	/* without --json the record just printed includes it */
	const struct run_wait_params params = {
		.client = s->client,
		.uuid = s->uuid,
		.project = strcmp(s->command, "project") == 0,
		.report_url = s->report_url,
		.waiting = client_json(s->client)
				   ? NULL
				   : json_string_value(json_object_get(
					     s->answer, "waiting_for")),
		.retry_s = s->retry_s,
		.signals = signals,
	};
	json_t *run = NULL;
	int status = run_wait(&params, &run);

	run_signals_close(signals);
	if (!status)
		status = finish(s, run);
	json_decref(run);
	return status;
}

/* @return 0; CLI_EXIT_USAGE */
static int check_wait(const struct start *s)
{
	if (!s->wait || strcmp(s->command, "scenario") != 0 ||
	    strcmp(s->name, "capacity-search") != 0)
		return 0;
	return client_usage("capacity-search starts a search of many runs, "
			    "which is not waited for: look at its report_url");
}

static int carry_out(struct start *s)
{
	json_t *fields = json_object();
	char id[CLIENT_ID_BYTES];
	int signals = -1, status = read_fields(s, fields);

	if (!status)
		status = check_wait(s);
	if (!status)
		status = check_reports(s);
	if (!status)
		status = find_id(s, id);
	if (!status && s->wait) {
		signals = run_signals_open();
		if (signals < 0) {
			fprintf(stderr, "offhook: signals: %s\n",
				strerror(-signals));
			status = CLI_EXIT_ERRORED;
		}
	}
	if (!status)
		status = post(s, id, fields, signals);
	json_decref(fields);
	/* the report can be looked at while the run goes on */
	if (!status && !client_json(s->client)) {
		record_print(stdout, s->answer);
		fflush(stdout);
	}
	return status || !s->wait ? status : wait_for_end(s, signals);
}

static int start(struct start *s, int argc, char **argv)
{
	int status;

	s->tags = json_array();
	status = read_options(s, argc, argv);
	if (!status)
		status = carry_out(s);
	json_decref(s->answer);
	json_decref(s->tags);
	return status;
}

#define CALLBACK_NAMES                                        \
	"report.mode", "callback_on_failure", "callback_url", \
		"callback_secret", "callback_template_name"

int run_start_test(struct client *c, int argc, char **argv)
{
	static const char *const known[] = {CALLBACK_NAMES,
					    "retries_on_failure", NULL};
	struct start s = {
		.client = c,
		.command = "test",
		.start_path = "/tests/",
		.run_path = "/runs/",
		.known = known,
	};

	return start(&s, argc, argv);
}

int run_start_scenario(struct client *c, int argc, char **argv)
{
	struct start s = {
		.client = c,
		.command = "scenario",
		.start_path = "/tests/scenarios/",
		.run_path = "/runs/",
	};

	return start(&s, argc, argv);
}

int run_start_project(struct client *c, int argc, char **argv)
{
	static const char *const known[] = {CALLBACK_NAMES, "test_ids", "tags",
					    NULL};
	struct start s = {
		.client = c,
		.command = "project",
		.start_path = "/projects/",
		.run_path = "/projects/runs/",
		.known = known,
	};

	return start(&s, argc, argv);
}
