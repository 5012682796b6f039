#include "control/cli/call/view.h"

#include "base/clock.h"
#include "base/str.h"
#include "control/cli/common/table.h"
#include "control/cli/common/terminal.h"
#include "control/wire/call_end.h"
#include "control/wire/text.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#define CELL_BYTES     48
#define NARROW_COLUMNS 6   /* of jitter and round trip in tables */
#define LIVE_BYTES     320 /* of a direction in the live line */

void view_init(struct view *v, FILE *out)
{
	*v = (struct view){
		.out = out,
		.terminal = isatty(fileno(out)) == 1,
		.reported = {{-1, -1, -1}, {-1, -1, -1}},
	};
}

static void line_end(struct view *v)
{
	if (v->line_open)
		fputc('\n', v->out);
	v->line_open = false;
}

/* Columns of the terminal. @return 0: there is none */
static size_t width_of(const struct view *v)
{
	return v->terminal ? terminal_width(v->out) : 0;
}

/* Print text in lines that fit the terminal. */
static void print_wrapped(struct view *v, char *text)
{
	while (text) {
		char *next = strchr(text, '\n');

		if (next)
			*next++ = '\0';
		table_wrap(v->out, text, 0, strspn(text, " ") + 2, width_of(v));
		text = next;
	}
}

void view_line(struct view *v, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	line_end(v);
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (v->terminal) {
		print_wrapped(v, text);
	} else {
		terminal_print_lines(v->out, text);
		fputc('\n', v->out);
	}
	fflush(v->out);
}

/** Write a number, or "-" if it is unknown. */
static const char *cell(char dst[static CELL_BYTES], json_t *object,
			const char *name, int digits)
{
	json_t *value = json_object_get(object, name);

	if (json_is_number(value))
		snprintf(dst, CELL_BYTES, "%.*f", digits,
			 json_number_value(value));
	else
		snprintf(dst, CELL_BYTES, "-");
	return dst;
}

/* The same with fewer digits where it would be wider than its column. */
static const char *narrow_cell(char dst[static CELL_BYTES], json_t *object,
			       const char *name, int digits)
{
	while (strlen(cell(dst, object, name, digits)) > NARROW_COLUMNS &&
	       digits > 0)
		digits--;
	return dst;
}

/* RTCP reports come every few seconds: show the last figure until the next. */
static const char *reported_cell(char dst[static CELL_BYTES], json_t *object,
				 const char *name, int digits, double *last)
{
	json_t *value = json_object_get(object, name);

	if (json_is_number(value))
		*last = json_number_value(value);
	if (*last < 0)
		return cell(dst, NULL, name, digits);
	snprintf(dst, CELL_BYTES, "%.*f", digits, *last);
	return dst;
}

/* How much the live line says: what fits the terminal. */
enum live_detail {
	LIVE_ALL,
	LIVE_NO_RTT,
	LIVE_SHORT,
	LIVE_BRIEF,
	LIVE_DETAILS,
};

static void live_direction(struct view *v, json_t *d, int dir,
			   enum live_detail detail,
			   char text[static LIVE_BYTES])
{
	/* incoming media is measured here: no last value is needed */
	struct view_reported old = {-1, -1, -1};
	struct view_reported *of = dir ? &v->reported[dir] : &old;
	const char *name = dir ? "out" : "in";
	char c[6][CELL_BYTES];
	/* negative if the peer counts duplicates as received (RFC 3550 section
	 * 6.4.1) */
	const char *net = json_number_value(json_object_get(d, "lost")) < 0
				  ? " net of duplicates"
				  : "";

	cell(c[0], d, "packets", 0);
	cell(c[1], d, "lost", 0);
	cell(c[2], d, "loss_pct", 2);
	reported_cell(c[3], d, "jitter_ms", 2, &of->jitter_ms);
	reported_cell(c[4], d, "rtt_ms", 1, &v->reported[dir].rtt_ms);
	reported_cell(c[5], d, "mos", 2, &of->mos);
	if (detail == LIVE_ALL)
		str_print(text, LIVE_BYTES,
			  "%s %s pkt, lost %s%s (%s %%), jitter %s ms, rtt %s "
			  "ms, MOS %s",
			  name, c[0], c[1], net, c[2], c[3], c[4], c[5]);
	else if (detail == LIVE_NO_RTT)
		str_print(text, LIVE_BYTES,
			  "%s %s pkt, lost %s (%s %%), jitter %s ms, MOS %s",
			  name, c[0], c[1], c[2], c[3], c[5]);
	else if (detail == LIVE_SHORT)
		str_print(text, LIVE_BYTES, "%s %s pkt, lost %s %%, MOS %s",
			  name, c[0], c[2], c[5]);
	else
		str_print(text, LIVE_BYTES, "%s %s %%, MOS %s", name, c[2],
			  c[5]);
}

