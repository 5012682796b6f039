#include "media_rig.h"

#include "base/clock.h"
#include "prompt_rig.h"

#include <arpa/inet.h>
#include <poll.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A limit that only a hang reaches. */
#define HANG_NS (60 * NS_PER_S)

void rig_open(struct rig *r, uint32_t sessions_max, uint32_t rtcp_interval_ms)
{
	rig_open_srtp(r, sessions_max, rtcp_interval_ms,
		      MEDIA_SRTP_LIBRARY_BUILTIN);
}

void rig_open_srtp(struct rig *r, uint32_t sessions_max,
		   uint32_t rtcp_interval_ms, enum media_srtp_library library)
{
	struct media_engine_params params = {
		.port_min = 20000,
		.port_max = 32000,
		.sessions_max = sessions_max,
		.rtcp_interval_ms = rtcp_interval_ms,
		.srtp_library = library,
	};

	memset(r, 0, sizeof(*r));
	assert_int_equal(media_engine_new(&r->engine, &params), 0);
}

void rig_open_captured(struct rig *r, uint32_t sessions_max,
		       uint32_t rtcp_interval_ms, const char *path)
{
	struct media_engine_params params = {
		.port_min = 20000,
		.port_max = 32000,
		.sessions_max = sessions_max,
		.rtcp_interval_ms = rtcp_interval_ms,
		.capture = {.path = path, .bytes_max = 16 << 20},
	};

	memset(r, 0, sizeof(*r));
	r->capture = MEDIA_CAPTURE_WHOLE;
	assert_int_equal(media_engine_new(&r->engine, &params), 0);
}

void rig_close(struct rig *r)
{
	r->engine = media_engine_free(r->engine);
}

struct media_addr rig_loopback(void)
{
	struct media_addr a = {0};
	struct sockaddr_in *in = (struct sockaddr_in *)(void *)&a.ss;

	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a.len = sizeof(*in);
	return a;
}

struct media_addr rig_addr(const char *host, uint16_t port)
{
	struct media_addr a;
	struct sockaddr_in *in = (struct sockaddr_in *)&a.ss;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&a.ss;

	memset(&a, 0, sizeof(a));
	if (strchr(host, ':')) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		assert_int_equal(inet_pton(AF_INET6, host, &in6->sin6_addr), 1);
		a.len = sizeof(*in6);
		return a;
	}
	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	assert_int_equal(inet_pton(AF_INET, host, &in->sin_addr), 1);
	a.len = sizeof(*in);
	return a;
}

struct rig_log *rig_session(struct rig *r, size_t index)
{
	return rig_session_encrypted(r, index, MEDIA_ENCRYPTION_NONE);
}

static struct rig_log *session_open(struct rig *r, size_t index,
				    struct media_session_params *params)
{
	struct rig_log *log = &r->logs[index];

	params->bind = rig_loopback();
	params->user = log;
	params->capture = r->capture;
	params->shared = r->shared;
	memset(log, 0, sizeof(*log));
	assert_int_equal(media_session_new(&log->session, r->engine, params),
			 0);
	return log;
}

struct rig_log *rig_session_encrypted(struct rig *r, size_t index,
				      enum media_encryption encryption)
{
	struct media_session_params params = {
		.encryption = encryption,
		.rtcp_mux = encryption == MEDIA_ENCRYPTION_DTLS
				    ? MEDIA_MUX_OFFER
				    : MEDIA_MUX_TAKE,
	};

	return session_open(r, index, &params);
}

struct rig_log *rig_session_audio(struct rig *r, size_t index, unsigned audio)
{
	struct media_session_params params = {.audio = audio};

	return session_open(r, index, &params);
}

struct media_negotiated rig_settle(const struct media_addr *rtp,
				   const struct media_addr *rtcp,
				   enum media_direction direction)
{
	const struct media_codec pcma = {
		.name = "PCMA",
		.pt = 8,
		.channels = 1,
		.clock_hz = 8000,
	};
	struct media_negotiated n = {
		.rtp = *rtp,
		.rtcp = *rtcp,
		.codec = pcma,
		.accepted = {pcma},
		.accepted_count = 1,
		.ptime_ms = 20,
		.direction = direction,
	};

	return n;
}

