/**
 * Sample rate conversion of a whole clip: a windowed-sinc low-pass
 * evaluated at the rational output positions.
 * Thread: any; not for media threads (allocates).
 */
#ifndef OFFHOOK_MEDIA_RESAMPLE_H
#define OFFHOOK_MEDIA_RESAMPLE_H

#include <stddef.h>
#include <stdint.h>

#define RESAMPLE_RATE_MIN_HZ 4000
#define RESAMPLE_RATE_MAX_HZ 192000

/**
 * Convert a clip that is played in a loop: the filter reads across the seam,
 * so that end and start join without a click.
 * @param ret_dst    new array, freed by the caller
 * @param ret_count  its samples, >= 1
 * @param src        count samples
 * @param rate_hz    of src, RESAMPLE_RATE_MIN_HZ..RESAMPLE_RATE_MAX_HZ
 * @param dst_hz     of the result, in the same range
 * @param max        samples wanted at most; the first ones of the same result
 * @return 0; -EINVAL no sample, rate out of range; -ENOMEM
 */
int resample_loop(int16_t **ret_dst, size_t *ret_count, const int16_t *src,
		  size_t count, unsigned rate_hz, unsigned dst_hz, size_t max);

#endif
