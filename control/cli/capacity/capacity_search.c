#include "control/cli/capacity/capacity_search.h"

#include "base/clock.h"
#include "base/str.h"
#include "control/capacity/capacity_result.h"
#include "control/cli/client/client.h"
#include "control/cli/common/exit_code.h"
#include "control/cli/common/table.h"
#include "control/cli/common/terminal.h"
#include "control/cli/run/run_wait.h"
#include "control/wire/text.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 100
#define LOAD_BYTES 40

/* ---- the command line ---- */

/* Read the options and the number of the search.
 * @param retry_s  seconds of --retry-for; NULL: the verb has no such option
 * @return 0; exit status */
static int read_arguments(int argc, char **argv, unsigned *retry_s,
			  const char **id)
{
	static const struct option options[] = {
		{"retry-for", required_argument, NULL, 'r'},
		{NULL, 0, NULL, 0},
	};
	uint64_t number;
	int option, status;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option != 'r' || !retry_s)
			return client_usage(
				"wrong option of `capacity-search %s`",
				argv[0]);
		status = run_wait_read_retry(optarg, retry_s);
		if (status)
			return status;
	}
	if (optind >= argc || str_to_u64(argv[optind], INT64_MAX, &number))
		return client_usage("capacity-search %s takes the number of a "
				    "search: `offhook capacity-search list`",
				    argv[0]);
	if (optind + 1 < argc)
		return client_usage("%s is too much", argv[optind + 1]);
	*id = argv[optind];
	return 0;
}

static void path_of(const char *id, const char *suffix,
		    char path[static PATH_BYTES])
{
	(void)str_print(path, PATH_BYTES, "/capacity-searches/%s%s", id,
			suffix);
}

/* Send the one request of a verb about a search. @return 0; exit status */
static int ask_once(struct client *c, int argc, char **argv, const char *method,
		    const char *suffix, const char **id,
		    struct remote_answer *ret)
{
	char path[PATH_BYTES];
	int status = read_arguments(argc, argv, NULL, id);

	if (status)
		return status;
	path_of(*id, suffix, path);
	return client_call(c, method, path, NULL, NULL, ret);
}

/* ---- what is shown ---- */

static bool is_rate(const json_t *search)
{
	return strcmp(text_of(search, "unit"), "calls_per_second") == 0;
}

static double number_of(const json_t *of, const char *name)
{
	return json_number_value(json_object_get(of, name));
}

static long long integer_of(const json_t *of, const char *name)
{
	return (long long)json_integer_value(json_object_get(of, name));
}

/* "failed"; "" while it is in progress. */
static const char *outcome_of(const json_t *trial)
{
	return text_of(trial, "outcome");
}

static void print_head(const json_t *search)
{
	printf("%-10s%lld, %s\n", "search", integer_of(search, "id"),
	       text_of(search, "uuid"));
	table_member("test", text_of(search, "test_name"));
	table_member("project", text_of(search, "project_name"));
	table_member("pool", text_of(search, "agentpool_name"));
	printf("%-10s%.10g to %.10g %s, at most %.10g %% wide, %lld s a trial\n",
	       "looks for", number_of(search, "min"), number_of(search, "max"),
	       capacity_result_unit(is_rate(search)),
	       number_of(search, "width_percent"),
	       integer_of(search, "trial_s"));
	table_member("began", text_of(search, "created_at"));
	table_member("ended", text_of(search, "stopped_at"));
	table_member("status", text_of(search, "status"));
	table_member("", text_of(search, "description"));
	table_member("waits for", text_of(search, "waiting_for"));
	table_member("next trial", text_of(search, "next_at"));
}

static void print_limit(const json_t *result)
{
	const char *limit = text_of(result, "limit");

	if (strcmp(limit, "target") == 0)
		table_member("limit", "the target");
	else if (strcmp(limit, "tester") == 0)
		table_member("limit", "the tester: the target can do more");
	else
		return;
	table_member("", text_of(result, "condition"));
	table_member("", text_of(result, "sentence"));
}

static void print_result(const json_t *search)
{
	const json_t *result = json_object_get(search, "result");

	if (json_is_object(result)) {
		printf("%-10s%s (%lld %% confidence, %lld trials)\n", "result",
		       text_of(result, "text"),
		       integer_of(result, "confidence_percent"),
		       integer_of(search, "trial_count"));
		print_limit(result);
		if (json_is_true(json_object_get(result, "not_monotone")))
			table_member(
				"",
				"a higher load held and a lower one failed: "
				"the result is about the lower one");
		if (!json_is_true(json_object_get(result, "reached")))
			table_member(
				"",
				"the interval is not as narrow as was asked");
	}
	table_member("report", text_of(search, "report_url"));
}

static json_t *trial_row(const json_t *trial)
{
	const char *outcome = outcome_of(trial);
	char load[LOAD_BYTES], found[LOAD_BYTES];

	(void)str_print(load, sizeof(load), "%.10g", number_of(trial, "load"));
	(void)str_print(found, sizeof(found), "%s%s",
			outcome[0] ? outcome : "in progress",
			json_is_true(json_object_get(trial, "discarded"))
				? ", does not count"
				: "");
	return json_pack(
		"[s, s, s, s, s]", load, found, text_of(trial, "started_at"),
		text_of(trial, "session_id"), text_of(trial, "sentence"));
}

