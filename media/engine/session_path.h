/**
 * A media path: the way of a session's packets to and from the network, by a socket
 * of its own or by one that calls share. Each thread has a part of it: RX reads, and
 * finds the session of a datagram; TX sends; the loop opens and releases the sockets. Docs: docs/internals/media.md "Media paths"
 * Thread: loop, all functions.
 */
#ifndef OFFHOOK_MEDIA_ENGINE_SESSION_PATH_H
#define OFFHOOK_MEDIA_ENGINE_SESSION_PATH_H

#include "media/params.h"
#include "media/rx/rx_path.h"
#include "media/tx/tx_path.h"

struct command;
struct media_session;

struct session_path {
	const struct rx_path *rx;
	const struct tx_path *tx;
	/**
	 * Give a session its sockets and local addresses.
	 * @param bind  local address; port 0: any of the range
	 * @return 0; -EADDRINUSE no port left; -ENOMEM; -errno
	 */
	int (*open)(struct media_session *s, const struct media_addr *bind);
	/**
	 * Offer and answer have been negotiated, for the first time or by a
	 * re-INVITE: put into the command what the RX and TX parts of the path
	 * need of the result. Nothing may fail afterwards but for want of memory.
	 * @return 0; -EADDRINUSE, -EEXIST as of media_session_apply()
	 */
	int (*settle)(struct media_session *s, struct command *c,
		      const struct media_negotiated *n);
	/** The session ends. Called before the RX and TX threads are told. */
	void (*stop)(struct media_session *s);
	/** The session is released; the threads do not use it any more. Also
	 * called if open() was not, or has failed. */
	void (*release)(struct media_session *s);
};

extern const struct session_path session_path_call; /* a socket a call */
extern const struct session_path
	session_path_shared; /* sockets of many calls */

#endif
