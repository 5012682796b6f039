#include "control/cli/local/local.h"

#include "base/clock.h"
#include "base/str.h"
#include "control/cli/client/client.h"
#include "control/cli/client/fields.h"
#include "control/cli/code/apply.h"
#include "control/cli/code/code_files.h"
#include "control/cli/code/code_schema.h"
#include "control/cli/common/exit_code.h"
#include "control/cli/local/local_system.h"
#include "control/cli/run/run_result.h"
#include "control/cli/run/run_wait.h"
#include "control/wire/text.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define FILES_MAX    100
#define SETS_MAX     1000
#define PATH_BYTES   256
#define ENROL_NS_MAX (60 * NS_PER_S)
#define RTP_MIN      20000
#define RTP_MAX      29999

enum report {
	REPORT_JUNIT,
	REPORT_HTML,
	REPORT_MARKDOWN,
	REPORTS,
};

/* in GET /runs/ID/report/NAME, and as the option --NAME */
static const char *const report_names[] = {"junit", "html", "markdown"};

struct local {
	/* options */
	const char *files[FILES_MAX];
	size_t file_count;
	const char *tests[FILES_MAX];
	size_t test_count;
	char *sets[SETS_MAX]; /* NAME=VALUE */
	int set_count;
	unsigned agents; /* of each pool */
	struct local_system_params params;
	const char *report_paths[REPORTS];
	/* made in this order */
	struct client *client;
	json_t *schema;
	struct code_files *records;
	json_t *overrides; /* of --set */
	struct local_system *system;
	json_t *chosen;   /* tests, as the controller lists them */
	json_t *finished; /* runs, as GET /runs/ID has them */
	bool stopped;     /* a project run was; tests may be missing */
	bool unsaved;     /* a report could not be written, and it was said */
};

/* ---- the command line ---- */

static int read_ports(struct local *l, const char *text)
{
	const char *dash = strchr(text, '-');
	uint64_t min = 0, max = 0;
	char first[8] = "";

	if (dash)
		str_print(first, sizeof(first), "%.*s", (int)(dash - text),
			  text);
	if (!dash || str_to_u64(first, UINT16_MAX, &min) ||
	    str_to_u64(dash + 1, UINT16_MAX, &max) || min < 1024 ||
	    max < (min + 1) / 2 * 2 + 1)
		return client_usage("--rtp-ports is MIN-MAX, such as "
				    "20000-20999, with a pair in it");
	l->params.rtp_min = (uint16_t)min;
	l->params.rtp_max = (uint16_t)max;
	return 0;
}

static int read_option(struct local *l, int option)
{
	struct in6_addr address;
	uint64_t agents;

	switch (option) {
	case 't':
		if (l->test_count == FILES_MAX)
			return client_usage("local: too many --test");
		l->tests[l->test_count++] = optarg;
		return 0;
	case 'a':
		if (str_to_u64(optarg, LOCAL_AGENTS_MAX, &agents) || !agents)
			return client_usage("--agents is a number from 1 to %d",
					    LOCAL_AGENTS_MAX);
		l->agents = (unsigned)agents;
		return 0;
	case 'b':
		if (inet_pton(AF_INET, optarg, &address) != 1 &&
		    inet_pton(AF_INET6, optarg, &address) != 1)
			return client_usage("--bind is an address of this "
					    "host, not %s",
					    optarg);
		l->params.bind = optarg;
		return 0;
	case 'r':
		return read_ports(l, optarg);
	case 's':
		if (l->set_count == SETS_MAX)
			return client_usage("there are more than %d --set",
					    SETS_MAX);
		l->sets[l->set_count++] = optarg;
		return 0;
	case 'k':
		l->params.keep = true;
		return 0;
	default:
		l->report_paths[option] = optarg;
		return 0;
	}
}

static int read_options(struct local *l, int argc, char **argv)
{
	static const struct option options[] = {
		{"test", required_argument, NULL, 't'},
		{"set", required_argument, NULL, 's'},
		{"agents", required_argument, NULL, 'a'},
		{"bind", required_argument, NULL, 'b'},
		{"rtp-ports", required_argument, NULL, 'r'},
		{"keep", no_argument, NULL, 'k'},
		{"junit", required_argument, NULL, REPORT_JUNIT},
		{"html", required_argument, NULL, REPORT_HTML},
		{"markdown", required_argument, NULL, REPORT_MARKDOWN},
		{NULL, 0, NULL, 0},
	};
	int option, status = 0;

	opterr = 0;
	while (!status &&
	       (option = getopt_long(argc, argv, "", options, NULL)) != -1)
		status = option == '?' ? client_usage("local: wrong option %s",
						      argv[optind - 1])
				       : read_option(l, option);
	for (; !status && optind < argc; optind++) {
		if (l->file_count == FILES_MAX)
			return client_usage("local: too many files");
		l->files[l->file_count++] = argv[optind];
	}
	if (status)
		return status;
	if (client_given_url(l->client) || client_given_profile(l->client) ||
	    client_given_key_file(l->client) ||
	    client_given_ca_file(l->client) ||
	    client_given_fingerprint(l->client))
		return client_usage("local has a controller of its own: "
				    "`offhook apply` is for another one");
	return l->file_count ? 0
			     : client_usage("local: which file? offhook local "
					    "FILE.yaml");
}

