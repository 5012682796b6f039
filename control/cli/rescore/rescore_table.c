#include "control/cli/rescore/rescore_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "control/cli/common/terminal.h"

#define END_BYTES  64
#define CELL_BYTES 24
#define CURVE_STEP 4 /* ms a column */

struct table {
	FILE *out;
	struct rescore *r;
};

static void end_text(char ret[static END_BYTES], const struct address *a,
		     uint16_t port)
{
	char text[ADDRESS_TEXT_BYTES];

	address_text(a, text);
	snprintf(ret, END_BYTES, strchr(text, ':') ? "[%s]:%u" : "%s:%u", text,
		 port);
}

static void print_head(const struct table *t, const struct rescore_stream *s)
{
	const struct flow_key *key = &s->stream->key;
	struct rtp_counters n;
	char from[END_BYTES];
	char to[END_BYTES];

	end_text(from, &key->src, key->sport);
	end_text(to, &key->dst, key->dport);
	if (s->part->name[0]) {
		terminal_print(t->out, s->part->name, 0);
		fputs(", ", t->out);
	}
	fprintf(t->out, "SSRC %08" PRIx32 " from %s%sto %s\n", key->ssrc, from,
		strlen(from) + strlen(to) + strlen(s->part->name) > 50 ? "\n  "
								       : " ",
		to);
	rtp_stream_counters(&s->stream->stream, &n);
	fprintf(t->out,
		"  %" PRIu64 " packets, %" PRIu64 " of %" PRIu64
		" lost (%.2f %%), delay of the network ",
		n.packets, n.lost, n.expected,
		n.expected ? 100.0 * (double)n.lost / (double)n.expected : 0.0);
	if (s->has_network)
		fprintf(t->out, "%.1f ms\n", s->network_ms);
	else
		fputs("unknown\n", t->out);
}

/* Cells of a row; the empty ones are unknown. */
struct cells {
	char discarded[CELL_BYTES];
	char share[CELL_BYTES];
	char delay[CELL_BYTES];
	char r[CELL_BYTES];
	char mos[CELL_BYTES];
};

static void print_row(FILE *out, const char *what, const char *buffer,
		      const char *codec, const struct cells *c)
{
	fprintf(out, "  %-8s %-16s %-9.9s %9s %7s %6s %5s %s\n", what, buffer,
		codec, c->discarded, c->share, c->delay, c->r, c->mos);
}

static const char *scale_suffix(const struct score *score)
{
	static const char *const suffix[] = {
		[EMODEL_NB] = "",
		[EMODEL_WB] = " wb",
		[EMODEL_FB] = " fb",
	};

	return suffix[score->codec->scale];
}

static const struct cells unknown = {
	.discarded = "-",
	.share = "-",
	.delay = "-",
	.r = "-",
	.mos = "-",
};

static void print_outcome(const struct table *t, const struct rescore_stream *s,
			  const struct rescore_row *row, const char *what)
{
	const struct buffer_outcome *o = &row->outcome;
	char buffer[BUFFER_SETTING_BYTES];
	struct cells c = unknown;

	buffer_setting_text(&t->r->options->trial[row->trial], buffer);
	if (!s->stream->untimed) {
		snprintf(c.discarded, CELL_BYTES, "%" PRIu64, o->discarded);
		snprintf(c.share, CELL_BYTES, "%.1f %%", o->discarded_pct);
		snprintf(c.delay, CELL_BYTES, "%.0f ms", o->ta_ms);
	}
	if (!s->stream->untimed && o->score.valid) {
		snprintf(c.r, CELL_BYTES, "%.1f", o->score.r);
		snprintf(c.mos, CELL_BYTES, "%s%.2f%s",
			 o->score.extrapolated ? "~" : "", o->score.mos,
			 scale_suffix(&o->score));
	}
	print_row(t->out, what, buffer, rescore_codec_name(t->r, s, row), &c);
}

static void set_number(char cell[static CELL_BYTES], const json_t *value,
		       int decimals, const char *unit)
{
	if (json_is_number(value))
		snprintf(cell, CELL_BYTES, "%.*f%s", decimals,
			 json_number_value(value), unit);
}

