#include "control/cli/capacity/capacity.h"

#include "base/clock.h"
#include "base/str.h"
#include "control/capacity/capacity_result.h"
#include "control/capacity/trial_log.h"
#include "control/cli/capacity/capacity_files.h"
#include "control/cli/capacity/capacity_options.h"
#include "control/cli/capacity/capacity_print.h"
#include "control/cli/capacity/capacity_state.h"
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
	struct trial_log log;
	json_t *state;  /* capacity_state.h; NULL: it is not kept */
	double seconds; /* that the search took before it was interrupted */
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
	const char *const files[] = {s->o.plot, s->o.junit, s->o.state};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		int err = files[i] ? client_may_replace(files[i]) : 0;

		if (err)
			return client_usage("%s: %s", files[i], strerror(-err));
	}
	return 0;
}

/* ---- the state ---- */

static double seconds_taken(const struct capacity *s)
{
	return s->seconds + (double)(clock_mono_ns() - s->begun_ns) / NS_PER_S;
}

/* What must be the same for a search to go on. */
static json_t *identity(const struct capacity *s)
{
	const struct search_params *p = &s->o.search;
	const json_t *test = s->record;

	return json_pack(
		"{s:O?, s:O?, s:s, s:s, s:f, s:f, s:f, s:f, s:i, s:i, "
		"s:i, s:i, s:O}",
		"test_id", json_object_get(test, "id"), "test_updated_at",
		json_object_get(test, "updated_at"), "action", s->o.plan.action,
		"unit",
		s->o.plan.is_rate ? "calls_per_second" : "concurrent_calls",
		"min", p->min, "max", p->max, "step", p->step, "width",
		p->width, "repeats", (int)p->repeats, "trial_s",
		(int)s->o.plan.trial_s, "warm_up_s", (int)s->o.plan.warm_up_s,
		"cool_down_s", (int)s->o.cool_down_s, "sets", s->sets);
}

static void write_state(struct capacity *s)
{
	int err;

	json_object_set_new(s->state, "seconds", json_real(seconds_taken(s)));
	err = capacity_state_write(s->o.state, s->state);
	if (err)
		break_off(s, "the state could not be written", strerror(-err));
}

/* @param running  taken over; the run in progress, or null */
static void keep_running(struct capacity *s, json_t *running)
{
	if (!s->state) {
		json_decref(running);
		return;
	}
	json_object_set_new(s->state, "running", running);
	write_state(s);
}

