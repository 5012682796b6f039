#include "media/audio/codec.h"
#include "media_rig.h"

#include "base/clock.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define PI      3.14159265358979323846
#define TONE_HZ 1000.0
#define LEVEL   8000.0

#define CALLS_TRIED   3
#define JITTER_MAX_MS 9

static int16_t *tone_new(const struct codec *codec, size_t count)
{
	int16_t *pcm = calloc(count, sizeof(*pcm));

	assert_non_null(pcm);
	for (size_t i = 0; i < count; i++)
		pcm[i] = (int16_t)lrint(
			LEVEL *
			sin(2 * PI * TONE_HZ * (double)i / codec->sample_hz));
	return pcm;
}

/* Amplitude at a frequency. */
static double level_at(const int16_t *pcm, size_t count, double hz, double rate)
{
	double re = 0;
	double im = 0;

	for (size_t i = 0; i < count; i++) {
		re += pcm[i] * cos(2 * PI * hz * (double)i / rate);
		im += pcm[i] * sin(2 * PI * hz * (double)i / rate);
	}
	return 2 * sqrt(re * re + im * im) / (double)count;
}

static void check_ptime(const struct codec *codec, uint16_t ptime_ms)
{
	const struct codec_settings none = {0};
	size_t packets = 1200u / ptime_ms;
	size_t per_packet = (size_t)codec->sample_hz * ptime_ms / 1000;
	size_t count = per_packet * packets;
	int16_t *pcm = tone_new(codec, count);
	int16_t *heard = calloc(count, sizeof(*heard));
	size_t skip = count / 4; /* until the decoder has converged */
	void *decoder = NULL;
	struct clip clip;
	double level;

	assert_non_null(heard);
	rig_encode(&clip, codec, pcm, count, ptime_ms, &none);
	if (codec->decoder_new)
		assert_int_equal(codec->decoder_new(&decoder), 0);
	if (clip.frames)
		assert_int_equal(clip.count, packets);
	else
		assert_int_equal(clip.count, (uint64_t)codec->bytes_per_s *
						     ptime_ms * packets / 1000);
	for (size_t i = 0; i < packets; i++) {
		const uint8_t *payload;
		size_t bytes = rig_payload(&payload, codec, &clip, ptime_ms, i);

		assert_in_range(bytes, 1, CODEC_PAYLOAD_MAX);
		assert_int_equal(codec->decode(codec, decoder,
					       heard + i * per_packet,
					       per_packet, payload, bytes),
				 per_packet);
	}
	level = level_at(heard + skip, count - skip, TONE_HZ, codec->sample_hz);
	if (fabs(20 * log10(level / LEVEL)) > 1.0)
		fail_msg("%s at %u ms: level %.0f", codec->name, ptime_ms,
			 level);
	if (codec->decoder_free)
		codec->decoder_free(decoder);
	clip_release(&clip);
	free(heard);
	free(pcm);
}

static void test_codec_tone_survives_every_ptime(void **state)
{
	(void)state;
	for (size_t i = 0; codec_at(i); i++) {
		const struct codec *codec = codec_at(i);

		for (uint16_t ms = 10; ms <= 120; ms = (uint16_t)(ms + 10)) {
			if (codec_ptime(codec, ms) == ms)
				check_ptime(codec, ms);
		}
	}
}

static void test_codec_ptime_follows_step(void **state)
{
	(void)state;
	assert_int_equal(codec_ptime(&codec_pcmu, 5), 5);
	assert_int_equal(codec_ptime(&codec_gsm, 10), 20);
	assert_int_equal(codec_ptime(&codec_gsm, 50), 40);
	assert_int_equal(codec_ptime(&codec_l16_44100, 25), 20);
	assert_int_equal(codec_ptime(&codec_opus, 30), 30);
	assert_int_equal(codec_ticks(&codec_opus, 20), 960);
	assert_int_equal(codec_ticks(&codec_g722, 20), 160);
	assert_int_equal(codec_ticks(&codec_l16_44100, 10), 441);
}

static void test_codec_names(void **state)
{
	(void)state;
	assert_ptr_equal(codec_by_name("OPUS"), &codec_opus);
	assert_ptr_equal(codec_by_name("l16"), &codec_l16_16000);
	assert_ptr_equal(codec_by_name("L16/44100"), &codec_l16_44100);
	assert_null(codec_by_name("G729"));
	assert_ptr_equal(codec_by_rtpmap("l16", 8000), &codec_l16_8000);
	assert_null(codec_by_rtpmap("L16", 48000));
	assert_null(codec_by_rtpmap("G722", 16000));
}

