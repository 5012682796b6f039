#include "agent/engine/call/call_media.h"
#include "agent/engine/engine_internal.h"

#include "base/log.h"
#include "control/wire/json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES (ENGINE_NAME_BYTES + 32)

/* "caller-1-in.wav", later ones "caller-1-in-2.wav". @param n  from 1 */
static void name_of(const struct call *c, bool out, unsigned n,
		    char dst[static NAME_BYTES])
{
	const char *way = out ? "out" : "in";

	if (n == 1)
		snprintf(dst, NAME_BYTES, "%s-%s.wav", c->name, way);
	else
		snprintf(dst, NAME_BYTES, "%s-%s-%u.wav", c->name, way, n);
}

static void lost(struct call *c, const char *name, const char *text)
{
	report_event(c->engine->report,
		     wire_event_artifact_lost(
			     report_time(c->engine->report, clock_mono_ns()),
			     name, text));
}

bool call_record_wanted(const struct engine *e,
			const struct wire_action *action)
{
	return action->record_media || action->store_artifacts ||
	       e->job->record_media;
}

int call_record_begin(struct call *c)
{
	char paths[2][ENGINE_PATH_BYTES * 2];
	char name[NAME_BYTES];
	int err = c->media ? 0 : -ENOTCONN;

	for (int out = 0; !err && out < 2; out++) {
		name_of(c, out == 1, c->recordings + 1, name);
		err = report_artifact_path(c->engine->report, name, paths[out],
					   sizeof(paths[out]));
	}
	if (!err)
		err = media_session_record(c->media, paths[0], paths[1]);
	if (!err)
		c->recordings++;
	return err;
}

int call_record_end(struct call *c)
{
	return c->media ? media_session_record_stop(c->media) : -ENOTCONN;
}

void call_record_begin_all(struct call *c)
{
	int err = call_record_wanted(c->engine, c->action)
			  ? call_record_begin(c)
			  : 0;
	char name[NAME_BYTES];

	if (!err)
		return;
	name_of(c, false, 1, name);
	if (err != -ENOTSUP)
		lost(c, name, strerror(-err));
	else if (call_audio_wanted(c->engine, c->action))
		lost(c, name, "nobody takes recordings");
	else
		lost(c, name, "client baresip alone has the keys");
}

void call_recorded(struct call *c, const struct media_record *record)
{
	const struct media_recorded *r = &record->u.recorded;
	bool out = record->outgoing;
	char name[NAME_BYTES];
	int err;

	name_of(c, out, ++c->recorded[out], name);
	if (!r->written) {
		if (r->err)
			lost(c, name, strerror(-r->err));
		return;
	}
	if (r->cut)
		log_info("call=%s %s was cut after %.0f ms", c->name, name,
			 r->ms);
	err = report_artifact(c->engine->report, name);
	if (err)
		lost(c, name, strerror(-err));
}

/* @return 0; -errno, and there is no file */
static int figures_write(const char *path, const char *text, size_t len)
{
	json_t *figures = json_loadb(text, len, 0, NULL);
	FILE *out;
	int err;

	if (!figures)
		return -ENOMEM;
	out = fopen(path, "we");
	if (!out) {
		err = -errno;
		json_decref(figures);
		return err;
	}
	err = json_dumpf(figures, out,
			 JSON_INDENT(2) | JSON_SORT_KEYS | JSON_DECIMAL)
		      ? -EIO
		      : 0;
	json_decref(figures);
	if (fclose(out) && !err)
		err = -EIO;
	if (err)
		remove(path);
	return err;
}

void call_record_figures(struct call *c, const char *text, size_t len)
{
	char path[ENGINE_PATH_BYTES * 2];
	char name[NAME_BYTES];
	int err;

	if (!c->action->store_artifacts)
		return;
	snprintf(name, sizeof(name), "%s.json", c->name);
	err = report_artifact_path(c->engine->report, name, path, sizeof(path));
	if (!err)
		err = figures_write(path, text, len);
	if (!err)
		err = report_artifact(c->engine->report, name);
	if (err)
		lost(c, name,
		     err == -ENOTSUP ? "nobody takes artifacts"
				     : strerror(-err));
}
