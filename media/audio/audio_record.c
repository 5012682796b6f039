#include "media/audio/audio_record.h"

#include "base/clock.h"

#include <errno.h>
#include <sndfile.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK 1024

void audio_recorder_begin(struct audio_recorder *r, char *path)
{
	*r = (struct audio_recorder){.path = path};
}

void audio_recorder_start(struct audio_recorder *r, int64_t start_ns)
{
	if (!r->path || r->has_start)
		return;
	r->has_start = true;
	r->start_ns = start_ns;
}

/* libsndfile keeps the errno of open() and write(). */
static int file_error(void)
{
	return errno ? -errno : -EIO;
}

static void write_all(struct audio_recorder *r, const int16_t *pcm,
		      size_t count)
{
	uint64_t room = AUDIO_RECORD_BYTES_MAX / sizeof(*pcm) - r->samples;

	if (count > room) {
		r->full = true;
		count = (size_t)room;
	}
	if (count == 0 || r->err)
		return;
	errno = 0;
	if (sf_writef_short(r->file, pcm, (sf_count_t)count) !=
	    (sf_count_t)count)
		r->err = file_error();
	r->samples += count;
}

/* Write silence or comfort noise. */
static void write_fill(struct audio_recorder *r, double ms)
{
	uint64_t left = ms > 0 ? (uint64_t)(ms * r->rate_hz / 1000) : 0;

	while (left > 0 && !r->full && !r->err) {
		int16_t block[BLOCK] = {0};
		size_t n = left < BLOCK ? (size_t)left : BLOCK;

		if (r->noise.on)
			noise_synth_write(&r->noise, block, n);
		write_all(r, block, n);
		left -= n;
	}
}

void audio_recorder_noise(struct audio_recorder *r, const uint8_t *payload,
			  size_t bytes, double gap_ms)
{
	if (!r->file || gap_ms < r->filled_ms)
		return;
	write_fill(r, gap_ms - r->filled_ms);
	r->filled_ms = gap_ms;
	noise_synth_set(&r->noise, payload, bytes);
}

static bool opened(struct audio_recorder *r, unsigned rate_hz, int64_t mono_ns)
{
	SF_INFO info = {
		.samplerate = (int)rate_hz,
		.channels = 1,
		.format = SF_FORMAT_WAV | SF_FORMAT_PCM_16,
	};

	if (r->file)
		return true;
	if (!r->path || r->err)
		return false;
	audio_recorder_start(r, mono_ns);
	errno = 0;
	r->file = sf_open(r->path, SFM_WRITE, &info);
	if (!r->file) {
		r->err = file_error();
		return false;
	}
	r->rate_hz = rate_hz;
	write_fill(r, (double)(mono_ns - r->start_ns) / (double)NS_PER_MS);
	return true;
}

/* Another codec with another rate: interpolate linearly between the two nearest
 * samples. */
static void write_resampled(struct audio_recorder *r, const int16_t *pcm,
			    size_t count, unsigned rate_hz)
{
	size_t want = count * r->rate_hz / rate_hz;
	int16_t block[BLOCK];
	size_t used = 0;

	for (size_t i = 0; i < want; i++) {
		double at = (double)i * rate_hz / r->rate_hz;
		size_t left = (size_t)at;
		size_t right = left + 1 < count ? left + 1 : left;
		double part = at - (double)left;

		block[used++] =
			(int16_t)((1 - part) * pcm[left] + part * pcm[right]);
		if (used == BLOCK) {
			write_all(r, block, used);
			used = 0;
		}
	}
	write_all(r, block, used);
}

void audio_recorder_write(struct audio_recorder *r, const int16_t *pcm,
			  size_t count, unsigned rate_hz, int64_t mono_ns,
			  double gap_ms)
{
	bool first = !r->file;

	if (!opened(r, rate_hz, mono_ns))
		return;
	if (!first)
		write_fill(r, gap_ms - r->filled_ms);
	r->filled_ms = 0;
	r->noise.on = false;
	if (rate_hz == r->rate_hz)
		write_all(r, pcm, count);
	else
		write_resampled(r, pcm, count, rate_hz);
}

bool audio_recorder_end(struct audio_recorder *r, struct audio_recorded *ret)
{
	if (!r->path)
		return false;
	errno = 0;
	if (r->file && sf_close(r->file) != 0 && !r->err)
		r->err = file_error();
	if (r->err)
		(void)unlink(r->path); /* an incomplete file is useless */
	*ret = (struct audio_recorded){
		.written = r->file && !r->err,
		.cut = r->full || r->err,
		.err = r->err,
		.ms = r->rate_hz ? 1000.0 * (double)r->samples / r->rate_hz : 0,
	};
	free(r->path);
	memset(r, 0, sizeof(*r));
	return true;
}
