#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control/cli/measure/analyze.h"
#include "control/cli/measure/analyze_stream_json.h"
#include "control/wire/json.h"

#define FORMAT (JSON_COMPACT | JSON_DECIMAL)

/* The document is written piece by piece: a tree of all of it would need memory
 * for every interval of every stream. */
struct printer {
	FILE *out;
	const struct analyze_report *report;
	const struct capture_stream *stream;
	bool first; /* no item of the current list is written yet */
};

/* jansson calls this for every token: the stdio lock is not taken each time. */
static int put(const char *text, size_t bytes, void *out)
{
	return fwrite_unlocked(text, 1, bytes, out) == bytes ? 0 : -1;
}

/* Print one member or element; takes over the reference. */
static int print(FILE *out, const char *before, json_t *value)
{
	int err = value ? 0 : -ENOMEM;

	fputs(before, out);
	if (value &&
	    json_dump_callback(value, put, out, FORMAT | JSON_ENCODE_ANY))
		err = -ENOMEM;
	json_decref(value);
	return err;
}

static json_int_t count(uint64_t n)
{
	return (json_int_t)n;
}

static json_t *json_input(const struct analyze_report *r)
{
	const char *name = strrchr(r->path, '/');
	json_t *text = json_string(name ? name + 1 : r->path);

	if (!text) /* not UTF-8 */
		text = json_null();
	return json_pack("{s:o, s:s, s:f, s:s}", "pcap", text, "format",
			 r->reader->format ? r->reader->format : "none",
			 "interval_ms", (double)r->options.interval_ns / 1e6,
			 "interval_origin", "first packet of each stream");
}

static json_t *json_other(const struct capture_counters *n)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I,"
			 " s:I}",
			 "stun", count(n->stun), "dtls", count(n->dtls), "rtcp",
			 count(n->rtcp), "invalid", count(n->invalid),
			 "non_media_udp", count(n->non_media_udp), "not_udp",
			 count(n->not_udp), "fragments", count(n->fragments),
			 "fragmented", count(n->fragmented), "incomplete",
			 count(n->incomplete), "sip", count(n->sip), "sdp",
			 count(n->sdp));
}

static void add_change(const struct flow_key *flow, uint64_t changes, void *arg)
{
	char src[ADDRESS_TEXT_BYTES];
	char dst[ADDRESS_TEXT_BYTES];
	char name[2 * ADDRESS_TEXT_BYTES + 16];

	address_groups(&flow->src, src);
	address_groups(&flow->dst, dst);
	snprintf(name, sizeof(name), "%s:%u>%s:%u", src, flow->sport, dst,
		 flow->dport);
	json_object_set_new(arg, name, json_integer(count(changes)));
}

static void add_reporter(uint32_t ssrc, const struct distribution *rtt,
			 void *arg)
{
	char name[9];

	snprintf(name, sizeof(name), "%08" PRIx32, ssrc);
	json_object_set_new(arg, name, json_distribution(rtt));
}

static int print_interval(const void *record, void *arg)
{
	struct printer *p = arg;
	const char *before = p->first ? "\n  " : ",\n  ";

	p->first = false;
	return print(p->out, before,
		     json_interval(record, p->report->options.interval_ns));
}

static int print_stream(struct printer *p, struct capture_stream *s,
			double *scratch)
{
	json_t *o = json_stream(s, scratch);
	char *text = o ? json_dumps(o, FORMAT) : NULL;
	int err = 0;

	json_decref(o);
	if (!text)
		return -ENOMEM;
	/* leave the object open: the intervals follow */
	text[strlen(text) - 1] = '\0';
	fputs(text, p->out);
	free(text);
	fputs(",\"intervals\":[", p->out);
	p->first = true;
	p->stream = s;
	err = capture_intervals(p->report->capture, s, print_interval, p);
	fputs("]}", p->out);
	return err;
}

static void set_ssrc(json_t *o, const char *name, uint32_t ssrc)
{
	char text[9];

	snprintf(text, sizeof(text), "%08" PRIx32, ssrc);
	json_object_set_new(o, name, json_string(text));
}

static json_t *json_voip(const struct rtcp_voip_metrics *v)
{
	json_t *o = json_pack(
		"{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i,"
		" s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}",
		"loss_rate", (int)v->loss_rate, "discard_rate",
		(int)v->discard_rate, "burst_density", (int)v->burst_density,
		"gap_density", (int)v->gap_density, "burst_duration",
		(int)v->burst_duration_ms, "gap_duration",
		(int)v->gap_duration_ms, "rtt", (int)v->rtt_ms, "esd",
		(int)v->end_system_delay_ms, "signal", (int)v->signal_dbm0,
		"noise", (int)v->noise_dbm0, "rerl", (int)v->rerl_db, "gmin",
		(int)v->gmin, "r_factor", (int)v->r_factor, "ext_r",
		(int)v->ext_r_factor, "mos_lq", (int)v->mos_lq, "mos_cq",
		(int)v->mos_cq, "rx_config", (int)v->rx_config, "reserved",
		(int)v->reserved, "jb_nominal", (int)v->jb_nominal_ms, "jb_max",
		(int)v->jb_max_ms, "jb_absmax", (int)v->jb_absmax_ms);

	if (o)
		set_ssrc(o, "ssrc", v->ssrc);
	return o;
}

