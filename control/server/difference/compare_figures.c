#include "control/server/difference/compare_figures.h"

#include "base/str.h"
#include "control/server/difference/facts_internal.h"
#include "control/server/difference/findings.h"
#include "control/server/difference/tally.h"
#include "control/server/difference/two_sample.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Distributions: docs/reference/differences.md has these figures. */
#define LEVEL        1e-5
#define LEAST_SHARE  0.1 /* of the earlier figure: of times only */
#define SMALL_FACTOR 3   /* of few values: so much more than `least` */
#define NUMBER_BYTES 64
#define LONE_MAX     2 /* values that one stall of a machine may move */

/* A measure, and the least change that is worth a sentence: `lone` where a run
 * has LONE_MAX values or fewer. For response times `lone` is T1 (RFC 3261
 * 17.1.1.1): a response within T1 causes no retransmission. */
static const struct measure {
	const char *name;
	const char *word;
	const char *unit;
	double least, lone;
	bool is_time;
	unsigned explains;
	enum difference_kind kind;
} measures[] = {
	{"loss_pct", "Packet loss", " %", 0.5, 1.5, false,
	 EXPLAINS_LOSS | EXPLAINS_MOS | EXPLAINS_RTP | EXPLAINS_AUDIO |
		 EXPLAINS_DTMF,
	 DIFFERENCE_MEDIA},
	{"duplicates_pct", "Duplicated packets", " %", 0.5, 1.5, false,
	 EXPLAINS_RTP, DIFFERENCE_MEDIA},
	{"reordered_pct", "Reordered packets", " %", 0.5, 1.5, false,
	 EXPLAINS_RTP | EXPLAINS_MOS, DIFFERENCE_MEDIA},
	{"rtt_ms", "Round trip time", " ms", 10, 200, false,
	 EXPLAINS_RTT | EXPLAINS_MOS | EXPLAINS_RTP, DIFFERENCE_MEDIA},
	{"jitter_ms", "Jitter", " ms", 3, 30, false,
	 EXPLAINS_JITTER | EXPLAINS_MOS | EXPLAINS_RTP, DIFFERENCE_MEDIA},
	{"mos", "MOS", "", 0.1, 0.3, false, EXPLAINS_MOS, DIFFERENCE_MEDIA},
	{"ptime_ms", "Packet time", " ms", 1, 3, false, EXPLAINS_MEDIA,
	 DIFFERENCE_MEDIA},
	{"duration_ms", "Duration of calls", " ms", 1000, 3000, true,
	 EXPLAINS_CALLS, DIFFERENCE_TIMING},
	{"register_ms", "Time to register", " ms", 50, 500, true,
	 EXPLAINS_REGISTER_TIME, DIFFERENCE_TIMING},
	{"pdd_ms", "Post-dial delay", " ms", 50, 500, true, EXPLAINS_DELAY,
	 DIFFERENCE_TIMING},
	{"answer", "Time", " ms", 50, 500, true, EXPLAINS_DELAY,
	 DIFFERENCE_TIMING},
	{"request", "Time", " ms", 1000, 3000, true, EXPLAINS_CALLS,
	 DIFFERENCE_TIMING},
};

static const struct measure *measure_of(const char *name)
{
	for (size_t i = 0; i < sizeof(measures) / sizeof(*measures); i++)
		if (strcmp(measures[i].name, name) == 0)
			return &measures[i];
	return NULL;
}

/* ---- two samples ---- */

struct sample {
	double *values; /* ascending; owned */
	size_t count;
	double bound; /* of their errors; 0: not known */
};

static int sample_of(struct sample *ret, const struct difference_run *run,
		     const char *key)
{
	const json_t *list = json_object_get(run->samples, key), *value;
	size_t i;

	ret->bound = json_number_value(json_object_get(run->bounds, key));
	ret->count = json_array_size(list);
	ret->values = calloc(ret->count + 1, sizeof(*ret->values));
	if (!ret->values)
		return -ENOMEM;
	json_array_foreach(list, i, value)
	{
		ret->values[i] = json_real_value(value);
	}
	two_sample_sort(ret->values, ret->count);
	return 0;
}

