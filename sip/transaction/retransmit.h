/**
 * The intervals of retransmission over UDP.
 * Source: RFC 3261 17.1.1.2 (timer A), 17.1.2.2 (E), 17.2.1 (G), 13.3.1.4
 * (2xx to INVITE); RFC 3262 section 3 (reliable provisional responses)
 */
#ifndef OFFHOOK_SIP_TRANSACTION_RETRANSMIT_H
#define OFFHOOK_SIP_TRANSACTION_RETRANSMIT_H

#include <stdint.h>

/* cap_ms of a timer that doubles until its transaction ends (64*T1) */
#define RETRANSMIT_NO_CAP UINT32_MAX

/**
 * The interval from one transmission to the next: T1 after the first, then twice as
 * long each time.
 * @param count   transmissions so far, >= 1
 * @param cap_ms  longest interval: T2, or RETRANSMIT_NO_CAP
 * @return ms
 */
uint32_t retransmit_interval_ms(unsigned count, uint32_t cap_ms);

#endif
