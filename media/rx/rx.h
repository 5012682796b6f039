/**
 * The RX thread: reads the sockets of all sessions, and tells the analysis,
 * the audio thread and the loop what came. Docs: docs/internals/media.md
 */
#ifndef OFFHOOK_MEDIA_RX_RX_H
#define OFFHOOK_MEDIA_RX_RX_H

#include "media/media_thread.h"

#include <stdatomic.h>
#include <stdint.h>

struct rx;
struct tap_sessions;

/** All of it is the caller's, and outlives the thread. */
struct rx_params {
	uint32_t slots;              /* sessions that may exist */
	struct media_thread *thread; /* commands: struct rx_command * */
	int epoll_fd;                /* data.ptr: struct rx_source *; NULL: the
				      * thread's wake */
	struct ring *received;       /* packet_record, to the analysis */
	struct ring *rtcp;           /* rtcp_event, to the analysis */
	struct ring *datagrams;      /* handover, to the loop */
	int loop_fd;                 /* eventfd that wakes the loop */
	struct tap_sessions *tap;    /* NULL: nothing is tapped; in the epoll
				      * set with itself as data.ptr */
};

/** Counters of the RX thread. */
struct rx_counters {
	_Atomic uint64_t packets;
	_Atomic uint64_t invalid;
	_Atomic uint64_t rtcp_invalid; /* of these: RTCP */
	_Atomic uint64_t foreign;
	_Atomic uint64_t collisions;
	_Atomic uint64_t queue_drops;
	_Atomic uint64_t unassigned; /* of shared sockets: of no session */
	_Atomic uint64_t srtp_refused;
	_Atomic uint64_t srtp_replayed;
	_Atomic uint64_t srtp_unkeyed;
	_Atomic uint64_t dtls_dropped;
	_Atomic uint64_t stun_dropped;
};

/** The thread's state. Thread: loop, before it starts. @return 0; -ENOMEM */
int rx_new(struct rx **ret, const struct rx_params *params);
/** Thread: loop, after it has ended. @param rx  may be NULL @return NULL */
struct rx *rx_free(struct rx *rx);

/** The thread's function. @param rx  of rx_new() */
void *rx_thread(void *rx);

/** Thread: any, with COUNTER_READ(). */
const struct rx_counters *rx_counters(const struct rx *rx);

#endif
