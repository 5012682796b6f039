#include "tests/fuzz/sip/world.h"

#include <dlfcn.h>
#include <limits.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>

#include <re.h>

#include "base/clock.h"
#include "base/random.h"

/*
 * Replaces libc's function and those of libre, which ask OpenSSL. Here every
 * input gets the same numbers, so that its behaviour can be reproduced, at no
 * cost.
 */
static uint64_t chance;

uint64_t rand_u64(void)
{
	chance = chance * 6364136223846793005u + 1442695040888963407u;
	return chance ^ chance >> 29;
}

uint32_t rand_u32(void)
{
	return (uint32_t)(rand_u64() >> 32);
}

uint16_t rand_u16(void)
{
	return (uint16_t)(rand_u64() >> 48);
}

ssize_t getrandom(void *dst, size_t bytes, unsigned int flags)
{
	uint8_t *at = dst;

	(void)flags;
	for (size_t i = 0; i < bytes; i++)
		at[i] = (uint8_t)rand_u64();
	return (ssize_t)bytes;
}

/*
 * Replaces libc's: nobody listens at the destinations, and the kernel's error
 * for it would cost a fifth of an input.
 */
ssize_t sendto(int fd, const void *data, size_t len, int flags,
	       const struct sockaddr *dst, socklen_t dst_len)
{
	(void)fd;
	(void)data;
	(void)flags;
	(void)dst;
	(void)dst_len;
	return (ssize_t)len;
}

/* Replaces libc's: time that has been let pass comes on top. */
static int64_t passed_ns;

int clock_gettime(clockid_t id, struct timespec *ret)
{
	static int (*libc)(clockid_t id, struct timespec * ret);

	if (!libc)
		libc = (int (*)(clockid_t, struct timespec *))dlsym(
			RTLD_NEXT, "clock_gettime");
	if (libc(id, ret) < 0)
		return -1;
	if (id == CLOCK_MONOTONIC) {
		ret->tv_sec += passed_ns / NS_PER_S;
		ret->tv_nsec += passed_ns % NS_PER_S;
		ret->tv_sec += ret->tv_nsec / NS_PER_S;
		ret->tv_nsec %= NS_PER_S;
	}
	return 0;
}

/*
 * These replace libc's: the kernel's timers know nothing of that time. The descriptor
 * is always readable, so that timers are looked at in each turn of the loop.
 */
int timerfd_create(int clock, int flags)
{
	(void)clock;
	(void)flags;
	return eventfd(INT_MAX, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC);
}

int timerfd_settime(int fd, int flags, const struct itimerspec *at,
		    struct itimerspec *old)
{
	(void)fd;
	(void)flags;
	(void)at;
	(void)old;
	return 0;
}

void world_begin(void)
{
	uint8_t rest[512];

	random_fill(rest, sizeof(rest)); /* what the last input left */
	chance = 1;
	passed_ns = 0;
}

void world_pass(int64_t ns)
{
	passed_ns += ns;
}
