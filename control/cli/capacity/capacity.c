#include "control/cli/capacity/capacity.h"

#include "base/clock.h"
#include "base/str.h"
#include "control/cli/capacity/capacity_files.h"
#include "control/cli/capacity/capacity_options.h"
#include "control/cli/capacity/capacity_result.h"
#include "control/cli/client/client.h"
#include "control/cli/client/fields.h"
#include "control/cli/client/record_kinds.h"
#include "control/cli/common/exit_code.h"
#include "control/cli/common/terminal.h"
#include "control/cli/run/run_post.h"
#include "control/cli/run/run_wait.h"
#include "control/wire/text.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES   200
#define REASON_BYTES 600
/* A run that tells nothing about the load, as the agent was lost, is started again; after so many
 * in a row the search ends. */
#define USELESS_MAX 2

struct capacity {
	/* constant */
	struct client *client;
	struct capacity_options o;
	char path[PATH_BYTES]; /* of the start: "/tests/1/run" */
	const char *name;      /* of the test; borrowed from record */
	json_t *record;        /* the test */
	json_t *sets;          /* overrides of the user */
	int signals;           /* of run_signals_open() */
	/* the search */
	struct search *search;
	json_t *runs;   /* of each trial */
	json_t *causes; /* texts of conditions that failed */
	int64_t begun_ns;
	unsigned useless;
	char broken_off[REASON_BYTES]; /* "": it was not */
};

static void break_off(struct capacity *s, const char *why, const char *detail)
{
	str_print(s->broken_off, sizeof(s->broken_off), "%s%s%.500s", why,
		  detail[0] ? ": " : "", detail);
}

/* ---- the test ---- */

static int find_action(struct capacity *s)
{
	const json_t *steps = json_object_get(s->record, "steps");

	switch (trial_find_action(steps, s->o.action, s->o.plan.action)) {
	case 0:
		return 0;
	case -ENOENT:
		return client_usage("the test %s has no `call` action",
				    s->name);
	case -EEXIST:
		return client_usage("the test %s has several `call` actions: "
				    "--action STEP.ACTION, counted from 0, "
				    "says which one gets the load",
				    s->name);
	default:
		return client_usage("--action %s: the test %s has no `call` "
				    "action there",
				    s->o.action, s->name);
	}
}

static int read_test(struct capacity *s)
{
	char id[CLIENT_ID_BYTES], path[PATH_BYTES];
	struct remote_answer a;
	int status =
		client_id(s->client, record_kind_find("test"), s->o.test, id);

	if (status)
		return status;
	str_print(path, sizeof(path), "/tests/%s", id);
	str_print(s->path, sizeof(s->path), "/tests/%s/run", id);
	status = client_call(s->client, "GET", path, NULL, NULL, &a);
	if (status)
		return status;
	s->record = json_incref(json_object_get(a.body, "test"));
	remote_answer_release(&a);
	s->name = text_of(s->record, "name");
	return find_action(s);
}

/* What the search decides cannot be set as well. */
static int read_sets(struct capacity *s)
{
	static const char *const known[] = {"report.mode", NULL};
	int status = fields_read(s->sets, s->o.sets, s->o.set_count);
	json_t *ours;
	const char *name;
	void *at;

	if (!status)
		status = fields_check_paths(s->sets, known);
	if (status)
		return status;
	ours = trial_overrides(&s->o.plan, s->o.search.min);
	for (at = json_object_iter(ours); at && !status;
	     at = json_object_iter_next(ours, at)) {
		name = json_object_iter_key(at);
		if (json_object_get(s->sets, name))
			status = client_usage("--set %s: the search sets it "
					      "itself",
					      name);
	}
	json_decref(ours);
	return status;
}

static int check_files(const struct capacity *s)
{
	const char *const files[] = {s->o.plot, s->o.junit};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		int err = files[i] ? client_may_replace(files[i]) : 0;

		if (err)
			return client_usage("%s: %s", files[i], strerror(-err));
	}
	return 0;
}

/* ---- a trial ---- */

