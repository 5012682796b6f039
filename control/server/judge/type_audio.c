/* {role}-audio-conditions: decoded audio of every stream; a stream that was not
 * decoded fails. */
#include "base/str.h"
#include "control/server/judge/condition.h"

#include <math.h>
#include <string.h>

#define MS_MAX 1e8
#define HZ_MIN 100
#define HZ_MAX 3600
/* Resolution of the agent's tone detection (media/audio/audio_tone.h). */
#define TONE_OFF_HZ   4.0
#define TONE_OFF_PART 0.015

enum field {
	LEVEL,
	PEAK,
	CLIPPING,
	HEARD,
	SILENCE,
	ONE_WAY,
	TONE,
	PROMPT,
	PROMPT_BEGIN,
	DELAY,
};

static const char *const names[] = {
	"level", "peak",   "clipping",     "heard", "silence", "one_way",
	"tone",  "prompt", "prompt_begin", "delay", NULL};

/* By enum field: for sentences, unit, range, member of `audio`. */
static const struct figure {
	const char *name;
	const char *unit;
	double min;
	double max;
	const char *member; /* NULL: not a plain one */
} figures[] = {
	[LEVEL] = {"level of what was heard", " dBov", -96, 0, "level_dbov"},
	[PEAK] = {"peak", " dBov", -96, 0, "peak_dbov"},
	[CLIPPING] = {"clipped samples", " %", 0, 100, "clipped_pct"},
	[HEARD] = {"sound", " ms", 0, MS_MAX, "heard_ms"},
	[SILENCE] = {"longest silence", " ms", 0, MS_MAX, "silence_max_ms"},
	[ONE_WAY] = {"longest one-way audio", " ms", 0, MS_MAX, "one_way_ms"},
	[TONE] = {"tone", " ms", 0, MS_MAX, NULL},
	[PROMPT] = {"correlation with the prompt", "", 0, 1, "prompt_match"},
	[PROMPT_BEGIN] = {"beginning of the prompt", " ms", -MS_MAX, MS_MAX,
			  "prompt_begin_ms"},
	[DELAY] = {"mean delay of the markers", " ms", -1200, 1200,
		   "delay_avg_ms"},
};

static struct condition_range figure_range(unsigned choice)
{
	return (struct condition_range){
		figures[choice].unit, figures[choice].min, figures[choice].max};
}

static struct condition_range hz_range(unsigned choice)
{
	(void)choice;
	return (struct condition_range){" Hz", HZ_MIN, HZ_MAX};
}

static double hz_of(const struct condition *c)
{
	const json_t *value = json_object_get(c->item, "hz");
	double hz = 0;

	if (json_is_string(value))
		(void)str_to_double(json_string_value(value), &hz);
	else
		hz = json_number_value(value);
	return hz;
}

static int parse(struct condition *c, struct judge_problem *problem)
{
	unsigned out = 0;
	int err = condition_choice(&c->choice, c, "field", names, problem);

	if (!err && json_object_get(c->item, "direction"))
		err = condition_choice(&out, c, "direction",
				       condition_directions, problem);
	c->outgoing = out == 1;
	if (!err)
		err = limit_parse(&c->limit, c->item, figures[c->choice].min,
				  figures[c->choice].max, problem);
	if (err)
		return err;
	if ((c->choice == ONE_WAY || c->choice >= PROMPT) && c->outgoing)
		return condition_refuse(problem, "direction",
					"%s is of the direction in",
					names[c->choice]);
	if (c->choice == TONE && !(hz_of(c) >= HZ_MIN && hz_of(c) <= HZ_MAX))
		return condition_refuse(problem, "hz",
					"hz must be from 100 to 3600");
	if (c->choice != TONE && json_object_get(c->item, "hz"))
		return condition_refuse(problem, "hz",
					"hz goes with the field tone");
	return 0;
}

/* Duration of the tone; 0 is a valid figure. */
static double tone_ms(const json_t *audio, double hz)
{
	const json_t *tone;
	double ms = 0;
	size_t i;

	json_array_foreach(json_object_get(audio, "tones"), i, tone)
	{
		double off = fabs(
			json_number_value(json_object_get(tone, "hz")) - hz);

		if (off <= TONE_OFF_HZ || off <= TONE_OFF_PART * hz)
			ms += json_number_value(json_object_get(tone, "ms"));
	}
	return ms;
}

