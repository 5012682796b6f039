/**
 * What the engine gives the TX thread, and the counters that it reads.
 */
#ifndef OFFHOOK_MEDIA_TX_TX_PARAMS_H
#define OFFHOOK_MEDIA_TX_TX_PARAMS_H

#include "media/lateness.h"
#include "media/media_thread.h"

#include <stdatomic.h>
#include <stdint.h>

/** Pointers are borrowed and outlive the thread. */
struct tx_params {
	uint32_t slots;              /* maximum number of sessions */
	unsigned rtcp_interval_ms;   /* 0: computed (RFC 3550 section 6.2) */
	int64_t ntp_offset_ns;       /* wall clock minus monotonic, for the NTP
				      * time of SRs */
	struct media_thread *thread; /* commands: struct tx_command * */
	struct ring *sent;           /* packet_record, TX -> analysis */
	struct ring *answers;        /* report_answer, analysis -> TX */
};

/** Counters of the TX thread. */
struct tx_counters {
	_Atomic uint64_t packets;
	_Atomic uint64_t errors;
	_Atomic uint64_t unsent; /* packets not encoded in time */
	/* RTP, RTCP: refused by the kernel, to an address that has not accepted
	 * a packet yet */
	_Atomic uint64_t refused[2];
	struct lateness lateness;
};

#endif
