/*
 * Digits as in-band tones: generated, sent by a session, detected by its peer.
 */
#include "media/audio/audio_reduce.h"
#include "media/audio/dtmf_tones.h"

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

#define PI       3.14159265358979323846
#define PTIME_MS 20
#define HEARD    64

struct heard_log {
	size_t count;
	struct dtmf_step steps[2 * HEARD];
};

static void log_add(struct heard_log *log, const struct dtmf_heard *h)
{
	for (size_t i = 0; i < h->count; i++) {
		assert_true(log->count < 2 * HEARD);
		log->steps[log->count++] = h->steps[i];
	}
}

static void clip_make(struct dtmf_clip *ret, const struct dtmf_order *order,
		      const struct codec *codec, uint16_t ptime_ms)
{
	const struct prompt_want want = {.codec = codec, .ptime_ms = ptime_ms};
	struct prompt_encoder *encoder;

	assert_int_equal(dtmf_clip_begin(ret, &encoder, order, &want), 0);
	while (prompt_encoder_step(encoder, 100) > 0)
		assert_false(clip_whole(&ret->clip));
	prompt_encoder_free(encoder);
	assert_true(clip_whole(&ret->clip));
}

/* Send a digit order through a codec, packet by packet, into a detector. */
static void order_heard(const struct codec *codec,
			const struct dtmf_order *order, struct heard_log *log)
{
	uint16_t ptime_ms = codec_ptime(codec, PTIME_MS);
	float reduced[AUDIO_REDUCED_MAX];
	int16_t pcm[CODEC_SAMPLES_MAX];
	struct audio_reduce *reduce;
	struct dtmf_heard heard;
	struct dtmf_tones *t;
	struct dtmf_clip c;
	void *decoder = NULL;

	memset(log, 0, sizeof(*log));
	clip_make(&c, order, codec, ptime_ms);
	assert_int_equal(audio_reduce_new(&reduce, codec->sample_hz), 0);
	assert_int_equal(dtmf_tones_new(&t), 0);
	if (codec->decoder_new)
		assert_int_equal(codec->decoder_new(&decoder), 0);
	for (size_t i = 0; i < c.packets; i++) {
		const uint8_t *payload;
		size_t bytes =
			rig_payload(&payload, codec, &c.clip, ptime_ms, i);
		int count = codec->decode(codec, decoder, pcm,
					  CODEC_SAMPLES_MAX, payload, bytes);
		size_t n;

		assert_true(count > 0);
		n = audio_reduce_add(reduce, reduced, pcm, (size_t)count);
		for (size_t done = 0; done < n; done += 160) {
			dtmf_tones_add(t, reduced + done,
				       n - done < 160 ? n - done : 160,
				       (int64_t)(i * ptime_ms) * NS_PER_MS +
					       (int64_t)done * NS_PER_S / 8000,
				       &heard);
			log_add(log, &heard);
		}
	}
	dtmf_tones_end(t, &heard);
	log_add(log, &heard);
	if (codec->decoder_free)
		codec->decoder_free(decoder);
	dtmf_tones_free(t);
	audio_reduce_free(reduce);
	clip_release(&c.clip);
}

static void digits_of(const struct heard_log *log, char *dst)
{
	for (size_t i = 0; i < log->count; i++) {
		if (log->steps[i].ended)
			*dst++ = log->steps[i].digit;
	}
	*dst = '\0';
}

static void test_every_digit_over_every_codec(void **state)
{
	const struct dtmf_order order = {
		.digits = "0123456789*#ABCD",
		.duration_ms = 100,
		.gap_ms = 100,
	};
	const struct codec *codec;
	char digits[HEARD + 1];
	struct heard_log log;

	(void)state;
	for (size_t i = 0; (codec = codec_at(i)); i++) {
		order_heard(codec, &order, &log);
		digits_of(&log, digits);
		print_message("%s: %s\n", codec->name, digits);
		assert_string_equal(digits, order.digits);
		for (size_t k = 0; k < log.count; k++) {
			const struct dtmf_step *s = &log.steps[k];
			double at_ms = (double)s->mono_ns / (double)NS_PER_MS -
				       200.0 * (double)(k / 2);

			/* start, end, start, ... */
			assert_true(s->ended == (k % 2 == 1));
			/*
			 * GSM distorts the tones: detected, but with a shorter
			 * duration
			 */
			if (codec == &codec_gsm)
				continue;
			if (!s->ended) {
				assert_float_equal(at_ms, 0, 45);
				continue;
			}
			assert_float_equal(at_ms, 100, 45);
			assert_float_equal(s->ms, 100, 30);
		}
	}
}

