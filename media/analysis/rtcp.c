#include "media/analysis/rtcp.h"

#include <errno.h>

#include "base/big_endian.h"
#include "base/clock.h"

#define RTCP_HEADER_BYTES 4
#define SENDER_INFO_BYTES 20
#define REPORT_BYTES      24

/* RFC 3611 section 4 */
#define XR_BLOCK_RRTR    4
#define XR_BLOCK_DLRR    5
#define XR_BLOCK_SUMMARY 6
#define XR_BLOCK_VOIP    7
#define XR_RRTR_BYTES    8
#define XR_DLRR_BYTES    12 /* a sub-block */
#define XR_SUMMARY_BYTES 36
#define XR_VOIP_BYTES    32

/* From 1900 (NTP) to 1970 (POSIX): 70 years with 17 leap days. */
#define NTP_UNIX_OFFSET_S INT64_C(2208988800)

static uint64_t be64(const uint8_t *p)
{
	return (uint64_t)be32(p) << 32 | be32(p + 4);
}

int rtcp_reader_init(struct rtcp_reader *r, const uint8_t *data, size_t bytes)
{
	size_t at = 0;

	*r = (struct rtcp_reader){.data = data};
	if (bytes < RTCP_HEADER_BYTES || bytes % 4 != 0)
		return -EBADMSG;
	while (at < bytes) {
		size_t packet;

		if (data[at] >> 6 != 2)
			return -EBADMSG;
		packet = 4 * ((size_t)be16(data + at + 2) + 1);
		if (packet > bytes - at)
			return -EBADMSG;
		if (data[at] & 0x20) {
			uint8_t padding = data[at + packet - 1];

			if (at + packet != bytes || padding == 0 ||
			    padding % 4 != 0 ||
			    padding > packet - RTCP_HEADER_BYTES)
				return -EBADMSG;
		}
		at += packet;
	}
	r->bytes = bytes;
	return 0;
}

/* Open the packet at `at`; `at` moves past its header and sender SSRC. */
static bool open_packet(struct rtcp_reader *r)
{
	const uint8_t *p = r->data + r->at;

	if (r->bytes - r->at < RTCP_HEADER_BYTES)
		return false;
	r->packet_next = r->at + 4 * ((size_t)be16(p + 2) + 1);
	r->packet_end = r->packet_next;
	if (p[0] & 0x20)
		r->packet_end -= r->data[r->packet_next - 1];
	r->count = p[0] & 0x1f;
	r->type = p[1];
	r->block_end = 0;
	r->sender_due = r->type == RTCP_TYPE_SR;
	r->at += RTCP_HEADER_BYTES;
	if (r->type == RTCP_TYPE_BYE)
		return true;
	if (r->packet_end - r->at < 4) {
		r->at = r->packet_end;
		return true;
	}
	r->ssrc = be32(r->data + r->at);
	r->at += 4;
	return true;
}

static bool next_report(struct rtcp_reader *r, struct rtcp_item *ret)
{
	const uint8_t *p = r->data + r->at;
	uint32_t lost;

	if (r->sender_due) {
		r->sender_due = false;
		if (r->packet_end - r->at < SENDER_INFO_BYTES)
			return false;
		ret->kind = RTCP_ITEM_SENDER;
		ret->u.sender.ntp = be64(p);
		ret->u.sender.rtp_ts = be32(p + 8);
		ret->u.sender.packets = be32(p + 12);
		ret->u.sender.octets = be32(p + 16);
		r->at += SENDER_INFO_BYTES;
		return true;
	}
	if (r->count == 0 || r->packet_end - r->at < REPORT_BYTES)
		return false;
	r->count--;
	ret->kind = RTCP_ITEM_REPORT;
	ret->u.report.ssrc = be32(p);
	ret->u.report.fraction_lost = p[4];
	lost = be32(p + 4) & 0xffffff;
	ret->u.report.lost =
		lost & 0x800000 ? (int32_t)lost - 0x1000000 : (int32_t)lost;
	ret->u.report.ext_max = be32(p + 8);
	ret->u.report.jitter_ticks = be32(p + 12);
	ret->u.report.lsr = be32(p + 16);
	ret->u.report.dlsr = be32(p + 20);
	r->at += REPORT_BYTES;
	return true;
}

static bool next_bye(struct rtcp_reader *r, struct rtcp_item *ret)
{
	if (r->count == 0 || r->packet_end - r->at < 4)
		return false;
	r->count--;
	ret->kind = RTCP_ITEM_BYE;
	ret->ssrc = be32(r->data + r->at);
	r->at += 4;
	return true;
}

static void read_voip(struct rtcp_voip_metrics *v, const uint8_t *p)
{
	*v = (struct rtcp_voip_metrics){
		.ssrc = be32(p),
		.loss_rate = p[4],
		.discard_rate = p[5],
		.burst_density = p[6],
		.gap_density = p[7],
		.burst_duration_ms = be16(p + 8),
		.gap_duration_ms = be16(p + 10),
		.rtt_ms = be16(p + 12),
		.end_system_delay_ms = be16(p + 14),
		.signal_dbm0 = (int8_t)p[16],
		.noise_dbm0 = (int8_t)p[17],
		.rerl_db = p[18],
		.gmin = p[19],
		.r_factor = p[20],
		.ext_r_factor = p[21],
		.mos_lq = p[22],
		.mos_cq = p[23],
		.rx_config = p[24],
		.reserved = p[25],
		.jb_nominal_ms = be16(p + 26),
		.jb_max_ms = be16(p + 28),
		.jb_absmax_ms = be16(p + 30),
	};
}