/* Print what the agent measured during the run.
 * @return false: the report has no such figures */
static bool print_run(const struct table *t, const struct rescore_stream *s,
		      const char *member, size_t row)
{
	const json_t *b = json_object_get(s->run, member);
	const json_t *discarded = json_object_get(b, "discarded");
	double expected =
		json_number_value(json_object_get(s->run, "expected"));
	char buffer[BUFFER_SETTING_BYTES];
	struct cells c = unknown;

	if (!json_is_object(b))
		return false;
	buffer_setting_text(&t->r->options->trial[s->row[row].trial], buffer);
	set_number(c.discarded, discarded, 0, "");
	if (json_is_number(discarded) && expected > 0)
		snprintf(c.share, CELL_BYTES, "%.1f %%",
			 100.0 * json_number_value(discarded) / expected);
	set_number(c.delay, json_object_get(b, "ta_ms"), 0, " ms");
	set_number(c.r, json_object_get(b, "r_factor"), 1, "");
	set_number(c.mos, json_object_get(b, "mos"), 2, "");
	print_row(t->out, "run", buffer,
		  rescore_codec_name(t->r, s, &s->row[row]), &c);
	return true;
}

static void print_rows(const struct table *t, const struct rescore_stream *s)
{
	static const char *const run_buffer[RESCORE_USUAL] = {
		"fixed_buffer", "adaptive_buffer"};
	const struct cells titles = {.discarded = "discarded",
				     .delay = "delay",
				     .r = "R",
				     .mos = "MOS"};

	print_row(t->out, "", "buffer", "codec", &titles);
	for (size_t i = 0; i < s->measured; i++)
		if (i >= RESCORE_USUAL || !print_run(t, s, run_buffer[i], i))
			print_outcome(t, s, &s->row[i], "measured");
	for (size_t i = s->measured; i < s->rows; i++)
		print_outcome(t, s, &s->row[i], "rescored");
}

/* MOS 1 to 4.5, as bars of eight heights. */
static const char *bar(const struct score *score)
{
	static const char *const bars[] = {"▁", "▂", "▃", "▄",
					   "▅", "▆", "▇", "█"};
	const size_t count = sizeof(bars) / sizeof(*bars);
	size_t height;

	if (!score->valid)
		return " ";
	height = (size_t)((score->mos - 1.0) / 3.5 * (double)count);
	return bars[height < count ? height : count - 1];
}

static void print_curve(FILE *out, const struct rescore_stream *s)
{
	fputs("  1 ", out);
	for (size_t ms = CURVE_STEP; ms <= RESCORE_CURVE; ms += CURVE_STEP)
		fputs(bar(&s->curve[ms - 1].score), out);
	fprintf(out, " %d ms: MOS by buffer\n", RESCORE_CURVE);
}

static int print_stream(const struct rescore_stream *s, void *arg)
{
	const struct table *t = arg;
	char *sentence = rescore_sentence(t->r, s);

	if (!sentence)
		return -ENOMEM;
	print_head(t, s);
	print_rows(t, s);
	if (!s->stream->untimed && s->least.limit != BUFFER_LIMIT_NO_SCORE)
		print_curve(t->out, s);
	fprintf(t->out, "  %s\n\n", sentence);
	free(sentence);
	return ferror(t->out) ? -EIO : 0;
}

int rescore_print_table(struct rescore *r, FILE *out)
{
	struct table t = {out, r};
	int err = rescore_each(r, print_stream, &t);
	unsigned least;
	size_t reach;

	if (err)
		return err;
	if (r->count == 0) {
		fputs("no RTP streams found\n", out);
		return ferror(out) ? -EIO : 0;
	}
	least = rescore_least_of_all(r, &reach);
	fprintf(out, "%zu stream%s: ", r->count, r->count == 1 ? "" : "s");
	if (least)
		fprintf(out,
			"%zu reach%s MOS %.2f behind a fixed buffer of %u ms\n",
			reach, reach == 1 ? "es" : "", r->options->least_mos,
			least);
	else
		fprintf(out, "none reaches MOS %.2f behind a fixed buffer\n",
			r->options->least_mos);
	return ferror(out) ? -EIO : 0;
}