/* Complain about report files before the run, not after it. */
static int check_reports(const struct local *l)
{
	for (size_t i = 0; i < REPORTS; i++) {
		const char *path = l->report_paths[i];
		int err = path ? client_may_replace(path) : 0;

		if (err)
			return client_usage("--%s %s: %s", report_names[i],
					    path, strerror(-err));
	}
	return 0;
}

/* ---- the files ---- */

static bool is_chosen(const struct local *l, const char *name)
{
	for (size_t i = 0; i < l->test_count; i++)
		if (name && strcmp(l->tests[i], name) == 0)
			return true;
	return l->test_count == 0;
}

static const char *name_of(const json_t *record)
{
	return json_string_value(json_object_get(record, "name"));
}

static bool has_test(const struct local *l, const char *name)
{
	size_t count;
	const struct code_record *r = code_files_records(l->records, &count);

	for (size_t i = 0; i < count; i++)
		if (r[i].kind == CODE_TEST &&
		    (!name || strcmp(name, name_of(r[i].value)) == 0))
			return true;
	return false;
}

/* Nobody is notified of a run that is only tried. */
static void drop_callbacks(json_t *test)
{
	static const char *const members[] = {
		"callback_on_failure", "callback_template", "callback_url",
		"callback_secret"};

	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		json_object_del(test, members[i]);
}

static bool wants_reports(const struct local *l)
{
	for (size_t i = 0; i < REPORTS; i++)
		if (l->report_paths[i])
			return true;
	return false;
}

/* Number of projects of the chosen tests. */
static size_t count_projects(const struct local *l)
{
	json_t *names = json_object();
	size_t count;
	const struct code_record *r = code_files_records(l->records, &count);

	for (size_t i = 0; i < count; i++)
		if (r[i].kind == CODE_TEST && is_chosen(l, name_of(r[i].value)))
			json_object_set_new(names,
					    json_string_value(json_object_get(
						    r[i].value, "project")),
					    json_true());
	count = json_object_size(names);
	json_decref(names);
	return count;
}

static size_t count_chosen(const struct local *l)
{
	size_t count, chosen = 0;
	const struct code_record *r = code_files_records(l->records, &count);

	for (size_t i = 0; i < count; i++)
		chosen += r[i].kind == CODE_TEST &&
			  is_chosen(l, name_of(r[i].value));
	return chosen;
}

static int read_overrides(struct local *l)
{
	static const char *const known[] = {"retries_on_failure", NULL};
	int status;

	if (l->set_count && count_chosen(l) > 1)
		return client_usage("--set is about one test, and there are "
				    "%zu: choose with --test",
				    count_chosen(l));
	l->overrides = json_object();
	status = fields_read(l->overrides, l->sets, l->set_count);
	return status ? status : fields_check_paths(l->overrides, known);
}

static int read_files(struct local *l)
{
	const struct code_record *r;
	size_t count;
	int status;

	l->schema = code_schema_new();
	status =
		code_files_new(&l->records, l->schema, l->files, l->file_count);
	if (status)
		return status;
	if (!has_test(l, NULL))
		return client_usage("there is no test in the files");
	for (size_t i = 0; i < l->test_count; i++)
		if (!has_test(l, l->tests[i]))
			return client_usage("there is no test %s in the files",
					    l->tests[i]);
	status = read_overrides(l);
	if (status)
		return status;
	if (wants_reports(l) && count_projects(l) > 1)
		return client_usage("a report is about one project, and the "
				    "tests are of %zu: choose with --test",
				    count_projects(l));
	r = code_files_records(l->records, &count);
	for (size_t i = 0; i < count; i++)
		if (r[i].kind == CODE_TEST)
			drop_callbacks(r[i].value);
	return 0;
}

/* ---- controller and agents ---- */

static json_int_t id_of(const json_t *record, const char *member)
{
	return json_integer_value(json_object_get(record, member));
}

static int choose(struct local *l)
{
	json_t *rows = json_array(), *row;
	int status = client_list(l->client, "/tests", "tests", rows);
	size_t i;

	l->chosen = json_array();
	json_array_foreach(rows, i, row)
	{
		if (is_chosen(l, name_of(row)))
			json_array_append(l->chosen, row);
	}
	json_decref(rows);
	return status;
}

