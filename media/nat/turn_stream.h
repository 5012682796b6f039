/**
 * TURN over TCP and TLS (RFC 8656 section 2.1). One thread of each engine owns all
 * connections. The media threads and the loop use one end of a socket pair as if it were
 * a UDP socket to the server; the thread copies their datagrams into the stream, and cuts
 * the stream into datagrams for them (media/nat/turn_frame.h).
 * Docs: docs/internals/nat.md
 */
#ifndef OFFHOOK_MEDIA_NAT_TURN_STREAM_H
#define OFFHOOK_MEDIA_NAT_TURN_STREAM_H

#include "media/params.h"

#include <stdbool.h>

/* Bytes that may wait in each direction; more are dropped, as by a full UDP socket */
#define RELAY_STREAM_OUT_BYTES (128 * 1024)
#define RELAY_STREAM_IN_BYTES  (128 * 1024)
/* Most connections of an engine */
#define RELAY_STREAMS_MAX 4096

struct turn_streams; /* the thread */
struct turn_stream;  /* a connection */

struct turn_stream_params {
	struct media_addr server;
	struct media_addr local; /* our address; its port is ignored */
	bool tls;
	bool verify; /* check the certificate against the system's CAs */
	const char
		*name; /* of the server, for SNI and its certificate; copied */
};

/** Start the thread. Thread: loop. @return 0; -ENOMEM; -errno */
int turn_streams_new(struct turn_streams **ret);
/** Close all connections and end the thread. Thread: loop. @return NULL */
struct turn_streams *turn_streams_free(struct turn_streams *all);

/** Begin to connect; turn_stream_reason() says if that fails. Thread: loop.
 * @return 0; -EUSERS RELAY_STREAMS_MAX are open; -ENOMEM; -errno */
int turn_stream_open(struct turn_stream **ret, struct turn_streams *all,
		     const struct turn_stream_params *params);
/** Close it after the datagrams that were sent before. Thread: loop. @return NULL */
struct turn_stream *turn_stream_close(struct turn_stream *s);

/** The socket for datagrams to and from the server; owned by s. Thread: any. */
int turn_stream_fd(const struct turn_stream *s);
/** Thread: any. @return why the connection has failed, a static text; NULL: it is open
 *         or connecting */
const char *turn_stream_reason(const struct turn_stream *s);

#endif
