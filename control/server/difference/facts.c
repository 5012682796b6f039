#include "control/server/difference/facts.h"

#include "base/str.h"
#include "control/server/difference/facts_internal.h"
#include "control/server/difference/tally.h"
#include "control/server/judge/sip_text.h"
#include "control/wire/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- a run ---- */

int difference_run_new(struct difference_run **ret)
{
	struct difference_run *run = calloc(1, sizeof(*run));

	if (!run)
		return -ENOMEM;
	run->verdicts = json_array();
	run->specs = json_object();
	run->agents = json_object();
	run->flaws = json_object();
	run->dialogs = json_object();
	run->tallies = json_object();
	run->samples = json_object();
	run->bounds = json_object();
	if (!run->verdicts || !run->specs || !run->agents || !run->flaws ||
	    !run->dialogs || !run->tallies || !run->samples || !run->bounds) {
		difference_run_free(run);
		return -ENOMEM;
	}
	*ret = run;
	return 0;
}

struct difference_run *difference_run_free(struct difference_run *run)
{
	if (!run)
		return NULL;
	json_decref(run->verdicts);
	json_decref(run->specs);
	json_decref(run->agents);
	json_decref(run->flaws);
	json_decref(run->dialogs);
	json_decref(run->tallies);
	json_decref(run->samples);
	json_decref(run->bounds);
	free(run);
	return NULL;
}

void difference_run_set_verdicts(struct difference_run *run, json_t *verdicts)
{
	if (!json_is_array(verdicts))
		return;
	json_decref(run->verdicts);
	run->verdicts = json_incref(verdicts);
}

int difference_run_add_spec(struct difference_run *run, json_t *spec)
{
	return json_object_set(run->specs, text_of(spec, "role"), spec)
		       ? -ENOMEM
		       : 0;
}

int difference_run_add_agent(struct difference_run *run, const char *role,
			     const char *name)
{
	json_t *names = json_object_get(run->agents, role);

	if (!names) {
		names = json_object();
		if (json_object_set_new(run->agents, role, names))
			return -ENOMEM;
	}
	return json_object_set_new(names, name, json_true()) ? -ENOMEM : 0;
}

/* ---- events ---- */

static int add_trait(struct difference_run *run, const char *role,
		     const char *name, const char *value)
{
	char key[KEY_BYTES];

	str_print(key, sizeof(key), "%s|trait||||%s", role, name);
	return tally_add(run->tallies, key, value);
}

static int add_figure(struct difference_run *run, const char *role,
		      const char *name, const json_t *value)
{
	char key[KEY_BYTES];

	if (!json_is_number(value))
		return 0;
	str_print(key, sizeof(key), "%s|figure||||%s", role, name);
	return sample_add(run->samples, key, json_number_value(value));
}

/* Keep the largest error bound of a figure's values. */
static int add_bound(struct difference_run *run, const char *role,
		     const char *name, json_t *bound)
{
	char key[KEY_BYTES];
	const json_t *known;

	if (!json_is_number(bound))
		return 0;
	str_print(key, sizeof(key), "%s|figure||||%s", role, name);
	known = json_object_get(run->bounds, key);
	if (known && json_number_value(known) >= json_number_value(bound))
		return 0;
	return json_object_set(run->bounds, key, bound) ? -ENOMEM : 0;
}

/* A count as a share of the packets that were expected, in percent. */
static int add_share(struct difference_run *run, const char *role,
		     const char *name, const json_t *stream, const char *member)
{
	double all = json_number_value(json_object_get(stream, "expected"));
	const json_t *count = json_object_get(stream, member);
	json_t *share;
	int err;

	if (!json_is_number(count) || all <= 0)
		return 0;
	share = json_real(100 * json_number_value(count) / all);
	err = add_figure(run, role, name, share);
	json_decref(share);
	return err;
}

static int add_stream_bounds(struct difference_run *run, const char *role,
			     const json_t *s)
{
	int err = add_bound(run, role, "loss_pct",
			    json_object_get(s, "loss_bound_pct"));

	if (!err)
		err = add_bound(run, role, "jitter_ms",
				json_object_get(s, "jitter_bound_ms"));
	return err ? err
		   : add_bound(run, role, "rtt_ms",
			       json_object_get(s, "rtt_bound_ms"));
}

