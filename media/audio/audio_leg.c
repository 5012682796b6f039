#include "media/audio/audio_leg.h"

#include "base/clock.h"
#include "media/analysis/rtp_seq.h"
#include "media/audio/codec_noise.h"

#include <math.h>
#include <string.h>

/* A timestamp this far from the arrival time restarts the time line:
 * docs/reference/measurement.md "Discontinuities" */
#define TS_JUMP_MS 1000.0

/* The magnitude that counts as full scale. */
static double clip_value(const struct codec *codec)
{
	/* largest values of each law: ITU-T G.711 tables 1a and 2a */
	if (codec == &codec_pcma)
		return 32256 / 32768.0;
	if (codec == &codec_pcmu)
		return 32124 / 32768.0;
	if (codec == &codec_l16_8000 || codec == &codec_l16_16000 ||
	    codec == &codec_l16_44100)
		return 32767 / 32768.0;
	/* coding changes the value of clipped samples a little */
	return 32000 / 32768.0;
}

static void decoder_drop(struct audio_leg *leg)
{
	if (leg->codec && leg->codec->decoder_free)
		leg->codec->decoder_free(leg->decoder);
	leg->reduce = audio_reduce_free(leg->reduce);
	leg->codec = NULL;
	leg->decoder = NULL;
	leg->has_next = false;
	audio_tones_break(&leg->tones);
}

static bool decoder_have(struct audio_leg *leg, const struct codec *codec)
{
	/* RFC 7160: timestamps before and after a change of clock rate are
	 * unrelated */
	bool goes_on = leg->has_next && leg->codec &&
		       leg->codec->clock_hz == codec->clock_hz;

	if (leg->codec == codec)
		return true;
	decoder_drop(leg);
	if (audio_reduce_new(&leg->reduce, codec->sample_hz))
		return false;
	if (codec->decoder_new && codec->decoder_new(&leg->decoder)) {
		leg->reduce = audio_reduce_free(leg->reduce);
		return false;
	}
	leg->codec = codec;
	leg->has_next = goes_on;
	audio_meter_rate(&leg->meter, codec->sample_hz, clip_value(codec));
	return true;
}

/* @return false: another source is heard */
static bool source_heard(struct audio_leg *leg, const struct payload *head)
{
	if (leg->has_stream && head->ssrc == leg->ssrc) {
		leg->has_other = false;
		return true;
	}
	if (leg->has_stream &&
	    !(leg->has_other && leg->other_ssrc == head->ssrc &&
	      (uint16_t)(leg->other_seq + 1) == head->seq)) {
		leg->has_other = true;
		leg->other_ssrc = head->ssrc;
		leg->other_seq = head->seq;
		return false;
	}
	decoder_drop(leg);
	leg->has_stream = true;
	leg->has_other = false;
	leg->has_jump = false;
	leg->ssrc = head->ssrc;
	leg->seq = (uint16_t)(head->seq - 1);
	return true;
}

/* Is the packet behind because the source restarted
 * (docs/reference/measurement.md "Jumps")? Two consecutive packets confirm
 * it. */
static bool begins_anew(struct audio_leg *leg, const struct payload *head)
{
	uint16_t behind = (uint16_t)(leg->seq - head->seq);
	bool back_in_time =
		leg->has_next && (int32_t)(head->ts - leg->next_ts) < 0;

	if (behind < RTP_MAX_MISORDER ||
	    (behind <= RTP_LATE_WINDOW && back_in_time))
		return false;
	if (leg->has_jump && (uint16_t)(leg->jump_seq + 1) == head->seq) {
		decoder_drop(leg);
		leg->has_jump = false;
		return true;
	}
	leg->has_jump = true;
	leg->jump_seq = head->seq;
	return false;
}

/* @param ret_lost  a packet before it is missing
 * @return false: it is older than the newest one */
static bool in_order(struct audio_leg *leg, const struct payload *head,
		     bool *ret_lost)
{
	bool anew = false;

	if ((int16_t)(head->seq - leg->seq) <= 0) {
		anew = begins_anew(leg, head);
		if (!anew)
			return false;
	}
	*ret_lost = !anew && (uint16_t)(head->seq - leg->seq) > 1;
	leg->seq = head->seq;
	return true;
}

static void silence_until(struct audio_leg *leg, int64_t mono_ns)
{
	double ms = (double)(mono_ns - leg->heard_ns) / (double)NS_PER_MS;

	if (leg->expected && ms > leg->silence_max_ms)
		leg->silence_max_ms = ms;
}

void audio_leg_expect(struct audio_leg *leg, bool expected, int64_t mono_ns)
{
	if (leg->expected == expected)
		return;
	silence_until(leg, mono_ns);
	if (leg->expected)
		leg->expected_ms += (double)(mono_ns - leg->expected_ns) /
				    (double)NS_PER_MS;
	leg->expected = expected;
	leg->expected_ns = mono_ns;
	leg->heard_ns = mono_ns;
}

/* Time between the end of the last packet and this one, from the timestamps; if
 * these are unrelated, from the arrival times. */
