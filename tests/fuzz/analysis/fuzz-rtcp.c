/* RTCP: any host can send any bytes to a media port. */
#include <stdint.h>
#include <stdlib.h>

#include "media/analysis/rtcp.h"
#include "media/analysis/rtcp_tap.h"
#include "media/analysis/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_remote(const struct remote_voip *v,
			 const struct remote_summary *s, uint64_t sent)
{
	if (v->known &&
	    (v->loss_pct > 100.0 || v->discard_pct > 100.0 ||
	     (v->has_r_factor && v->r_factor > 100.0) ||
	     (v->has_mos_lq && !(v->mos_lq >= 1.0 && v->mos_lq <= 5.0)) ||
	     (v->has_mos_cq && !(v->mos_cq >= 1.0 && v->mos_cq <= 5.0))))
		abort();
	if (s->lost > sent ||
	    (s->has_jitter && !(s->jitter_min_ms <= s->jitter_mean_ms &&
				s->jitter_mean_ms <= s->jitter_max_ms)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rtp_sender sender;
	static struct rtp_rest sender_rest;
	struct packet_record sent = {.kind = PACKET_RTP_SENT};
	struct rtcp_tap tap = {0};
	struct rtcp_reader reader;
	struct stream_second second;
	struct stream_total total;
	struct rtcp_item item;
	size_t items = 0;
	double ms;

	if (rtcp_reader_init(&reader, data, size))
		return 0;
	rtp_sender_init(&sender, 1, 0, "PCMU", 8000, &sender_rest);
	for (int i = 0; i < 1000; i++) {
		rtp_sender_update(&sender, &sent);
		sent.seq++;
	}
	while (rtcp_reader_next(&reader, &item)) {
		/* the smallest items are an SSRC of a BYE and an empty APP */
		if (++items > size / 4)
			abort();
		rtcp_tap_item(&tap, &item, 1000000000, &ms);
		if (item.kind == RTCP_ITEM_REPORT)
			rtp_sender_report(&sender, item.ssrc, &item.u.report, 0,
					  7, &ms);
		else if (item.kind == RTCP_ITEM_XR_DLRR)
			rtp_sender_dlrr(&sender, &item.u.dlrr, 7, &ms);
		else if (item.kind == RTCP_ITEM_XR_VOIP)
			remote_voip_take(&sender.remote, &item.u.voip);
		else if (item.kind == RTCP_ITEM_XR_SUMMARY)
			rtp_sender_summary(&sender, item.ssrc, &item.u.summary);
	}
	rtp_sender_close_second(&sender, 1000000000, &second);
	if (second.has_mos && !(second.mos >= 1.0 && second.mos <= 4.5))
		abort();
	rtp_sender_total(&sender, &total);
	check_remote(&second.voip, &total.summary, sender.packets);
	if (total.rtt_ms.n && !(total.rtt_ms.max <= 60000.0))
		abort();
	if (total.has_score && !(total.mos_total >= 1.0))
		abort();
	return 0;
}
