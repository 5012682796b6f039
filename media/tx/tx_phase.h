/**
 * Inside of the media engine: spreads sessions over phases of the packet time.
 * Calls are often started in step (50 a second begin 20 ms apart), and would
 * all send at once, the last one late. All sessions of a phase are served by
 * one wake-up of the TX thread.
 * Thread: loop.
 */
#ifndef OFFHOOK_MEDIA_TX_TX_PHASE_H
#define OFFHOOK_MEDIA_TX_TX_PHASE_H

#include <stdbool.h>
#include <stdint.h>

/* Phases of 20 ms, the usual packet time. A wake-up costs as much as several
 * packets, and packets sent in a row cost less: 500 calls in phases of 250 us
 * took 1.4 times the processor time. Sessions of the same phase delay each
 * other by a constant time. It is less than a phase, unless the thread is
 * overloaded. */
#define TX_PHASES    20
#define TX_PHASE_NS  INT64_C(1000000)
#define TX_PERIOD_NS (TX_PHASES * TX_PHASE_NS)

/** Number of sessions per phase. All zero: none sends. */
struct tx_phases {
	uint32_t total;
	uint32_t packets[TX_PHASES]; /* number of sessions, by phase */
};

/** Phase of a session. All zero: none. */
struct tx_phase {
	bool taken;
	bool twice; /* also uses the phase 10 ms later */
	uint8_t at;
};

/**
 * Take the next phase that is no fuller than the average.
 * @param phase     all zero; written
 * @param start_ns  monotonic
 * @param ptime_ms  the session's packet time. Multiples of 10 ms stay in their
 *                  phase; others are counted as if they did
 * @return the time of the first packet, in [start_ns, start_ns + TX_PERIOD_NS)
 */
int64_t tx_phase_take(struct tx_phases *p, struct tx_phase *phase,
		      int64_t start_ns, uint16_t ptime_ms);

/** Leave the phase; there may be none. */
void tx_phase_leave(struct tx_phases *p, struct tx_phase *phase);

#endif