/* ITU-T Q.24: tones and pauses of 40 ms must be detected. */
static void test_short_digits_are_heard(void **state)
{
	const struct dtmf_order order = {
		.digits = "112233",
		.duration_ms = 40,
		.gap_ms = 40,
	};
	struct heard_log log;
	char digits[HEARD + 1];

	(void)state;
	order_heard(&codec_pcmu, &order, &log);
	digits_of(&log, digits);
	assert_string_equal(digits, "112233");
}

/* A loud digit whose samples go beyond full scale, as a resampler makes them. */
static void test_loud_digit_is_heard(void **state)
{
	struct heard_log log = {.count = 0};
	struct dtmf_heard heard;
	struct dtmf_tones *t;
	char digits[HEARD];

	(void)state;
	assert_int_equal(dtmf_tones_new(&t), 0);
	for (size_t packet = 0; packet < 10; packet++) {
		float pcm[160];

		for (size_t i = 0; i < 160; i++) {
			double at = 2 * PI * (double)(packet * 160 + i) / 8000;

			pcm[i] = packet < 5 ? (float)(0.6 * sin(770 * at) +
						      0.6 * sin(1336 * at))
					    : 0;
		}
		dtmf_tones_add(t, pcm, 160,
			       (int64_t)packet * PTIME_MS * NS_PER_MS, &heard);
		log_add(&log, &heard);
	}
	dtmf_tones_end(t, &heard);
	log_add(&log, &heard);
	dtmf_tones_free(t);
	digits_of(&log, digits);
	assert_string_equal(digits, "5");
	assert_float_equal(log.steps[log.count - 1].ms, 100, 15);
}

static void test_steps_of_an_order(void **state)
{
	const struct dtmf_order order = {
		.digits = "12",
		.duration_ms = 50,
		.gap_ms = 45,
	};
	struct dtmf_clip_step step;
	struct dtmf_clip c;
	size_t digit = 0;

	(void)state;
	clip_make(&c, &order, &codec_pcma, 20);
	assert_int_equal(c.packets, 10); /* 190 ms */
	for (size_t i = 0; i < c.packets; i++) {
		dtmf_clip_step(&c, i, &digit, &step);
		assert_true(step.finished == (i == 2 || i == 9));
		assert_true(step.over == (i == 9));
		if (i == 2)
			assert_int_equal(step.digit, '1');
		if (i == 9)
			assert_int_equal(step.digit, '2');
	}
	clip_release(&c.clip);
}

static void settle(struct rig_log *log, const struct rig_log *peer)
{
	const struct media_local *at = media_session_local(peer->session);
	struct media_negotiated n =
		rig_settle(&at->rtp, &at->rtcp, MEDIA_SENDRECV);

	assert_int_equal(media_session_apply(log->session, &n), 0);
}

static void settle_pcmu(struct rig_log *log, const struct rig_log *peer)
{
	const struct media_local *at = media_session_local(peer->session);
	struct media_negotiated n =
		rig_settle(&at->rtp, &at->rtcp, MEDIA_SENDRECV);

	strcpy(n.codec.name, "PCMU");
	n.codec.pt = 0;
	n.accepted[0] = n.codec;
	assert_int_equal(media_session_apply(log->session, &n), 0);
}

