/* Call and answer actions with client sipp: copies the files of the test into a folder,
 * runs SIPp in it, takes its calls, and reports how it ended. */
#include "agent/engine/job/job_internal.h"

#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "control/wire/event.h"
#include "control/wire/sipp_options.h"
#include "sip/sipp/sipp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER_BYTES   128
#define FILE_BYTES_MAX (64 << 20)
#define XML_BYTES_MAX  (4 << 20)
#define WORDS_MAX      (128 + 16)
#define SENTENCES_MAX  20u /* more are counted */
#define USER_BYTES     512

struct sipp_run {
	struct le le;
	struct actions *actions;
	const struct wire_action *action;
	char folder[FOLDER_BYTES]; /* "": there is none */
	struct sipp *sipp;
	bool done;            /* action_done() was called */
	json_t *errors;       /* sentences of its error log */
	uint64_t more_errors; /* that are left out */
	uint64_t unreported;  /* calls that had no room */
};

static bool waited(const struct sipp_run *r)
{
	return r->action->type == WIRE_ACTION_CALL;
}

static const char *scenario_name(const struct sipp_run *r)
{
	return r->action->sipp.scenario.name;
}

/* ---- the files of the test ---- */

static void path_of(const struct sipp_run *r, const char *name,
		    char dst[static ENGINE_PATH_BYTES])
{
	(void)str_print(dst, ENGINE_PATH_BYTES, "%s/%s", r->folder, name);
}

static void folder_remove(struct sipp_run *r)
{
	const struct wire_sipp *s = &r->action->sipp;
	char path[ENGINE_PATH_BYTES];

	if (!r->folder[0])
		return;
	path_of(r, s->scenario.name, path);
	unlink(path);
	for (size_t i = 0; i < s->file_count; i++) {
		path_of(r, s->files[i].name, path);
		unlink(path);
	}
	rmdir(r->folder);
	r->folder[0] = '\0';
}

static int folder_make(struct sipp_run *r)
{
	const char *base = getenv("TMPDIR");

	if (!base || strlen(base) > sizeof(r->folder) / 2)
		base = "/tmp";
	(void)str_print(r->folder, sizeof(r->folder), "%s/offhook-sipp-XXXXXX",
			base);
	if (mkdtemp(r->folder))
		return 0;
	r->folder[0] = '\0';
	return -errno;
}

/* Read a whole file. @param ret  the caller's to free */
static int file_read(const char *path, size_t max, char **ret, size_t *ret_len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *data = NULL;
	size_t used = 0;
	ssize_t n = 1;
	int err = fd < 0 ? -errno : 0;

	if (!err && fstat(fd, &st))
		err = -errno;
	if (!err && !S_ISREG(st.st_mode))
		err = -EINVAL;
	if (!err && (st.st_size < 0 || (uint64_t)st.st_size > max))
		err = -EFBIG;
	if (!err) {
		data = malloc((size_t)st.st_size + 1);
		err = data ? 0 : -ENOMEM;
	}
	while (!err && n > 0 && used < (size_t)st.st_size) {
		n = read(fd, data + used, (size_t)st.st_size - used);
		if (n < 0)
			err = -errno;
		else
			used += (size_t)n;
	}
	if (fd >= 0)
		close(fd);
	if (err) {
		free(data);
		return err;
	}
	*ret = data;
	*ret_len = used;
	return 0;
}

static int file_write_new(const char *path, const char *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int err = fd < 0 ? -errno : file_write(fd, data, len);

	if (fd >= 0)
		close(fd);
	return err;
}

/* @return 0; -errno, and the job was ended */
static int file_fail(const struct sipp_run *r, const char *name, int err)
{
	const char *why = err == -ENOENT  ? "is neither an appimage nor in the "
					    "agent's prompt_dir"
			  : err == -EFBIG ? "is too large"
			  : err == -EINVAL ? "is no file"
					   : strerror(-err);

	report_end_job(r->actions->report, "error",
		       "role %s: client sipp: %s %s", r->actions->job->role,
		       name, why);
	return err;
}

