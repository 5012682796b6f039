#include "control/server/report/run_figures.h"

#include "control/render/figures.h"
#include "control/server/store/store_ingest.h"
#include "control/server/store/store_report.h"
#include "control/wire/json_text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* What control/render/figures.c reads. */
static const char *const of_call[] = {"established", "expected_end", "pdd_ms",
				      NULL};
static const char *const of_stream[] = {
	"dir",          "mos_total", "mos_scale",      "loss_pct",
	"jitter_ms",    "rtt_ms",    "loss_bound_pct", "jitter_bound_ms",
	"rtt_bound_ms", NULL};
static const char *const of_registration[] = {"ok", "ms", NULL};

static int parse(json_t *object, const char *name, struct json_text value)
{
	json_t *parsed = json_loadb(value.at, value.len, JSON_DECODE_ANY, NULL);

	return json_object_set_new(object, name, parsed) ? -EIO : 0;
}

/* @param ret  an object, gets the members with these names */
static int pick(json_t *ret, struct json_text object, const char *const *names)
{
	struct json_text name, value;
	int found, err = 0;

	while (!err && (found = json_text_pair(&object, &name, &value)) == 1) {
		for (size_t i = 0; !err && names[i]; i++)
			if (json_text_is(name, names[i]))
				err = parse(ret, names[i], value);
	}
	return err ? err : found;
}

/* Received streams are counted. */
static bool is_received(struct json_text stream)
{
	struct json_text dir;

	return json_text_member(stream, "dir", &dir) == 1 &&
	       json_text_is(dir, "\"in\"");
}

static int pick_streams(json_t *call, struct json_text streams)
{
	json_t *array = json_array();
	struct json_text stream;
	int err = 0;

	while (!err && json_text_item(&streams, &stream) == 1) {
		json_t *picked = json_object();

		if (!is_received(stream))
			json_decref(picked);
		else if (json_array_append_new(array, picked))
			err = -ENOMEM;
		else
			err = pick(picked, stream, of_stream);
	}
	if (json_object_set_new(call, "streams", array))
		err = -ENOMEM;
	return err;
}

static int add_call(const char *role, struct json_text text, void *arg)
{
	json_t *call = json_object();
	struct json_text streams;
	int err = call ? pick(call, text, of_call) : -ENOMEM;

	if (!err && json_text_member(text, "streams", &streams) == 1)
		err = pick_streams(call, streams);
	if (!err)
		figures_add_call(arg, role, call);
	json_decref(call);
	return err;
}

static int add_registration(const char *role, struct json_text text, void *arg)
{
	json_t *event = json_object();
	int err = event ? pick(event, text, of_registration) : -ENOMEM;

	if (!err)
		figures_add_registration(arg, role, event);
	json_decref(event);
	return err;
}

int run_figures(struct store *store, int64_t run_id, json_t **ret)
{
	struct figures *f = calloc(1, sizeof(*f));
	int err = f ? store_run_event_texts(store, run_id, "call",
					    REPORT_FIGURES_MAX, add_call, f)
		    : -ENOMEM;

	if (!err)
		err = store_run_event_texts(store, run_id, "register",
					    REPORT_FIGURES_MAX,
					    add_registration, f);
	if (!err) {
		*ret = figures_json(f);
		err = *ret ? 0 : -ENOMEM;
	}
	free(f);
	return err;
}
