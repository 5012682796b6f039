/**
 * Receiving by sockets that sessions share: a table says whose a datagram is
 * (media/peer_table.h). One that belongs to no session yet is kept for a while, as
 * the peer may send before its answer is here. Docs: docs/internals/media.md
 * "Media paths"
 */
#ifndef OFFHOOK_MEDIA_RX_RX_PATH_SHARED_H
#define OFFHOOK_MEDIA_RX_RX_PATH_SHARED_H

#include "media/peer_table.h"
#include "media/rx/rx_path.h"
#include "media/rx/rx_session.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Datagrams of no session that are kept, and for how long: as long as those of a
 * session before its start are measured. */
#define RX_EARLY_MAX   1024
#define RX_EARLY_BYTES 2048 /* of each; longer ones are not kept */
#define RX_EARLY_NS    INT64_C(900000000)

struct rx_shared; /* table, buffers, what is kept */

/** A shared socket. */
struct rx_shared_socket {
	struct rx_source source;  /* first */
	struct rx_shared *shared; /* constant */
	int fd;                   /* constant */
	bool rtcp;                /* constant */
	bool joined;              /* constant: UDP_GRO is on */
	/* RX thread */
	bool watched;   /* it is in the epoll set */
	uint32_t drops; /* SO_RXQ_OVFL last seen */
	uint32_t turn;  /* of the thread, when it was read to its end */
};

/** Thread: loop, while no session uses it.
 * @param slots  sessions have numbers below it
 * @return 0; -ENOMEM */
int rx_shared_new(struct rx_shared **ret, uint32_t slots);
/** Thread: loop, after the thread has ended. @param shared  may be NULL
 * @return NULL */
struct rx_shared *rx_shared_free(struct rx_shared *shared);

/** What COMMAND_APPLY tells of the peer. Thread: any. */
static inline void rx_command_peer(struct peer_told *ret,
				   const struct rx_command *c)
{
	ret->rtp = c->rtp;
	ret->rtcp = c->rtcp;
	ret->ssrc_count = c->ssrc_count;
	memcpy(ret->ssrcs, c->ssrcs, sizeof(ret->ssrcs));
}

extern const struct rx_path rx_path_shared;

#endif
