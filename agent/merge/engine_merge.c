#include "agent/merge/engine_merge.h"

#include "agent/merge/interval_merge.h"
#include "base/clock.h"
#include "base/str.h"
#include "control/wire/event.h"
#include "control/wire/job_limits.h"
#include "control/wire/share.h"
#include "control/wire/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* From the best to the worst. */
static const char *const outcomes[] = {"completed", "stopped", "failed",
				       "error"};
#define OUTCOMES (sizeof(outcomes) / sizeof(*outcomes))

struct engine {
	json_int_t ready;    /* with so many steps */
	json_int_t began;    /* so many steps, the last one with calls */
	json_int_t began_ns; /* that one */
	double progress;
	bool finished;
	json_t *live; /* the last one; NULL: none yet */
	bool fresh;   /* it came after the last live line of the job */
};

struct engine_merge {
	struct engine_merge_params p;
	struct interval_merge *intervals;
	struct engine engines[WIRE_ENGINES_MAX];
	uint32_t prepared;
	uint32_t finished;
	size_t outcome; /* the worst until now, in outcomes[] */
	char reason[WIRE_REASON_BYTES];
};

/* @param message  taken over; NULL: out of memory */
static void emit(struct engine_merge *m, json_t *message)
{
	if (message)
		m->p.message_h(message, NULL, 0, m->p.arg);
	json_decref(message);
}

static void on_points(json_t *series, void *arg)
{
	emit(arg, json_pack("{s:s, s:O}", "type", "stats", "series", series));
}

int engine_merge_new(struct engine_merge **ret,
		     const struct engine_merge_params *params)
{
	struct engine_merge *m = calloc(1, sizeof(*m));
	struct interval_merge_params intervals = {
		.engines = params->engines,
		.interval_s = params->interval_s,
		.role = params->role,
		.wall_offset_ns = params->wall_offset_ns,
		.points_h = on_points,
		.arg = m,
	};
	int err = m ? interval_merge_new(&m->intervals, &intervals) : -ENOMEM;

	if (err) {
		free(m);
		return err;
	}
	m->p = *params;
	*ret = m;
	return 0;
}

struct engine_merge *engine_merge_free(struct engine_merge *m)
{
	if (!m)
		return NULL;
	for (uint32_t i = 0; i < m->p.engines; i++)
		json_decref(m->engines[i].live);
	interval_merge_free(m->intervals);
	free(m);
	return NULL;
}

/* ---- steps and progress ---- */

/* Each engine tells it once. */
static void on_prepared(struct engine_merge *m)
{
	if (++m->prepared == m->p.engines)
		emit(m, json_pack("{s:s}", "type", "prepared"));
}

static void on_ready(struct engine_merge *m, uint32_t engine,
		     const json_t *message)
{
	json_int_t ready =
		json_integer_value(json_object_get(message, "step")) + 1;

	m->engines[engine].ready = ready;
	for (uint32_t i = 0; i < m->p.engines; i++) {
		if (m->engines[i].ready != ready)
			return;
	}
	emit(m, json_pack("{s:s, s:I}", "type", "ready", "step", ready - 1));
}

/* The last engine that began a step is the one that tells when all had begun. */
static void on_began(struct engine_merge *m, uint32_t engine,
		     const json_t *message)
{
	json_int_t began =
		json_integer_value(json_object_get(message, "step")) + 1;
	json_int_t began_ns = 0;

	m->engines[engine].began = began;
	m->engines[engine].began_ns =
		json_integer_value(json_object_get(message, "began_ns"));
	for (uint32_t i = 0; i < m->p.engines; i++) {
		if (m->engines[i].began != began)
			return;
		if (m->engines[i].began_ns > began_ns)
			began_ns = m->engines[i].began_ns;
	}
	emit(m, json_pack("{s:s, s:I, s:I}", "type", "began", "step", began - 1,
			  "began_ns", began_ns));
}

static void on_progress(struct engine_merge *m, uint32_t engine,
			json_t *progress)
{
	double sum = 0;

	m->engines[engine].progress = json_number_value(progress);
	for (uint32_t i = 0; i < m->p.engines; i++)
		sum += m->engines[i].progress;
	emit(m, json_pack("{s:s, s:f}", "type", "progress", "progress",
			  sum / m->p.engines));
}

/* ---- the live line ---- */

/* Mean of a figure of the last second over the engines, weighted by their packets. */
static void live_mean(const struct engine_merge *m, const char *dir,
		      const char *name, json_t *into)
{
	double sum = 0, weights = 0;

	for (uint32_t i = 0; i < m->p.engines; i++) {
		const json_t *d = json_object_get(m->engines[i].live, dir);
		const json_t *value = json_object_get(d, name);
		double weight =
			json_number_value(json_object_get(d, "packets"));

		if (!m->engines[i].fresh || !json_is_number(value))
			continue;
		sum += json_number_value(value) * weight;
		weights += weight;
	}
	if (weights > 0)
		json_object_set_new(into, name, json_real(sum / weights));
}