/* The part of the distribution that moved most. */
struct shift {
	const char *part;
	double before, after;
};

static struct shift shift_of(const struct sample *a, const struct sample *b)
{
	static const struct {
		double p;
		const char *part;
	} parts[] = {{0.5, "median"},
		     {0.95, "95th percentile"},
		     {0.05, "5th percentile"}};
	struct shift best = {.part = "median"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		double from =
			two_sample_quantile(a->values, a->count, parts[i].p);
		double to =
			two_sample_quantile(b->values, b->count, parts[i].p);

		if (i &&
		    fabs(to - from) <= 1.5 * fabs(best.after - best.before))
			continue;
		best = (struct shift){parts[i].part, from, to};
	}
	return best;
}

/* @param bounds  of both figures: a change that they cover may be no change */
static bool worth(const struct measure *m, struct shift s, double least,
		  double bounds)
{
	double moved = fabs(s.after - s.before);

	return moved >= least && moved > bounds &&
	       (!m->is_time || moved >= LEAST_SHARE * fabs(s.before));
}

/* So few values that no test could reach the level: they must lie apart, and
 * farther than they would by chance. */
static bool lie_apart(const struct measure *m, const struct sample *a,
		      const struct sample *b)
{
	struct shift up = {"", a->values[a->count - 1], b->values[0]};
	struct shift down = {"", a->values[0], b->values[b->count - 1]};
	bool lone = a->count <= LONE_MAX || b->count <= LONE_MAX;
	double least = lone ? m->lone : SMALL_FACTOR * m->least;
	double bounds = a->bound + b->bound;

	if (up.after > up.before)
		return worth(m, up, least, bounds);
	return down.after < down.before && worth(m, down, least, bounds);
}

static bool sample_differs(const struct measure *m, const struct sample *a,
			   const struct sample *b, struct shift *ret)
{
	if (!a->count || !b->count)
		return false;
	*ret = shift_of(a, b);
	if (two_sample_ks_smallest(a->count, b->count) > LEVEL)
		return lie_apart(m, a, b);
	return worth(m, *ret, m->least, a->bound + b->bound) &&
	       two_sample_ks(a->values, a->count, b->values, b->count) <= LEVEL;
}

/* ---- sentences ---- */

static void number(const struct measure *m, double value, double bound,
		   char dst[static NUMBER_BYTES])
{
	char error[NUMBER_BYTES / 2] = "";

	if (bound > 0)
		str_print(error, sizeof(error), " ± %.2f",
			  ceil(bound * 100 - 1e-9) / 100);
	str_print(dst, NUMBER_BYTES, "%.*f%s%s",
		  m->least < 0.5     ? 2
		  : fabs(value) < 10 ? 1
				     : 0,
		  value, error, m->unit);
}

static int add_figure(json_t *findings, const char *key,
		      const struct measure *m, struct shift s,
		      const struct sample *a, const struct sample *b)
{
	char role[KEY_BYTES], from[KEY_BYTES], to[KEY_BYTES], of[200],
		was[NUMBER_BYTES], is[NUMBER_BYTES], same[200];
	const struct finding f = {
		.kind = m->kind,
		.explains = m->explains,
		.role = role,
		.same_as = same,
		.before = was,
		.after = is,
		.weight = (int)(measures +
				sizeof(measures) / sizeof(*measures) - m)};

	key_part(key, 0, role);
	key_part(key, 2, from);
	key_part(key, 3, to);
	if (strcmp(m->word, "Time") == 0)
		str_print(of, sizeof(of),
			  "The time from %.60s to %.60s of %.40s", from, to,
			  role);
	else
		str_print(of, sizeof(of), "%s of %s%.40s", m->word,
			  m->kind == DIFFERENCE_MEDIA ? "what " : "", role);
	str_print(same, sizeof(same), "%s", of);
	number(m, s.before, a->bound, was);
	number(m, s.after, b->bound, is);
	return finding_add(findings, &f,
			   "%s%s %s: the %s was %s and is %s (%zu and %zu "
			   "values).",
			   of, m->kind == DIFFERENCE_MEDIA ? " received" : "",
			   s.after > s.before ? "rose" : "fell", s.part, was,
			   is, a->count, b->count);
}

