/**
 * One capture read into streams, for comparison by the vector tests.
 */
#ifndef OFFHOOK_TESTS_VECTORS_CAPTURE_H
#define OFFHOOK_TESTS_VECTORS_CAPTURE_H

#include <jansson.h>

#include "capture/datagram.h"
#include "media/analysis/detail.h"
#include "media/analysis/rtcp_tap.h"
#include "media/analysis/stream.h"

#define CAPTURE_STREAMS_MAX   32
#define CAPTURE_REPORTS_MAX   128
#define CAPTURE_INTERVALS_MAX 128
#define CAPTURE_INTERVAL_NS   INT64_C(1000000000)

/** All samples of one figure; the core keeps only a histogram. */
struct exact {
	double *all;
	size_t n;
};

struct interval {
	struct stream_second second;
	uint64_t received;
	uint64_t te;
	uint64_t cn;
	uint64_t payload_bytes;
	bool has_fraction;
	uint8_t fraction;
	struct emodel_values values; /* the values that it is scored with */
	struct distribution series[DETAIL_SERIES_COUNT];
};

struct capture_stream {
	struct address src;
	struct address dst;
	uint16_t sport;
	uint16_t dport;
	uint32_t ssrc;
	int64_t first_ns;
	int64_t last_ns;
	struct rtp_stream *stream;
	struct rtp_rest *rest; /* of `stream` */
	struct stream_detail *detail;
	struct exact exact[DETAIL_SERIES_COUNT];
	size_t intervals;
	struct interval *interval;
	/* totals before the open interval */
	uint64_t received_before;
	uint64_t te_before;
	uint64_t cn_before;
	uint64_t payload_before;
};

/** A report block, DLRR or VoIP metrics, in the order of arrival. */
struct capture_report {
	int64_t ns;
	struct rtcp_item item;
	bool has_rtt;
	double rtt_ms;
};

struct capture {
	uint64_t frames;
	uint64_t stun, dtls, rtcp, invalid, non_media_udp, not_udp;
	struct rtp_payload_map map;
	struct rtcp_tap tap;
	size_t reports;
	struct capture_report report[CAPTURE_REPORTS_MAX];
	size_t streams;
	struct capture_stream stream[CAPTURE_STREAMS_MAX];
};

/**
 * Read a capture.
 * @param expected  the expectation: payload map and media ports
 */
int capture_read(struct capture *c, const char *pcap_path,
		 const json_t *expected);
void capture_free(struct capture *c);

#endif
