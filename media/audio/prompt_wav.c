#include "media/prompt_wav.h"

#include "base/clock.h"
#include "media/audio/prompt_load.h"
#include "media/audio/resample.h"
#include "media/audio/sound_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHANNELS    2
#define PART_FRAMES 4096

/* Add the silence before the rate is converted: the conversion treats the
 * samples as a loop, so without it their end would sound at the beginning. */
static int silence_add(struct prompt_samples *p, unsigned ms)
{
	size_t more = (size_t)p->rate_hz * ms / 1000;
	int16_t *longer = realloc(p->pcm, (p->count + more) * sizeof(*p->pcm));

	if (!longer)
		return -ENOMEM;
	memset(longer + p->count, 0, more * sizeof(*longer));
	p->pcm = longer;
	p->count += more;
	return 0;
}

static int samples_write(int fd, const int16_t *pcm, size_t count)
{
	SF_INFO info = {
		.samplerate = PROMPT_WAV_HZ,
		.channels = CHANNELS,
		.format = SF_FORMAT_WAV | SF_FORMAT_PCM_16,
	};
	int16_t part[PART_FRAMES * CHANNELS];
	SNDFILE *file = sound_file_open(&fd, SFM_WRITE, &info);
	int err = file ? 0 : -EIO;

	for (size_t at = 0; !err && at < count; at += PART_FRAMES) {
		size_t n = count - at < PART_FRAMES ? count - at : PART_FRAMES;

		for (size_t i = 0; i < n * CHANNELS; i++)
			part[i] = pcm[at + i / CHANNELS];
		if (sf_writef_short(file, part, (sf_count_t)n) != (sf_count_t)n)
			err = -EIO;
	}
	if (file && sf_close(file) && !err)
		err = -EIO;
	return err;
}

int prompt_wav(int64_t *ret_ns, int fd, int dst_fd, unsigned tail_ms)
{
	struct prompt_samples p = {0};
	int16_t *pcm = NULL;
	size_t count = 0;
	int64_t ns = 0;
	int err = prompt_load(&p, fd);

	if (err)
		return err;
	ns = (int64_t)p.count * NS_PER_S / p.rate_hz;
	if (ns > PROMPT_WAV_SECONDS_MAX * NS_PER_S)
		err = -EFBIG;
	if (!err)
		err = silence_add(&p, tail_ms);
	if (!err)
		err = resample_loop(&pcm, &count, p.pcm, p.count, p.rate_hz,
				    PROMPT_WAV_HZ);
	if (!err)
		err = samples_write(dst_fd, pcm, count);
	free(pcm);
	free(p.pcm);
	if (!err)
		*ret_ns = ns;
	return err;
}