static void read_summary(struct rtcp_stat_summary *s, const uint8_t *p,
			 uint8_t flags)
{
	*s = (struct rtcp_stat_summary){
		.ssrc = be32(p),
		.begin_seq = be16(p + 4),
		.end_seq = be16(p + 6),
		.has_loss = (flags & 0x80) != 0,
		.lost = be32(p + 8),
		.has_duplicates = (flags & 0x40) != 0,
		.duplicates = be32(p + 12),
		.has_jitter = (flags & 0x20) != 0,
		.min_jitter_ticks = be32(p + 16),
		.max_jitter_ticks = be32(p + 20),
		.mean_jitter_ticks = be32(p + 24),
		.dev_jitter_ticks = be32(p + 28),
		.ttl_kind = flags >> 3 & 3,
		.min_ttl = p[32],
		.max_ttl = p[33],
		.mean_ttl = p[34],
		.dev_ttl = p[35],
	};
}

/* Open the XR block at `at`. A DLRR block stays open for its sub-blocks.
 * @return false at the end of the packet */
static bool open_block(struct rtcp_reader *r)
{
	const uint8_t *p = r->data + r->at;
	size_t bytes;

	if (r->packet_end - r->at < 4)
		return false;
	bytes = 4 * ((size_t)be16(p + 2) + 1);
	if (bytes > r->packet_end - r->at)
		return false;
	r->block_type = p[0];
	r->block_end = r->at + bytes;
	r->count = p[1]; /* type specific */
	r->at += 4;
	return true;
}

/* Read one item of the open block. A DLRR block stays open. */
static bool read_block(struct rtcp_reader *r, struct rtcp_item *ret)
{
	const uint8_t *p = r->data + r->at;
	size_t left = r->block_end - r->at;

	if (r->block_type == XR_BLOCK_DLRR && left >= XR_DLRR_BYTES) {
		ret->kind = RTCP_ITEM_XR_DLRR;
		ret->u.dlrr.ssrc = be32(p);
		ret->u.dlrr.lrr = be32(p + 4);
		ret->u.dlrr.dlrr = be32(p + 8);
		r->at += XR_DLRR_BYTES;
		return true;
	}
	r->at = r->block_end;
	r->block_end = 0;
	if (r->block_type == XR_BLOCK_RRTR && left >= XR_RRTR_BYTES) {
		ret->kind = RTCP_ITEM_XR_RRTR;
		ret->u.ntp = be64(p);
		return true;
	}
	if (r->block_type == XR_BLOCK_VOIP && left >= XR_VOIP_BYTES) {
		ret->kind = RTCP_ITEM_XR_VOIP;
		read_voip(&ret->u.voip, p);
		return true;
	}
	if (r->block_type == XR_BLOCK_SUMMARY && left >= XR_SUMMARY_BYTES) {
		ret->kind = RTCP_ITEM_XR_SUMMARY;
		read_summary(&ret->u.summary, p, r->count);
		return true;
	}
	return false;
}

static bool next_xr(struct rtcp_reader *r, struct rtcp_item *ret)
{
	for (;;) {
		if (r->block_end == 0 && !open_block(r))
			return false;
		if (read_block(r, ret))
			return true;
	}
}

static bool next_of_packet(struct rtcp_reader *r, struct rtcp_item *ret)
{
	switch (r->type) {
	case RTCP_TYPE_SR:
	case RTCP_TYPE_RR:
		return next_report(r, ret);
	case RTCP_TYPE_BYE:
		return next_bye(r, ret);
	case RTCP_TYPE_APP:
		if (r->packet_end == r->at)
			return false;
		r->at = r->packet_end;
		ret->kind = RTCP_ITEM_APP;
		return true;
	case RTCP_TYPE_XR:
		return next_xr(r, ret);
	default:
		return false;
	}
}

bool rtcp_reader_next(struct rtcp_reader *r, struct rtcp_item *ret)
{
	struct rtcp_item item = {0};

	for (;;) {
		if (r->packet_end == 0 && !open_packet(r))
			return false;
		item.type = r->type;
		item.ssrc = r->ssrc;
		if (next_of_packet(r, &item)) {
			*ret = item;
			return true;
		}
		r->at = r->packet_next;
		r->packet_end = 0;
	}
}

uint64_t rtcp_ntp(int64_t wall_ns)
{
	uint64_t s = (uint64_t)(wall_ns / NS_PER_S + NTP_UNIX_OFFSET_S);
	uint64_t ns = (uint64_t)(wall_ns % NS_PER_S);

	return s << 32 | (ns << 32) / (uint64_t)NS_PER_S;
}

uint32_t rtcp_ntp_middle(uint64_t ntp)
{
	return (uint32_t)(ntp >> 16);
}

int rtcp_rtt_ns(int64_t *ret, uint32_t received, uint32_t lsr, uint32_t dlsr)
{
	int32_t rtt;

	if (lsr == 0)
		return -ENODATA;
	rtt = (int32_t)(received - lsr - dlsr);
	if (rtt < 0)
		return -ERANGE;
	*ret = rtt * NS_PER_S / 65536;
	return 0;
}
