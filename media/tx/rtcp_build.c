#include "media/tx/rtcp_build.h"

#include "base/clock.h"

#include <assert.h>
#include <string.h>

#define RTCP_VERSION    0x80
#define SDES_ITEM_CNAME 1 /* RFC 3550 section 12.2 */

enum xr_block { /* RFC 3611 section 4 */
	XR_RRTR = 4,
	XR_DLRR = 5,
	XR_SUMMARY = 6,
	XR_VOIP = 7,
};

#define BANDWIDTH_SHARE  0.05    /* of the session, section 6.2 */
#define SENDER_SHARE     0.25    /* section 6.2 */
#define MINIMUM_FACTOR_S 360.0   /* divided by kbit/s, section 6.2 */
#define COMPENSATION     1.21828 /* e - 3/2, section 6.3.1 */

struct writer {
	uint8_t *at;
};

static void put16(struct writer *w, uint32_t v)
{
	*w->at++ = (uint8_t)(v >> 8);
	*w->at++ = (uint8_t)v;
}

static void put32(struct writer *w, uint32_t v)
{
	put16(w, v >> 16);
	put16(w, v & 0xffff);
}

static void put_header(struct writer *w, uint8_t count, enum rtcp_type type,
		       size_t bytes)
{
	*w->at++ = (uint8_t)(RTCP_VERSION | count);
	*w->at++ = (uint8_t)type;
	put16(w, (uint32_t)(bytes / 4 - 1));
}

static void put_report(struct writer *w, const struct rtcp_report *r)
{
	put32(w, r->ssrc);
	put32(w, (uint32_t)r->fraction_lost << 24 |
			 ((uint32_t)r->lost & 0xffffff));
	put32(w, r->ext_max);
	put32(w, r->jitter_ticks);
	put32(w, r->lsr);
	put32(w, r->dlsr);
}

static void put_sdes(struct writer *w, uint32_t ssrc, const char *cname)
{
	size_t len = strlen(cname);
	/* header, SSRC, item, its text, and 1 to 4 zeros as end and padding */
	size_t bytes = (8 + 2 + len) / 4 * 4 + 4;
	uint8_t *start = w->at;

	assert(len < RTCP_CNAME_BYTES);
	put_header(w, 1, RTCP_TYPE_SDES, bytes);
	put32(w, ssrc);
	*w->at++ = SDES_ITEM_CNAME;
	*w->at++ = (uint8_t)len;
	memcpy(w->at, cname, len);
	w->at += len;
	memset(w->at, 0, (size_t)(start + bytes - w->at));
	w->at = start + bytes;
}

/* RFC 3611 section 3: type, type-specific octet, length without the header */
static void put_block(struct writer *w, enum xr_block type, uint8_t specific,
		      uint32_t bytes)
{
	*w->at++ = (uint8_t)type;
	*w->at++ = specific;
	put16(w, bytes / 4);
}

static void put_summary(struct writer *w, const struct rtcp_stat_summary *s)
{
	uint8_t flags = 0;

	flags |= s->has_loss ? 0x80 : 0;
	flags |= s->has_duplicates ? 0x40 : 0;
	flags |= s->has_jitter ? 0x20 : 0;
	put_block(w, XR_SUMMARY, flags, 36);
	put32(w, s->ssrc);
	put16(w, s->begin_seq);
	put16(w, s->end_seq);
	/* fields without their flag are 0 (RFC 3611 section 4.6) */
	put32(w, s->has_loss ? s->lost : 0);
	put32(w, s->has_duplicates ? s->duplicates : 0);
	put32(w, s->has_jitter ? s->min_jitter_ticks : 0);
	put32(w, s->has_jitter ? s->max_jitter_ticks : 0);
	put32(w, s->has_jitter ? s->mean_jitter_ticks : 0);
	put32(w, s->has_jitter ? s->dev_jitter_ticks : 0);
	put32(w, 0); /* no TTL */
}

