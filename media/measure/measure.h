/**
 * The analysis thread: takes what RX and TX recorded in the order in which it
 * happened, and publishes seconds and totals. Docs: docs/internals/media.md
 */
#ifndef OFFHOOK_MEDIA_MEASURE_MEASURE_H
#define OFFHOOK_MEDIA_MEASURE_MEASURE_H

#include "base/clock.h"
#include "media/media_thread.h"
#include "media/record_ring.h"

#include <stdatomic.h>
#include <stdint.h>

/* The analysis takes records this long after they happened: late enough that
 * what the RX and TX threads still hold is in order with the rest. */
#define ANALYSIS_DELAY_NS (50 * NS_PER_MS)
#define ANALYSIS_TICK_MS  20
#define ANALYSIS_TICK_NS  (ANALYSIS_TICK_MS * NS_PER_MS)

struct measure_thread;

/** All of it is the caller's, and outlives the thread. */
struct measure_params {
	uint32_t slots;        /* sessions that may exist */
	int64_t ntp_offset_ns; /* wall clock minus monotonic, of our SRs */
	struct media_thread *thread; /* commands: struct measure_command * */
	struct ring *received;       /* packet_record, of RX */
	struct ring *rtcp;           /* rtcp_event, of RX */
	struct ring *sent;           /* packet_record, of TX */
	struct ring *answers;        /* report_answer, to TX */
	struct wake *tx_wake;        /* signalled for an answer */
	struct record_ring *records; /* to the loop */
	int loop_fd;                 /* eventfd that wakes the loop */
	/* not 0: the loop is woken each tick, for its timers of DTLS and ICE */
	const _Atomic unsigned *ticking;
};

/** The thread's state. Thread: loop, before it starts. @return 0; -ENOMEM */
int measure_thread_new(struct measure_thread **ret,
		       const struct measure_params *params);
/** Thread: loop, after it has ended. @param an  may be NULL @return NULL */
struct measure_thread *measure_thread_free(struct measure_thread *an);

/** The thread's function. @param an  of measure_thread_new() */
void *measure_thread(void *an);

#endif