static void record_log(const struct media_record *record, void *arg)
{
	struct rig_log *log = media_session_user(record->session);
	size_t out = record->outgoing ? 1 : 0;

	(void)arg;
	log->disordered |= log->stopped > 0;
	switch (record->kind) {
	case MEDIA_RECORD_SECOND:
		log->disordered |= log->totals[0] + log->totals[1] > 0;
		assert_true(log->seconds[out] < RIG_SECONDS);
		log->second[out][log->seconds[out]++] = record->u.second;
		break;
	case MEDIA_RECORD_SOURCE:
		log->disordered |= log->totals[0] + log->totals[1] > 0;
		log->sources++;
		break;
	case MEDIA_RECORD_TOTAL:
		log->totals[out]++;
		log->total[out] = record->u.total;
		break;
	case MEDIA_RECORD_FIRST_RTP:
		log->first_rtp++;
		break;
	case MEDIA_RECORD_RTCP:
		log->first_rtcp++;
		break;
	case MEDIA_RECORD_DTMF:
		assert_true(log->digits[out] < RIG_DIGITS);
		log->digit[out][log->digits[out]++] = record->u.dtmf;
		break;
	case MEDIA_RECORD_PLAYED:
		log->played++;
		log->played_whole = record->u.played;
		break;
	case MEDIA_RECORD_AUDIO_SECOND:
		log->disordered |= log->audio_totals[out] > 0;
		log->audio_seconds[out]++;
		break;
	case MEDIA_RECORD_AUDIO_TOTAL:
		log->audio_totals[out]++;
		log->audio[out] = record->u.audio_total;
		break;
	case MEDIA_RECORD_RECORDED:
		log->recordings[out]++;
		log->recorded[out] = record->u.recorded;
		break;
	case MEDIA_RECORD_HEARD:
		log->heard++;
		log->heard_last = record->u.heard;
		break;
	case MEDIA_RECORD_SECURED:
		log->secured++;
		log->ports[record->u.secured.port &&
			   strcmp(record->u.secured.port, "RTCP") == 0] =
			record->u.secured;
		log->suite = record->u.secured.suite;
		log->reason = record->u.secured.reason;
		break;
	case MEDIA_RECORD_GATHERED:
		log->gathered++;
		log->reason = record->u.gathered;
		break;
	case MEDIA_RECORD_PATH:
		log->paths++;
		log->path = *record->u.path;
		break;
	case MEDIA_RECORD_UNREACHABLE:
		log->unreachable[record->u.unreachable.rtcp]++;
		log->unreachable_err = record->u.unreachable.err;
		break;
	case MEDIA_RECORD_STOPPED:
		log->stopped++;
		break;
	}
}

static void poll_once(struct rig *r)
{
	struct pollfd fd = {
		.fd = media_engine_fd(r->engine),
		.events = POLLIN,
	};

	poll(&fd, 1, 20);
	media_engine_poll(r->engine, record_log, NULL);
}

void rig_run_until(struct rig *r, int64_t mono_ns)
{
	while (clock_mono_ns() < mono_ns)
		poll_once(r);
}

void rig_run_ms(struct rig *r, int ms)
{
	rig_run_until(r, clock_mono_ns() + ms * NS_PER_MS);
}

void rig_stop(struct rig *r, size_t sessions)
{
	int64_t hang_ns = clock_mono_ns() + HANG_NS;
	size_t stopped = 0;

	for (size_t i = 0; i < sessions; i++)
		media_session_stop(r->logs[i].session);
	while (stopped < sessions) {
		assert_true(clock_mono_ns() < hang_ns);
		poll_once(r);
		stopped = 0;
		for (size_t i = 0; i < sessions; i++)
			stopped += r->logs[i].stopped;
	}
	for (size_t i = 0; i < sessions; i++) {
		assert_int_equal(r->logs[i].stopped, 1);
		assert_false(r->logs[i].disordered);
		r->logs[i].session = media_session_free(r->logs[i].session);
	}
}

uint64_t rig_seconds_sum(const struct rig_log *log, size_t out)
{
	uint64_t packets = 0;

	for (size_t i = 0; i < log->seconds[out]; i++)
		packets += log->second[out][i].packets;
	return packets;
}

void rig_check_seconds(const struct rig_log *log)
{
	assert_int_equal(log->seconds[0], log->seconds[1]);
	for (size_t out = 0; out < 2; out++) {
		int64_t at_ns = log->second[0][0].start_ns;

		assert_int_equal(log->totals[out], 1);
		assert_int_equal(rig_seconds_sum(log, out),
				 log->total[out].packets);
		for (size_t i = 0; i < log->seconds[out]; i++) {
			assert_int_equal(log->second[out][i].start_ns, at_ns);
			at_ns += log->second[out][i].duration_ns;
			assert_true(log->second[out][i].outside_packets <=
				    log->second[out][i].packets);
			/* only of the first one and of the last one */
			assert_true(log->second[out][i].outside_packets == 0 ||
				    i == 0 || i + 1 == log->seconds[out]);
		}
	}
}

void rig_encode(struct clip *ret, const struct codec *codec, const int16_t *pcm,
		size_t count, uint16_t ptime_ms,
		const struct codec_settings *settings)
{
	const struct prompt_want want = {
		.codec = codec,
		.ptime_ms = ptime_ms,
		.settings = *settings,
	};
	const struct pcm_source source = prompt_rig_source(pcm, count);

	prompt_rig_encode(ret, &want, &source);
}

size_t rig_payload(const uint8_t **ret, const struct codec *codec,
		   const struct clip *clip, uint16_t ptime_ms, size_t n)
{
	size_t bytes = (size_t)codec->bytes_per_s * ptime_ms / 1000;

	if (clip->frames) {
		*ret = clip->frames[n].data;
		return clip->frames[n].bytes;
	}
	*ret = clip->data + n * bytes;
	return bytes;
}