static json_int_t packets_of(json_t *message, const char *dir)
{
	return json_integer_value(
		json_object_get(json_object_get(message, dir), "packets"));
}

/* Print as much as fits; the last column stays free, so that the terminal does
 * not wrap. */
static void live_figures(struct view *v, json_t *message, const char *time)
{
	char out[LIVE_BYTES], in[LIVE_BYTES], text[3 * LIVE_BYTES];
	size_t width = width_of(v);

	for (enum live_detail i = LIVE_ALL; i < LIVE_DETAILS; i++) {
		live_direction(v, json_object_get(message, "out"), 1, i, out);
		live_direction(v, json_object_get(message, "in"), 0, i, in);
		str_print(text, sizeof(text), "%s  %s | %s", time, out, in);
		if (!width || terminal_columns(text) < width)
			break;
	}
	terminal_print(v->out, text, width > 1 ? width - 1 : width);
}

void view_live(struct view *v, json_t *message, int64_t now_ns)
{
	char time[32];
	int64_t s;

	if (!v->start_ns)
		v->start_ns = now_ns;
	s = (now_ns - v->start_ns + NS_PER_S / 2) / NS_PER_S;
	if (v->terminal)
		fputs("\r\033[K", v->out);
	str_print(time, sizeof(time), "%02d:%02d", (int)(s / 60),
		  (int)(s % 60));
	if (packets_of(message, "out") + packets_of(message, "in") == 0)
		fprintf(v->out, "%s  no audio yet", time);
	else
		live_figures(v, message, time);
	v->line_open = v->terminal;
	if (!v->terminal)
		fputc('\n', v->out);
	fflush(v->out);
}

static void digit_line(struct view *v, json_t *event)
{
	json_t *ms = json_object_get(event, "ms");
	char lasted[32] = "";

	if (ms)
		snprintf(lasted, sizeof(lasted), ", %.0f ms",
			 json_number_value(ms));
	view_line(v, "%s: digit %s %s by %s%s", text_of(event, "call"),
		  text_of(event, "digit"),
		  strcmp(text_of(event, "direction"), "out") == 0 ? "sent"
								  : "received",
		  text_of(event, "via"), lasted);
}

void view_event(struct view *v, json_t *event)
{
	const char *kind = text_of(event, "kind");

	if (strcmp(kind, "state") == 0) {
		const char *call = text_of(event, "call");

		view_line(v, "%s %s %s",
			  call[0] ? call : text_of(event, "account"),
			  text_of(event, "state"), text_of(event, "text"));
	} else if (strcmp(kind, "assert") == 0) {
		view_line(v, "%s: %s %s: %s", text_of(event, "call"),
			  text_of(event, "action"), text_of(event, "argument"),
			  text_of(event, "text"));
	} else if (strcmp(kind, "dtmf") == 0) {
		digit_line(v, event);
	} else if (strcmp(kind, "flaw") == 0) {
		view_line(v, "Flaw of this measurement: %s (%lld)",
			  text_of(event, "text"),
			  (long long)json_integer_value(
				  json_object_get(event, "count")));
	}
}

