/**
 * What is done with a message that came, over any transport.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSPORT_RECEIVE_H
#define OFFHOOK_SIP_TRANSPORT_RECEIVE_H

struct arrival;
struct transport;

/** A whole message came: trace it, decode it, give it to message_h and run
 * what was deferred. One that cannot be decoded is only traced. */
void receive_message(struct transport *t, const struct arrival *arrival);

#endif
