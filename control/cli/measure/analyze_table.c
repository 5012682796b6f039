#include "control/cli/measure/analyze.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS      13
#define CELL_BYTES   96
#define COLUMN_NOTES 12
#define FIRST_NUMBER 4 /* numbers begin here, the notes follow */

struct row {
	struct capture_stream *stream;
	char cell[COLUMNS][CELL_BYTES];
};

static const char *const titles[COLUMNS] = {
	"source", "destination", "SSRC", "codec",  "packets", "lost", "lost %",
	"jitter", "max",         "MOS",  "MOS jb", "bursts",  "notes"};

__attribute__((format(printf, 2, 3))) static void set(char cell[CELL_BYTES],
						      const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(cell, CELL_BYTES, fmt, args);
	va_end(args);
}

static void set_endpoint(char cell[CELL_BYTES], const struct address *a,
			 uint16_t port)
{
	char text[ADDRESS_TEXT_BYTES];

	address_text(a, text);
	set(cell, strchr(text, ':') ? "[%s]:%u" : "%s:%u", text, port);
}

__attribute__((format(printf, 3, 4))) static void add_note(
	char cell[CELL_BYTES], bool is_so, const char *fmt, ...)
{
	size_t used = strlen(cell);
	va_list args;

	if (!is_so || used + 4 >= CELL_BYTES)
		return;
	if (used > 0) {
		memcpy(cell + used, ", ", 3);
		used += 2;
	}
	va_start(args, fmt);
	vsnprintf(cell + used, CELL_BYTES - used, fmt, args);
	va_end(args);
}

static void set_notes(char cell[CELL_BYTES], const struct capture_stream *s,
		      const struct rtp_counters *n,
		      const struct stream_total *total)
{
	const struct rtp_stream *r = &s->stream;
	const char *scale = total->score_scale;

	add_note(cell, !s->announced, "no SDP");
	add_note(cell, s->untimed, "no times");
	add_note(cell, n->restarts > 0, "%" PRIu64 " restarts", n->restarts);
	add_note(cell, n->outages > 0, "%" PRIu64 " outages", n->outages);
	add_note(cell, n->duplicates > 0, "%" PRIu64 " dup", n->duplicates);
	add_note(cell, n->reordered > 0, "%" PRIu64 " reord", n->reordered);
	add_note(cell, n->stray + n->pending > 0, "%" PRIu64 " stray",
		 n->stray + n->pending);
	add_note(cell, r->timing.discontinuities > 0, "%" PRIu64 " ts jumps",
		 r->timing.discontinuities);
	add_note(cell, r->te_packets > 0, "%" PRIu64 " DTMF", r->te_packets);
	add_note(cell, r->cn_packets > 0, "%" PRIu64 " CN", r->cn_packets);
	add_note(cell, r->unknown_pt_packets > 0,
		 "%" PRIu64 " of unknown payload type", r->unknown_pt_packets);
	add_note(cell, r->pt_changes > 0, "%" PRIu64 " codec changes",
		 r->pt_changes);
	add_note(cell, scale && strcmp(scale, "wb") == 0, "wideband scale");
	add_note(cell, scale && strcmp(scale, "fb") == 0, "fullband scale");
	add_note(cell, total->score_declared != NULL, "declared Ie/Bpl");
	add_note(cell, !total->has_score && total->codec[0], "%s",
		 total->no_score_reason ? total->no_score_reason : "no score");
}

static void fill(struct row *row, struct capture_stream *s,
		 const struct capture_options *options)
{
	const struct moments *jitter = &s->stream.jitter.moments;
	const struct loss_pattern *p = capture_stream_pattern(s, options);
	bool timed = jitter->n > 0 && !s->untimed;
	struct detail_score score;
	struct stream_total total;
	struct rtp_counters n;

	rtp_stream_counters(&s->stream, &n);
	rtp_stream_total(&s->stream, &total);
	capture_stream_score(s, options, &score);
	row->stream = s;
	set_endpoint(row->cell[0], &s->key.src, s->key.sport);
	set_endpoint(row->cell[1], &s->key.dst, s->key.dport);
	set(row->cell[2], "%08" PRIx32, s->key.ssrc);
	set(row->cell[3], "%s", total.codec[0] ? total.codec : "-");
	set(row->cell[4], "%" PRIu64, n.packets);
	set(row->cell[5], "%" PRIu64, n.lost);
	set(row->cell[6], "%.2f", total.loss_pct);
	set(row->cell[7], timed ? "%.2f" : "-", jitter->mean);
	set(row->cell[8], timed ? "%.2f" : "-", jitter->max);
	set(row->cell[9], total.has_score ? "%.2f" : "-", total.mos_total);
	set(row->cell[10],
	    score.score.valid && !s->untimed
		    ? score.score.extrapolated ? "~%.2f" : "%.2f"
		    : "-",
	    score.score.mos);
	set(row->cell[11], s->untimed ? "-" : "%" PRIu64, p->burst_gap.bursts);
	set_notes(row->cell[COLUMN_NOTES], s, &n, &total);
}

static int compare_ends(const struct address *a, uint16_t a_port,
			const struct address *b, uint16_t b_port)
{
	int order = memcmp(a, b, sizeof(*a));

	return order ? order : (a_port > b_port) - (a_port < b_port);
}

/* Order that puts both directions of a call next to each other: by the lower
 * address and port, the higher one, the direction, the first packet's time. */
