#include "media/analysis/remote.h"

#include <math.h>

/* RFC 3611 section 4.7.5: R and MOS (tenths); 127 is "unavailable", other
 * values above the maximum are reserved */
#define R_MAX   100
#define MOS_MIN 10
#define MOS_MAX 50

static double percent(uint8_t of_256)
{
	return of_256 * 100.0 / 256.0;
}

static bool mos(uint8_t tenths, double *ret)
{
	if (tenths < MOS_MIN || tenths > MOS_MAX)
		return false;
	*ret = tenths / 10.0;
	return true;
}

void remote_voip_take(struct remote *r, const struct rtcp_voip_metrics *v)
{
	struct remote_voip *n = &r->voip;

	*n = (struct remote_voip){
		.known = true,
		.loss_pct = percent(v->loss_rate),
		.discard_pct = percent(v->discard_rate),
		.burst_density_pct = percent(v->burst_density),
		.gap_density_pct = percent(v->gap_density),
		.burst_duration_ms = v->burst_duration_ms,
		.gap_duration_ms = v->gap_duration_ms,
		.has_rtt = v->rtt_ms > 0,
		.rtt_ms = v->rtt_ms,
		.has_delay = v->end_system_delay_ms > 0,
		.delay_ms = v->end_system_delay_ms,
		.has_r_factor = v->r_factor <= R_MAX,
		.r_factor = v->r_factor,
		.has_buffer = v->jb_nominal_ms > 0,
		.buffer_ms = v->jb_nominal_ms,
	};
	n->has_mos_lq = mos(v->mos_lq, &n->mos_lq);
	n->has_mos_cq = mos(v->mos_cq, &n->mos_cq);
	r->has_voip_second = true;
	r->voip_blocks++;
}

static void sum_add(struct remote *r, const struct remote_summary *n)
{
	struct remote_summary *sum = &r->sum;

	sum->known = true;
	sum->has_lost |= n->has_lost;
	sum->lost += n->lost;
	sum->has_duplicates |= n->has_duplicates;
	sum->duplicates += n->duplicates;
	if (!n->has_jitter)
		return;
	r->jitter_blocks++;
	if (!sum->has_jitter || n->jitter_min_ms < sum->jitter_min_ms)
		sum->jitter_min_ms = n->jitter_min_ms;
	sum->jitter_max_ms = fmax(sum->jitter_max_ms, n->jitter_max_ms);
	sum->jitter_mean_ms += (n->jitter_mean_ms - sum->jitter_mean_ms) /
			       (double)r->jitter_blocks;
	sum->jitter_dev_ms = fmax(sum->jitter_dev_ms, n->jitter_dev_ms);
	sum->has_jitter = true;
}

bool remote_summary_take(struct remote *r, const struct rtcp_stat_summary *s,
			 uint32_t clock_hz, uint64_t sent)
{
	double tick_ms = clock_hz ? 1000.0 / clock_hz : 0.0;
	bool has_jitter = s->has_jitter && clock_hz > 0 &&
			  s->min_jitter_ticks <= s->mean_jitter_ticks &&
			  s->mean_jitter_ticks <= s->max_jitter_ticks;
	struct remote_summary n = {
		.known = true,
		.has_lost = s->has_loss,
		.lost = s->has_loss ? s->lost : 0,
		.has_duplicates = s->has_duplicates,
		.duplicates = s->has_duplicates ? s->duplicates : 0,
	};

	/* a block cannot report more lost packets than numbers were used */
	if (n.lost > sent || r->sum.lost + n.lost > sent ||
	    (s->has_jitter && clock_hz > 0 && !has_jitter)) {
		r->invalid++;
		return false;
	}
	if (has_jitter) {
		n.has_jitter = true;
		n.jitter_min_ms = s->min_jitter_ticks * tick_ms;
		n.jitter_max_ms = s->max_jitter_ticks * tick_ms;
		n.jitter_mean_ms = s->mean_jitter_ticks * tick_ms;
		n.jitter_dev_ms = s->dev_jitter_ticks * tick_ms;
	}
	r->summary = n;
	r->has_summary_second = true;
	r->summaries++;
	sum_add(r, &n);
	return true;
}

void remote_close_second(struct remote *r, struct stream_second *ret)
{
	if (r->has_voip_second)
		ret->voip = r->voip;
	if (r->has_summary_second)
		ret->summary = r->summary;
	r->has_voip_second = false;
	r->has_summary_second = false;
}

void remote_total(const struct remote *r, struct stream_total *ret)
{
	ret->voip = r->voip;
	ret->summary = r->sum;
}
