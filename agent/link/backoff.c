#include "agent/link/backoff.h"

int64_t backoff_next_ms(struct backoff *b, uint32_t random)
{
	int64_t window = BACKOFF_MAX_MS;

	if (b->failures < 5) /* 2, 4, 8, 16, 32 s, then 60 s */
		window = (int64_t)2000 << b->failures;
	if (b->failures < UINT32_MAX)
		b->failures++;
	return BACKOFF_MIN_MS +
	       (int64_t)random * (window - BACKOFF_MIN_MS) / UINT32_MAX;
}
