#include "capture/reports.h"

#include <stdlib.h>

void reports_init(struct reports *r, bool keep, struct samples_budget *budget)
{
	*r = (struct reports){.keep = keep, .budget = budget};
	flow_table_init(&r->table, CAPTURE_REPORTERS_MAX);
	chain_file_init(&r->file, sizeof(struct capture_report),
			CAPTURE_REPORTS_MAX);
}

void reports_expire(struct reports *r)
{
	struct samples_budget *budget = r->budget;

	if (r->keep || r->table.count < CAPTURE_REPORTERS_MAX / 2)
		return;
	reports_release(r);
	reports_init(r, false, budget);
}

static bool make_tables(struct reports *r)
{
	if (!r->reporter)
		r->reporter = calloc(CAPTURE_REPORTERS_MAX,
				     sizeof(struct reporter *));
	if (!r->tap)
		r->tap = calloc(REPORT_TAPS, sizeof(*r->tap));
	return r->tap && r->reporter;
}

void reports_release(struct reports *r)
{
	for (size_t i = 0; i < r->table.count; i++) {
		if (!r->reporter[i])
			continue;
		r->budget->left += r->reporter[i]->by_report.samples.allocated +
				   r->reporter[i]->by_dlrr.samples.allocated;
		samples_release(&r->reporter[i]->by_report.samples);
		samples_release(&r->reporter[i]->by_dlrr.samples);
		free(r->reporter[i]);
	}
	free(r->reporter);
	free(r->tap);
	flow_table_release(&r->table);
	chain_file_release(&r->file);
	*r = (struct reports){0};
}

static struct reporter *find_reporter(struct reports *r, uint32_t ssrc)
{
	struct flow_key key = {.ssrc = ssrc};
	uint32_t i = flow_table_find(&r->table, &key);

	if (i != FLOW_NONE)
		return r->reporter[i];
	i = flow_table_add(&r->table, &key);
	if (i == FLOW_NONE)
		return NULL;
	r->reporter[i] = calloc(1, sizeof(struct reporter));
	return r->reporter[i];
}

/* The SSRC of the sender report or RRTR that this item is or refers to. */
static uint32_t tapped_ssrc(const struct rtcp_item *item)
{
	if (item->kind == RTCP_ITEM_REPORT)
		return item->u.report.ssrc;
	if (item->kind == RTCP_ITEM_XR_DLRR)
		return item->u.dlrr.ssrc;
	return item->ssrc;
}

static void add_rtt(struct reports *r, const struct rtcp_item *item,
		    double rtt_ms)
{
	struct reporter *reporter = find_reporter(r, item->ssrc);
	struct reporter_rtt *rtt;

	if (!reporter) {
		r->left_out++;
		return;
	}
	rtt = item->kind == RTCP_ITEM_REPORT ? &reporter->by_report
					     : &reporter->by_dlrr;
	histogram_add(&rtt->all, rtt_ms);
	samples_add(&rtt->samples, r->budget, rtt_ms);
}

static void take_item(struct reports *r, const struct rtcp_item *item,
		      int64_t ns)
{
	uint32_t hash = tapped_ssrc(item) * 0x9e3779b1u;
	struct rtcp_tap *tap = &r->tap[(hash >> 16) & (REPORT_TAPS - 1)];
	struct capture_report report = {.ns = ns, .item = *item};

	report.has_rtt = rtcp_tap_item(tap, item, ns, &report.rtt_ms);
	if (report.has_rtt && report.rtt_ms >= 0.0)
		add_rtt(r, item, report.rtt_ms);
	if (r->keep && (item->kind == RTCP_ITEM_REPORT ||
			item->kind == RTCP_ITEM_XR_DLRR ||
			item->kind == RTCP_ITEM_XR_SUMMARY ||
			item->kind == RTCP_ITEM_XR_VOIP))
		chain_file_add(&r->file, &r->chain, &report);
}

void reports_take(struct reports *r, const uint8_t *data, size_t bytes,
		  int64_t ns)
{
	struct rtcp_reader reader;
	struct rtcp_item item;

	if (rtcp_reader_init(&reader, data, bytes) || !make_tables(r))
		return;
	while (rtcp_reader_next(&reader, &item))
		take_item(r, &item, ns);
}

bool reports_is_rtcp(const uint8_t *data, size_t bytes)
{
	struct rtcp_reader reader;

	return bytes >= 8 &&
	       (data[1] == RTCP_TYPE_SR || data[1] == RTCP_TYPE_RR) &&
	       rtcp_reader_init(&reader, data, bytes) == 0;
}

void reports_walk(struct reports *r, capture_reporter_h *handler, void *arg)
{
	struct distribution d;

	for (size_t i = 0; i < r->table.count; i++) {
		struct reporter_rtt *rtt;

		if (!r->reporter[i])
			continue;
		rtt = &r->reporter[i]->by_report;
		if (rtt->all.moments.n == 0)
			rtt = &r->reporter[i]->by_dlrr;
		if (rtt->all.moments.n == 0)
			continue;
		samples_distribution(&rtt->samples, &rtt->all, &d);
		handler(r->table.keys[i].ssrc, &d, arg);
	}
}

void reports_count(const struct reports *r, struct capture_counters *ret)
{
	ret->negative_rtt = 0;
	ret->unmatched_reports = 0;
	ret->reporters_left_out = r->left_out;
	for (size_t i = 0; r->tap && i < REPORT_TAPS; i++) {
		ret->negative_rtt += r->tap[i].negative;
		ret->unmatched_reports += r->tap[i].unmatched;
	}
}
