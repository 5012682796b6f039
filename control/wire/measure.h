/**
 * The measures of the API (docs/internals/engine.md) with their units.
 */
#ifndef OFFHOOK_WIRE_MEASURE_H
#define OFFHOOK_WIRE_MEASURE_H

#include <stdbool.h>

/* X(name, unit) */
#define MEASURES(X)                      \
	X(rtp_byte_per_sec, "B/s")       \
	X(rtp_jitter, "ms")              \
	X(rtp_lost, "packets")           \
	X(rtp_lost_per_sec, "packets/s") \
	X(rtp_mos, "1..5")               \
	X(rtp_pkt_per_sec, "packets/s")  \
	X(rtp_rtt, "ms")                 \
	X(rtp_lost_pct, "%")             \
	X(rtp_burst_lost, "packets")     \
	X(rtp_reordered, "packets")      \
	X(rtp_duplicates, "packets")     \
	X(rtp_discarded, "packets")      \
	X(rtp_ooo, "packets")            \
	X(rtp_r_factor, "0..100")        \
	X(rtp_mos_wb, "1..5")            \
	X(rtp_send_lateness, "ms")       \
	X(rtp_gap, "ms")                 \
	X(rtp_xr_loss, "%")              \
	X(rtp_xr_discard, "%")           \
	X(rtp_xr_burst_density, "%")     \
	X(rtp_xr_gap_density, "%")       \
	X(rtp_xr_burst_duration, "ms")   \
	X(rtp_xr_gap_duration, "ms")     \
	X(rtp_xr_rtt, "ms")              \
	X(rtp_xr_delay, "ms")            \
	X(rtp_xr_buffer, "ms")           \
	X(rtp_xr_r_factor, "0..100")     \
	X(rtp_xr_mos_lq, "1..5")         \
	X(rtp_xr_mos_cq, "1..5")         \
	X(rtp_xr_lost, "packets")        \
	X(rtp_xr_duplicates, "packets")  \
	X(rtp_xr_jitter_mean, "ms")      \
	X(rtp_xr_jitter_max, "ms")       \
	X(srtp_auth_failed, "packets")   \
	X(srtp_replayed, "packets")      \
	X(audio_level, "dBov")           \
	X(audio_peak, "dBov")            \
	X(audio_clipping, "%")           \
	X(audio_heard, "ms")             \
	X(audio_delay, "ms")             \
	X(sip_pdd, "ms")                 \
	X(sip_register_time, "ms")       \
	X(sip_invite_200_time, "ms")     \
	X(sip_bye_200_time, "ms")        \
	X(sip_options_time, "ms")        \
	X(calls_active, "calls")         \
	X(calls_per_sec, "calls/s")

enum measure {
#define X(name, unit) MEASURE_##name,
	MEASURES(X)
#undef X
	MEASURE_COUNT
};

const char *measure_name(enum measure m);
const char *measure_unit(enum measure m);
/** Find a measure by name. @return true and *ret set; false: no such measure */
bool measure_parse(const char *name, enum measure *ret);

#endif
