/**
 * A relay that impairs the packets of two-way calls and logs exactly how: each stream has a
 * delay, a jitter and a loss of its own, drawn from a seed. What it added to a packet is the
 * time from the kernel's stamp at its arrival to its sendto(), which is measured, not
 * intended: a relay that is late itself is no error.
 * Thread: the relay's own between impairment_start() and impairment_end(); else one.
 */
#ifndef OFFHOOK_TESTS_BENCH_IMPAIRMENT_H
#define OFFHOOK_TESTS_BENCH_IMPAIRMENT_H

#include "base/sockaddr.h"

#include <stdbool.h>
#include <stdint.h>

struct impairment;

/* What the relay did to one stream. */
struct impaired {
	uint64_t forwarded;
	uint64_t
		lost; /* of the numbers between the first and the last forwarded */
	double jitter_ms; /* mean of J (RFC 3550 section 6.4.1) of what it added */
	uint64_t rtts;    /* reports that the stream's sender got about it */
	double rtt_ms;    /* mean of what was added to their way and back */
	double doubt_ms; /* longest time that a sendto() took: how exact this is */
};

int impairment_new(struct impairment **ret, uint32_t pairs, uint64_t seed);
/** @return the relay's port that side 0 or 1 of a pair sends to. @param rtcp  its RTCP */
uint16_t impairment_port(const struct impairment *m, uint32_t pair, int side,
			 bool rtcp);
/** Where a side of a pair receives; before impairment_start(). */
void impairment_peer(struct impairment *m, uint32_t pair, int side, bool rtcp,
		     const struct sockaddr_in *at);
int impairment_start(struct impairment *m);
void impairment_end(struct impairment *m);
/** The stream that a side sends; after impairment_end(). */
void impairment_read(const struct impairment *m, uint32_t pair, int side,
		     struct impaired *ret);
struct impairment *impairment_free(struct impairment *m);

#endif
