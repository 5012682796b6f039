/**
 * One request and its answer. The http layer's own.
 */
#ifndef OFFHOOK_SERVER_HTTP_EXCHANGE_H
#define OFFHOOK_SERVER_HTTP_EXCHANGE_H

#include "base/buf.h"
#include "control/server/http/client.h"
#include "control/server/http/framing.h"
#include "control/server/http/http_params.h"
#include "control/server/http/queue.h"
#include "control/server/request/body.h"
#include "control/server/request/request_data.h"
#include "control/server/request/upload.h"

#include <microhttpd.h>
#include <stdbool.h>

#define REQUEST_ID_BYTES 65

struct exchange {
	struct queue_item item; /* of the queue; must be first */
	const struct http_params *params;
	const char *address; /* where the server listens */

	/* HTTP thread until it is queued, then the worker that took it */
	struct framing_target target; /* valid until exchange_begin() */
	struct MHD_Connection *connection;
	char method[16];
	char *raw_path;  /* NULL: not begun */
	bool needs_host; /* HTTP/1.1 */
	bool last;       /* the connection is closed after the response */
	struct buf body;
	bool too_large;
	bool no_memory;                        /* for the body */
	const struct http_upload *upload_rule; /* body is written to spool_fd */
	int upload_err;                        /* -errno: it was not kept */
	bool upload_counted;                   /* among the uploads at a time */
	int spool_fd;                          /* -1: no data yet */
	size_t spooled;
	int64_t started_ns;
	bool admitting; /* queued for exchange_admit(), body not received yet */
	bool queued;    /* for exchange_serve() */

	/* worker */
	bool admitted;
	bool prepared;
	const struct route *route;
	const struct route_table *table; /* of the route */
	struct path path;                /* until it is queued: HTTP thread */
	json_t *headers; /* for the response, by exchange_admit(); or NULL */
	struct request request;
	void *mapped; /* the spooled body, or NULL */
	struct body_file file;
	struct upload upload;
	char request_id[REQUEST_ID_BYTES];
	struct client client;

	/* worker until it resumes the connection, then HTTP thread */
	struct MHD_Response *response;
	unsigned status;
};

struct parking {
	enum parked kind;
	int64_t ns;
};

/** Result of exchange_serve(). */
enum served {
	SERVED_ANSWERED, /* response is set */
	SERVED_PARKED,   /* *ret is set */
};

/**
 * Make the exchange of a request whose request line was received.
 * Thread: HTTP.
 * @param target  in libmicrohttpd's buffer, borrowed
 * @return NULL: out of memory
 */
struct exchange *exchange_new(const char *target);

/**
 * Begin it: all header fields were received.
 * Thread: HTTP.
 * @return 0; -ENOMEM: it is not begun
 */
int exchange_begin(struct exchange *x, const struct http_params *params,
		   const char *address, struct MHD_Connection *connection,
		   const char *method, const char *raw_path);
/** Accepts NULL. @return NULL */
struct exchange *exchange_free(struct exchange *x);

/** Add a piece of an upload to its file. @return 0; -EFBIG; -errno */
int exchange_spool(struct exchange *x, const char *data, size_t len);

/**
 * Check route, credentials, rights and rate before the body is read. If they
 * do not allow it, the response is set.
 * Thread: worker.
 */
void exchange_admit(struct exchange *x, struct store *store);

/** Run the request's handler with the worker's store. Thread: worker. */
enum served exchange_serve(struct exchange *x, struct store *store,
			   struct parking *ret);

/** Set the response to a problem without a handler. Thread: HTTP or worker. */
void exchange_refuse(struct exchange *x, unsigned status, const char *detail);

#endif