static int add_agents(struct local *l, json_int_t pool)
{
	char path[PATH_BYTES];
	struct remote_answer a;
	const char *token;
	int status;

	str_print(path, sizeof(path), "/agent-pools/%lld/token",
		  (long long)pool);
	status = client_call(l->client, "POST", path, NULL, NULL, &a);
	if (status)
		return status;
	token = json_string_value(json_object_get(
		json_object_get(a.body, "agent_pool"), "join_token"));
	for (unsigned i = 0; i < l->agents && !status; i++)
		status = local_system_add_agent(l->system, token ? token : "");
	remote_answer_release(&a);
	return status;
}

/* @return agents online; negative: status */
static int count_online(struct local *l)
{
	json_t *rows = json_array(), *row;
	int status = client_list(l->client, "/agents", "agents", rows);
	int count = 0;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		const char *state =
			json_string_value(json_object_get(row, "state"));

		count += state && strcmp(state, "online") == 0;
	}
	json_decref(rows);
	return status ? -status : count;
}

static int start_agents(struct local *l)
{
	int64_t until_ns = clock_mono_ns() + ENROL_NS_MAX;
	json_t *pools = json_object(), *test;
	int wanted = 0, online, status = 0;
	size_t i;

	json_array_foreach(l->chosen, i, test)
	{
		json_int_t pool = id_of(test, "agentpool_id");
		char key[24];

		str_print(key, sizeof(key), "%lld", (long long)pool);
		if (status || json_object_get(pools, key))
			continue;
		json_object_set_new(pools, key, json_true());
		status = add_agents(l, pool);
		wanted += (int)l->agents;
	}
	json_decref(pools);
	while (!status && (online = count_online(l)) < wanted) {
		status = online < 0 ? -online : local_system_pause(l->system);
		if (!status && clock_mono_ns() > until_ns) {
			fputs("offhook: the agents did not enrol\n", stderr);
			status = CLI_EXIT_ERRORED;
		}
	}
	return status;
}

/* ---- runs ---- */

static bool has_status(const json_t *run, const char *status)
{
	const char *own = json_string_value(json_object_get(run, "status"));

	return own && strcmp(own, status) == 0;
}

/* Read all of a run that has ended, and print its result. */
static int note_run(struct local *l, const json_t *row)
{
	char path[PATH_BYTES];
	struct remote_answer a;
	json_t *run;
	int status;

	str_print(path, sizeof(path), "/runs/%s", text_of(row, "session_id"));
	status = client_call(l->client, "GET", path, NULL, NULL, &a);
	if (status)
		return status;
	run = json_object_get(a.body, "run");
	/* its controller ends with this command */
	json_object_del(run, "report_url");
	json_array_append(l->finished, run);
	if (!client_json(l->client))
		run_result_print(l->client, run);
	fflush(stdout);
	remote_answer_release(&a);
	return 0;
}

/* @param over  the run, or the project run with its runs */
static int note_runs(struct local *l, bool project, const json_t *over)
{
	json_t *row;
	int status = 0;
	size_t i;

	if (!project)
		return note_run(l, over);
	json_array_foreach(json_object_get(over, "runs"), i, row)
	{
		if (!status)
			status = note_run(l, row);
	}
	if (strcmp(text_of(over, "run_status"), "stopped") == 0)
		l->stopped = true;
	return status;
}

/* @param runs  path of its kind of runs: "/runs" */
static void save_reports(struct local *l, const char *runs, const char *uuid)
{
	char path[PATH_BYTES];

	for (size_t i = 0; i < REPORTS; i++) {
		if (!l->report_paths[i])
			continue;
		str_print(path, sizeof(path), "%s/%s/report/%s", runs, uuid,
			  report_names[i]);
		if (client_replace(l->client, path, l->report_paths[i]))
			l->unsaved = true;
	}
}

/* Wait for the end of a run or project run, print it and save its reports. */
static int finish(struct local *l, bool project, const char *uuid)
{
	const struct run_wait_params params = {
		.client = l->client,
		.uuid = uuid,
		.project = project,
		.signals = local_system_signals(l->system),
		.broken = local_system_broken,
		.arg = l->system,
	};
	json_t *over = NULL;
	int status = run_wait(&params, &over);

	if (status)
		local_system_complain(l->system);
	else
		status = note_runs(l, project, over);
	if (!status)
		/* a run's last attempt has another id than the first one */
		save_reports(l, project ? "/projects/runs" : "/runs",
			     project ? uuid : text_of(over, "session_id"));
	json_decref(over);
	return status;
}

