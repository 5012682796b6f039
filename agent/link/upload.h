/**
 * Uploads the spool of one lease to the controller: only what is synced, in one
 * sequence, one request at a time; in parallel the artifacts, one at a time; then
 * the finish. What the controller reports as missing is sent again
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
	UPLOAD_ACCEPTED,     /* the finish was accepted: delete the spool */
	UPLOAD_GONE,         /* 403, 404, 410: the results are not wanted */
	UPLOAD_REFUSED,      /* another final refusal, logged */
	UPLOAD_UNAUTHORIZED, /* 401 */
};

struct upload_params {
	struct event_loop *loop;
	struct http_client *http;
	struct spool *spool;         /* borrowed */
	struct artifacts *artifacts; /* borrowed */
	const char *lease_id;        /* borrowed */
	/** What an answer commands: "continue", "enough", "cancel". */
	void (*command_h)(const char *command, void *arg);
	/** An artifact was refused for good, and is deleted. May append to
	 * the spool. */
	void (*lost_h)(const char *name, const char *why, void *arg);
	/** Called once; nothing more is sent. Must not free the upload. */
	void (*end_h)(enum upload_end end, void *arg);
	void *arg;
};

/** Make an upload; nothing is sent before upload_poke(). @param params  copied
 * @return 0; -ENOMEM */
int upload_new(struct upload **ret, const struct upload_params *params);
/** Cancel its requests and free it. @return NULL */
struct upload *upload_free(struct upload *u);

/**
 * Report that something was appended or an artifact was taken: it is synced
 * within 250 ms and then sent. If the outcome is in the spool the finish follows.
 */
void upload_poke(struct upload *u);
/** As upload_poke(), without delay: the outcome was appended. */
void upload_flush(struct upload *u);

#endif
