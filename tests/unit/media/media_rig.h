/**
 * An engine on loopback with what it published, for the tests.
 */
#ifndef TESTS_UNIT_MEDIA_RIG_H
#define TESTS_UNIT_MEDIA_RIG_H

#include "media/audio/clip.h"
#include "media/audio/codec.h"
#include "media/media.h"

#include <stdbool.h>
#include <stddef.h>

#define RIG_SESSIONS 4
#define RIG_SECONDS  64
#define RIG_DIGITS   64

/** What came of one session; out is index 1. */
struct rig_log {
	struct media_session *session;
	size_t seconds[2];
	struct stream_second second[2][RIG_SECONDS];
	size_t sources;
	size_t totals[2];
	struct stream_total total[2];
	size_t digits[2];
	struct media_dtmf digit[2][RIG_DIGITS];
	size_t audio_seconds[2];
	size_t audio_totals[2];
	struct audio_total audio[2];
	size_t recordings[2];
	struct media_recorded recorded[2];
	size_t heard;
	struct media_heard heard_last;
	unsigned played;
	bool played_whole;
	size_t first_rtp;
	size_t first_rtcp;
	size_t secured;
	const char *suite; /* DTLS; NULL: it failed */
	const char *reason;
	struct media_secured ports[2]; /* the same of RTP, of RTCP alone */
	size_t gathered;
	size_t paths;
	struct media_path path; /* ICE's last */
	size_t unreachable[2];  /* RTP's, RTCP's */
	int unreachable_err;
	size_t stopped;
	bool disordered; /* a record came after one that must be later */
};

struct rig {
	struct media_engine *engine;
	struct rig_log logs[RIG_SESSIONS];
};

void rig_open(struct rig *r, uint32_t sessions_max, uint32_t rtcp_interval_ms);
void rig_open_srtp(struct rig *r, uint32_t sessions_max,
		   uint32_t rtcp_interval_ms, enum media_srtp_library library);
void rig_close(struct rig *r);

/** 127.0.0.1, port 0. */
struct media_addr rig_loopback(void);
/** @param host  an address of IPv4 or IPv6 */
struct media_addr rig_addr(const char *host, uint16_t port);

/** A session on 127.0.0.1 whose user is its log. */
struct rig_log *rig_session(struct rig *r, size_t index);
struct rig_log *rig_session_encrypted(struct rig *r, size_t index,
				      enum media_encryption encryption);

/** @param audio  enum media_audio */
struct rig_log *rig_session_audio(struct rig *r, size_t index, unsigned audio);

/** What an offer and answer with a peer at these addresses settle: PCMA. */
struct media_negotiated rig_settle(const struct media_addr *rtp,
				   const struct media_addr *rtcp,
				   enum media_direction direction);

/** Poll until this monotonic time. */
void rig_run_until(struct rig *r, int64_t mono_ns);
void rig_run_ms(struct rig *r, int ms);

/** Stop the sessions and poll until all have reported it; then free them. */
void rig_stop(struct rig *r, size_t sessions);

/** Encode samples of the codec's rate, as a prompt. */
void rig_encode(struct clip *ret, const struct codec *codec, const int16_t *pcm,
		size_t count, uint16_t ptime_ms,
		const struct codec_settings *settings);

/** Payload n of a clip, as the TX thread cuts it. @return bytes */
size_t rig_payload(const uint8_t **ret, const struct codec *codec,
		   const struct clip *clip, uint16_t ptime_ms, size_t n);

/** Packets of all seconds of a direction. */
uint64_t rig_seconds_sum(const struct rig_log *log, size_t out);

/** Seconds are the same ones in both directions, follow each other and add up
 * to the totals. */
void rig_check_seconds(const struct rig_log *log);

#endif