/* @return true: a signal came */
static bool pause_for(struct capacity *s, int64_t ms)
{
	struct pollfd fd = {.fd = s->signals, .events = POLLIN};

	if (poll(&fd, 1, (int)ms) <= 0)
		return false;
	break_off(s, "interrupted", "");
	return true;
}

/* @return 0; exit status */
static int start(struct capacity *s, double load, json_t **ret)
{
	json_t *fields = trial_overrides(&s->o.plan, load);
	struct run_post_params params = {.remote = client_remote(s->client),
					 .path = s->path,
					 .fields = fields,
					 .retry_s = s->o.retry_s,
					 .signals = s->signals};
	char reason[REMOTE_REASON_BYTES];
	struct remote_answer a;
	int err = fields && !json_object_update(fields, s->sets)
			  ? run_post(&params, &a, reason)
			  : -ENOMEM;

	json_decref(fields);
	if (err) {
		break_off(s, "no run could be started",
			  err == -ENOMEM ? strerror(ENOMEM) : reason);
		return client_refused(s->client, s->broken_off);
	}
	*ret = json_incref(json_object_get(a.body, "data"));
	remote_answer_release(&a);
	return 0;
}

/* Start a run and wait for its end. @return 0; exit status */
static int carry_out(struct capacity *s, double load, json_t **ret_run)
{
	struct run_wait_params params = {.client = s->client,
					 .quiet = true,
					 .retry_s = s->o.retry_s,
					 .signals = s->signals};
	json_t *started = NULL;
	int status = start(s, load, &started);

	if (status)
		return status;
	params.uuid = text_of(started, "session_id");
	params.report_url = text_of(started, "report_url");
	status = run_wait(&params, ret_run);
	if (status)
		break_off(s, "the end of a run is not known",
			  params.report_url);
	json_decref(started);
	return status;
}

static unsigned cause_number(struct capacity *s, const char *text)
{
	size_t count = json_array_size(s->causes);

	for (size_t i = 0; i < count; i++)
		if (strcmp(json_string_value(json_array_get(s->causes, i)),
			   text) == 0)
			return (unsigned)i;
	if (!text[0] || json_array_append_new(s->causes, json_string(text)))
		return SEARCH_CAUSE_NONE;
	return (unsigned)count;
}

static void print_trial(const struct capacity *s,
			const struct search_trial *trial,
			const struct trial_verdict *v)
{
	static const char *const words[] = {
		[SEARCH_HELD] = "held",
		[SEARCH_FAILED] = "failed",
		[SEARCH_SATURATED] = "tester saturated",
	};
	FILE *out = client_json(s->client) ? stderr : stdout;
	size_t count;

	(void)search_trials(s->search, &count);
	fprintf(out, "%3zu  %8.10g %s  %s", count, trial->load,
		capacity_result_unit(s->o.plan.is_rate), words[trial->outcome]);
	if (v->sentence[0]) {
		fputs(": ", out);
		terminal_print(out, v->sentence,
			       terminal_is(out) ? terminal_width(out) : 0);
	}
	fputc('\n', out);
	fflush(out);
}

/* A longer pause has shown that the trials before say nothing. */
static void tell_recovery(const struct capacity *s)
{
	size_t count;
	const struct search_trial *trials = search_trials(s->search, &count);

	if (count >= 2 && trials[count - 1].outcome == SEARCH_HELD &&
	    trials[count - 2].outcome == SEARCH_FAILED &&
	    trials[count - 2].discarded)
		fprintf(stderr,
			"offhook: the target had not recovered: failures since "
			"the first one do not count, and the cool-down is "
			"longer now\n");
}

static void learn(struct capacity *s, double load, const json_t *run,
		  const struct trial_verdict *v)
{
	struct search_trial trial = {
		.load = load,
		.outcome = v->outcome,
		.cause = v->outcome == SEARCH_FAILED
				 ? cause_number(s, v->condition)
				 : SEARCH_CAUSE_NONE,
	};
	int err = json_array_append_new(
		s->runs, json_pack("{s:s, s:s, s:s}", "sentence", v->sentence,
				   "session_id", text_of(run, "session_id"),
				   "report_url", text_of(run, "report_url")));

	if (!err)
		err = search_add(s->search, &trial);
	if (err) {
		break_off(s, "out of memory", "");
		return;
	}
	print_trial(s, &trial, v);
	tell_recovery(s);
}

