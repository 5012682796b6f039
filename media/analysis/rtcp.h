/**
 * Read compound RTCP without allocation, and compute round-trip times.
 * Source: RFC 3550 section 6, RFC 3611 section 4, RFC 5506 (reduced size)
 * Thread: any; no state but the caller's.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_RTCP_H
#define OFFHOOK_MEDIA_ANALYSIS_RTCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rtcp_type { /* RFC 3550 section 12.1, RFC 3611, RFC 4585 */
	RTCP_TYPE_SR = 200,
	RTCP_TYPE_RR = 201,
	RTCP_TYPE_SDES = 202,
	RTCP_TYPE_BYE = 203,
	RTCP_TYPE_APP = 204,
	RTCP_TYPE_RTPFB = 205,
	RTCP_TYPE_PSFB = 206,
	RTCP_TYPE_XR = 207,
};

/** Sender information of an SR (RFC 3550 section 6.4.1). */
struct rtcp_sender_info {
	uint64_t ntp; /* seconds since 1900 in the upper 32 bits */
	uint32_t rtp_ts;
	uint32_t packets;
	uint32_t octets;
};

/** One report block of an SR or RR (RFC 3550 section 6.4.1). */
struct rtcp_report {
	uint32_t ssrc;         /* the stream reported on */
	uint8_t fraction_lost; /* of 256, since the last report */
	int32_t lost;          /* cumulative, signed 24 bits: < 0 with
				* duplicates */
	uint32_t ext_max;      /* extended highest sequence number received */
	uint32_t jitter_ticks; /* of that stream's clock */
	uint32_t lsr;          /* 0: the reporter has received no SR */
	uint32_t dlsr;         /* 1/65536 s; 0 is legal with lsr != 0 */
};

/** One sub-block of a DLRR block (RFC 3611 section 4.5). */
struct rtcp_dlrr {
	uint32_t ssrc; /* the receiver whose RRTR it answers */
	uint32_t lrr;
	uint32_t dlrr;
};

#define RTCP_VOIP_UNAVAILABLE \
	127 /* RFC 3611 4.7: signal, noise, RERL, R,
				   * ext. R, MOS */

/** VoIP metrics (RFC 3611 section 4.7); rates and densities in 1/256. */
struct rtcp_voip_metrics {
	uint32_t ssrc;
	uint8_t loss_rate;
	uint8_t discard_rate;
	uint8_t burst_density;
	uint8_t gap_density;
	uint16_t burst_duration_ms;
	uint16_t gap_duration_ms;
	uint16_t rtt_ms;
	uint16_t end_system_delay_ms;
	int8_t signal_dbm0;
	int8_t noise_dbm0;
	uint8_t rerl_db;
	uint8_t gmin;
	uint8_t r_factor;
	uint8_t ext_r_factor;
	uint8_t mos_lq; /* tenths */
	uint8_t mos_cq;
	uint8_t rx_config;
	uint8_t reserved;
	uint16_t jb_nominal_ms;
	uint16_t jb_max_ms;
	uint16_t jb_absmax_ms;
};

/** Statistics summary (RFC 3611 section 4.6). */
struct rtcp_stat_summary {
	uint32_t ssrc;
	uint16_t begin_seq;
	uint16_t end_seq; /* one after the last */
	bool has_loss;
	uint32_t lost;
	bool has_duplicates;
	uint32_t duplicates;
	bool has_jitter;
	uint32_t min_jitter_ticks;
	uint32_t max_jitter_ticks;
	uint32_t mean_jitter_ticks;
	uint32_t dev_jitter_ticks;
	uint8_t ttl_kind; /* 0 none, 1 IPv4 TTL, 2 IPv6 hop limit */
	uint8_t min_ttl;
	uint8_t max_ttl;
	uint8_t mean_ttl;
	uint8_t dev_ttl;
};

enum rtcp_item_kind {
	RTCP_ITEM_SENDER, /* u.sender */
	RTCP_ITEM_REPORT, /* u.report; `type` is SR or RR */
	RTCP_ITEM_BYE,    /* one for every SSRC; source `ssrc` leaves */
	RTCP_ITEM_APP,
	RTCP_ITEM_XR_RRTR,    /* u.ntp */
	RTCP_ITEM_XR_DLRR,    /* u.dlrr, one for every sub-block */
	RTCP_ITEM_XR_VOIP,    /* u.voip */
	RTCP_ITEM_XR_SUMMARY, /* u.summary */
};

/** One item of a compound packet. */
struct rtcp_item {
	enum rtcp_item_kind kind;
	uint8_t type;  /* type of the packet that contains it */
	uint32_t ssrc; /* sender of that packet */
	union {
		struct rtcp_sender_info sender;
		struct rtcp_report report;
		uint64_t ntp;
		struct rtcp_dlrr dlrr;
		struct rtcp_voip_metrics voip;
		struct rtcp_stat_summary summary;
	} u;
};

/** Position in a compound packet. Private; initialised by rtcp_reader_init().
 */
struct rtcp_reader {
	const uint8_t *data;
	size_t bytes;
	size_t packet_end;  /* end of the packet being read, without padding; 0:
			    * no packet is open */
	size_t packet_next; /* start of the next packet */
	size_t block_end;   /* end of the XR block being read */
	size_t at;
	uint32_t ssrc;
	uint8_t type;
	uint8_t count; /* items left in this packet */
	uint8_t block_type;
	bool sender_due;
};

/**
 * Check the structure of a compound packet and start reading it: version 2,
 * every length within the datagram, their sum equal to its size, padding only
 * in the last packet and not longer than it. The first packet may be of any
 * type (reduced size, RFC 5506).
 * @param data  borrowed until the last rtcp_reader_next()
 * @return 0; -EBADMSG (nothing may be read)
 */
int rtcp_reader_init(struct rtcp_reader *r, const uint8_t *data, size_t bytes);

/**
 * Get the next item. Unknown packets and blocks, SDES and feedback are skipped.
 * Of a packet too short for its count the complete items are returned.
 * @return true and *ret written; false: no more
 */
bool rtcp_reader_next(struct rtcp_reader *r, struct rtcp_item *ret);

/** @param wall_ns  wall-clock time, ns since 1970
 * @return its NTP timestamp (RFC 3550 section 4) */
uint64_t rtcp_ntp(int64_t wall_ns);

/** @return the middle 32 bits, as in LSR: 1/65536 s */
uint32_t rtcp_ntp_middle(uint64_t ntp);

/**
 * Round-trip time from a report block (or DLRR sub-block) about our own
 * packets.
 * Source: RFC 3550 section 6.4.1, RFC 3611 section 4.5; resolution 15.3 us
 * @param ret       ns
 * @param received  middle 32 bits of the NTP time of its arrival, on the clock
 *                  of our SRs (or RRTRs)
 * @return 0; -ENODATA if lsr is 0; -ERANGE if the result is negative (the
 *         peer's DLSR is too large): count it, do not use it
 */
int rtcp_rtt_ns(int64_t *ret, uint32_t received, uint32_t lsr, uint32_t dlsr);

/* Report blocks in a packet of ours; the RC field would allow 31 */
#define RTCP_REPORTS_MAX 4

/** Blocks of an extended report of ours (RFC 3611 section 4). */
struct rtcp_xr {
	bool has_rrtr;
	uint64_t rrtr_ntp;
	bool has_dlrr;
	struct rtcp_dlrr dlrr;
	bool has_summary;
	struct rtcp_stat_summary summary;
	bool has_voip;
	struct rtcp_voip_metrics voip;
};

#endif
