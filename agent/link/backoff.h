/**
 * Waiting times between tries: exponential windows of 2 to 60 s, a random
 * time from 1 s to the window ("full jitter"), so that agents that lost the
 * controller at the same time do not all return at the same time.
 * Source: docs/internals/agent.md
 * Thread: any; one owner.
 */
#ifndef OFFHOOK_AGENT_LINK_BACKOFF_H
#define OFFHOOK_AGENT_LINK_BACKOFF_H

#include <stdint.h>

#define BACKOFF_MIN_MS 1000
#define BACKOFF_MAX_MS 60000

/* Zeroed: no try has failed yet. */
struct backoff {
	unsigned failures;
};

/**
 * Count a failed try.
 * @param random  uniform over 32 bits
 * @return ms to wait before the next try, BACKOFF_MIN_MS..BACKOFF_MAX_MS
 */
int64_t backoff_next_ms(struct backoff *b, uint32_t random);

#endif
