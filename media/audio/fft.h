/**
 * The discrete Fourier transform of a power of two. Pure.
 * Source: Cooley and Tukey, 1965; radix 2, in place
 * Thread: any.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_FFT_H
#define OFFHOOK_MEDIA_AUDIO_FFT_H

#include <complex.h>
#include <stdbool.h>
#include <stddef.h>

struct fft; /* the factors for a size; constant once created */

/** @param count  a power of two, >= 1 @return 0; -EINVAL; -ENOMEM */
int fft_new(struct fft **ret, size_t count);
/** @param f  may be NULL
 * @return NULL */
struct fft *fft_free(struct fft *f);

/** Transform in place, without scaling: a transform and its inverse multiply by
 * count. */
void fft_run(const struct fft *f, double complex *x, bool inverse);

#endif