static void test_codec_settings_of_fmtp(void **state)
{
	struct codec_settings s;

	(void)state;
	codec_settings_parse(&s, "maxplaybackrate=16000; useinbandfec=1;"
				 "usedtx=1;stereo=1;maxaveragebitrate=20000");
	assert_int_equal(s.max_playback_hz, 16000);
	assert_int_equal(s.max_bitrate, 20000);
	assert_true(s.fec && s.dtx && s.stereo);
	assert_false(s.cbr);
	codec_settings_parse(&s, ";;=;usedtx;usedtx=2;maxplaybackrate=-1;"
				 "useinbandfec=99999999999999999999;0-16");
	assert_int_equal(s.max_playback_hz, 0);
	assert_false(s.fec || s.dtx);
	codec_settings_parse(&s, "");
	assert_false(s.fec);
}

/* Size of 4 s of Opus, the last 3 of them silent. */
static size_t opus_bytes(const char *fmtp, size_t *ret_unsent)
{
	size_t count = 48000 * 4;
	int16_t *pcm = tone_new(&codec_opus, count);
	struct codec_settings s;
	struct clip clip;
	size_t bytes = 0;

	memset(pcm + 48000, 0, (count - 48000) * sizeof(*pcm));
	codec_settings_parse(&s, fmtp);
	rig_encode(&clip, &codec_opus, pcm, count, 20, &s);
	*ret_unsent = 0;
	for (size_t i = 0; i < clip.count; i++) {
		*ret_unsent += clip.frames[i].bytes == 0;
		bytes += clip.frames[i].bytes;
	}
	clip_release(&clip);
	free(pcm);
	return bytes;
}

static void test_codec_opus_honours_fmtp(void **state)
{
	size_t plain;
	size_t unsent;

	(void)state;
	plain = opus_bytes("", &unsent);
	assert_int_equal(unsent, 0);
	assert_true(opus_bytes("maxaveragebitrate=8000", &unsent) < plain / 2);
	opus_bytes("usedtx=1", &unsent);
	assert_true(unsent > 100);
}

/* ---- G.722 and its levels ---- */

#define G722_SAMPLES 16000

/* A triangle of 500 Hz with rising amplitude, and noise from the middle on. */
static void g722_signal(int16_t *pcm)
{
	uint32_t random = 1;

	for (int i = 0; i < G722_SAMPLES; i++) {
		int place = i % 32 < 16 ? i % 32 : 32 - i % 32;
		int noise;

		random = random * 1664525u + 1013904223u;
		noise = (int16_t)(random >> 16);
		pcm[i] = (int16_t)((place * 2 - 16) * (i / 16) / 10 +
				   noise / (i < G722_SAMPLES / 2 ? 64 : 4));
	}
}

/* FNV-1a, 64 bit */
static uint64_t hash_add(uint64_t hash, unsigned byte)
{
	return (hash ^ byte) * UINT64_C(1099511628211);
}

/*
 * The checksums are those of the output of encoder and decoder of ITU-T G.191
 * (STL, G722 3.0) for this signal. Our 16-bit samples equal its 16-bit samples:
 * a codec that scales them is 6 dB off and gives other codes.
 */
static void test_codec_g722_is_that_of_itu(void **state)
{
	const struct codec_settings none = {0};
	int16_t *pcm = calloc(G722_SAMPLES, sizeof(*pcm));
	int16_t *heard = calloc(G722_SAMPLES, sizeof(*heard));
	uint64_t sum = UINT64_C(14695981039346656037);
	uint64_t sum_heard = sum;
	struct clip clip;
	void *decoder;

	(void)state;
	assert_non_null(pcm);
	assert_non_null(heard);
	g722_signal(pcm);
	rig_encode(&clip, &codec_g722, pcm, G722_SAMPLES, 20, &none);
	assert_int_equal(clip.count, G722_SAMPLES / 2);
	for (size_t i = 0; i < clip.count; i++)
		sum = hash_add(sum, clip.data[i]);
	assert_int_equal(sum, UINT64_C(0xb688b68910ae521f));
	assert_int_equal(codec_g722.decoder_new(&decoder), 0);
	assert_int_equal(codec_g722.decode(&codec_g722, decoder, heard,
					   G722_SAMPLES, clip.data, clip.count),
			 G722_SAMPLES);
	for (size_t i = 0; i < G722_SAMPLES; i++) {
		sum_heard = hash_add(sum_heard, (uint16_t)heard[i] & 0xff);
		sum_heard = hash_add(sum_heard, (uint16_t)heard[i] >> 8);
	}
	assert_int_equal(sum_heard, UINT64_C(0x0f71336519c90f66));
	codec_g722.decoder_free(decoder);
	clip_release(&clip);
	free(heard);
	free(pcm);
}