void view_sip(struct view *v, json_t *message)
{
	bool sent = strcmp(text_of(message, "dir"), "sent") == 0;

	view_line(v, "--- %s %s %s %s", sent ? "sent to" : "received from",
		  text_of(message, "peer"), text_of(message, "transport"),
		  text_of(message, "encoding"));
	terminal_print_lines(v->out, text_of(message, "data"));
	fflush(v->out);
}

/* "93.2/100": R with the highest one of its scale (G.107, G.107.1, G.107.2). */
static const char *r_cell(char dst[static CELL_BYTES], json_t *stream)
{
	const char *scale = text_of(stream, "mos_scale");
	const char *most = strcmp(scale, "wb") == 0   ? "/129"
			   : strcmp(scale, "fb") == 0 ? "/148"
			   : strcmp(scale, "nb") == 0 ? "/100"
						      : "";
	char number[CELL_BYTES];

	cell(number, stream, "r_factor", 1);
	str_print(dst, CELL_BYTES, "%s%s", number,
		  strcmp(number, "-") == 0 ? "" : most);
	return dst;
}

static void stream_row(struct view *v, json_t *s)
{
	json_t *jitter = json_object_get(s, "jitter_ms");
	json_t *rtt = json_object_get(s, "rtt_ms");
	char c[8][CELL_BYTES];

	fprintf(v->out, "  %-8s %-6.15s %7s %5s %6s %6s %6s %6s %5s %8s\n",
		strcmp(text_of(s, "dir"), "out") == 0 ? "sent" : "received",
		text_of(s, "codec"), cell(c[0], s, "packets", 0),
		cell(c[1], s, "lost", 0), cell(c[2], s, "loss_pct", 2),
		narrow_cell(c[3], jitter, "avg", 3),
		narrow_cell(c[4], jitter, "max", 3),
		narrow_cell(c[5], rtt, "avg", 2), cell(c[6], s, "mos_total", 2),
		r_cell(c[7], s));
}

/* A member in us as seconds since begin_us. */
static double seconds(json_t *object, const char *name, json_int_t begin_us)
{
	json_int_t us = json_integer_value(json_object_get(object, name));

	return (double)(us - begin_us) / 1e6;
}

/* For a stream received from several SSRCs, one after another or at once: say
 * which source the figures above belong to, and list those of each. */
static void sources_table(struct view *v, json_t *stream)
{
	json_t *sources = json_object_get(stream, "sources");
	json_int_t begin = json_integer_value(
		json_object_get(json_array_get(sources, 0), "first_t"));
	json_int_t more =
		json_integer_value(json_object_get(stream, "sources_left_out"));
	json_t *s;
	size_t i;

	if (json_array_size(sources) < 2)
		return;
	view_line(v,
		  "  received from %zu sources: counters above are sums, "
		  "jitter, MOS and R are of %s",
		  json_array_size(sources), text_of(stream, "ssrc"));
	fprintf(v->out, "  %-8s %-6s %7s %5s %6s %6s %6s %5s %6s %6s\n", "SSRC",
		"codec", "packets", "lost", "loss %", "jitter", "max ms", "MOS",
		"from s", "to s");
	json_array_foreach(sources, i, s)
	{
		char c[6][CELL_BYTES];

		fprintf(v->out,
			"  %-8s %-6.15s %7s %5s %6s %6s %6s %5s %6.1f %6.1f\n",
			text_of(s, "ssrc"), text_of(s, "codec"),
			cell(c[0], s, "packets", 0), cell(c[1], s, "lost", 0),
			cell(c[2], s, "loss_pct", 2),
			narrow_cell(c[3], s, "jitter_avg_ms", 3),
			narrow_cell(c[4], s, "jitter_max_ms", 3),
			cell(c[5], s, "mos_total", 2),
			seconds(s, "first_t", begin),
			seconds(s, "last_t", begin));
	}
	if (more > 0)
		view_line(v, "  and %lld more sources, in the sums only",
			  (long long)more);
}

