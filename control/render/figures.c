#include "control/render/figures.h"

#include "base/str.h"
#include "control/wire/text.h"

#include <math.h>
#include <string.h>

double figure_average(const struct figure *f)
{
	return f->sum / (double)f->n;
}

/* A tiny excess of a decimal fraction in binary is not rounded up. */
static double rounded_up(double bound)
{
	return ceil(bound * 100 - 1e-9) / 100;
}

bool figure_bound_value(const struct figure *f, const struct figure *bound,
			double *ret)
{
	if (!f->n || bound->n != f->n)
		return false;
	*ret = rounded_up(bound->max);
	return true;
}

const char *figure_bound_of(char text[static FIGURES_BOUND_BYTES],
			    const json_t *object)
{
	const json_t *bound = json_object_get(object, "bound");

	text[0] = '\0';
	if (json_is_number(bound))
		(void)str_print(text, FIGURES_BOUND_BYTES, " ± %.2f",
				rounded_up(json_number_value(bound)));
	return text;
}

const char *figure_bound(char text[static FIGURES_BOUND_BYTES],
			 const struct figure *f, const struct figure *bound)
{
	double value;

	text[0] = '\0';
	if (figure_bound_value(f, bound, &value))
		(void)str_print(text, FIGURES_BOUND_BYTES, " ± %.2f", value);
	return text;
}

static void figure_add(struct figure *f, const json_t *value)
{
	double number = json_number_value(value);

	if (!json_is_number(value))
		return;
	if (!f->n || number < f->min)
		f->min = number;
	if (!f->n || number > f->max)
		f->max = number;
	f->sum += number;
	f->n++;
}

bool figures_call_failed(const json_t *call)
{
	return !json_is_true(json_object_get(call, "established")) ||
	       json_is_false(json_object_get(call, "expected_end"));
}

struct roles {
	struct role_figures *list;
	size_t count;
};

/* @return NULL: there are too many roles */
static struct role_figures *role_of(struct roles *roles, const json_t *event)
{
	const char *name = text_of(event, "role");

	for (size_t i = 0; i < roles->count; i++)
		if (strcmp(roles->list[i].role, name) == 0)
			return &roles->list[i];
	if (roles->count == FIGURES_ROLES_MAX)
		return NULL;
	roles->list[roles->count] =
		(struct role_figures){.role = name, .mos_scale = ""};
	return &roles->list[roles->count++];
}

static void add_stream(struct role_figures *r, const json_t *stream)
{
	const json_t *mos = json_object_get(stream, "mos_total");
	const char *scale = text_of(stream, "mos_scale");

	if (strcmp(text_of(stream, "dir"), "in") != 0)
		return;
	if (mos && (!r->mos.n || strcmp(r->mos_scale, scale) == 0))
		r->mos_scale = scale;
	else if (mos)
		r->mos_scale = "";
	figure_add(&r->mos, mos);
	figure_add(&r->loss_pct, json_object_get(stream, "loss_pct"));
	figure_add(
		&r->jitter_ms,
		json_object_get(json_object_get(stream, "jitter_ms"), "avg"));
	figure_add(&r->rtt_ms,
		   json_object_get(json_object_get(stream, "rtt_ms"), "avg"));
	figure_add(&r->loss_bound_pct,
		   json_object_get(stream, "loss_bound_pct"));
	figure_add(&r->jitter_bound_ms,
		   json_object_get(stream, "jitter_bound_ms"));
	figure_add(&r->rtt_bound_ms, json_object_get(stream, "rtt_bound_ms"));
}

static void add_call(struct role_figures *r, const json_t *call)
{
	const json_t *stream;
	size_t i;

	r->calls++;
	r->established += json_is_true(json_object_get(call, "established"));
	r->failed += figures_call_failed(call);
	figure_add(&r->pdd_ms, json_object_get(call, "pdd_ms"));
	json_array_foreach(json_object_get(call, "streams"), i, stream)
	{
		add_stream(r, stream);
	}
}

size_t figures_collect(struct role_figures roles[static FIGURES_ROLES_MAX],
		       const json_t *report)
{
	struct roles found = {.list = roles};
	const json_t *event;
	struct role_figures *r;
	size_t i;

	json_array_foreach(json_object_get(report, "calls"), i, event)
	{
		r = role_of(&found, event);
		if (r)
			add_call(r, event);
	}
	json_array_foreach(json_object_get(report, "registrations"), i, event)
	{
		r = role_of(&found, event);
		if (!r)
			continue;
		r->registrations++;
		r->registered += json_is_true(json_object_get(event, "ok"));
		figure_add(&r->register_ms, json_object_get(event, "ms"));
	}
	return found.count;
}

const char *figures_note(char text[static FIGURES_NOTE_BYTES],
			 const json_t *report)
{
	json_int_t further =
		json_integer_value(json_object_get(report, "calls_omitted"));

	text[0] = '\0';
	if (further > 0)
		(void)str_print(
			text, FIGURES_NOTE_BYTES,
			"These figures are of the first %zu calls; %lld "
			"further ones are not in them.",
			json_array_size(json_object_get(report, "calls")),
			(long long)further);
	return text;
}
