/**
 * A media engine on loopback, and what it published.
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

/** What one session published. Index 1 is `out`. */
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
	const char *suite; /* DTLS; NULL: the handshake failed */
	const char *reason;
	struct media_secured ports[2]; /* RTP's; RTCP's, if separate */
	size_t gathered;
	size_t paths;
	struct media_path path; /* the last ICE path */
	size_t unreachable[2];  /* of RTP, of RTCP */
	int unreachable_err;
	size_t stopped;
	bool disordered; /* a record came after one that must follow it */
};

struct rig {
	struct media_engine *engine;
	enum media_capture capture; /* of its sessions */
	bool shared;                /* new sessions share sockets */
	struct rig_log logs[RIG_SESSIONS];
};

/** Start an engine with the built-in SRTP. Release it with rig_close(). */
void rig_open(struct rig *r, uint32_t sessions_max, uint32_t rtcp_interval_ms);
/** As rig_open(), with this SRTP implementation. */
void rig_open_srtp(struct rig *r, uint32_t sessions_max,
		   uint32_t rtcp_interval_ms, enum media_srtp_library library);
/** As rig_open(), with a capture file that has the packets of all sessions. */
void rig_open_captured(struct rig *r, uint32_t sessions_max,
		       uint32_t rtcp_interval_ms, const char *path);
void rig_close(struct rig *r);

/** Return 127.0.0.1, port 0. */
struct media_addr rig_loopback(void);
/**
 * Return an address.
 * @param host  IPv4 or IPv6 address
 */
struct media_addr rig_addr(const char *host, uint16_t port);

/** Create a session on 127.0.0.1 that reports to its log. */
struct rig_log *rig_session(struct rig *r, size_t index);
/** As rig_session(), with this encryption. */
struct rig_log *rig_session_encrypted(struct rig *r, size_t index,
				      enum media_encryption encryption);

/**
 * As rig_session(), with audio.
 * @param audio  enum media_audio
 */
struct rig_log *rig_session_audio(struct rig *r, size_t index, unsigned audio);

/** Return the negotiated parameters for a peer at these addresses: PCMA. */
struct media_negotiated rig_settle(const struct media_addr *rtp,
				   const struct media_addr *rtcp,
				   enum media_direction direction);

/** Poll until the monotonic time mono_ns. */
void rig_run_until(struct rig *r, int64_t mono_ns);
/** Poll for this many ms. */
void rig_run_ms(struct rig *r, int ms);

/** Stop the sessions, poll until all have reported it, then free them. */
void rig_stop(struct rig *r, size_t sessions);

/** Encode samples, at the codec's rate, as a prompt. */
void rig_encode(struct clip *ret, const struct codec *codec, const int16_t *pcm,
		size_t count, uint16_t ptime_ms,
		const struct codec_settings *settings);

/**
 * Return payload n of a clip as the TX thread cuts it.
 * @return bytes
 */
size_t rig_payload(const uint8_t **ret, const struct codec *codec,
		   const struct clip *clip, uint16_t ptime_ms, size_t n);

/** Return the packets of a direction, summed over all seconds. */
uint64_t rig_seconds_sum(const struct rig_log *log, size_t out);

/**
 * Check that the seconds of both directions are the same, are consecutive, and
 * add up to the totals.
 */
void rig_check_seconds(const struct rig_log *log);

#endif
