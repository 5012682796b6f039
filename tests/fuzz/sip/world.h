/**
 * What surrounds a program: random numbers, time and network. Here each input finds them
 * the same, so that what it does can be repeated, and at no cost.
 * Thread: one.
 */
#ifndef OFFHOOK_FUZZ_SIP_WORLD_H
#define OFFHOOK_FUZZ_SIP_WORLD_H

#include <stdint.h>

/** Before an input: the numbers and the time begin again. */
void world_begin(void);

/** Let time pass: the monotonic clock goes on by so much. */
void world_pass(int64_t ns);

#endif