static json_t *live_direction(const struct engine_merge *m, const char *dir)
{
	static const char *const means[] = {"loss_pct", "jitter_ms", "rtt_ms",
					    "mos"};
	json_int_t packets = 0, lost = 0;
	bool has_lost = false;
	json_t *o;

	for (uint32_t i = 0; i < m->p.engines; i++) {
		const json_t *d = json_object_get(m->engines[i].live, dir);
		const json_t *l = json_object_get(d, "lost");

		packets += json_integer_value(json_object_get(d, "packets"));
		lost += json_integer_value(l);
		has_lost |= json_is_integer(l);
	}
	o = json_pack("{s:I}", "packets", packets);
	if (o && has_lost)
		json_object_set_new(o, "lost", json_integer(lost));
	for (size_t i = 0; o && i < sizeof(means) / sizeof(*means); i++)
		live_mean(m, dir, means[i], o);
	return o;
}

static void live_emit(struct engine_merge *m)
{
	json_int_t up = 0;

	for (uint32_t i = 0; i < m->p.engines; i++) {
		if (m->engines[i].fresh)
			up += json_integer_value(json_object_get(
				m->engines[i].live, "calls_active"));
	}
	emit(m, json_pack("{s:s, s:I, s:o, s:o}", "type", "live",
			  "calls_active", up, "in", live_direction(m, "in"),
			  "out", live_direction(m, "out")));
	for (uint32_t i = 0; i < m->p.engines; i++)
		m->engines[i].fresh = false;
}

/* Each engine with calls sends one a second: the second one of any begins a new second. */
static void on_live(struct engine_merge *m, uint32_t engine, json_t *message)
{
	struct engine *e = &m->engines[engine];

	if (e->fresh)
		live_emit(m);
	json_decref(e->live);
	e->live = json_incref(message);
	e->fresh = true;
}

/* ---- the end ---- */

static void flaw_emit(struct engine_merge *m)
{
	struct wire_time when = {.wall_us = clock_wall_ns() / NS_PER_US,
				 .mono_ns = clock_mono_ns()};
	uint64_t dropped = interval_merge_dropped(m->intervals);

	if (dropped)
		emit(m, json_pack("{s:s, s:[o]}", "type", "events", "events",
				  wire_event_flaw(
					  when, "points_dropped", dropped,
					  "data points of an engine are "
					  "missing: they came after the "
					  "points of the others were sent")));
}

static void engine_finish(struct engine_merge *m, uint32_t engine,
			  size_t outcome, const char *reason)
{
	struct engine *e = &m->engines[engine];

	if (e->finished)
		return;
	e->finished = true;
	if (outcome > m->outcome) {
		m->outcome = outcome;
		str_print(m->reason, sizeof(m->reason), "%s", reason);
	}
	interval_merge_end(m->intervals, engine);
	if (++m->finished < m->p.engines)
		return;
	flaw_emit(m);
	emit(m,
	     json_pack("{s:s, s:s, s:o}", "type", "finish", "outcome",
		       outcomes[m->outcome], "reason", wire_text(m->reason)));
}

static void on_finish(struct engine_merge *m, uint32_t engine,
		      const json_t *message)
{
	const char *outcome = text_of(message, "outcome");

	for (size_t i = 0; i < OUTCOMES; i++) {
		if (strcmp(outcome, outcomes[i]) == 0) {
			engine_finish(m, engine, i, text_of(message, "reason"));
			return;
		}
	}
	engine_finish(m, engine, OUTCOMES - 1,
		      "an engine finished without a known outcome");
}

void engine_merge_ended(struct engine_merge *m, uint32_t engine,
			const char *how)
{
	char reason[WIRE_REASON_BYTES];

	str_print(reason, sizeof(reason), "engine process %u of %u died: %s",
		  engine + 1, m->p.engines, how);
	engine_finish(m, engine, OUTCOMES - 1, reason);
}

bool engine_merge_failed(const struct engine_merge *m)
{
	return m->outcome > 0;
}

/* ---- messages ---- */

void engine_merge_message(struct engine_merge *m, uint32_t engine,
			  json_t *message, const char *text, size_t len)
{
	const char *type = text_of(message, "type");

	if (m->engines[engine].finished)
		return; /* nothing follows a finish */
	if (strcmp(type, "prepared") == 0)
		on_prepared(m);
	else if (strcmp(type, "ready") == 0)
		on_ready(m, engine, message);
	else if (strcmp(type, "began") == 0)
		on_began(m, engine, message);
	else if (strcmp(type, "progress") == 0)
		on_progress(m, engine, json_object_get(message, "progress"));
	else if (strcmp(type, "stats") == 0)
		interval_merge_add(m->intervals, engine,
				   json_object_get(message, "series"));
	else if (strcmp(type, "live") == 0)
		on_live(m, engine, message);
	else if (strcmp(type, "finish") == 0)
		on_finish(m, engine, message);
	else
		m->p.message_h(message, text, len, m->p.arg);
}
