/**
 * Ceilings, in bytes, of the memory that all peers together can occupy.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSPORT_CEILING_H
#define OFFHOOK_SIP_TRANSPORT_CEILING_H

#include <stdbool.h>
#include <stddef.h>

enum ceiling_of {
	CEILING_SERVERS,    /* server transactions */
	CEILING_STREAM_IN,  /* received parts of messages on connections */
	CEILING_STREAM_OUT, /* messages that wait for their connection */
	CEILINGS,
};

#define CEILING_BYTES_MAX ((size_t)256 * 1024 * 1024) /* each */

struct ceiling {
	size_t bytes;
	size_t bytes_max;
	bool told; /* full_h was called */
};

struct ceilings {
	struct ceiling of[CEILINGS];
	void (*full_h)(const char *reason, void *arg); /* may be NULL */
	void *arg;
};

/** Set all counts to 0. @param full_h  as in sip_ua_params, or NULL */
void ceilings_init(struct ceilings *c,
		   void (*full_h)(const char *reason, void *arg), void *arg);

/**
 * Count bytes before they are kept.
 * @return false: they exceed the ceiling; nothing is counted. The first time
 *         full_h is called
 */
bool ceiling_take(struct ceilings *c, enum ceiling_of of, size_t bytes);
/** Bytes that ceiling_take() counted were released. */
void ceiling_give(struct ceilings *c, enum ceiling_of of, size_t bytes);

#endif