/* Members that the block's flags left out are null. */
static json_t *json_summary(const struct rtcp_stat_summary *s)
{
	static const char *const names[] = {
		"min_jitter_ticks", "max_jitter_ticks", "mean_jitter_ticks",
		"dev_jitter_ticks"};
	const uint32_t ticks[] = {s->min_jitter_ticks, s->max_jitter_ticks,
				  s->mean_jitter_ticks, s->dev_jitter_ticks};
	json_t *o = json_object();

	if (!o)
		return NULL;
	set_ssrc(o, "ssrc", s->ssrc);
	json_object_set_new(o, "begin_seq", json_integer(s->begin_seq));
	json_object_set_new(o, "end_seq", json_integer(s->end_seq));
	json_object_set_new(o, "lost",
			    s->has_loss ? json_integer(s->lost) : json_null());
	json_object_set_new(o, "duplicates",
			    s->has_duplicates ? json_integer(s->duplicates)
					      : json_null());
	for (size_t i = 0; i < 4; i++)
		json_object_set_new(o, names[i],
				    s->has_jitter ? json_integer(ticks[i])
						  : json_null());
	return o;
}

static json_t *json_report(const struct capture_report *r)
{
	const struct rtcp_report *b = &r->item.u.report;
	json_t *o = json_object();
	char ns[24];

	if (!o)
		return NULL;
	snprintf(ns, sizeof(ns), "%" PRId64, r->ns);
	json_object_set_new(o, "t_ns", json_string(ns));
	set_ssrc(o, "reporter", r->item.ssrc);
	if (r->item.kind == RTCP_ITEM_XR_VOIP) {
		json_object_set_new(o, "type", json_string("XR-VOIP"));
		json_object_set_new(o, "metrics", json_voip(&r->item.u.voip));
		return o;
	}
	if (r->item.kind == RTCP_ITEM_XR_SUMMARY) {
		json_object_set_new(o, "type", json_string("XR-SUMMARY"));
		json_object_set_new(o, "summary",
				    json_summary(&r->item.u.summary));
		return o;
	}
	json_object_set_new(o, "rtt_ms",
			    r->has_rtt && r->rtt_ms >= 0.0
				    ? json_real(r->rtt_ms)
				    : json_null());
	if (r->item.kind == RTCP_ITEM_XR_DLRR) {
		json_object_set_new(o, "type", json_string("XR-DLRR"));
		set_ssrc(o, "about", r->item.u.dlrr.ssrc);
		return o;
	}
	if (r->has_rtt)
		json_object_set_new(o, "rtt_raw_ms", json_real(r->rtt_ms));
	json_object_set_new(
		o, "type",
		json_string(r->item.type == RTCP_TYPE_SR ? "SR" : "RR"));
	set_ssrc(o, "about", b->ssrc);
	json_object_set_new(o, "fraction", json_integer(b->fraction_lost));
	json_object_set_new(o, "lost", json_integer(b->lost));
	json_object_set_new(o, "ext_seq", json_integer(b->ext_max));
	json_object_set_new(o, "jitter_ticks", json_integer(b->jitter_ticks));
	return o;
}

static int print_report(const void *record, void *arg)
{
	struct printer *p = arg;
	const char *before = p->first ? "\n " : ",\n ";

	p->first = false;
	return print(p->out, before, json_report(record));
}

static int print_streams(struct printer *p)
{
	struct capture *c = p->report->capture;
	double *scratch =
		malloc(SKEW_SCRATCH(SKEW_WINDOWS_CAPTURE) * sizeof(*scratch));
	int err = scratch ? 0 : -ENOMEM;

	fputs(",\n\"streams\":[", p->out);
	for (size_t i = 0; !err && i < capture_stream_count(c); i++) {
		fputs(i ? ",\n " : "\n ", p->out);
		err = print_stream(p, capture_stream(c, i), scratch);
	}
	free(scratch);
	fputs("]", p->out);
	return err;
}

static int print_rtcp(struct printer *p)
{
	struct capture *c = p->report->capture;
	const struct capture_counters *n = capture_counters(c);
	json_t *reporters = json_object();
	int err;

	fputs(",\n\"rtcp\":{\"reports\":[", p->out);
	p->first = true;
	err = capture_reports(c, print_report, p);
	if (reporters)
		capture_reporters(c, add_reporter, reporters);
	if (!err)
		err = print(p->out, "],\n \"rtt_ms_by_reporter\":", reporters);
	else
		json_decref(reporters);
	fprintf(p->out,
		",\n \"negative_rtt\":%" PRIu64
		",\"unmatched_reports\":%" PRIu64 "}",
		n->negative_rtt, n->unmatched_reports);
	return err;
}

int analyze_print_json(const struct analyze_report *r, FILE *out)
{
	struct printer p = {.out = out, .report = r};
	json_t *changes = json_object();
	json_t *notes = json_array();
	int err;

	if (changes)
		capture_ssrc_changes(r->capture, add_change, changes);
	for (size_t i = 0; i < r->note_count; i++)
		json_array_append_new(notes, json_string(r->note[i]));
	err = print(out, "{\"input\":", json_input(r));
	fprintf(out, ",\n\"frames\":%" PRIu64,
		capture_counters(r->capture)->frames);
	if (!err)
		err = print(out, ",\n\"other\":",
			    json_other(capture_counters(r->capture)));
	if (print(out, ",\n\"ssrc_changes\":", changes) && !err)
		err = -ENOMEM;
	if (!err)
		err = print_streams(&p);
	if (!err)
		err = print_rtcp(&p);
	if (print(out, ",\n\"notes\":", notes) && !err)
		err = -ENOMEM;
	if (print(out, ",\n\"damaged\":",
		  r->damage ? json_string(r->damage) : json_null()) &&
	    !err)
		err = -ENOMEM;
	fputs("}\n", out);
	return err;
}