static bool get(double *ret, const struct condition *c, const json_t *audio)
{
	const json_t *value;

	if (c->choice == TONE) {
		*ret = tone_ms(audio, hz_of(c));
		return true;
	}
	value = json_object_get(audio, figures[c->choice].member);
	*ret = json_number_value(value);
	return json_is_number(value);
}

/* Write why there is no value. */
static const char *none_text(const struct condition *c,
			     const struct stream_record *s)
{
	if (!s->audio)
		return "it was not decoded";
	if (c->choice < PROMPT)
		return "nothing was heard";
	if (c->choice == DELAY)
		return "no marker was heard";
	return json_object_get(s->audio, "prompt_match")
		       ? "it was not the prompt"
		       : "nothing was heard, or no prompt expected";
}

static void judge_stream(struct tally *t, const struct condition *c,
			 const struct call_record *call,
			 const struct stream_record *s, const char *what,
			 const char *expected)
{
	const struct figure *f = &figures[c->choice];
	char actual[NUMBER_TEXT_BYTES];
	double value;

	if (!s->audio || !get(&value, c, s->audio)) {
		t->subjects++;
		tally_miss(t, call->name, "none",
			   "stream '%s' of call %.60s has no %s (%s), expected "
			   "%s",
			   c->outgoing ? "out" : "in", call->name, what,
			   none_text(c, s), expected);
		return;
	}
	if (tally_figure(t, &c->limit, value))
		return;
	number_text(actual, value, f->unit);
	tally_miss(t, call->name, actual,
		   "%s of stream '%s' of call %.60s was %s, expected %s", what,
		   c->outgoing ? "out" : "in", call->name, actual, expected);
}

static void judge_call(struct tally *t, const struct condition *c,
		       const struct call_record *call, const char *what,
		       const char *expected)
{
	size_t streams = 0;
	char why[CALL_END_BYTES];

	for (size_t i = 0; i < call->stream_count; i++) {
		if (call->streams[i].outgoing != c->outgoing)
			continue;
		streams++;
		judge_stream(t, c, call, &call->streams[i], what, expected);
	}
	if (streams)
		return;
	t->subjects++;
	call_end_text(why, sizeof(why), call);
	tally_miss(t, call->name, "none",
		   "call %.50s has no audio stream '%s', so no %s (%.60s), "
		   "expected %s",
		   call->name, c->outgoing ? "out" : "in", what, why, expected);
}

static int judge(const struct judge_input *in, const struct condition *c,
		 json_t *verdicts)
{
	const struct call_record *calls = RECORDS(in, calls, call_record);
	const struct figure *f = &figures[c->choice];
	char text[256], expected[LIMIT_TEXT_BYTES], what[64];
	struct tally t = {0};

	limit_text(expected, &c->limit, f->unit);
	str_copy(what, sizeof(what), f->name);
	if (c->choice == TONE)
		str_print(what, sizeof(what), "tone of %g Hz", hz_of(c));
	str_print(text, sizeof(text), "%s: %s in every stream '%s' %s",
		  c->set->role, what, c->outgoing ? "out" : "in", expected);
	for (size_t i = 0; i < in->calls.count; i++)
		if (strcmp(calls[i].role, c->set->role) == 0)
			judge_call(&t, c, &calls[i], what, expected);
	return tally_verdict(&t, c, text, expected, f->unit,
			     "there was no call, so there is no audio",
			     verdicts);
}

/* clang-format off */
static const struct condition_field audio_fields[] = {
	{.name = "field", .word = "Figure", .choices = names},
	{.name = "hz", .word = "Frequency", .range = hz_range, .only = "field tone"},
	{.name = "type", .word = "Comparison", .choices = condition_compares},
	{.name = "value", .word = "Limit", .range = figure_range, .range_by = "field"},
	{.name = "direction", .word = "Direction", .choices = condition_directions, .fallback = "in"},
	{.name = NULL},
};
/* clang-format on */

/* clang-format off */
static const struct condition_field no_fields[] = {
	{.name = NULL},
};
/* clang-format on */

const struct condition_type condition_audio = {
	.suffix = "audio-conditions",
	.word = "Sound",
	.scope = "every stream",
	.help = "the figure of every stream's decoded audio",
	.fields = audio_fields,
	.options = (const char *const[]){NULL},
	.parse = parse,
	.judge = judge,
};

const struct condition_type condition_transcription = {
	.suffix = "transcription-conditions",
	.fields = no_fields,
	.options = (const char *const[]){NULL},
};
