#include "control/server/report/metrics.h"

#include "base/buf.h"
#include "base/str.h"
#include "conf/controller_conf.h"
#include "control/server/report/metrics_text.h"
#include "control/server/report/test_metrics.h"
#include "control/server/request/controller.h"
#include "control/server/store/lease_clock.h"
#include "control/server/store/store.h"
#include "control/server/store/store_metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* METRICS_AGENTS_MAX agents and METRICS_TESTS_MAX tests with the longest names,
 * escaped, fit. */
#define TEXT_BYTES (16u << 20)

struct labelled {
	struct buf *text;
	const char *name;
	const char *label; /* NULL: the group is part of the name */
};

/* Names of groups are constants: they need no escaping. */
static int put_count(const char *group, int64_t count, void *arg)
{
	const struct labelled *l = arg;

	if (!l->label)
		return buf_print(l->text,
				 "# HELP offhook_agents_%s Jobs of agents that "
				 "are not offline.\n"
				 "# TYPE offhook_agents_%s gauge\n"
				 "offhook_agents_%s %" PRId64 "\n",
				 group, group, group, count);
	return buf_print(l->text, "offhook_%s{%s=\"%s\"} %" PRId64 "\n",
			 l->name, l->label, group, count);
}

/* One metric of all agents: the format requires its lines together. */
struct agent_metric {
	struct buf *text;
	const char *name;
	bool (*value)(const struct agent_figures *agent, double *ret);
};

static bool up(const struct agent_figures *agent, double *ret)
{
	*ret = agent->up;
	return true;
}

static bool capacity(const struct agent_figures *agent, double *ret)
{
	*ret = (double)agent->capacity;
	return true;
}

static bool in_use(const struct agent_figures *agent, double *ret)
{
	*ret = (double)agent->in_use;
	return true;
}

static bool last_seen(const struct agent_figures *agent, double *ret)
{
	*ret = (double)agent->last_seen_ms / 1e3;
	return agent->last_seen_ms > 0;
}

static bool clock_offset(const struct agent_figures *agent, double *ret)
{
	*ret = (double)agent->clock_offset_us / 1e6;
	return agent->has_offset;
}

static int put_agent(const struct agent_figures *agent, void *arg)
{
	const struct agent_metric *m = arg;
	double value;
	int err;

	if (!m->value(agent, &value))
		return 0;
	err = buf_print(m->text, "offhook_agent_%s{", m->name);
	if (!err)
		err = metrics_text_label(m->text, "pool", agent->pool);
	if (!err)
		err = buf_add(m->text, ",", 1);
	if (!err)
		err = metrics_text_label(m->text, "agent", agent->name);
	return err ? err : buf_print(m->text, "} %.15g\n", value);
}

static int put_agents_omitted(struct buf *b, struct store *store)
{
	int64_t count;
	int err = store_count_all_agents(store, &count);

	if (!err)
		err = metrics_text_head(
			b, "agents_omitted", "gauge",
			"Agents that are too many to have metrics of their "
			"own.");
	return err ? err
		   : buf_print(b, "offhook_agents_omitted %" PRId64 "\n",
			       count > METRICS_AGENTS_MAX
				       ? count - METRICS_AGENTS_MAX
				       : 0);
}

static int put_agents(struct buf *b, struct request *req, int64_t seen)
{
	static const struct {
		const char *name;
		const char *help;
		bool (*value)(const struct agent_figures *, double *);
	} metrics[] = {
		{"up", "1: it polls, 0: it is offline.", up},
		{"capacity", "Jobs that it can take.", capacity},
		{"in_use", "Jobs that it has.", in_use},
		{"last_seen_seconds", "When it was heard of last, since 1970.",
		 last_seen},
		{"clock_offset_seconds",
		 "Its clock minus the controller's, an estimate.",
		 clock_offset},
	};

	for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics); i++) {
		struct agent_metric m = {b, metrics[i].name, metrics[i].value};
		char name[64];
		int err;

		str_print(name, sizeof(name), "agent_%s", metrics[i].name);
		err = metrics_text_head(b, name, "gauge", metrics[i].help);
		if (!err)
			err = store_each_agent(request_store(req), seen,
					       put_agent, &m);
		if (err)
			return err;
	}
	return put_agents_omitted(b, request_store(req));
}

static int put_artifacts(struct buf *b, struct request *req)
{
	int64_t bytes;
	int err = store_artifact_bytes(request_store(req), &bytes);

	if (!err)
		err = metrics_text_head(b, "artifacts_bytes", "gauge",
					"Files of runs that are kept.");
	return err ? err
		   : buf_print(b, "offhook_artifacts_bytes %" PRId64 "\n",
			       bytes);
}