static void put_voip(struct writer *w, const struct rtcp_voip_metrics *v)
{
	const uint8_t octets[] = {
		(uint8_t)v->signal_dbm0,
		(uint8_t)v->noise_dbm0,
		v->rerl_db,
		v->gmin,
		v->r_factor,
		v->ext_r_factor,
		v->mos_lq,
		v->mos_cq,
		v->rx_config,
		0 /* reserved */,
	};

	put_block(w, XR_VOIP, 0, 32);
	put32(w, v->ssrc);
	*w->at++ = v->loss_rate;
	*w->at++ = v->discard_rate;
	*w->at++ = v->burst_density;
	*w->at++ = v->gap_density;
	put16(w, v->burst_duration_ms);
	put16(w, v->gap_duration_ms);
	put16(w, v->rtt_ms);
	put16(w, v->end_system_delay_ms);
	memcpy(w->at, octets, sizeof(octets));
	w->at += sizeof(octets);
	put16(w, v->jb_nominal_ms);
	put16(w, v->jb_max_ms);
	put16(w, v->jb_absmax_ms);
}

static void put_xr(struct writer *w, uint32_t ssrc, const struct rtcp_xr *xr)
{
	struct writer header = *w;

	w->at += 4;
	put32(w, ssrc);
	if (xr->has_rrtr) {
		put_block(w, XR_RRTR, 0, 8);
		put32(w, (uint32_t)(xr->rrtr_ntp >> 32));
		put32(w, (uint32_t)xr->rrtr_ntp);
	}
	if (xr->has_dlrr) {
		put_block(w, XR_DLRR, 0, 12);
		put32(w, xr->dlrr.ssrc);
		put32(w, xr->dlrr.lrr);
		put32(w, xr->dlrr.dlrr);
	}
	if (xr->has_summary)
		put_summary(w, &xr->summary);
	if (xr->has_voip)
		put_voip(w, &xr->voip);
	put_header(&header, 0, RTCP_TYPE_XR, (size_t)(w->at - header.at));
}

size_t rtcp_compound_write(uint8_t dst[static RTCP_COMPOUND_BYTES],
			   const struct rtcp_compound *c)
{
	struct writer w = {.at = dst};
	uint8_t reports = (uint8_t)c->report_count;

	assert(c->report_count <= RTCP_REPORTS_MAX);
	if (c->has_sender) {
		put_header(&w, reports, RTCP_TYPE_SR, 28u + 24u * reports);
		put32(&w, c->ssrc);
		put32(&w, (uint32_t)(c->sender.ntp >> 32));
		put32(&w, (uint32_t)c->sender.ntp);
		put32(&w, c->sender.rtp_ts);
		put32(&w, c->sender.packets);
		put32(&w, c->sender.octets);
	} else {
		put_header(&w, reports, RTCP_TYPE_RR, 8u + 24u * reports);
		put32(&w, c->ssrc);
	}
	for (size_t i = 0; i < c->report_count; i++)
		put_report(&w, &c->reports[i]);
	put_sdes(&w, c->ssrc, c->cname);
	if (c->xr.has_rrtr || c->xr.has_dlrr || c->xr.has_summary ||
	    c->xr.has_voip)
		put_xr(&w, c->ssrc, &c->xr);
	if (c->bye) {
		put_header(&w, 1, RTCP_TYPE_BYE, 8);
		put32(&w, c->ssrc);
	}
	return (size_t)(w.at - dst);
}

static double computed_s(const struct rtcp_interval_params *p)
{
	double minimum = MINIMUM_FACTOR_S / p->session_kbps;
	double bytes_per_s = p->session_kbps * 1000 / 8 * BANDWIDTH_SHARE;
	double n = p->members;
	double interval;

	if (p->initial)
		minimum /= 2;
	if (p->senders > 0 && p->senders <= n * SENDER_SHARE) {
		/* senders and receivers have separate shares */
		bytes_per_s *= p->we_sent ? SENDER_SHARE : 1 - SENDER_SHARE;
		n = p->we_sent ? p->senders : n - p->senders;
	}
	interval = n * p->average_bytes / bytes_per_s;
	return interval > minimum ? interval : minimum;
}

int64_t rtcp_interval_ns(const struct rtcp_interval_params *p, double random)
{
	double seconds = p->fixed_ms > 0 ? p->fixed_ms / 1000.0
					 : computed_s(p) / COMPENSATION;

	return (int64_t)(seconds * (0.5 + random) * (double)NS_PER_S) + 1;
}

bool rtcp_delay(uint32_t *ret, int64_t ns)
{
	int64_t s = ns / NS_PER_S;

	if (s > UINT16_MAX)
		return false;
	*ret = (uint32_t)(s << 16 | (ns % NS_PER_S << 16) / NS_PER_S);
	return true;
}