static int add_stream(struct difference_run *run, const char *role,
		      const json_t *s)
{
	const char *suite = text_of(s, "srtp_suite");
	int err = add_trait(run, role, "codec", text_of(s, "codec"));

	if (!err)
		err = add_trait(run, role, "srtp", suite[0] ? suite : "none");
	if (!err)
		err = add_figure(run, role, "loss_pct",
				 json_object_get(s, "loss_pct"));
	if (!err)
		err = add_figure(run, role, "mos",
				 json_object_get(s, "mos_total"));
	if (!err)
		err = add_figure(run, role, "ptime_ms",
				 json_object_get(s, "ptime_ms"));
	if (!err)
		err = add_figure(
			run, role, "jitter_ms",
			json_object_get(json_object_get(s, "jitter_ms"),
					"avg"));
	if (!err)
		err = add_figure(
			run, role, "rtt_ms",
			json_object_get(json_object_get(s, "rtt_ms"), "avg"));
	if (!err)
		err = add_share(run, role, "duplicates_pct", s, "duplicates");
	if (!err)
		err = add_stream_bounds(run, role, s);
	return err ? err
		   : add_share(run, role, "reordered_pct", s, "reordered");
}

static int add_call(struct difference_run *run, const char *role,
		    const json_t *event)
{
	bool established = json_is_true(json_object_get(event, "established"));
	const json_t *stream;
	char outcome[120];
	bool media = false;
	size_t i;
	int err = 0;

	json_array_foreach(json_object_get(event, "streams"), i, stream)
	{
		if (err || strcmp(text_of(stream, "dir"), "in") != 0 ||
		    json_number_value(json_object_get(stream, "packets")) <= 0)
			continue;
		media = true;
		err = add_stream(run, role, stream);
	}
	if (!err && established)
		err = add_trait(run, role, "media", media ? "present" : "none");
	str_print(outcome, sizeof(outcome), "%lld %.100s",
		  (long long)json_integer_value(json_object_get(event, "code")),
		  text_of(event, "reason"));
	if (!err)
		err = add_trait(run, role, "outcome",
				established ? "established" : outcome);
	if (!err && established)
		err = add_figure(run, role, "duration_ms",
				 json_object_get(event, "duration_ms"));
	/* with messages there are the times between them */
	if (!err && !json_object_size(run->dialogs))
		err = add_figure(run, role, "pdd_ms",
				 json_object_get(event, "pdd_ms"));
	return err;
}

static int add_register(struct difference_run *run, const char *role,
			const json_t *event)
{
	bool ok = json_is_true(json_object_get(event, "ok"));
	char outcome[120];
	int err;

	str_print(outcome, sizeof(outcome), "%lld %.100s",
		  (long long)json_integer_value(json_object_get(event, "code")),
		  text_of(event, "reason"));
	err = add_trait(run, role, "registered", ok ? "registered" : outcome);
	if (!err && ok && !json_object_size(run->dialogs))
		err = add_figure(run, role, "register_ms",
				 json_object_get(event, "ms"));
	return err;
}

int difference_run_add_event(struct difference_run *run, const char *role,
			     json_t *event)
{
	const char *kind = text_of(event, "kind");
	char key[KEY_BYTES];

	if (strcmp(kind, "call") == 0)
		return add_call(run, role, event);
	if (strcmp(kind, "register") == 0)
		return add_register(run, role, event);
	if (strcmp(kind, "flaw") != 0)
		return 0;
	str_print(key, sizeof(key), "%.100s|%.100s", role,
		  text_of(event, "name"));
	return json_object_set(run->flaws, key, json_object_get(event, "text"))
		       ? -ENOMEM
		       : 0;
}

/* ---- messages ---- */

int difference_run_add_message(struct difference_run *run, const char *role,
			       json_t *message)
{
	const char *data = text_of(message, "data");
	struct sip_part call_id;
	json_t *dialog;
	char key[KEY_BYTES];

	/* a message that is not text, or has no Call-ID, belongs to no dialog */
	if (json_object_get(message, "encoding") ||
	    !sip_header(data, "Call-ID", 0, &call_id))
		return 0;
	if (str_print(key, sizeof(key), "%s|%.*s", role, (int)call_id.len,
		      call_id.p) < 0)
		return 0;
	dialog = json_object_get(run->dialogs, key);
	if (!dialog) {
		dialog = json_pack("{s:s, s:[]}", "role", role, "messages");
		if (json_object_set_new(run->dialogs, key, dialog))
			return dialog ? 0 : -ENOMEM; /* not UTF-8 */
	}
	return json_array_append(json_object_get(dialog, "messages"), message)
		       ? -ENOMEM
		       : 0;
}