static void test_codec_garbage_is_survived(void **state)
{
	int16_t dst[CODEC_SAMPLES_MAX];
	uint8_t payload[1500];
	uint32_t random = 1;

	(void)state;
	for (size_t i = 0; codec_at(i); i++) {
		const struct codec *codec = codec_at(i);
		void *decoder = NULL;

		if (codec->decoder_new)
			assert_int_equal(codec->decoder_new(&decoder), 0);
		for (size_t n = 0; n < 2000; n++) {
			size_t bytes;
			int got;

			for (size_t k = 0; k < sizeof(payload); k++) {
				random = random * 1664525 + 1013904223;
				payload[k] = (uint8_t)(random >> 24);
			}
			bytes = n < 100 ? n : random % sizeof(payload);
			got = codec->decode(codec, decoder, dst,
					    CODEC_SAMPLES_MAX, payload, bytes);
			assert_true(got >= -EBADMSG &&
				    got <= CODEC_SAMPLES_MAX);
		}
		if (codec->decoder_free)
			codec->decoder_free(decoder);
	}
}

static void session_with(struct rig *rig, size_t index, const char *name)
{
	struct media_session_params params = {
		.bind = rig_loopback(),
		.codecs = {name},
		.codec_count = 1,
		.user = &rig->logs[index],
	};

	assert_int_equal(media_session_new(&rig->logs[index].session,
					   rig->engine, &params),
			 0);
}

/* The sender uses the payload type that the receiver chose. */
static void apply(struct rig_log *to, const struct rig_log *peer,
		  uint8_t send_pt, uint8_t receive_pt)
{
	const struct media_local *at = media_session_local(peer->session);
	struct media_negotiated n =
		rig_settle(&at->rtp, &at->rtcp, MEDIA_SENDRECV);

	n.codec = at->codecs[0];
	n.codec.pt = send_pt;
	n.accepted[0] = at->codecs[0];
	n.accepted[0].pt = receive_pt;
	assert_int_equal(media_session_apply(to->session, &n), 0);
}

/* A call of a second. @return median of the jitter in ms */
static double check_call(const struct codec *codec)
{
	struct rig rig;
	double jitter_ms;
	int64_t end_ns;

	rig_open(&rig, 2, 300);
	session_with(&rig, 0, codec->name);
	session_with(&rig, 1, codec->name);
	apply(&rig.logs[0], &rig.logs[1], 110, 111);
	apply(&rig.logs[1], &rig.logs[0], 111, 110);
	end_ns = media_session_start_ns(rig.logs[0].session) + NS_PER_S;
	assert_int_equal(media_session_send_until(rig.logs[0].session, end_ns),
			 0);
	rig_run_until(&rig, end_ns + 200 * NS_PER_MS);
	rig_stop(&rig, 2);
	assert_int_equal(rig.logs[0].total[1].packets, 50);
	assert_int_equal(rig.logs[1].total[0].packets, 50);
	assert_int_equal(rig.logs[1].total[0].lost, 0);
	assert_int_equal(rig.logs[1].total[0].bytes,
			 rig.logs[0].total[1].bytes);
	assert_string_equal(rig.logs[1].total[0].codec, codec->rtpmap);
	assert_string_equal(rig.logs[0].total[1].codec, codec->rtpmap);
	if (codec->bytes_per_s)
		assert_int_equal(rig.logs[0].total[1].bytes,
				 50 * (12 + codec->bytes_per_s / 50));
	assert_true(rig.logs[1].total[0].jitter_ms.n > 0);
	jitter_ms = rig.logs[1].total[0].jitter_ms.median;
	rig_close(&rig);
	return jitter_ms;
}

/* In real time: a wrong clock rate or step of the timestamp would show as
 * milliseconds a packet in each call, other work on the machine in some. */
static void check_clock(const struct codec *codec)
{
	for (int i = 0; i < CALLS_TRIED; i++)
		if (check_call(codec) < JITTER_MAX_MS)
			return;
	fail_msg("%s: the jitter says that the clock is wrong", codec->name);
}

/* It is no packet of silence, and nothing that was lost. */
static void test_codec_empty_payload_has_no_samples(void **state)
{
	const uint8_t empty[1] = {0};
	int16_t dst[CODEC_SAMPLES_MAX];

	(void)state;
	for (size_t i = 0; codec_at(i); i++) {
		const struct codec *codec = codec_at(i);
		void *decoder = NULL;

		if (codec->decoder_new)
			assert_int_equal(codec->decoder_new(&decoder), 0);
		assert_true(codec->decode(codec, decoder, dst,
					  CODEC_SAMPLES_MAX, empty, 0) <= 0);
		if (codec->decoder_free)
			codec->decoder_free(decoder);
	}
}

static void test_codec_calls_with_own_payload_types(void **state)
{
	(void)state;
	for (size_t i = 0; codec_at(i); i++)
		check_clock(codec_at(i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_codec_tone_survives_every_ptime),
		cmocka_unit_test(test_codec_ptime_follows_step),
		cmocka_unit_test(test_codec_names),
		cmocka_unit_test(test_codec_settings_of_fmtp),
		cmocka_unit_test(test_codec_opus_honours_fmtp),
		cmocka_unit_test(test_codec_g722_is_that_of_itu),
		cmocka_unit_test(test_codec_garbage_is_survived),
		cmocka_unit_test(test_codec_empty_payload_has_no_samples),
		cmocka_unit_test(test_codec_calls_with_own_payload_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
