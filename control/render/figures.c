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

static struct role_figures *role_find(struct role_figures *list, size_t count,
				      const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i].role, name) == 0)
			return &list[i];
	return NULL;
}

/* @param name  borrowed for the life of the list
 * @return NULL: there are too many roles */
static struct role_figures *role_of(struct role_figures *list, size_t *count,
				    const char *name)
{
	struct role_figures *found = role_find(list, *count, name);

	if (found || *count == FIGURES_ROLES_MAX)
		return found;
	list[*count] = (struct role_figures){.role = name, .mos_scale = ""};
	return &list[(*count)++];
}

/* A text that outlives the event. */
static const char *scale_of(const char *text)
{
	static const char *const scales[] = {"nb", "wb", "fb"};

	for (size_t i = 0; i < sizeof(scales) / sizeof(*scales); i++)
		if (strcmp(text, scales[i]) == 0)
			return scales[i];
	return "";
}

static void add_stream(struct role_figures *r, const json_t *stream)
{
	const json_t *mos = json_object_get(stream, "mos_total");
	const char *scale = scale_of(text_of(stream, "mos_scale"));

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

static void add_registration(struct role_figures *r, const json_t *event)
{
	r->registrations++;
	r->registered += json_is_true(json_object_get(event, "ok"));
	figure_add(&r->register_ms, json_object_get(event, "ms"));
}

/* ---- the member `figures` ---- */

static const struct {
	const char *name;
	size_t at;
} counts[] =
	{
#define COUNT(name)                                        \
	{                                                  \
#name, offsetof(struct role_figures, name) \
	}
		COUNT(calls),         COUNT(established), COUNT(failed),
		COUNT(registrations), COUNT(registered),
#undef COUNT
},
  figures[] = {
#define FIGURE(name)                                       \
	{                                                  \
#name, offsetof(struct role_figures, name) \
	}
	  FIGURE(register_ms),    FIGURE(pdd_ms),          FIGURE(mos),
	  FIGURE(loss_pct),       FIGURE(jitter_ms),       FIGURE(rtt_ms),
	  FIGURE(loss_bound_pct), FIGURE(jitter_bound_ms), FIGURE(rtt_bound_ms),
#undef FIGURE
};

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

static json_t *role_json(const struct role_figures *r)
{
	const char *from = (const void *)r;
	json_t *object = json_pack("{s:s, s:s}", "role", r->role, "mos_scale",
				   r->mos_scale);

	for (size_t i = 0; i < LENGTH(counts); i++) {
		size_t n;

		memcpy(&n, from + counts[i].at, sizeof(n));
		json_object_set_new(object, counts[i].name,
				    json_integer((json_int_t)n));
	}
	for (size_t i = 0; i < LENGTH(figures); i++) {
		struct figure f;

		memcpy(&f, from + figures[i].at, sizeof(f));
		if (f.n)
			json_object_set_new(object, figures[i].name,
					    json_pack("{s:I, s:f, s:f, s:f}",
						      "n", (json_int_t)f.n,
						      "min", f.min, "max",
						      f.max, "sum", f.sum));
	}
	return object;
}

json_t *figures_json(const struct figures *f)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < f->count; i++)
		if (json_array_append_new(array, role_json(&f->roles[i]))) {
			json_decref(array);
			return NULL;
		}
	return array;
}

static size_t size_in(const json_t *object, const char *name)
{
	json_int_t n = json_integer_value(json_object_get(object, name));

	return n > 0 ? (size_t)n : 0;
}

static void role_read(struct role_figures *r, const json_t *object)
{
	char *to = (void *)r;

	r->mos_scale = scale_of(text_of(object, "mos_scale"));
	for (size_t i = 0; i < LENGTH(counts); i++) {
		size_t n = size_in(object, counts[i].name);

		memcpy(to + counts[i].at, &n, sizeof(n));
	}
	for (size_t i = 0; i < LENGTH(figures); i++) {
		const json_t *from = json_object_get(object, figures[i].name);
		struct figure f = {
			.n = size_in(from, "n"),
			.min = json_number_value(json_object_get(from, "min")),
			.max = json_number_value(json_object_get(from, "max")),
			.sum = json_number_value(json_object_get(from, "sum")),
		};

		memcpy(to + figures[i].at, &f, sizeof(f));
	}
}

/* ---- of a report, and of single events ---- */

size_t figures_collect(struct role_figures roles[static FIGURES_ROLES_MAX],
		       const json_t *report)
{
	const json_t *of_all = json_object_get(report, "figures"), *event;
	struct role_figures *r;
	size_t count = 0, i;

	json_array_foreach(of_all, i, event)
	{
		r = role_of(roles, &count, text_of(event, "role"));
		if (r)
			role_read(r, event);
	}
	if (of_all)
		return count;
	json_array_foreach(json_object_get(report, "calls"), i, event)
	{
		r = role_of(roles, &count, text_of(event, "role"));
		if (r)
			add_call(r, event);
	}
	json_array_foreach(json_object_get(report, "registrations"), i, event)
	{
		r = role_of(roles, &count, text_of(event, "role"));
		if (r)
			add_registration(r, event);
	}
	return count;
}

/* @return NULL: there are too many roles */
static struct role_figures *role_in(struct figures *f, const char *role)
{
	struct role_figures *found = role_find(f->roles, f->count, role);
	char *name;

	if (found || f->count == FIGURES_ROLES_MAX)
		return found;
	name = f->names[f->count];
	str_print(name, FIGURES_ROLE_BYTES, "%s", role);
	return role_of(f->roles, &f->count, name);
}

void figures_add_call(struct figures *f, const char *role, const json_t *event)
{
	struct role_figures *r = role_in(f, role);

	if (r)
		add_call(r, event);
}

void figures_add_registration(struct figures *f, const char *role,
			      const json_t *event)
{
	struct role_figures *r = role_in(f, role);

	if (r)
		add_registration(r, event);
}

const char *figures_note(char text[static FIGURES_NOTE_BYTES],
			 const json_t *report)
{
	const bool of_all = json_object_get(report, "figures") != NULL;
	const size_t calls = json_array_size(json_object_get(report, "calls")) +
			     size_in(report, "calls_omitted");
	const size_t further =
		size_in(report, of_all ? "figures_omitted" : "calls_omitted");

	text[0] = '\0';
	if (further > 0)
		(void)str_print(text, FIGURES_NOTE_BYTES,
				"These figures are of the first %zu calls; %zu "
				"further ones are not in them.",
				calls - further, further);
	return text;
}
