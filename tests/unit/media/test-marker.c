/* Marker tones: the measured delay against the known one. */
#include "media/audio/audio_marker.h"
#include "media/audio/audio_reduce.h"
#include "media/audio/codec.h"
#include "media/audio/prompt.h"

#include "base/clock.h"
#include "media_rig.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* 2026-01-01, a multiple of the period */
#define EPOCH_NS (INT64_C(1767225600) * NS_PER_S)

static void assert_near(double a, double b, double error)
{
	if (fabs(a - b) > error)
		fail_msg("%f is not %f", a, b);
}

/*
 * Detect the markers of a period after a codec, late_ms of delay, a gain, and
 * one packet lost in each period.
 * @return markers found
 */
static size_t markers_heard_but(const struct codec *codec, double late_ms,
				double gain, size_t lost, double *ret_ms)
{
	const struct codec_settings none = {0};
	uint16_t ptime_ms = codec_ptime(codec, 20);
	size_t step = AUDIO_MARKER_RATE_HZ / codec->sample_hz;
	bool whole = AUDIO_MARKER_RATE_HZ % codec->sample_hz == 0;
	size_t packet = (size_t)codec->sample_hz * ptime_ms / 1000;
	size_t packets = 2400u / ptime_ms; /* per period */
	size_t count = (size_t)codec->sample_hz * 24 / 10;
	int16_t *period = calloc(AUDIO_MARKER_COUNT, sizeof(*period));
	int16_t *down = calloc(2 * count, sizeof(*down));
	float reduced[AUDIO_REDUCED_MAX];
	int16_t pcm[CODEC_SAMPLES_MAX];
	struct audio_reduce *reduce;
	struct audio_marker *m;
	int64_t wall_ns = EPOCH_NS + (int64_t)(late_ms * 1e6);
	size_t found = 0;
	void *decoder = NULL;
	struct clip clip;

	assert_int_equal(EPOCH_NS % AUDIO_MARKER_PERIOD_NS, 0);
	assert_non_null(period);
	assert_non_null(down);
	audio_marker_write(period);
	for (size_t i = 0; i < 2 * count; i++) {
		double at = (double)i * AUDIO_MARKER_RATE_HZ / codec->sample_hz;
		size_t k = whole ? i * step : (size_t)lrint(at);

		down[i] = (int16_t)lrint(gain * period[k % AUDIO_MARKER_COUNT]);
	}
	rig_encode(&clip, codec, down, 2 * count, ptime_ms, &none);
	assert_int_equal(audio_reduce_new(&reduce, codec->sample_hz), 0);
	assert_int_equal(audio_marker_new(&m), 0);
	if (codec->decoder_new)
		assert_int_equal(codec->decoder_new(&decoder), 0);
	if (codec->sample_hz > AUDIO_REDUCED_HZ)
		wall_ns -= AUDIO_REDUCE_DELAY_NS;
	for (size_t k = 0; k < 2 * count / packet; k++) {
		const uint8_t *payload;
		size_t bytes = rig_payload(&payload, codec, &clip, ptime_ms, k);
		int n = codec->decode(codec, decoder, pcm, CODEC_SAMPLES_MAX,
				      payload, bytes);
		bool after = k > 0 && (k - 1) % packets == lost;
		size_t out;

		assert_true(n > 0);
		if (k % packets == lost) {
			wall_ns += ptime_ms * NS_PER_MS;
			continue;
		}
		out = audio_reduce_add(reduce, reduced, pcm, (size_t)n);
		for (size_t at = 0; at < out; at += 160)
			found += audio_marker_add(
				m, reduced + at,
				out - at < 160 ? out - at : 160,
				wall_ns + (int64_t)at * NS_PER_S / 8000,
				after && at == 0 ? ptime_ms : 0, ret_ms);
		wall_ns += ptime_ms * NS_PER_MS;
	}
	if (codec->decoder_free)
		codec->decoder_free(decoder);
	audio_marker_free(m);
	audio_reduce_free(reduce);
	clip_release(&clip);
	free(period);
	free(down);
	return found;
}

static size_t markers_heard(const struct codec *codec, double late_ms,
			    double gain, double *ret_ms)
{
	return markers_heard_but(codec, late_ms, gain, SIZE_MAX, ret_ms);
}

/* Whichever packet of a marker is lost, the rest still gives the right time. */
static void test_delay_with_a_packet_lost(void **state)
{
	(void)state;
	for (size_t lost = 0; lost < 7; lost++) {
		double ms;

		assert_int_equal(
			markers_heard_but(&codec_pcmu, 37, 1, lost, &ms), 2);
		assert_near(ms, 37, 0.2);
	}
}

static void test_delay_is_told_over_every_codec(void **state)
{
	const struct codec *codec;
	double ms;

	(void)state;
	for (size_t i = 0; (codec = codec_at(i)); i++) {
		assert_int_equal(markers_heard(codec, 137, 1, &ms), 2);
		print_message("%s: 137 ms, and its own %+.2f ms\n", codec->name,
			      ms - 137);
		/* the codec delay of Opus is 6.5 ms, of G.722 1.4 ms */
		assert_true(ms > 136.7 && ms < 145);
	}
}