static int compare(const void *left, const void *right)
{
	const struct capture_stream *a = ((const struct row *)left)->stream;
	const struct capture_stream *b = ((const struct row *)right)->stream;
	const struct flow_key *k[2] = {&a->key, &b->key};
	const struct address *low[2], *high[2];
	uint16_t low_port[2], high_port[2];
	bool up[2];
	int order;

	for (int i = 0; i < 2; i++) {
		up[i] = compare_ends(&k[i]->src, k[i]->sport, &k[i]->dst,
				     k[i]->dport) <= 0;
		low[i] = up[i] ? &k[i]->src : &k[i]->dst;
		high[i] = up[i] ? &k[i]->dst : &k[i]->src;
		low_port[i] = up[i] ? k[i]->sport : k[i]->dport;
		high_port[i] = up[i] ? k[i]->dport : k[i]->sport;
	}
	order = compare_ends(low[0], low_port[0], low[1], low_port[1]);
	if (!order)
		order = compare_ends(high[0], high_port[0], high[1],
				     high_port[1]);
	if (!order)
		order = (int)up[1] - (int)up[0];
	if (!order)
		order = (a->first_ns > b->first_ns) -
			(a->first_ns < b->first_ns);
	if (!order)
		order = (a->key.ssrc > b->key.ssrc) -
			(a->key.ssrc < b->key.ssrc);
	return order;
}

static void print_row(FILE *out, const int width[COLUMNS],
		      const char *const cell[COLUMNS])
{
	for (int i = 0; i < COLUMN_NOTES; i++)
		fprintf(out, i >= FIRST_NUMBER ? "%*s  " : "%-*s  ", width[i],
			cell[i]);
	fprintf(out, "%s\n", cell[COLUMN_NOTES]);
}

struct interval_printer {
	FILE *out;
	double interval_s;
};

static int print_interval(const void *record, void *arg)
{
	const struct capture_interval *i = record;
	const struct interval_printer *p = arg;
	const struct distribution *j = &i->series[DETAIL_JITTER];
	double expected = (double)i->second.expected;

	fprintf(p->out,
		"    %9.2f s  %6" PRIu64 " packets  %5" PRId64
		" lost  %6.2f %%",
		(double)i->index * p->interval_s, i->second.packets,
		i->second.lost,
		expected > 0 ? 100.0 * (double)i->second.lost / expected : 0.0);
	if (j->n > 0)
		fprintf(p->out, "  jitter %.2f max %.2f", j->avg, j->max);
	if (i->has_declared)
		fprintf(p->out, "  MOS %.2f", i->declared_mos);
	else if (i->has_score)
		fprintf(p->out, "  MOS %.2f", i->mos);
	fputs("\n", p->out);
	return 0;
}

static int print_rows(const struct analyze_report *r, FILE *out,
		      struct row *rows, size_t count)
{
	struct interval_printer intervals = {
		out, (double)r->options.interval_ns / 1e9};
	int width[COLUMNS];
	int err = 0;

	for (int i = 0; i < COLUMNS; i++) {
		width[i] = (int)strlen(titles[i]);
		for (size_t k = 0; k < count; k++) {
			int n = (int)strlen(rows[k].cell[i]);

			width[i] = n > width[i] ? n : width[i];
		}
	}
	print_row(out, width, titles);
	for (size_t k = 0; !err && k < count; k++) {
		const char *cell[COLUMNS];

		for (int i = 0; i < COLUMNS; i++)
			cell[i] = rows[k].cell[i];
		print_row(out, width, cell);
		if (r->intervals)
			err = capture_intervals(r->capture, rows[k].stream,
						print_interval, &intervals);
	}
	return err;
}

static void print_reporter(uint32_t ssrc, const struct distribution *rtt,
			   void *arg)
{
	fprintf(arg,
		"round trip to %08" PRIx32 ": %.1f ms, %.1f to %.1f (%" PRIu64
		" reports)\n",
		ssrc, rtt->avg, rtt->min, rtt->max, rtt->n);
}

static void print_summary(const struct analyze_report *r, FILE *out)
{
	const struct capture_counters *n = capture_counters(r->capture);

	fprintf(out,
		"%" PRIu64 " frames, %zu RTP streams, %" PRIu64
		" RTCP packets, %" PRIu64 " SIP messages, %" PRIu64
		" other UDP, %" PRIu64 " invalid on media ports\n",
		n->frames, capture_stream_count(r->capture), n->rtcp, n->sip,
		n->non_media_udp >= n->sip ? n->non_media_udp - n->sip
					   : n->non_media_udp,
		n->invalid);
	if (r->options.buffer == CAPTURE_BUFFER_FIXED)
		fprintf(out,
			"jitter in ms (mean, max); MOS jb and bursts: behind a "
			"fixed buffer of %.0f ms, with its delay\n",
			r->options.fixed_delay_ms);
	else
		fputs("jitter in ms (mean, max); MOS jb and bursts: behind an "
		      "adaptive buffer, with its delay\n",
		      out);
	for (size_t i = 0; i < r->note_count; i++)
		fprintf(out, "note: %s\n", r->note[i]);
}

int analyze_print_table(const struct analyze_report *r, FILE *out)
{
	size_t count = capture_stream_count(r->capture);
	struct row *rows = calloc(count + 1, sizeof(*rows));
	int err = 0;

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		fill(&rows[i], capture_stream(r->capture, i), &r->options);
	qsort(rows, count, sizeof(*rows), compare);
	if (count > 0) {
		err = print_rows(r, out, rows, count);
		fputs("\n", out);
	} else {
		fputs("no RTP streams found\n", out);
	}
	capture_reporters(r->capture, print_reporter, out);
	print_summary(r, out);
	free(rows);
	return err;
}