static int compare_sample(json_t *findings, const char *key,
			  const struct difference_run *before,
			  const struct difference_run *after)
{
	char name[KEY_BYTES];
	const struct measure *m;
	struct sample a = {.count = 0}, b = {.count = 0};
	struct shift shift;
	int err;

	/* "role|time|from|to|nth|answer", "role|figure|...|name" */
	m = measure_of(key_part(key, 5, name));
	if (!m)
		return 0;
	err = sample_of(&a, before, key);
	if (!err)
		err = sample_of(&b, after, key);
	if (!err && sample_differs(m, &a, &b, &shift))
		err = add_figure(findings, key, m, shift, &a, &b);
	free(a.values);
	free(b.values);
	return err;
}

/* ---- what streams have ---- */

static bool named(const json_t *findings, enum difference_kind kind)
{
	const json_t *f;
	size_t i;

	json_array_foreach(findings, i, f)
	{
		if (json_integer_value(json_object_get(f, "kind")) == (int)kind)
			return true;
	}
	return false;
}

/* A sentence begins with begins, the role, ends. */
static const struct {
	const char *name;
	const char *begins;
	const char *ends;
	enum difference_kind kind;
	unsigned explains;
} traits[] = {
	{"media", "RTP that ", " received", DIFFERENCE_MEDIA, EXPLAINS_MEDIA},
	{"codec", "The codec that ", " received", DIFFERENCE_CODEC,
	 EXPLAINS_MEDIA},
	{"srtp", "The encryption of what ", " received", DIFFERENCE_ENCRYPTION,
	 EXPLAINS_MEDIA},
	{"outcome", "The outcome of the calls of ", "", DIFFERENCE_RESPONSE,
	 EXPLAINS_CALLS | EXPLAINS_DELAY | EXPLAINS_MEDIA},
	{"registered", "The answer to the registrations of ", "",
	 DIFFERENCE_RESPONSE, EXPLAINS_ALL},
};

static int compare_trait(json_t *findings, const char *key, size_t trait,
			 const struct difference_run *before,
			 const struct difference_run *after)
{
	char role[KEY_BYTES];
	struct tally_change c;
	struct finding f = {.kind = traits[trait].kind,
			    .explains = traits[trait].explains,
			    .role = role,
			    .weight = -1};

	/* the messages say it better */
	if (f.kind != DIFFERENCE_MEDIA && named(findings, f.kind))
		return 0;
	if (!tally_differs(before->tallies, after->tallies, key, &c))
		return 0;
	key_part(key, 0, role);
	f.before = c.before;
	f.after = c.after;
	f.single = c.single;
	return finding_add(findings, &f,
			   "%s%.40s%s was \"%.60s\" and is \"%.60s\" in %zu of "
			   "%zu.",
			   traits[trait].begins, role, traits[trait].ends,
			   c.before ? c.before : "", c.after ? c.after : "",
			   c.after_of.hits, c.after_of.count);
}

int compare_figures(json_t *findings, const struct difference_run *before,
		    const struct difference_run *after)
{
	char part[KEY_BYTES], name[KEY_BYTES];
	const char *key;
	json_t *list;
	int err = 0;

	json_object_foreach(before->samples, key, list)
	{
		if (!err)
			err = compare_sample(findings, key, before, after);
	}
	json_object_foreach(before->tallies, key, list)
	{
		key_part(key, 1, part);
		key_part(key, 5, name);
		if (err || strcmp(part, "trait") != 0)
			continue;
		for (size_t i = 0; !err && i < sizeof(traits) / sizeof(*traits);
		     i++)
			if (strcmp(traits[i].name, name) == 0)
				err = compare_trait(findings, key, i, before,
						    after);
	}
	return err;
}
