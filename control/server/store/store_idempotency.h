/**
 * Stored answers to requests with an Idempotency-Key, which may be repeated.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_IDEMPOTENCY_H
#define OFFHOOK_SERVER_STORE_STORE_IDEMPOTENCY_H

#include "base/str.h"
#include "control/server/store/store.h"

#include <jansson.h>

#define IDEMPOTENCY_MS         INT64_C(86400000)
#define IDEMPOTENCY_HASH_BYTES 32

/* PostgreSQL: a request that has started nothing after so long is taken as lost
 * with its controller. */
#define IDEMPOTENCY_LAPSE_MS 60000

struct idempotency {
	int64_t key_id;
	const char *name;
	uint8_t hash[IDEMPOTENCY_HASH_BYTES]; /* of the request */
	int64_t claimed_ms;                   /* set by the claim */
	char started[UUID_TEXT_BYTES]; /* the run, if the claim returns 2 */
};

/**
 * Claim an Idempotency-Key for a request, or find the answer of the request
 * that has it. Keys expire after IDEMPOTENCY_MS. A claim whose request ended in a
 * crash before it started a run is deleted by the controller's next start (SQLite),
 * or after IDEMPOTENCY_LAPSE_MS (PostgreSQL). Until the claim is finished or
 * dropped, runs that the store starts belong to it.
 * @param i         kept by reference until then
 * @param now_ms    wall clock
 * @param status    receives the answer's status, with 1
 * @param response  likewise its body, owned by the caller
 * @return 0 claimed: finish or drop it; 1 already answered; 2 another request with
 *         the key started a run (i->started), but its answer is not stored: it comes
 *         later, or its controller died; -EBUSY another request has the key and has
 *         started nothing yet; -EEXIST the key was used for a different request;
 *         -EIO; -ENOMEM
 */
int store_idempotency_claim(struct store *s, struct idempotency *i,
			    int64_t now_ms, unsigned *status,
			    json_t **response);

/** Keep the answer of a claimed request. @return 0; -EIO; -ENOMEM */
int store_idempotency_finish(struct store *s, const struct idempotency *i,
			     unsigned status, json_t *response);

/** Free the key of a claimed request that failed. It is kept if the request has
 * started a run nevertheless: the answer to its COMMIT may have been lost.
 * @return 0; -EIO */
int store_idempotency_drop(struct store *s, const struct idempotency *i);

#endif