/* @return 0; -errno, and the job was ended */
static int file_copy(struct sipp_run *r, const struct wire_prompt *file,
		     bool scenario)
{
	char path[ENGINE_PATH_BYTES * 2];
	char copy[ENGINE_PATH_BYTES];
	char *data = NULL;
	size_t len = 0;
	size_t line;
	int err = engine_prompt_path(r->actions->settings, file->name,
				     file->sha256, path, sizeof(path));

	if (!err)
		err = file_read(path, scenario ? XML_BYTES_MAX : FILE_BYTES_MAX,
				&data, &len);
	if (err)
		return file_fail(r, file->name, err);
	/* a CSV or a sound is never read as a scenario, but with -oocsf it is */
	line = sipp_scenario_command(data, len);
	if (line) {
		report_end_job(r->actions->report, "error",
			       "role %s: client sipp: %s, line %zu: <exec "
			       "command> runs a shell command on the agent's "
			       "host: it is refused",
			       r->actions->job->role, file->name, line);
		err = -EPERM;
	} else {
		path_of(r, file->name, copy);
		err = file_write_new(copy, data, len);
		if (err)
			(void)file_fail(r, file->name, err);
	}
	free(data);
	return err;
}

static int files_copy(struct sipp_run *r)
{
	const struct wire_sipp *s = &r->action->sipp;
	int err = folder_make(r);

	if (err)
		return file_fail(r, "its folder", err);
	err = file_copy(r, &s->scenario, true);
	for (size_t i = 0; !err && i < s->file_count; i++)
		err = file_copy(r, &s->files[i], false);
	return err;
}

/* ---- what it does ---- */

static void call_came(struct sip_call *call, bool outgoing, void *arg)
{
	struct sipp_run *r = arg;
	int err = calls_observe(r->actions->calls, r->action, call, outgoing);

	if (err)
		r->unreported++;
}

static void sentence(const char *text, void *arg)
{
	struct sipp_run *r = arg;

	if (json_array_size(r->errors) == SENTENCES_MAX ||
	    json_array_append_new(r->errors, json_string(text)))
		r->more_errors++;
}

/* ---- how it ended ---- */

static json_t *counters_encode(const struct sipp_counters *c)
{
	json_t *o = json_object();

	for (size_t i = 0; o && i < SIPP_COUNTER_COUNT; i++) {
		const char *name;
		uint64_t value = sipp_counter(c, i, &name);

		(void)json_object_set_new(o, name,
					  json_integer((json_int_t)value));
	}
	return o;
}

/* Why calls failed: "1 FailedUnexpectedMessage, 2 FailedTimeoutOnRecv" */
static void failures_text(char *dst, size_t size, const struct sipp_counters *c)
{
	size_t used = 0;

	dst[0] = '\0';
	for (size_t i = 0; i < SIPP_COUNTER_COUNT; i++) {
		const char *name;
		uint64_t value = sipp_counter(c, i, &name);
		int n;

		if (!value || strncmp(name, "Failed", 6) != 0 ||
		    strcmp(name, "FailedCall") == 0)
			continue;
		n = str_print(dst + used, size - used, "%s%llu %s",
			      used ? ", " : "", (unsigned long long)value,
			      name);
		used += n > 0 ? (size_t)n : 0;
	}
}

static bool is_idle(const struct sipp_end *end)
{
	return !end->known ||
	       end->counters.incoming + end->counters.outgoing == 0;
}