static void print_trials(const json_t *search)
{
	static const struct table_column columns[] = {
		{"load", true}, {"outcome", false},  {"began", false},
		{"run", false}, {"sentence", false},
	};
	json_t *rows = json_array();
	const json_t *trial;
	size_t i;

	json_array_foreach(json_object_get(search, "trials"), i, trial)
	{
		json_array_append_new(rows, trial_row(trial));
	}
	if (json_array_size(rows) > 0) {
		putchar('\n');
		table_print(stdout, columns, sizeof(columns) / sizeof(*columns),
			    rows, table_width(stdout));
	}
	json_decref(rows);
}

static void print_search(struct client *c, const struct remote_answer *a)
{
	const json_t *search = json_object_get(a->body, "capacity_search");

	if (client_json(c)) {
		client_print_json(stdout, a->body);
		return;
	}
	print_head(search);
	print_result(search);
	print_trials(search);
}

int capacity_search_show(struct client *c, int argc, char **argv)
{
	struct remote_answer a;
	const char *id = "";
	int status = ask_once(c, argc, argv, "GET", "", &id, &a);

	if (status)
		return status;
	print_search(c, &a);
	remote_answer_release(&a);
	return CLI_EXIT_OK;
}

/* ---- watch ---- */

struct watching {
	struct client *client;
	char path[PATH_BYTES];
	unsigned retry_s;
	int64_t away_ns; /* no answer since; 0: it answers */
	size_t told;     /* trials */
	char waiting
		[REMOTE_REASON_BYTES]; /* last told; "": it waits for nothing */
};

__attribute__((format(printf, 1, 2))) static void say(const char *fmt, ...)
{
	char text[2 * REMOTE_REASON_BYTES];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	terminal_tell(text);
}

/* Ask until there is an answer. @return 0; exit status, the complaint was printed */
static int ask(struct watching *w, struct remote_answer *ret)
{
	struct remote *remote = client_remote(w->client);
	char reason[REMOTE_REASON_BYTES];

	while (remote_call_json(remote, "GET", w->path, NULL, NULL, ret,
				reason)) {
		int64_t now = clock_mono_ns();

		if (!remote_is_passing(remote))
			return client_refused(w->client, reason);
		if (!w->away_ns) {
			w->away_ns = now;
			say("the controller does not answer (%s); trying again "
			    "for %u s",
			    reason, w->retry_s);
		}
		if (now - w->away_ns >= w->retry_s * NS_PER_S)
			return client_refused(w->client, reason);
		sleep(1);
	}
	if (w->away_ns)
		say("the controller is back");
	w->away_ns = 0;
	return 0;
}

static void tell_trials(struct watching *w, const json_t *search)
{
	const json_t *trials = json_object_get(search, "trials"), *trial;
	const char *waiting = text_of(search, "waiting_for");

	while ((trial = json_array_get(trials, w->told)) &&
	       outcome_of(trial)[0]) {
		const char *sentence = text_of(trial, "sentence");

		w->told++;
		say("trial %zu: %.10g %s: %s%s%s", w->told,
		    number_of(trial, "load"),
		    capacity_result_unit(is_rate(search)), outcome_of(trial),
		    sentence[0] ? ": " : "", sentence);
	}
	if (strcmp(waiting, w->waiting) == 0)
		return;
	if (waiting[0])
		say("the search waits: %s", waiting);
	(void)str_copy(w->waiting, sizeof(w->waiting), waiting);
}

static int exit_of(const json_t *search)
{
	const json_t *result = json_object_get(search, "result");

	if (strcmp(text_of(search, "status"), "done") != 0 ||
	    !json_is_true(json_object_get(result, "reached")))
		return CLI_EXIT_ERRORED;
	return strcmp(text_of(result, "limit"), "below") == 0 ? CLI_EXIT_FAILED
							      : CLI_EXIT_OK;
}

int capacity_search_watch(struct client *c, int argc, char **argv)
{
	struct watching w = {.client = c, .retry_s = RUN_WAIT_RETRY_S};
	const json_t *search;
	struct remote_answer a;
	const char *id = "";
	int status = read_arguments(argc, argv, &w.retry_s, &id);

	if (!status)
		status = client_connect(c);
	if (status)
		return status;
	path_of(id, "", w.path);
	while (!(status = ask(&w, &a))) {
		search = json_object_get(a.body, "capacity_search");
		tell_trials(&w, search);
		if (strcmp(text_of(search, "status"), "running") != 0)
			break;
		remote_answer_release(&a);
		sleep(1);
	}
	if (status)
		return status;
	print_search(c, &a);
	status = exit_of(search);
	remote_answer_release(&a);
	return status;
}

/* ---- stop ---- */

int capacity_search_stop(struct client *c, int argc, char **argv)
{
	struct remote_answer a;
	const char *id = "";
	int status = ask_once(c, argc, argv, "POST", "/stop", &id, &a);

	if (status)
		return status;
	printf("search %s is being stopped\n", id);
	remote_answer_release(&a);
	return CLI_EXIT_OK;
}