static void test_session_sends_and_hears_digits(void **state)
{
	const struct dtmf_order order = {
		.digits = "42#",
		.duration_ms = 80,
		.gap_ms = 60,
	};
	struct rig_log *a, *b;
	struct rig r;

	(void)state;
	rig_open(&r, RIG_SESSIONS, 0);
	a = rig_session(&r, 0);
	b = rig_session_audio(&r, 1, MEDIA_AUDIO_DTMF);
	assert_int_equal(media_session_tones(a->session, &order), -ENOTCONN);
	settle(a, b);
	settle(b, a);
	rig_run_ms(&r, 300);
	assert_int_equal(media_session_tones(a->session, &order), 0);
	assert_int_equal(media_session_tones(a->session, &order), -EBUSY);
	rig_run_ms(&r, 700);
	assert_int_equal(a->digits[1], 3);
	assert_int_equal(a->digit[1][0].via, DTMF_INBAND);
	assert_false(a->digit[1][1].last);
	assert_true(a->digit[1][2].last);
	/* another order; the codec changes before it is encoded */
	assert_int_equal(media_session_tones(a->session, &order), 0);
	settle_pcmu(a, b);
	settle_pcmu(b, a);
	rig_run_ms(&r, 1000);
	assert_int_equal(a->digits[1], 6);
	assert_true(a->digit[1][5].last);
	assert_float_equal(a->digit[1][5].ms, 80, 0);
	/* and one more, while the previous one is sent */
	assert_int_equal(media_session_tones(a->session, &order), 0);
	while (a->digits[1] < 7)
		rig_run_ms(&r, 10);
	settle(a, b);
	rig_run_ms(&r, 300);
	assert_true(a->digit[1][a->digits[1] - 1].last);
	assert_float_equal(a->digit[1][a->digits[1] - 1].ms, 0, 0);
	rig_stop(&r, 2);
	assert_true(b->digits[0] >= 12);
	for (size_t i = 0; i < 12; i++) {
		assert_int_equal(b->digit[0][i].digit, "4422##4422##"[i]);
		assert_int_equal(b->digit[0][i].via, DTMF_INBAND);
		assert_true(b->digit[0][i].ended == (i % 2 == 1));
	}
	assert_float_equal(b->digit[0][1].ms, 80, 30);
	/* no audio was measured */
	assert_int_equal(b->audio_totals[0], 0);
	/* what was sent is one stream without a gap */
	assert_int_equal(a->total[1].packets, b->total[0].packets);
	assert_int_equal(b->total[0].lost, 0);
	rig_close(&r);
}

static void test_session_listens(void **state)
{
	const struct media_listen tone = {.id = 1, .hz = 1020};
	const struct media_listen other = {.id = 2, .hz = 600};
	const struct media_listen sound = {.id = 3};
	struct rig_log *a, *b;
	struct rig r;

	(void)state;
	rig_open(&r, RIG_SESSIONS, 0);
	a = rig_session_audio(&r, 0, MEDIA_AUDIO_MEASURE);
	b = rig_session(&r, 1);
	assert_int_equal(media_session_listen(b->session, &tone), -ENOTSUP);
	settle(a, b);
	settle(b, a);
	/* the built-in tones repeat every 2.6 s */
	assert_int_equal(media_session_listen(a->session, &tone), 0);
	rig_run_ms(&r, 2800);
	assert_int_equal(a->heard, 1);
	assert_int_equal(a->heard_last.id, 1);
	assert_float_equal(a->heard_last.tone.hz, 1020, 2);
	assert_int_equal(media_session_listen(a->session, &other), 0);
	rig_run_ms(&r, 2800);
	assert_int_equal(a->heard, 1);
	assert_int_equal(media_session_listen(a->session, &sound), 0);
	rig_run_ms(&r, 1000);
	assert_int_equal(a->heard, 2);
	assert_int_equal(a->heard_last.id, 3);
	rig_stop(&r, 2);
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_digit_over_every_codec),
		cmocka_unit_test(test_short_digits_are_heard),
		cmocka_unit_test(test_loud_digit_is_heard),
		cmocka_unit_test(test_steps_of_an_order),
		cmocka_unit_test(test_session_sends_and_hears_digits),
		cmocka_unit_test(test_session_listens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
