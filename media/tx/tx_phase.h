/**
 * Inside of the media engine: places in the packet time. Calls that begin in step
 * (50 a second begin all 20 ms apart) would all send at once, and the last one
 * late: sessions are spread over places, each of which is one waking of the TX thread.
 * Thread: loop.
 */
#ifndef OFFHOOK_MEDIA_TX_TX_PHASE_H
#define OFFHOOK_MEDIA_TX_TX_PHASE_H

#include <stdbool.h>
#include <stdint.h>

/* Of 20 ms, the usual packet time. A waking costs as much as several packets,
 * and what is sent in a row costs less: 500 calls in places of 250 us took 1.4
 * times the processor time. What shares a place with others is late by their
 * packets, always the same: by less than a place, or there is no time for
 * all. */
#define TX_PHASES    20
#define TX_PHASE_NS  INT64_C(1000000)
#define TX_PERIOD_NS (TX_PHASES * TX_PHASE_NS)

/** All zero: nobody sends. */
struct tx_phases {
	uint32_t total;
	uint32_t packets[TX_PHASES]; /* of sessions, by place */
};

/** Of a session. All zero: none. */
struct tx_phase {
	bool taken;
	bool twice; /* 10 ms after it, too */
	uint8_t at;
};

/**
 * Take the next place that is not fuller than places are on average.
 * @param phase     not taken
 * @param ptime_ms  the session's packet time; multiples of 10 keep to their
 *                  places, others are counted as if they did
 * @return the time of the place: from start_ns on, less than TX_PERIOD_NS after
 */
int64_t tx_phase_take(struct tx_phases *p, struct tx_phase *phase,
		      int64_t start_ns, uint16_t ptime_ms);

/** Give it back; it may be none. */
void tx_phase_leave(struct tx_phases *p, struct tx_phase *phase);

#endif