/* Print how far the peer's RTCP reports reach, and why a loss is negative. */
static void report_lines(struct view *v, json_t *s)
{
	json_t *report = json_object_get(s, "last_report");
	json_int_t rest =
		json_integer_value(json_object_get(report, "unreported"));
	char c[CELL_BYTES];

	if (report && rest > 0)
		view_line(
			v,
			"  the peer's last report reaches sequence number %s; the last %lld packets sent are in none",
			cell(c, report, "ext_seq", 0), (long long)rest);
	else if (report)
		view_line(
			v,
			"  the peer's last report reaches the last packet sent (sequence number %s)",
			cell(c, report, "ext_seq", 0));
	if (text_of(s, "lost_note")[0])
		view_line(v, "  lost %s: %s", cell(c, s, "lost", 0),
			  text_of(s, "lost_note"));
}

static void streams_table(struct view *v, json_t *streams)
{
	json_t *s;
	size_t i;

	if (json_array_size(streams) == 0) {
		fputs("  no audio\n", v->out);
		return;
	}
	fprintf(v->out, "  %-8s %-6s %7s %5s %6s %6s %6s %6s %5s %8s\n", "",
		"codec", "packets", "lost", "loss %", "jitter", "max ms",
		"rtt ms", "MOS", "R");
	json_array_foreach(streams, i, s)
	{
		stream_row(v, s);
	}
	json_array_foreach(streams, i, s)
	{
		sources_table(v, s);
		report_lines(v, s);
		if (text_of(s, "no_score")[0])
			view_line(v, "  no MOS of what was %s: %s",
				  strcmp(text_of(s, "dir"), "out") == 0
					  ? "sent"
					  : "received",
				  text_of(s, "no_score"));
	}
}

static void tones_line(struct view *v, const json_t *tones)
{
	char text[512] = "            tones:";
	json_t *t;
	size_t i;

	json_array_foreach(tones, i, t)
	{
		size_t used = strlen(text);
		char c[3][CELL_BYTES];

		str_print(text + used, sizeof(text) - used,
			  "%s %s Hz %s dBov %s ms", i ? "," : "",
			  cell(c[0], t, "hz", 1), cell(c[1], t, "dbov", 1),
			  cell(c[2], t, "ms", 0));
	}
	if (json_array_size(tones))
		view_line(v, "%s", text);
}

/* Print the measurements of the decoded audio. */
static void audio_lines(struct view *v, json_t *streams)
{
	char one_way[2 * CELL_BYTES], match[2 * CELL_BYTES],
		delay[3 * CELL_BYTES];
	json_t *s;
	size_t i;

	json_array_foreach(streams, i, s)
	{
		json_t *a = json_object_get(s, "audio");
		bool out = strcmp(text_of(s, "dir"), "out") == 0;
		char c[5][CELL_BYTES];

		if (!a)
			continue;
		one_way[0] = match[0] = delay[0] = '\0';
		if (!out)
			str_print(one_way, sizeof(one_way), ", one-way %s ms",
				  cell(c[0], a, "one_way_ms", 0));
		if (json_object_get(a, "prompt_match"))
			str_print(match, sizeof(match), ", prompt %s",
				  cell(c[0], a, "prompt_match", 2));
		if (json_object_get(a, "delay_avg_ms"))
			str_print(delay, sizeof(delay),
				  ", delay %s ms of %s markers",
				  cell(c[0], a, "delay_avg_ms", 1),
				  cell(c[1], a, "markers", 0));
		view_line(v,
			  "  %-9s level %s dBov, peak %s dBov, clipped %s %%, "
			  "longest silence %s ms%s%s%s",
			  out ? "said" : "heard",
			  cell(c[0], a, "level_dbov", 1),
			  cell(c[1], a, "peak_dbov", 1),
			  cell(c[2], a, "clipped_pct", 2),
			  cell(c[3], a, "silence_max_ms", 0), one_way, match,
			  delay);
		tones_line(v, json_object_get(a, "tones"));
	}
}

