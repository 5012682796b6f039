/** What a request without an answer waits for. Each kind is woken by itself, as
 * there are as many polls as agents, but few barriers. */
#ifndef OFFHOOK_CONTROL_SERVER_REQUEST_PARKED_H
#define OFFHOOK_CONTROL_SERVER_REQUEST_PARKED_H

enum parked {
	PARKED_FOR_JOB,  /* polls of agents */
	PARKED_FOR_STEP, /* roles at a barrier */
	PARKED_KINDS
};

/* Several kinds: a sum of bits. */
#define PARKED_BIT(kind) (1u << (kind))
#define PARKED_ALL       (PARKED_BIT(PARKED_KINDS) - 1)

#endif