static void keep_trial(struct capacity *s, double load,
		       const struct trial_verdict *v, const json_t *run)
{
	if (!s->state)
		return;
	json_array_append_new(
		json_object_get(s->state, "trials"),
		json_pack("{s:f, s:s, s:s, s:s, s:s, s:s}", "load", load,
			  "outcome", trial_outcome_name(v->outcome),
			  "condition", v->condition, "sentence", v->sentence,
			  "session_id", text_of(run, "session_id"),
			  "report_url", text_of(run, "report_url")));
	keep_running(s, json_null());
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
	char key[CAPACITY_KEY_BYTES];
	struct run_post_params params = {.remote = client_remote(s->client),
					 .path = s->path,
					 .fields = fields,
					 .retry_s = s->o.retry_s,
					 .signals = s->signals};
	char reason[REMOTE_REASON_BYTES];
	struct remote_answer a;
	int err = fields && !json_object_update(fields, s->sets) ? 0 : -ENOMEM;

	if (s->state) {
		capacity_state_key(s->state, key);
		params.key = key;
	}
	if (!err)
		err = run_post(&params, &a, reason);
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

/* Wait for the end of a run. @return 0; exit status */
static int wait_for(struct capacity *s, const json_t *started, json_t **ret_run)
{
	const struct run_wait_params params = {
		.client = s->client,
		.quiet = true,
		.retry_s = s->o.retry_s,
		.signals = s->signals,
		.uuid = text_of(started, "session_id"),
		.report_url = text_of(started, "report_url"),
	};
	int status = run_wait(&params, ret_run);

	if (status)
		break_off(s, "the end of a run is not known",
			  params.report_url);
	return status;
}

/* Start a run and wait for its end. @return 0; exit status */
static int carry_out(struct capacity *s, double load, json_t **ret_run)
{
	json_t *started = NULL;
	int status = start(s, load, &started);

	if (status)
		return status;
	if (s->state && capacity_state_started(s->state)) {
		break_off(s, "the state cannot be kept", strerror(ENOMEM));
		json_decref(started);
		return CLI_EXIT_ERRORED;
	}
	keep_running(s, json_pack("{s:f, s:O, s:O}", "load", load, "session_id",
				  json_object_get(started, "session_id"),
				  "report_url",
				  json_object_get(started, "report_url")));
	status = wait_for(s, started, ret_run);
	json_decref(started);
	return status;
}

static void print_trial(const struct capacity *s, double load,
			const struct trial_verdict *v)
{
	static const char *const words[] = {
		[SEARCH_HELD] = "held",
		[SEARCH_FAILED] = "failed",
		[SEARCH_SATURATED] = "tester saturated",
	};
	FILE *out = client_json(s->client) ? stderr : stdout;
	size_t count;

	(void)search_trials(s->log.search, &count);
	fprintf(out, "%3zu  %8.10g %s  %s", count, load,
		capacity_result_unit(s->o.plan.is_rate), words[v->outcome]);
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
	const struct search_trial *trials =
		search_trials(s->log.search, &count);

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
	if (trial_log_add(&s->log, load, v, text_of(run, "session_id"),
			  text_of(run, "report_url"))) {
		break_off(s, "out of memory", "");
		return;
	}
	keep_trial(s, load, v, run);
	print_trial(s, load, v);
	tell_recovery(s);
}

/* Take a trial of the state as it was learned then. @return 0; -errno */
static int replay(struct capacity *s, const json_t *kept)
{
	struct trial_verdict v = {
		.condition = text_of(kept, "condition"),
		.sentence = text_of(kept, "sentence"),
	};
	int err = trial_outcome_parse(text_of(kept, "outcome"), &v.outcome);

	return err ? err
		   : trial_log_add(
			     &s->log,
			     json_number_value(json_object_get(kept, "load")),
			     &v, text_of(kept, "session_id"),
			     text_of(kept, "report_url"));
}

/* @return 0; CLI_EXIT_USAGE */
static int read_state(struct capacity *s)
{
	json_t *search = identity(s), *kept;
	const json_t *trials;
	size_t i;
	int status;

	if (!search)
		return client_usage("%s", strerror(ENOMEM));
	status = capacity_state_read(s->o.state, search, &s->state);
	json_decref(search);
	if (status)
		return status;
	trials = json_object_get(s->state, "trials");
	json_array_foreach(trials, i, kept)
	{
		if (replay(s, kept))
			return client_usage(
				"--state %s: trial %zu cannot be of "
				"this search",
				s->o.state, i + 1);
	}
	s->seconds = json_number_value(json_object_get(s->state, "seconds"));
	if (json_array_size(trials))
		fprintf(stderr,
			"offhook: the search goes on after %zu trials\n",
			json_array_size(trials));
	return 0;
}

static void judge(struct capacity *s, double load, const json_t *run)
{
	struct trial_verdict v;

	if (trial_judge(run, &v) == 0) {
		s->useless = 0;
		learn(s, load, run, &v);
		return;
	}
	keep_running(s, json_null());
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

/* Whether the controller has the run: it may have been deleted since. */
static bool run_exists(struct capacity *s, const json_t *running)
{
	char path[PATH_BYTES], reason[REMOTE_REASON_BYTES];
	struct remote_answer a;

	str_print(path, sizeof(path), "/runs/%.60s",
		  text_of(running, "session_id"));
	if (remote_call_json(client_remote(s->client), "GET", path, NULL, NULL,
			     &a, reason) == 0)
		remote_answer_release(&a);
	return remote_status(client_remote(s->client)) != 404;
}

/* A search that was killed left a run behind: its end counts as if it had been waited for. One
 * that was stopped says nothing. */
static void take_up(struct capacity *s)
{
	json_t *running = json_incref(json_object_get(s->state, "running"));
	json_t *run = NULL;

	if (!json_is_object(running) || !run_exists(s, running)) {
		json_decref(running);
		return;
	}
	if (wait_for(s, running, &run) == 0) {
		if (strcmp(text_of(run, "status"), "stopped") != 0)
			judge(s,
			      json_number_value(
				      json_object_get(running, "load")),
			      run);
		else
			keep_running(s, json_null());
	}
	json_decref(run);
	json_decref(running);
}

static void search_loop(struct capacity *s)
{
	struct search_next next;
	bool first = !s->state ||
		     !json_array_size(json_object_get(s->state, "trials"));

	if (s->state) {
		write_state(s); /* the key is in the file before it is used */
		take_up(s);
	}
	while (!s->broken_off[0] && search_next(s->log.search, &next)) {
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
		.search = s->log.search,
		.runs = s->log.runs,
		.causes = s->log.causes,
		.broken_off = s->broken_off[0] ? s->broken_off : NULL,
		.seconds = seconds_taken(s),
		.least = s->o.least,
	};
	int status = capacity_print_exit(&o), err = 0;

	if (client_json(s->client)) {
		json_t *body = capacity_print_json(&o);

		client_print_json(stdout, body);
		json_decref(body);
	} else {
		capacity_print(stdout, &o);
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
	if (trial_log_init(&s->log, &s->o.search)) {
		return client_usage(
			"these loads cannot be searched: MAX may be "
			"at most %.0f times MIN",
			SEARCH_RATIO_MAX);
	}
	if (s->o.state)
		status = read_state(s);
	if (status)
		return status;
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
	s->sets = json_object();
	status = capacity_options_read(&s->o, argc, argv);
	if (!status)
		status = run(s);
	trial_log_release(&s->log);
	json_decref(s->record);
	json_decref(s->state);
	json_decref(s->sets);
	free(s);
	return status;
}
