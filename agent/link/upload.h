/**
 * Brings the spool of one lease to the controller: in one sequence, one
 * request at a time, only what is durable; beside it the artifacts, one at a
 * time; then the finish, with what the controller says is missing sent again
 * (docs/internals/wire.md).
 * Thread: the loop's; handlers too.
 */
#ifndef OFFHOOK_AGENT_LINK_UPLOAD_H
#define OFFHOOK_AGENT_LINK_UPLOAD_H

#include "agent/link/http_client.h"
#include "agent/spool/artifacts.h"
#include "agent/spool/spool.h"

struct upload;

enum upload_end {
	UPLOAD_ACCEPTED,     /* the finish was taken: the spool may go */
	UPLOAD_GONE,         /* 403, 404, 410: nobody wants it any more */
	UPLOAD_REFUSED,      /* another final no, logged */
	UPLOAD_UNAUTHORIZED, /* 401 */
};

struct upload_params {
	struct event_loop *loop;
	struct http_client *http;
	struct spool *spool;         /* borrowed */
	struct artifacts *artifacts; /* borrowed */
	const char *lease_id;        /* borrowed */
	/** The controller wants the job cancelled; may come more than once. */
	void (*cancel_h)(void *arg);
	/** An artifact does not get there, and is deleted; may append. */
	void (*lost_h)(const char *name, const char *why, void *arg);
	/** Once; nothing more is sent. Not the place to release it. */
	void (*end_h)(enum upload_end end, void *arg);
	void *arg;
};

/** @return 0; -ENOMEM */
int upload_new(struct upload **ret, const struct upload_params *params);
/** @return NULL */
struct upload *upload_free(struct upload *u);

/**
 * Something was appended, or an artifact taken: it is synced within a quarter
 * of a second and sent then; with the outcome in the spool the finish follows.
 */
void upload_poke(struct upload *u);
/** Like upload_poke(), but at once: the outcome was appended. */
void upload_flush(struct upload *u);

#endif