/* Run the chosen tests of one project. */
static int run_project(struct local *l, json_int_t project)
{
	json_t *body = json_pack("{s:[]}", "test_ids"), *test;
	char path[PATH_BYTES];
	struct remote_answer a;
	size_t i;
	int status;

	json_array_foreach(l->chosen, i, test)
	{
		if (id_of(test, "project_id") == project)
			json_array_append(json_object_get(body, "test_ids"),
					  json_object_get(test, "id"));
	}
	str_print(path, sizeof(path), "/projects/%lld/run", (long long)project);
	status = client_call(l->client, "POST", path, body, NULL, &a);
	json_decref(body);
	if (status)
		return status;
	status = finish(l, true, text_of(a.body, "project_run_uuid"));
	remote_answer_release(&a);
	return status;
}

/* Run the only chosen test with its overrides. */
static int run_overridden(struct local *l)
{
	char path[PATH_BYTES];
	struct remote_answer a;
	int status;

	str_print(path, sizeof(path), "/tests/%lld/run",
		  (long long)id_of(json_array_get(l->chosen, 0), "id"));
	status = client_call_form(l->client, "POST", path, l->overrides, NULL,
				  &a);
	if (status && remote_status(client_remote(l->client)) == 422)
		return CLI_EXIT_USAGE;
	if (status)
		return status;
	status = finish(l, false,
			text_of(json_object_get(a.body, "data"), "session_id"));
	remote_answer_release(&a);
	return status;
}

/* Projects of the chosen tests, as their ids. */
static json_t *projects_of(const struct local *l)
{
	json_t *projects = json_array(), *test, *known;
	size_t i, j;

	json_array_foreach(l->chosen, i, test)
	{
		json_t *project = json_object_get(test, "project_id");
		bool found = false;

		json_array_foreach(projects, j, known) found |=
			json_equal(known, project) != 0;
		if (!found)
			json_array_append(projects, project);
	}
	return projects;
}

static int run_all(struct local *l)
{
	json_t *projects = projects_of(l), *project;
	int status = start_agents(l);
	size_t i;

	l->finished = json_array();
	if (!status && l->set_count) {
		json_decref(projects);
		return run_overridden(l);
	}
	json_array_foreach(projects, i, project)
	{
		if (!status && !l->stopped)
			status = run_project(l, json_integer_value(project));
	}
	json_decref(projects);
	return status;
}

/* ---- the verdict ---- */

/* True if a further attempt followed the run. */
static bool is_repeated(const struct local *l, json_t *run)
{
	json_t *id = json_object_get(run, "session_id"), *other;
	size_t i;

	json_array_foreach(l->finished, i, other)
	{
		if (json_equal(json_object_get(other, "retry_of"), id))
			return true;
	}
	return false;
}

static int verdict(const struct local *l)
{
	bool failed = false, errored = l->stopped || l->unsaved;
	json_t *run;
	size_t i;

	json_array_foreach(l->finished, i, run)
	{
		if (is_repeated(l, run))
			continue;
		failed |= has_status(run, "failed");
		errored |= !has_status(run, "failed") &&
			   !has_status(run, "passed");
	}
	return failed    ? CLI_EXIT_FAILED
	       : errored ? CLI_EXIT_ERRORED
			 : CLI_EXIT_OK;
}

static void print_json(const struct local *l, int status)
{
	json_t *object = json_pack(
		"{s:b, s:b, s:O}", "passed", status == CLI_EXIT_OK, "errored",
		status == CLI_EXIT_ERRORED, "runs", l->finished);

	client_print_json(stdout, object);
	json_decref(object);
}

static void release(struct local *l)
{
	json_decref(l->chosen);
	json_decref(l->finished);
	json_decref(l->overrides);
	local_system_free(l->system);
	code_files_free(l->records);
	json_decref(l->schema);
}

int local_main(struct client *client, int argc, char **argv)
{
	struct local l = {.client = client,
			  .agents = 1,
			  .params = {.bind = "127.0.0.1",
				     .rtp_min = RTP_MIN,
				     .rtp_max = RTP_MAX}};
	int status = read_options(&l, argc, argv);

	if (!status)
		status = read_files(&l);
	if (!status)
		status = check_reports(&l);
	if (!status)
		status = local_system_new(&l.system, &l.params);
	if (!status)
		status = client_connect_to(client, local_system_url(l.system),
					   local_system_key(l.system));
	if (!status)
		status = apply_fresh(client, l.schema, l.records);
	if (!status)
		status = choose(&l);
	if (!status)
		status = run_all(&l);
	if (!status) {
		status = verdict(&l);
		if (client_json(client))
			print_json(&l, status);
	}
	release(&l);
	return status;
}
