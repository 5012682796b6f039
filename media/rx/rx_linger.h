/**
 * Stopped sessions that still receive: what the peer sent before it learned of
 * the end is on its way. How long depends on what the peer tells.
 *
 * | the peer | time |
 * |---|---|
 * | has sent an RTCP BYE (RFC 3550 section 6.3.7) | 20 ms: packets that the BYE overtook |
 * | has sent RTCP, its BYE may come | 200 ms |
 * | has never sent RTCP | 120 ms |
 *
 * Thread: RX, all functions.
 */
#ifndef OFFHOOK_MEDIA_RX_RX_LINGER_H
#define OFFHOOK_MEDIA_RX_RX_LINGER_H

#include <stdbool.h>
#include <stdint.h>

struct rx_session;

enum rx_linger_kind {
	RX_LINGER_LEFT,   /* the peer's BYE is here */
	RX_LINGER_RTCP,   /* it may come */
	RX_LINGER_SILENT, /* the peer sends no RTCP */
	RX_LINGER_KINDS,
};

/** Sessions of one kind, the first to end first; zeroed: none. */
struct rx_linger_queue {
	struct rx_session *first;
	struct rx_session *last;
};

/** All that linger; zeroed: none. */
struct rx_linger {
	struct rx_linger_queue queues[RX_LINGER_KINDS];
};

/** What a session keeps of it; zeroed at first. */
struct rx_lingering {
	bool on; /* it is in a queue */
	enum rx_linger_kind kind;
	struct rx_session *before;
	struct rx_session *behind;
	int64_t until_ns;
	bool rtcp_seen;      /* the peer has sent some */
	int64_t peer_bye_ns; /* its last BYE came then; 0: none */
};

/** The session is stopped now. */
void rx_linger_start(struct rx_linger *l, struct rx_session *s, int64_t now_ns);

/** RTCP of the peer came. @param bye  with a BYE in it */
void rx_linger_rtcp(struct rx_linger *l, struct rx_session *s, bool bye,
		    int64_t now_ns);

/**
 * The next session whose time is over; it is in no queue any more.
 * @return NULL: none yet
 */
struct rx_session *rx_linger_over(struct rx_linger *l, int64_t now_ns);

/** When the next one will be over. @return false: none lingers */
bool rx_linger_next(const struct rx_linger *l, int64_t *ret_ns);

#endif
