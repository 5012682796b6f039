/* {role}-mos-, -loss-, -jitter- and -rtt-conditions: one figure of every
 * stream over its whole life; missing media never passes. */
#include "base/str.h"
#include "control/server/judge/condition.h"

#include <string.h>

struct figure {
	const char *name; /* for sentences */
	const char *unit;
	double min;
	double max;
	bool (*get)(const struct stream_record *s, unsigned statistic,
		    double *ret);
};

static bool of_distribution(const struct distribution *d, unsigned statistic,
			    double *ret)
{
	const double values[] = {d->avg, d->min, d->max, d->median,
				 d->p75, d->p90, d->p95};

	if (!d->n)
		return false;
	*ret = values[statistic];
	return true;
}

static bool get_mos(const struct stream_record *s, unsigned statistic,
		    double *ret)
{
	(void)statistic;
	*ret = s->mos;
	return s->has_mos;
}

static bool get_loss(const struct stream_record *s, unsigned statistic,
		     double *ret)
{
	(void)statistic;
	*ret = s->loss_pct;
	return s->has_loss;
}

static bool get_jitter(const struct stream_record *s, unsigned statistic,
		       double *ret)
{
	return of_distribution(&s->jitter_ms, statistic, ret);
}

static bool get_rtt(const struct stream_record *s, unsigned statistic,
		    double *ret)
{
	return of_distribution(&s->rtt_ms, statistic, ret);
}

/* MOS runs from 1 to 5. */
static const struct figure mos = {"MOS", "", 1, 5, get_mos};
static const struct figure loss = {"packet loss", " %", 0, 100, get_loss};
static const struct figure jitter = {"jitter", " ms", 0, 1e6, get_jitter};
static const struct figure rtt = {"round-trip time", " ms", 0, 1e6, get_rtt};

static const char *direction(const struct condition *c)
{
	return c->outgoing ? "out" : "in";
}

static int parse_common(struct condition *c, const struct figure *f,
			struct judge_problem *problem)
{
	unsigned out = 0;
	int err;

	err = limit_parse(&c->limit, c->item, f->min, f->max, problem);
	if (!err && json_object_get(c->item, "direction"))
		err = condition_choice(&out, c, "direction",
				       condition_directions, problem);
	if (!err && json_object_get(c->item, "type_statistics"))
		err = condition_choice(&c->choice, c, "type_statistics",
				       condition_statistics, problem);
	c->outgoing = out == 1;
	return err;
}

/* Write a figure's name: "p95 jitter". The average, and figures without
 * statistics, have no prefix. */
static void figure_name(char *name, size_t size, const struct condition *c,
			const struct figure *f)
{
	str_print(name, size, "%s%s%s",
		  c->choice ? condition_statistics[c->choice] : "",
		  c->choice ? " " : "", f->name);
}

static void no_figure(struct tally *t, const struct condition *c,
		      const struct figure *f, const struct call_record *call,
		      const struct stream_record *s, const char *expected)
{
	char why[CALL_END_BYTES];

	t->subjects++;
	if (s) {
		tally_miss(t, call->name, "none",
			   "stream '%s' of call %.50s has no %s (%.70s), "
			   "expected %s",
			   direction(c), call->name, f->name,
			   s->no_score ? s->no_score : "it was not measured",
			   expected);
		return;
	}
	call_end_text(why, sizeof(why), call);
	tally_miss(t, call->name, "none",
		   "call %.50s has no audio stream '%s', so no %s (%.60s), "
		   "expected %s",
		   call->name, direction(c), f->name,
		   call->established ? "no RTP packet" : why, expected);
}

static void judge_call(struct tally *t, const struct condition *c,
		       const struct figure *f, const struct call_record *call,
		       const char *expected)
{
	size_t streams = 0;

	for (size_t i = 0; i < call->stream_count; i++) {
		const struct stream_record *s = &call->streams[i];
		char actual[NUMBER_TEXT_BYTES], name[40];
		double value;

		if (s->outgoing != c->outgoing)
			continue;
		streams++;
		if (!f->get(s, c->choice, &value)) {
			no_figure(t, c, f, call, s, expected);
			continue;
		}
		if (tally_figure(t, &c->limit, value))
			continue;
		number_text(actual, value, f->unit);
		figure_name(name, sizeof(name), c, f);
		tally_miss(t, call->name, actual,
			   "%s of stream '%s' of call %.60s was %s, expected "
			   "%s",
			   name, direction(c), call->name, actual, expected);
	}
	if (!streams)
		no_figure(t, c, f, call, NULL, expected);
}

