/**
 * The discrete Fourier transform of a power of two. Pure.
 * Source: Cooley and Tukey, 1965; radix 2, in place
 * Thread: any.
 */
#ifndef OFFHOOK_MEDIA_FFT_H
#define OFFHOOK_MEDIA_FFT_H

#include <complex.h>
#include <stdbool.h>
#include <stddef.h>

/** Transform in place, without a factor either way: forth and back again is
 * count times as much.
 * @param count  a power of two, >= 1 */
void fft(double complex *x, size_t count, bool inverse);

#endif