/* In words; @return whether the scenario failed */
static bool end_words(char *dst, size_t size, const struct sipp_end *end)
{
	const struct sipp_counters *c = &end->counters;
	char why[256];

	failures_text(why, sizeof(why), c);
	if (end->known && c->failed) {
		(void)str_print(dst, size, "%llu of %llu calls failed%s%s",
				(unsigned long long)c->failed,
				(unsigned long long)c->failed + c->successful,
				why[0] ? ": " : "", why);
		return true;
	}
	if (end->status == 1 || is_idle(end)) {
		(void)str_print(dst, size, "%s",
				is_idle(end) ? "it ended without a call"
					     : "at least one call failed");
		return true;
	}
	(void)str_print(dst, size, "%s",
			end->stopped        ? "ended by the agent"
			: end->status == 97 ? "ended by its scenario"
					    : "all calls were successful");
	return false;
}

/* Statuses of SIPp: 0, 1 at least one call failed, 97 an internal command, 99 no calls.
 * Others are fatal errors. */
static bool is_fatal(const struct sipp_end *end)
{
	if (end->stopped)
		return false;
	/* a scenario that it cannot read has status 1, too */
	return end->signal || (end->status == 1 && is_idle(end)) ||
	       (end->status != 0 && end->status != 1 && end->status != 97 &&
		end->status != 99);
}

static void fatal_report(const struct sipp_run *r, const struct sipp_end *end)
{
	const char *last = end->last[0] ? end->last : "it said nothing";

	if (end->signal)
		report_end_job(r->actions->report, "error",
			       "role %s: SIPp ended: signal %d (%s)",
			       r->actions->job->role, end->signal,
			       strsignal(end->signal));
	else
		report_end_job(r->actions->report, "error",
			       "role %s: SIPp ended with status %d: %s",
			       r->actions->job->role, end->status, last);
}

static void run_free(struct sipp_run *r)
{
	list_unlink(&r->le);
	sipp_free(r->sipp);
	folder_remove(r);
	json_decref(r->errors);
	free(r);
}

static void run_ended(const struct sipp_end *end, void *arg)
{
	struct sipp_run *r = arg;
	struct actions *actions = r->actions;
	bool done = r->done;
	char text[512];
	const struct wire_event_sipp event = {
		.scenario = scenario_name(r),
		.ok = !end_words(text, sizeof(text), end) && !is_fatal(end),
		.end = text,
		.status = end->status,
		.counters = end->known ? counters_encode(&end->counters) : NULL,
		.errors = r->errors,
		.more_errors = r->more_errors,
		.unmeasured = end->unmeasured,
		.unreported = r->unreported,
		.unread = end->left_out,
	};

	report_event(
		actions->report,
		wire_event_sipp(report_time(actions->report, clock_mono_ns()),
				&event));
	json_decref(event.counters);
	log_info("run=%s role=%s SIPp ended with status %d: %s",
		 actions->job->session_id, actions->job->role, end->status,
		 text);
	if (is_fatal(end))
		fatal_report(r, end);
	run_free(r);
	if (!done)
		action_done(actions);
	action_ended(actions);
}

/* One that answers: from now on it can be called. */
static void run_listens(void *arg)
{
	struct sipp_run *r = arg;

	r->done = true;
	action_done(r->actions);
}

/* ---- the start ---- */

struct words {
	const char *list[WORDS_MAX];
	size_t count;
	char total[16];
	char limit[16];
	char rate[32];
	char user[USER_BYTES];
};

static void word_pair(struct words *w, const struct wire_sipp *s,
		      const char *name, const char *value)
{
	if (wire_sipp_option(s->options, s->option_count, name))
		return;
	w->list[w->count++] = name;
	w->list[w->count++] = value;
}

