/**
 * The RX thread's part of a media path: which sockets it reads for a session, and
 * whose a datagram is. The loop's part is in media/engine/session_path.h, the TX
 * thread's in media/tx/tx_path.h. Docs: docs/internals/media.md "Media paths"
 * Thread: RX, all functions; none blocks or allocates.
 */
#ifndef OFFHOOK_MEDIA_RX_RX_PATH_H
#define OFFHOOK_MEDIA_RX_RX_PATH_H

#include <stdbool.h>

struct rx;
struct rx_command;
struct rx_path;
struct rx_session;

/** What is in the epoll set as data.ptr, the first member of what the path reads. */
struct rx_source {
	const struct rx_path *path; /* constant */
};

struct rx_path {
	/** The session exists. */
	void (*add)(struct rx *rx, struct rx_session *s);
	/** Offer and answer have been negotiated, for the first time or by a
	 * re-INVITE.
	 * @param c  COMMAND_APPLY */
	void (*settle)(struct rx *rx, struct rx_session *s,
		       const struct rx_command *c);
	/** The session has ended, and receives what is on its way. */
	void (*linger)(struct rx *rx, struct rx_session *s);
	/** Read what has arrived for the session; it gets nothing more. */
	void (*stop)(struct rx *rx, struct rx_session *s);
	/** The source is readable: read some of it.
	 * @return more may wait */
	bool (*read)(struct rx *rx, struct rx_source *source);
};

extern const struct rx_path rx_path_call; /* a socket a call */

#endif