/* The SRTP suite of the direction's first stream. @return "": not encrypted */
static const char *suite_of(json_t *streams, const char *dir)
{
	json_t *s;
	size_t i;

	json_array_foreach(streams, i, s)
	{
		if (strcmp(text_of(s, "dir"), dir) == 0)
			return text_of(s, "srtp_suite");
	}
	return "";
}

static void encryption_line(struct view *v, json_t *streams)
{
	const char *in = suite_of(streams, "in");
	const char *out = suite_of(streams, "out");

	if (json_array_size(streams) == 0)
		return;
	if (strcmp(in, out) == 0)
		view_line(v, "  encryption       %s", in[0] ? in : "none");
	else
		view_line(v, "  encryption       received %s, sent %s",
			  in[0] ? in : "none", out[0] ? out : "none");
}

/* Print a candidate pair: "host 192.0.2.1:4000 - srflx 198.51.100.1:5000". */
static void pair_line(struct view *v, const char *name, json_t *pair)
{
	const char *types[] = {text_of(pair, "local_type"),
			       text_of(pair, "remote_type")};

	if (pair)
		view_line(v, "  %-16s %s%s%s - %s%s%s", name, types[0],
			  types[0][0] ? " " : "", text_of(pair, "local"),
			  types[1], types[1][0] ? " " : "",
			  text_of(pair, "remote"));
}

static void path_lines(struct view *v, json_t *path)
{
	char name[CELL_BYTES];

	if (!path)
		return;
	snprintf(name, sizeof(name), "path by %s", text_of(path, "by"));
	if (!json_is_true(json_object_get(path, "connected")))
		view_line(v, "  %-16s not connected: %s", name,
			  text_of(path, "reason"));
	pair_line(v, name, json_object_get(path, "rtp"));
	pair_line(v, "  of RTCP", json_object_get(path, "rtcp"));
}

void view_call(struct view *v, json_t *event)
{
	bool outgoing = strcmp(text_of(event, "direction"), "out") == 0;
	json_t *code = json_object_get(event, "code");
	bool ended_as_asked = wire_call_ended_as_asked(event);
	char c[CELL_BYTES];

	view_line(v, "Call %s %s %s", text_of(event, "call"),
		  outgoing ? "to" : "from", text_of(event, "peer"));
	if (json_is_true(json_object_get(event, "established")))
		view_line(v, "  result           established, end: %s%s%s",
			  text_of(event, "end"), ended_as_asked ? "" : ": ",
			  ended_as_asked ? "" : text_of(event, "reason"));
	else if (code)
		view_line(v, "  result           %s: %d %s",
			  text_of(event, "end"), (int)json_integer_value(code),
			  text_of(event, "reason"));
	else
		view_line(v, "  result           %s: %s", text_of(event, "end"),
			  text_of(event, "reason"));
	if (outgoing)
		view_line(v, "  post-dial delay  %s ms",
			  cell(c, event, "pdd_ms", 1));
	view_line(v, "  INVITE to 200    %s ms", cell(c, event, "setup_ms", 1));
	view_line(v, "  duration         %s ms",
		  cell(c, event, "duration_ms", 0));
	encryption_line(v, json_object_get(event, "streams"));
	path_lines(v, json_object_get(event, "path"));
	streams_table(v, json_object_get(event, "streams"));
	audio_lines(v, json_object_get(event, "streams"));
}

void view_evidence(struct view *v, json_t *event)
{
	json_t *lateness = json_object_get(event, "send_lateness_ms");
	char p99[CELL_BYTES];
	char max[CELL_BYTES];
	char sent[CELL_BYTES];

	if (lateness)
		view_line(v,
			  "Send lateness p99 %s ms, max %s ms over %s packets, "
			  "%s scheduling",
			  cell(p99, lateness, "p99", 3),
			  cell(max, lateness, "max", 3),
			  cell(sent, event, "packets_sent", 0),
			  text_of(event, "send_scheduling"));
}