static void test_delay_in_any_size(void **state)
{
	static const double late[] = {0, 0.5, 20, 444, 1190, -30};
	double ms;

	(void)state;
	for (size_t i = 0; i < sizeof(late) / sizeof(late[0]); i++) {
		assert_int_equal(markers_heard(&codec_pcmu, late[i], 0.2, &ms),
				 2);
		assert_near(ms, late[i], 0.2);
	}
}

/* Other sounds are not taken for markers. */
static void test_noise_is_no_marker(void **state)
{
	struct audio_marker *m;
	float pcm[160];
	uint64_t random = 1;
	double ms;

	(void)state;
	assert_int_equal(audio_marker_new(&m), 0);
	for (int n = 0; n < 300; n++) {
		for (size_t i = 0; i < 160; i++) {
			random = random * 6364136223846793005u + 1;
			pcm[i] = (float)(random >> 40) / 16777216.0f - 0.5f;
			if (n >= 150)
				pcm[i] = 0.3f * (float)sin(0.7 * (double)i +
							   112 * (double)n);
		}
		assert_false(audio_marker_add(
			m, pcm, 160, EPOCH_NS + n * 20 * NS_PER_MS, 0, &ms));
	}
	audio_marker_free(m);
}

/* @param fmtp  of the peer */
static void settle(struct rig_log *log, const struct rig_log *peer,
		   const char *codec, uint8_t pt, uint32_t clock_hz,
		   const char *fmtp)
{
	const struct media_local *at = media_session_local(peer->session);
	struct media_negotiated n =
		rig_settle(&at->rtp, &at->rtcp, MEDIA_SENDRECV);

	strcpy(n.codec.name, codec);
	n.codec.pt = pt;
	n.codec.clock_hz = clock_hz;
	n.codec.channels = clock_hz == 48000 ? 2 : 1;
	n.accepted[0] = n.codec;
	strcpy(n.codec.fmtp, fmtp);
	assert_int_equal(media_session_apply(log->session, &n), 0);
}

/* A clip begins at the current time and its end is never within a marker. */
static void test_seam_is_in_no_marker(void **state)
{
	static const struct {
		uint32_t from_ms;
		size_t first; /* packet index */
	} cases[] = {{0, 0},   {60, 0},    {119, 0},
		     {120, 6}, {1230, 61}, {2399, 119}};
	struct prompt_want want = {.codec = &codec_opus, .ptime_ms = 20};
	struct prompt_cache *cache;
	const struct clip *clip;
	struct prompt *p;
	int err;

	(void)state;
	assert_int_equal(prompt_cache_new(&cache, -1, false), 0);
	assert_int_equal(prompt_get(&p, cache, PROMPT_MARKER, NULL), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t now = cases[i].from_ms / 20;

		want.settings.max_bitrate = 20000 + (uint32_t)i;
		err = prompt_clip_begin(&clip, p, &want, cases[i].from_ms);
		assert_true(err == 0 || err == -EINPROGRESS);
		assert_int_equal(clip->count, 120);
		assert_int_equal(clip->first, cases[i].first);
		/* the head is the audio that is due now */
		for (size_t k = 0; k < PROMPT_HEAD_MS / 20; k++)
			assert_true(clip_has(clip, (now + k) % 120, 1));
	}
	prompt_put(p);
	prompt_cache_free(cache);
}

/* Over loopback the delay is close to 0. */
static void test_sessions_tell_their_delay(void **state)
{
	static const struct {
		const char *name;
		uint8_t pt;
		uint32_t clock_hz;
		const char *fmtp;
	} codecs[] = {
		{"PCMA", 8, 8000, ""},
		{"opus", 96, 48000, ""},
		/* not prepared: the clip may start anywhere */
		{"opus", 96, 48000, "stereo=1;maxaveragebitrate=40000"},
	};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct rig_log *a, *b;
		struct rig r;
		unsigned audio = MEDIA_AUDIO_MEASURE | MEDIA_AUDIO_MARKER;

		rig_open(&r, RIG_SESSIONS, 0);
		a = rig_session_audio(&r, 0, audio);
		b = rig_session_audio(&r, 1, audio);
		settle(a, b, codecs[i].name, codecs[i].pt, codecs[i].clock_hz,
		       codecs[i].fmtp);
		settle(b, a, codecs[i].name, codecs[i].pt, codecs[i].clock_hz,
		       codecs[i].fmtp);
		rig_run_ms(&r, 5300);
		rig_stop(&r, 2);
		print_message("%s: %.3f and %.3f ms\n", codecs[i].name,
			      a->audio[0].delay_avg_ms,
			      b->audio[0].delay_avg_ms);
		/*
		 * a clip that is still being encoded may miss one on a busy
		 * machine
		 */
		assert_true(a->audio[0].markers >= (codecs[i].fmtp[0] ? 1 : 2));
		assert_true(b->audio[0].markers >= (codecs[i].fmtp[0] ? 1 : 2));
		assert_int_equal(a->audio[1].markers, 0);
		assert_true(a->audio[0].delay_min_ms > -0.3);
		/* a busy machine makes it longer, never shorter */
		assert_true(a->audio[0].delay_min_ms < 500);
		rig_close(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_delay_is_told_over_every_codec),
		cmocka_unit_test(test_delay_in_any_size),
		cmocka_unit_test(test_delay_with_a_packet_lost),
		cmocka_unit_test(test_noise_is_no_marker),
		cmocka_unit_test(test_seam_is_in_no_marker),
		cmocka_unit_test(test_sessions_tell_their_delay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
