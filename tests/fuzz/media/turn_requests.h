/*
 * The requests of a TURN client for fuzz-turn.c: each one has what its method needs, and
 * is repeated when that is due, and at no other time.
 * Source: RFC 8489 6.2.1, RFC 8656 7, 9, 12
 */
#ifndef TESTS_FUZZ_MEDIA_TURN_REQUESTS_H
#define TESTS_FUZZ_MEDIA_TURN_REQUESTS_H

#include "media/nat/stun_message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REQUESTS_MAX 128 /* that are remembered */

/* A request of the client. */
struct request {
	uint8_t id[STUN_TRANSACTION_BYTES];
	uint16_t method;
	struct media_addr peer; /* len 0: none */
	bool over;           /* it was answered, given up, or is not repeated */
	bool refused;        /* a permission: it is not asked for again */
	unsigned times;      /* that it was sent */
	unsigned challenges; /* that have led to it */
	/* RFC 8489 6.2.1: how often it was due, and when it is the next time */
	unsigned due;
	int64_t due_ns;
};

struct requests {
	bool reliable; /* the client has a connection to the server */
	bool ipv6;     /* it wants an IPv6 address */
	bool ends;     /* it is told to end: lifetime 0, once */
	size_t count;
	struct request at[REQUESTS_MAX]; /* the newest one last */
};

/** @return NULL: there is none with this transaction ID */
struct request *requests_find(struct requests *all, const uint8_t *id);
/** The client has sent a request, perhaps not for the first time. */
void requests_note(struct requests *all, const struct stun_message *m,
		   const uint8_t *data, size_t bytes, int64_t now_ns);
/** The client has done what was due. */
void requests_check_repeated(struct requests *all, int64_t now_ns);

#endif
