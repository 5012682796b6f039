/** An input that is read octet by octet: each says what to do next, or how. */
#ifndef OFFHOOK_FUZZ_MEDIA_INPUT_H
#define OFFHOOK_FUZZ_MEDIA_INPUT_H

#include <stddef.h>
#include <stdint.h>

struct input {
	const uint8_t *data;
	size_t left;
};

/** @return the next octet; 0 behind the last one */
static inline uint8_t take(struct input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->data++;
}

#endif