static int put_store(struct buf *b, struct request *req)
{
	const int64_t seen =
		lease_clock_ms() - (int64_t)request_conf(req)->lease_s * 1000;
	struct labelled active = {b, "runs_active", "phase"};
	struct labelled done = {b, "runs_stored", "status"};
	struct labelled agents = {b, "agents", "state"};
	struct labelled places = {b, "agents", NULL};
	int err = metrics_text_head(b, "runs_active", "gauge",
				    "Runs in progress.");

	if (!err)
		err = store_count_active(request_store(req), put_count,
					 &active);
	if (!err)
		err = metrics_text_head(b, "runs_stored", "gauge",
					"Runs that are over and not deleted.");
	if (!err)
		err = store_count_done(request_store(req), put_count, &done);
	if (!err)
		err = metrics_text_head(b, "agents", "gauge",
					"Enrolled agents.");
	if (!err)
		err = store_count_agents(request_store(req), seen, put_count,
					 &agents);
	if (!err) /* capacity and jobs of agents that are not offline */
		err = store_count_places(request_store(req), seen, put_count,
					 &places);
	if (!err)
		err = put_agents(b, req, seen);
	if (!err)
		err = test_metrics_put(b, request_store(req));
	if (!err)
		err = put_artifacts(b, req);
	return err;
}

static int put_http(struct buf *b, const struct http_counters *c)
{
	static const double bounds[HTTP_TIMES_MAX] = HTTP_TIMES;
	int err = metrics_text_head(b, "http_answers_total", "counter",
				    "Answers by class of their status.");

	for (int i = 1; !err && i < 6; i++)
		err = buf_print(b,
				"offhook_http_answers_total{code=\"%dxx\"} "
				"%" PRIu64 "\n",
				i, c->answers[i]);
	if (!err)
		err = metrics_text_head(
			b, "http_answer_seconds", "histogram",
			"From a request's headers to the end of its answer; "
			"long-polls wait by intention.");
	for (size_t i = 0; !err && i < HTTP_TIMES_MAX; i++)
		err = buf_print(b,
				"offhook_http_answer_seconds_bucket{le=\"%g\"} "
				"%" PRIu64 "\n",
				bounds[i], c->times[i]);
	if (!err)
		err = buf_print(
			b,
			"offhook_http_answer_seconds_bucket{le=\"+Inf\"} "
			"%" PRIu64 "\noffhook_http_answer_seconds_sum %.9g\n"
			"offhook_http_answer_seconds_count %" PRIu64 "\n",
			c->times[HTTP_TIMES_MAX], c->seconds,
			c->times[HTTP_TIMES_MAX]);
	if (!err)
		err = metrics_text_head(b, "http_requests_open", "gauge",
					"Requests that are not answered yet.");
	if (!err)
		err = buf_print(b, "offhook_http_requests_open %u\n",
				c->active);
	if (!err)
		err = metrics_text_head(
			b, "http_requests_queued", "gauge",
			"Of these: waiting for a worker, or parked.");
	if (!err)
		err = buf_print(b, "offhook_http_requests_queued %zu\n",
				c->queued);
	return err;
}

/* Metrics of the process by their conventional names. */
static int put_process(struct buf *b)
{
	struct rusage usage;
	long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (file) {
		if (fscanf(file, "%*s %ld", &pages) != 1)
			pages = 0;
		fclose(file);
	}
	getrusage(RUSAGE_SELF, &usage);
	return buf_print(
		b,
		"# HELP process_cpu_seconds_total User and system time.\n"
		"# TYPE process_cpu_seconds_total counter\n"
		"process_cpu_seconds_total %.6f\n"
		"# HELP process_resident_memory_bytes Resident memory.\n"
		"# TYPE process_resident_memory_bytes gauge\n"
		"process_resident_memory_bytes %lld\n",
		(double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
			(double)(usage.ru_utime.tv_usec +
				 usage.ru_stime.tv_usec) /
				1e6,
		(long long)pages * sysconf(_SC_PAGESIZE));
}

void metrics_get(struct request *req, struct reply *rep)
{
	struct http_counters counters;
	struct buf text;
	int err;

	buf_init(&text, TEXT_BYTES);
	err = metrics_text_head(&text, "build_info", "gauge", "Always 1.");
	if (!err)
		err = buf_print(&text, "offhook_build_info{version=\"%s\"} 1\n",
				OFFHOOK_VERSION);
	if (!err)
		err = put_store(&text, req);
	if (!err && controller_count(request_controller(req), &counters))
		err = put_http(&text, &counters);
	if (!err)
		err = put_process(&text);
	if (err) {
		buf_release(&text);
		reply_unavailable(rep, REPLY_RETRY_S,
				  "the figures could not be read");
		return;
	}
	reply_document(rep, &text, "text/plain; version=0.0.4; charset=utf-8");
}