/* The parameters as words, then those of the test. @return 0; -EINVAL */
static int words_fill(struct words *w, const struct actions *actions,
		      const struct wire_action *a)
{
	const struct wire_sipp *s = &a->sipp;
	const struct wire_credential *c =
		a->credential_count ? &a->credentials[0] : NULL;

	w->count = 0;
	if (a->max_total_calls) {
		(void)str_print(w->total, sizeof(w->total), "%u",
				a->max_total_calls);
		word_pair(w, s, "-m", w->total);
	}
	if (a->type == WIRE_ACTION_CALL) {
		(void)str_print(w->limit, sizeof(w->limit), "%u",
				a->max_concurrent_calls);
		(void)str_print(w->rate, sizeof(w->rate), "%g",
				a->calls_per_second);
		if (!wire_sipp_option(s->options, s->option_count, "-users")) {
			word_pair(w, s, "-l", w->limit);
			word_pair(w, s, "-r", w->rate);
		}
	}
	if (a->dial_destination &&
	    wire_expand_dial(w->user, sizeof(w->user), a->dial_destination,
			     actions->job, 0, c ? c->username : "") < 0)
		return -EINVAL;
	if (a->dial_destination)
		word_pair(w, s, "-s", w->user);
	else if (c)
		word_pair(w, s, "-s", c->username);
	if (c)
		word_pair(w, s, "-au",
			  c->auth_username ? c->auth_username : c->username);
	if (c && c->password)
		word_pair(w, s, "-ap", c->password);
	for (size_t i = 0; i < s->option_count; i++)
		w->list[w->count++] = s->options[i];
	return 0;
}

static const char *remote_of(const struct wire_action *a, char *dst,
			     size_t size)
{
	const struct wire_host *h = a->hosts;
	bool v6;

	if (!a->host_count)
		return NULL;
	v6 = strchr(h->host, ':') != NULL;
	if (str_print(dst, size, "%s%s%s:%u", v6 ? "[" : "", h->host,
		      v6 ? "]" : "", h->port ? h->port : 5060) < 0)
		return NULL;
	return dst;
}

static int run_start(struct sipp_run *r, char *reason)
{
	const struct engine_settings *s = r->actions->settings;
	const struct wire_action *a = r->action;
	char remote[300];
	struct words words;
	struct sipp_params params = {
		.folder = r->folder,
		.scenario = scenario_name(r),
		.remote = remote_of(a, remote, sizeof(remote)),
		.words = words.list,
		.bind_addr = s->bind,
		.port = a->sipp.port,
		.rtp_min = s->rtp_min,
		.rtp_max = s->rtp_max,
		.tcp = a->host_count && a->hosts[0].transport == WIRE_TCP,
		.trace_h = user_agents_traced,
		.trace_arg = r->actions->accounts,
		.call_h = call_came,
		.error_h = sentence,
		.listens_h = waited(r) ? NULL : run_listens,
		.ended_h = run_ended,
		.arg = r,
		.reason = reason,
	};
	int err = words_fill(&words, r->actions, a);

	params.word_count = words.count;
	return err ? err : sipp_start(&r->sipp, &params);
}

void action_sipp_start(struct actions *actions,
		       const struct wire_action *action)
{
	struct sipp_run *r = calloc(1, sizeof(*r));
	char reason[SIP_REASON_BYTES] = "";
	int err = r ? 0 : -ENOMEM;

	if (!err) {
		r->actions = actions;
		r->action = action;
		r->errors = json_array();
		list_append(&actions->sipps, &r->le, r);
		if (files_copy(r)) {
			run_free(r);
			return; /* the job was ended */
		}
		err = run_start(r, reason);
	}
	if (err) {
		report_end_job(actions->report, "error",
			       "role %s: client sipp: %s", actions->job->role,
			       reason[0] ? reason : strerror(-err));
		if (r)
			run_free(r);
		return;
	}
	log_info("run=%s role=%s SIPp runs %s", actions->job->session_id,
		 actions->job->role, scenario_name(r));
}

void action_sipp_stop(struct actions *actions)
{
	struct le *le;

	LIST_FOREACH(&actions->sipps, le)
	{
		sipp_stop(((struct sipp_run *)le->data)->sipp);
	}
}

bool action_sipp_ended(const struct actions *actions)
{
	return !actions->sipps.head;
}

void action_sipp_free(struct actions *actions)
{
	while (actions->sipps.head)
		run_free(actions->sipps.head->data);
}