static void judge(struct capacity *s, double load, const json_t *run)
{
	struct trial_verdict v;

	if (trial_judge(run, &v) == 0) {
		s->useless = 0;
		learn(s, load, run, &v);
		return;
	}
	if (strcmp(text_of(run, "status"), "stopped") == 0) {
		break_off(s, "interrupted", "");
		return;
	}
	if (++s->useless == USELESS_MAX) {
		break_off(s, "a trial could not be carried out",
			  text_of(run, "result_description"));
		return;
	}
	fputs("offhook: the trial says nothing about the load and is repeated: ",
	      stderr);
	terminal_print(stderr, text_of(run, "result_description"), 0);
	fputc('\n', stderr);
}

static void search_loop(struct capacity *s)
{
	struct search_next next;
	bool first = true;

	while (!s->broken_off[0] && search_next(s->search, &next)) {
		int64_t pause_ms =
			1000 * (int64_t)s->o.cool_down_s * (int64_t)next.pause;
		json_t *run = NULL;

		if (pause_for(s, first ? 0 : pause_ms))
			return;
		first = false;
		if (carry_out(s, next.load, &run) == 0)
			judge(s, next.load, run);
		json_decref(run);
	}
}

/* ---- the end ---- */

static int finish(struct capacity *s)
{
	const struct capacity_result o = {
		.test = s->name,
		.is_rate = s->o.plan.is_rate,
		.params = &s->o.search,
		.search = s->search,
		.runs = s->runs,
		.causes = s->causes,
		.broken_off = s->broken_off[0] ? s->broken_off : NULL,
		.seconds = (double)(clock_mono_ns() - s->begun_ns) / NS_PER_S,
		.least = s->o.least,
	};
	int status = capacity_result_exit(&o), err = 0;

	if (client_json(s->client)) {
		json_t *body = capacity_result_json(&o);

		client_print_json(stdout, body);
		json_decref(body);
	} else {
		capacity_result_print(stdout, &o);
	}
	fflush(stdout);
	if (s->o.plot)
		err = capacity_files_plot(&o, s->o.plot);
	if (!err && s->o.junit)
		err = capacity_files_junit(&o, s->o.junit);
	if (err)
		fprintf(stderr, "offhook: a file could not be written: %s\n",
			strerror(-err));
	return err && status == CLI_EXIT_OK ? CLI_EXIT_ERRORED : status;
}

static int run(struct capacity *s)
{
	int status = check_files(s);

	if (!status)
		status = client_connect(s->client);
	if (!status)
		status = read_test(s);
	if (!status)
		status = read_sets(s);
	if (status)
		return status;
	if (search_new(&s->search, &s->o.search)) {
		return client_usage(
			"these loads cannot be searched: MAX may be "
			"at most %.0f times MIN",
			SEARCH_RATIO_MAX);
	}
	s->signals = run_signals_open();
	if (s->signals < 0) {
		fprintf(stderr, "offhook: signals: %s\n",
			strerror(-s->signals));
		return CLI_EXIT_ERRORED;
	}
	s->begun_ns = clock_mono_ns();
	search_loop(s);
	run_signals_close(s->signals);
	return finish(s);
}

int capacity_main(struct client *c, int argc, char **argv)
{
	struct capacity *s = calloc(1, sizeof(*s));
	int status;

	if (!s)
		return CLI_EXIT_ERRORED;
	s->client = c;
	s->runs = json_array();
	s->causes = json_array();
	s->sets = json_object();
	status = capacity_options_read(&s->o, argc, argv);
	if (!status)
		status = run(s);
	search_free(s->search);
	json_decref(s->record);
	json_decref(s->sets);
	json_decref(s->causes);
	json_decref(s->runs);
	free(s);
	return status;
}
