#include "media/audio/dtmf_tones.h"

#include "base/clock.h"

#include <errno.h>
#include <math.h>
#include <spandsp.h>
#include <stdlib.h>
#include <string.h>

#define RATE_HZ 8000
/* Block size of spandsp. A digit begins and ends with the second such block in
 * a row. */
#define BLOCK        102
#define BLOCK_NS     (BLOCK * NS_PER_S / RATE_HZ)
#define BLOCKS_KNOWN 2

/* ---- sending ---- */

static void order_read(const struct pcm_source *s, int16_t *dst, size_t from,
		       size_t count)
{
	dtmf_tones_read(dst, from, count, s->arg, s->rate_hz);
}

int dtmf_clip_begin(struct dtmf_clip *ret, struct prompt_encoder **ret_encoder,
		    const struct dtmf_order *order,
		    const struct prompt_want *want)
{
	const unsigned rate_hz = want->codec->sample_hz;
	const struct pcm_source source = {
		.count = dtmf_tone_samples(order, rate_hz),
		.read = order_read,
		.arg = &ret->order,
		.rate_hz = rate_hz,
	};
	size_t packet = (size_t)rate_hz * want->ptime_ms / 1000;
	struct prompt_want once = *want;
	int err;

	once.once = true;
	err = prompt_encoder_new(ret_encoder, &ret->clip, &once, &source, 0);
	if (err)
		return err;
	ret->order = *order;
	ret->packets = (source.count + packet - 1) / packet;
	ret->ptime_ms = want->ptime_ms;
	return 0;
}

void dtmf_clip_step(const struct dtmf_clip *c, size_t packet, size_t *digit,
		    struct dtmf_clip_step *ret)
{
	const struct dtmf_order *order = &c->order;
	size_t each = (size_t)order->duration_ms + order->gap_ms;
	size_t sent_ms = (packet + 1) * c->ptime_ms;

	memset(ret, 0, sizeof(*ret));
	ret->over = packet + 1 >= c->packets;
	if (!order->digits[*digit] ||
	    (!order->digits[*digit + 1] && !ret->over) ||
	    sent_ms < *digit * each + order->duration_ms)
		return;
	ret->finished = true;
	ret->digit = order->digits[(*digit)++];
}

/* ---- receiving ---- */

struct dtmf_tones {
	dtmf_rx_state_t *rx;
	size_t used;  /* samples in the open block */
	int reported; /* by the callback for the block: -1 nothing, 0 end */
	char digit;   /* digit in progress; 0: none */
	int64_t begin_ns;
	int64_t end_ns; /* end of the last block */
	uint64_t
		blocks; /* since the digit began: how long it is by the samples, which
			 * come unevenly */
};

static void on_tone(void *arg, int code, int level, int delay)
{
	struct dtmf_tones *t = arg;

	(void)level;
	(void)delay;
	t->reported = code;
}

int dtmf_tones_new(struct dtmf_tones **ret)
{
	struct dtmf_tones *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->rx = dtmf_rx_init(NULL, NULL, NULL);
	if (!t->rx) {
		free(t);
		return -ENOMEM;
	}
	dtmf_rx_set_realtime_callback(t->rx, on_tone, t);
	t->reported = -1;
	*ret = t;
	return 0;
}

struct dtmf_tones *dtmf_tones_free(struct dtmf_tones *t)
{
	if (t)
		dtmf_rx_free(t->rx);
	free(t);
	return NULL;
}

/* @param blocks  length of the digit */
static void digit_end(struct dtmf_tones *t, int64_t end_ns, uint64_t blocks,
		      struct dtmf_heard *ret)
{
	if (!t->digit)
		return;
	if (ret->count < DTMF_STEPS_MAX)
		ret->steps[ret->count++] = (struct dtmf_step){
			.ended = true,
			.digit = t->digit,
			.ms = (double)blocks * BLOCK * 1000 / RATE_HZ,
			.mono_ns = end_ns,
		};
	t->digit = 0;
}

static void block_end(struct dtmf_tones *t, int64_t end_ns,
		      struct dtmf_heard *ret)
{
	int64_t change_ns = end_ns - BLOCKS_KNOWN * BLOCK_NS;
	int code = t->reported;

	t->used = 0;
	t->end_ns = end_ns;
	t->reported = -1;
	t->blocks++;
	if (code < 0)
		return;
	digit_end(t, change_ns, t->blocks - BLOCKS_KNOWN, ret);
	if (code == 0 || dtmf_event_of((char)code) < 0)
		return;
	t->digit = (char)code;
	t->begin_ns = change_ns;
	t->blocks = BLOCKS_KNOWN;
	if (ret->count < DTMF_STEPS_MAX)
		ret->steps[ret->count++] = (struct dtmf_step){
			.digit = t->digit,
			.mono_ns = change_ns,
		};
}

/* The filter of audio_reduce_add() overshoots where audio is clipped. */
static int16_t sample_of(float value)
{
	float scaled = value * 32767.0f;

	if (scaled > 32767.0f)
		return 32767;
	if (scaled < -32768.0f)
		return -32768;
	return (int16_t)lrintf(scaled);
}

void dtmf_tones_add(struct dtmf_tones *t, const float *pcm, size_t count,
		    int64_t mono_ns, struct dtmf_heard *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (size_t done = 0; done < count;) {
		int16_t block[BLOCK];
		size_t n = BLOCK - t->used;

		if (n > count - done)
			n = count - done;
		for (size_t i = 0; i < n; i++)
			block[i] = sample_of(pcm[done + i]);
		dtmf_rx(t->rx, block, (int)n);
		done += n;
		t->used += n;
		if (t->used == BLOCK)
			block_end(t,
				  mono_ns + (int64_t)done * NS_PER_S / RATE_HZ,
				  ret);
	}
}

void dtmf_tones_end(struct dtmf_tones *t, struct dtmf_heard *ret)
{
	memset(ret, 0, sizeof(*ret));
	digit_end(t, t->end_ns, t->blocks, ret);
}
