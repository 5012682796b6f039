/**
 * Sample rate conversion of a whole clip: a windowed-sinc low-pass
 * evaluated at the rational output positions.
 * Thread: any; not for media threads (allocates).
 */
#ifndef OFFHOOK_MEDIA_AUDIO_RESAMPLE_H
#define OFFHOOK_MEDIA_AUDIO_RESAMPLE_H

#include <stddef.h>
#include <stdint.h>

#define RESAMPLE_RATE_MIN_HZ 4000
#define RESAMPLE_RATE_MAX_HZ 192000

struct resampler;

/**
 * Resample a clip that is played in a loop. The filter reads across the seam,
 * so that end and start join without a click.
 * @param src      count samples; borrowed until resampler_free()
 * @param rate_hz  of src, RESAMPLE_RATE_MIN_HZ..RESAMPLE_RATE_MAX_HZ
 * @param dst_hz   of the result, in the same range
 * @return 0; -EINVAL no sample, rate out of range; -ENOMEM
 */
int resampler_new(struct resampler **ret, const int16_t *src, size_t count,
		  unsigned rate_hz, unsigned dst_hz);
/** @param r  may be NULL
 * @return NULL */
struct resampler *resampler_free(struct resampler *r);

/** @return number of samples of the result, >= 1 */
size_t resampler_count(const struct resampler *r);

/** Write samples [from, from + count) of the result. Several threads may call
 * it at a time. */
void resampler_read(const struct resampler *r, int16_t *dst, size_t from,
		    size_t count);

/** Resample everything at once.
 * @param ret_dst  new array, free()
 * @return as resampler_new() */
int resample_loop(int16_t **ret_dst, size_t *ret_count, const int16_t *src,
		  size_t count, unsigned rate_hz, unsigned dst_hz);

#endif
