#include "media/analysis/rtcp_tap.h"

void rtcp_tap_sent(struct rtcp_tap *t, uint32_t ssrc, uint32_t middle,
		   int64_t ns)
{
	size_t i = t->next;

	t->sent[i].ns = ns;
	t->sent[i].ssrc = ssrc;
	t->sent[i].middle = middle;
	t->next = (i + 1) % RTCP_TAP_SENT;
}

bool rtcp_tap_answered(struct rtcp_tap *t, uint32_t ssrc, uint32_t last,
		       uint32_t delay, int64_t ns, double *ret_rtt_ms)
{
	if (last == 0)
		return false;
	for (size_t k = 1; k <= RTCP_TAP_SENT; k++) {
		size_t i = (t->next + RTCP_TAP_SENT - k) % RTCP_TAP_SENT;

		if (t->sent[i].ns == 0 || t->sent[i].ssrc != ssrc ||
		    t->sent[i].middle != last)
			continue;
		*ret_rtt_ms = (double)(ns - t->sent[i].ns) / 1e6 -
			      delay * 1000.0 / 65536;
		t->negative += *ret_rtt_ms < 0.0;
		return true;
	}
	t->unmatched++;
	return false;
}

bool rtcp_tap_item(struct rtcp_tap *t, const struct rtcp_item *item, int64_t ns,
		   double *ret_rtt_ms)
{
	switch (item->kind) {
	case RTCP_ITEM_SENDER:
		rtcp_tap_sent(t, item->ssrc,
			      rtcp_ntp_middle(item->u.sender.ntp), ns);
		return false;
	case RTCP_ITEM_XR_RRTR:
		rtcp_tap_sent(t, item->ssrc, rtcp_ntp_middle(item->u.ntp), ns);
		return false;
	case RTCP_ITEM_REPORT:
		return rtcp_tap_answered(t, item->u.report.ssrc,
					 item->u.report.lsr,
					 item->u.report.dlsr, ns, ret_rtt_ms);
	case RTCP_ITEM_XR_DLRR:
		return rtcp_tap_answered(t, item->u.dlrr.ssrc, item->u.dlrr.lrr,
					 item->u.dlrr.dlrr, ns, ret_rtt_ms);
	case RTCP_ITEM_BYE:
	case RTCP_ITEM_APP:
	case RTCP_ITEM_XR_VOIP:
	case RTCP_ITEM_XR_SUMMARY:
		break;
	}
	return false;
}