static double gap_ms(const struct audio_leg *leg, const struct payload *head)
{
	double arrived_ms = leg->has_end
				    ? (double)(head->mono_ns - leg->end_ns) /
					      (double)NS_PER_MS
				    : 0;
	double ms;

	if (arrived_ms < 0)
		arrived_ms = 0;
	if (!leg->has_next)
		return arrived_ms;
	ms = 1000.0 * (int32_t)(head->ts - leg->next_ts) / leg->codec->clock_hz;
	/* a jump of the timestamps; or, with a marker, a pause in which they
	 * stood still; without a marker the network delayed the packets */
	if (fabs(ms) > TS_JUMP_MS && fabs(ms - arrived_ms) > TS_JUMP_MS)
		return arrived_ms;
	if (head->marker && arrived_ms - ms > TS_JUMP_MS)
		return arrived_ms;
	return ms > 0 ? ms : 0;
}

/* Recover the lost packet before this one, if this one has a copy.
 * @return samples, at most half of the room */
static size_t recover(struct audio_leg *leg, const struct payload *head,
		      const uint8_t *data, int16_t *dst)
{
	const struct codec *codec = leg->codec;
	size_t max = (size_t)(gap_ms(leg, head) * codec->sample_hz / 1000);
	int count;

	if (max > CODEC_SAMPLES_MAX / 2)
		max = CODEC_SAMPLES_MAX / 2;
	if (max == 0 || !codec->recover)
		return 0;
	count = codec->recover(codec, leg->decoder, dst, max, data,
			       head->bytes);
	leg->recovered += count > 0;
	return (size_t)count;
}

static bool decode(struct audio_leg *leg, const struct payload *head,
		   const uint8_t *data, bool lost, struct audio_samples *ret)
{
	const struct codec *codec = leg->codec;
	size_t before = lost ? recover(leg, head, data, ret->pcm) : 0;
	double before_ms = 1000.0 * (double)before / codec->sample_hz;
	double gap = gap_ms(leg, head);
	int count =
		codec->decode(codec, leg->decoder, ret->pcm + before,
			      CODEC_SAMPLES_MAX - before, data, head->bytes);

	if (count <= 0)
		return false;
	ret->mono_ns = head->mono_ns - (int64_t)(before_ms * NS_PER_MS);
	ret->rate_hz = codec->sample_hz;
	ret->count = before + (size_t)count;
	ret->gap_ms = gap - before_ms;
	ret->reduced_count = audio_reduce_add(leg->reduce, ret->reduced,
					      ret->pcm, ret->count);
	leg->has_end = true;
	leg->end_ns = head->mono_ns +
		      (int64_t)count * NS_PER_S / (int64_t)codec->sample_hz;
	leg->has_next = true;
	leg->next_ts = head->ts + (uint32_t)((uint64_t)count * codec->clock_hz /
					     codec->sample_hz);
	if (ret->gap_ms > 0)
		audio_tones_break(&leg->tones);
	return true;
}

bool audio_leg_decode(struct audio_leg *leg, const struct codec *codec,
		      const struct payload *head, const uint8_t *data,
		      struct audio_samples *ret)
{
	bool lost;

	if (!source_heard(leg, head))
		return false;
	if (!in_order(leg, head, &lost)) {
		leg->late++;
		return false;
	}
	if (!codec)
		return false;
	if (!decoder_have(leg, codec) || !decode(leg, head, data, lost, ret)) {
		leg->undecodable++;
		return false;
	}
	leg->packets++;
	return true;
}

double audio_leg_noise(struct audio_leg *leg, const struct payload *head,
		       const uint8_t *data)
{
	bool lost;

	if (!source_heard(leg, head) || !in_order(leg, head, &lost))
		return -1;
	if (!codec_noise_level(data, head->bytes, &leg->noise_dbov))
		return -1;
	leg->noise_packets++;
	return leg->codec ? gap_ms(leg, head) : -1;
}

void audio_leg_measure(struct audio_leg *leg, const int16_t *pcm, size_t count,
		       const float *reduced, size_t reduced_count,
		       int64_t mono_ns, struct audio_slice *ret)
{
	ret->heard = audio_meter_add(&leg->meter, pcm, count) > 0;
	audio_tones_add(&leg->tones, reduced, reduced_count, &ret->tone);
	if (!ret->heard)
		return;
	silence_until(leg, mono_ns);
	leg->heard_ns = mono_ns;
}

void audio_leg_second(struct audio_leg *leg, int64_t start_ns, int64_t end_ns,
		      struct audio_second *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->start_ns = start_ns;
	ret->duration_ns = end_ns - start_ns;
	ret->expected = leg->expected && leg->expected_ns <= start_ns;
	audio_meter_second(&leg->meter, ret);
	audio_tones_second(&leg->tones, &ret->tone);
}

void audio_leg_total(struct audio_leg *leg, int64_t end_ns,
		     struct audio_total *ret)
{
	audio_leg_expect(leg, false, end_ns);
	audio_meter_total(&leg->meter, ret);
	ret->expected_ms = leg->expected_ms;
	ret->silence_max_ms = leg->silence_max_ms;
	memcpy(ret->tones, leg->tones.list, sizeof(ret->tones));
	ret->tone_count = leg->tones.count;
	ret->packets = leg->packets;
	ret->late = leg->late;
	ret->undecodable = leg->undecodable;
	ret->recovered = leg->recovered;
	ret->noise_packets = leg->noise_packets;
	ret->noise_dbov = leg->noise_dbov;
}

void audio_leg_release(struct audio_leg *leg)
{
	decoder_drop(leg);
}
