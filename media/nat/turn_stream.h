/**
 * TURN over TCP and TLS (RFC 8656 section 2.1): one thread an engine keeps the
 * connections. What the media threads and the loop send to a server by a
 * datagram of a socket pair it puts into the stream, what comes it cuts into
 * datagrams (media/nat/turn_frame.h): for them a connection looks like a socket to
 * the server. Docs: docs/internals/nat.md
 */
#ifndef OFFHOOK_MEDIA_NAT_TURN_STREAM_H
#define OFFHOOK_MEDIA_NAT_TURN_STREAM_H

#include "media/params.h"

#include <stdbool.h>

/* What may wait for a connection that does not take it; more is dropped, as a
 * full socket would. */
#define RELAY_STREAM_OUT_BYTES (128 * 1024)
#define RELAY_STREAM_IN_BYTES  (128 * 1024)
/* Connections of an engine */
#define RELAY_STREAMS_MAX 4096

struct turn_streams; /* the thread */
struct turn_stream;  /* a connection */

struct turn_stream_params {
	struct media_addr server;
	struct media_addr local; /* address to come from; port ignored */
	bool tls;
	bool verify;      /* TLS: the certificate, by the system's CAs */
	const char *name; /* TLS: the server's; SNI and certificate. Copied */
};

/** @return 0; -ENOMEM; -errno */
int turn_streams_new(struct turn_streams **ret);
/** All connections are closed. Thread: loop. */
struct turn_streams *turn_streams_free(struct turn_streams *all);

/** Begin to connect. Thread: loop. @return 0; -ENOSPC; -ENOMEM; -errno */
int turn_stream_open(struct turn_stream **ret, struct turn_streams *all,
		     const struct turn_stream_params *params);
/** What was sent before is sent, then it is closed. Thread: loop. */
struct turn_stream *turn_stream_close(struct turn_stream *s);

/** Datagrams to and from the server. Thread: any. */
int turn_stream_fd(const struct turn_stream *s);
/** Why the connection is of no use; static text; NULL: it is, or may become
 * so. Thread: any. */
const char *turn_stream_reason(const struct turn_stream *s);

#endif
