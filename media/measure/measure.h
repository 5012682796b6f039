/**
 * The analysis thread: processes what RX and TX recorded in order of time, and
 * publishes seconds and totals. Docs: docs/internals/media.md
 */
#ifndef OFFHOOK_MEDIA_MEASURE_MEASURE_H
#define OFFHOOK_MEDIA_MEASURE_MEASURE_H

#include "base/clock.h"
#include "media/media_thread.h"
#include "media/record_ring.h"

#include <stdatomic.h>
#include <stdint.h>

/* Delay of the analysis after an event: long enough for RX and TX to have
 * pushed all records of that time, so that these can be processed in order. */
#define ANALYSIS_DELAY_NS (50 * NS_PER_MS)
#define ANALYSIS_TICK_MS  20
#define ANALYSIS_TICK_NS  (ANALYSIS_TICK_MS * NS_PER_MS)

struct measure_thread;

/** Pointers are borrowed and outlive the thread. */
struct measure_params {
	uint32_t slots;        /* maximum number of sessions */
	int64_t ntp_offset_ns; /* wall clock minus monotonic, for the NTP time
				* of SRs */
	struct media_thread *thread; /* commands: struct measure_command * */
	struct ring *received;       /* packet_record, RX -> analysis */
	struct ring *rtcp;           /* rtcp_event, RX -> analysis */
	struct ring *sent;           /* packet_record, TX -> analysis */
	struct ring *answers;        /* report_answer, analysis -> TX */
	struct wake *tx_wake;        /* signalled when an answer was written */
	struct record_ring *records; /* analysis -> loop */
	int loop_fd;                 /* eventfd that wakes the loop */
	/* not 0: wake the loop at each tick, for its DTLS and ICE timers */
	const _Atomic unsigned *ticking;
};

/** Create the thread's state. Thread: loop, before the thread starts.
 * @param params  copied
 * @return 0; -ENOMEM */
int measure_thread_new(struct measure_thread **ret,
		       const struct measure_params *params);
/** Thread: loop, after the thread has ended.
 * @param an  may be NULL
 * @return NULL */
struct measure_thread *measure_thread_free(struct measure_thread *an);

/** The thread's function.
 * @param an  from measure_thread_new()
 * @return NULL */
void *measure_thread(void *an);

#endif