static int judge_figure(const struct judge_input *in, const struct condition *c,
			const struct figure *f, json_t *verdicts)
{
	const struct call_record *calls = RECORDS(in, calls, call_record);
	char text[160], expected[LIMIT_TEXT_BYTES], none[80], name[40];
	struct tally t = {0};

	limit_text(expected, &c->limit, f->unit);
	figure_name(name, sizeof(name), c, f);
	str_print(text, sizeof(text), "%s: %s of every stream '%s' %s",
		  c->set->role, name, direction(c), expected);
	for (size_t i = 0; i < in->calls.count; i++)
		if (strcmp(calls[i].role, c->set->role) == 0)
			judge_call(&t, c, f, &calls[i], expected);
	str_print(none, sizeof(none), "there was no call, so there is no %s",
		  f->name);
	return tally_verdict(&t, c, text, expected, f->unit, none, verdicts);
}

static int parse_mos(struct condition *c, struct judge_problem *problem)
{
	return parse_common(c, &mos, problem);
}

static int parse_loss(struct condition *c, struct judge_problem *problem)
{
	return parse_common(c, &loss, problem);
}

static int parse_jitter(struct condition *c, struct judge_problem *problem)
{
	return parse_common(c, &jitter, problem);
}

static int parse_rtt(struct condition *c, struct judge_problem *problem)
{
	return parse_common(c, &rtt, problem);
}

static int judge_mos(const struct judge_input *in, const struct condition *c,
		     json_t *verdicts)
{
	return judge_figure(in, c, &mos, verdicts);
}

static int judge_loss(const struct judge_input *in, const struct condition *c,
		      json_t *verdicts)
{
	return judge_figure(in, c, &loss, verdicts);
}

static int judge_jitter(const struct judge_input *in, const struct condition *c,
			json_t *verdicts)
{
	return judge_figure(in, c, &jitter, verdicts);
}

static int judge_rtt(const struct judge_input *in, const struct condition *c,
		     json_t *verdicts)
{
	return judge_figure(in, c, &rtt, verdicts);
}

static const char *const no_options[] = {NULL};

static struct condition_range range_of(const struct figure *f)
{
	return (struct condition_range){f->unit, f->min, f->max};
}

static struct condition_range mos_range(unsigned choice)
{
	(void)choice;
	return range_of(&mos);
}

static struct condition_range loss_range(unsigned choice)
{
	(void)choice;
	return range_of(&loss);
}

static struct condition_range jitter_range(unsigned choice)
{
	(void)choice;
	return range_of(&jitter);
}

static struct condition_range rtt_range(unsigned choice)
{
	(void)choice;
	return range_of(&rtt);
}

/* clang-format off */
static const struct condition_field mos_fields[] = {
	{.name = "type", .word = "Comparison", .choices = condition_compares},
	{.name = "value", .word = "Limit", .range = mos_range},
	{.name = NULL},
};
/* clang-format on */

/* clang-format off */
static const struct condition_field loss_fields[] = {
	{.name = "type", .word = "Comparison", .choices = condition_compares},
	{.name = "value", .word = "Limit", .range = loss_range},
	{.name = "direction", .word = "Direction", .choices = condition_directions, .fallback = "in"},
	{.name = NULL},
};
/* clang-format on */

/* clang-format off */
static const struct condition_field jitter_fields[] = {
	{.name = "type", .word = "Comparison", .choices = condition_compares},
	{.name = "value", .word = "Limit", .range = jitter_range},
	{.name = "direction", .word = "Direction", .choices = condition_directions, .fallback = "in"},
	{.name = "type_statistics", .word = "Statistic", .choices = condition_statistics, .fallback = "avg"},
	{.name = NULL},
};
/* clang-format on */

/* clang-format off */
static const struct condition_field rtt_fields[] = {
	{.name = "type", .word = "Comparison", .choices = condition_compares},
	{.name = "value", .word = "Limit", .range = rtt_range},
	{.name = "direction", .word = "Direction", .choices = condition_directions, .fallback = "in"},
	{.name = "type_statistics", .word = "Statistic", .choices = condition_statistics, .fallback = "avg"},
	{.name = NULL},
};
/* clang-format on */

const struct condition_type condition_mos = {
	.suffix = "mos-conditions",
	.word = "MOS",
	.scope = "every stream",
	.help = "the overall MOS of every received stream of every call. It fails, with the reason, for a call without a stream and a stream without a score",
	.fields = mos_fields,
	.options = no_options,
	.parse = parse_mos,
	.judge = judge_mos,
};

const struct condition_type condition_loss = {
	.suffix = "loss-conditions",
	.word = "Loss",
	.scope = "every stream",
	.help = "the loss of every stream",
	.fields = loss_fields,
	.options = no_options,
	.parse = parse_loss,
	.judge = judge_loss,
};

const struct condition_type condition_jitter = {
	.suffix = "jitter-conditions",
	.word = "Jitter",
	.scope = "every stream",
	.help = "the statistic of every stream",
	.fields = jitter_fields,
	.options = no_options,
	.parse = parse_jitter,
	.judge = judge_jitter,
};

const struct condition_type condition_rtt = {
	.suffix = "rtt-conditions",
	.word = "Round trip",
	.scope = "every stream",
	.help = "the statistic of every stream",
	.fields = rtt_fields,
	.options = no_options,
	.parse = parse_rtt,
	.judge = judge_rtt,
};
