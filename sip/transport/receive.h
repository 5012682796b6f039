/**
 * Handles a received message, of any transport.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSPORT_RECEIVE_H
#define OFFHOOK_SIP_TRANSPORT_RECEIVE_H

struct arrival;
struct transport;

/** Handle a complete message: trace it, decode it, call message_h, and run deferred
 * handlers. A message that cannot be decoded is only traced. */
void receive_message(struct transport *t, const struct arrival *arrival);

#endif
