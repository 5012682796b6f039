/** Helpers of the handlers of the agent protocol. Thread: worker. */
#ifndef OFFHOOK_SERVER_AGENTAPI_COMMON_H
#define OFFHOOK_SERVER_AGENTAPI_COMMON_H

#include "control/server/agentapi/agentapi.h"
#include "control/server/store/store_lease.h"

/** Read an integer member of the body. *ret is the fallback if the member or
 * the body is absent. @return true; false: the reply is a 422 */
bool agent_integer(struct request *req, struct reply *rep, const char *member,
		   int64_t min, int64_t max, int64_t fallback, int64_t *ret);

/** Read a required member: the fallback -1 is below every min. */
bool agent_integer_required(struct request *req, struct reply *rep,
			    const char *member, int64_t min, int64_t max,
			    int64_t *ret);

/** Read a text member of the body, "" if it is absent. @return NULL: the reply
 * is a 422 */
const char *agent_text(struct request *req, struct reply *rep,
		       const char *member, size_t max_bytes, bool required);

/** Refuse a form, for a handler whose members are all optional: a form without any of them
 * would pass. @return false: the reply is a 415 */
bool agent_json_body(const struct request *req, struct reply *rep);

/** Read the lease id in the path. @return NULL: the reply is a 404 */
const char *agent_lease(struct request *req, struct reply *rep);

/** Answer an error of the store's lease operations. */
void agent_refuse(struct reply *rep, int err);

struct lease_times agent_times(struct request *req);

/**
 * Read and check the member `calibration` of the body: the reply is a 422 if it is wrong.
 * @param ret  a new object as wire_calibration_encode() makes it; NULL: there is none
 * @return it is valid, or absent
 */
bool agent_calibration(struct request *req, struct reply *rep, json_t **ret);

#endif
