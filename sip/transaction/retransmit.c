#include "sip/transaction/retransmit.h"

#include <re.h>

/* 2^6 * T1 is past 64*T1, where every one of these timers has ended. */
#define DOUBLINGS_MAX 6

uint32_t retransmit_interval_ms(unsigned count, uint32_t cap_ms)
{
	unsigned doublings =
		count - 1 < DOUBLINGS_MAX ? count - 1 : DOUBLINGS_MAX;
	uint32_t ms = (uint32_t)SIP_T1 << doublings;

	return ms < cap_ms ? ms : cap_ms;
}
