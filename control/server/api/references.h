/**
 * References of tests inside their steps.
 */
#ifndef OFFHOOK_SERVER_API_REFERENCES_H
#define OFFHOOK_SERVER_API_REFERENCES_H

#include "control/server/request/request.h"

/**
 * Look for an action of a stored test that has a parameter with this id.
 * @return true: none; false: the reply is a 409 that names the test, or 503
 */
bool reference_check(struct request *req, const char *parameter, int64_t id,
		     struct reply *rep);

/** Likewise, for an action that plays an upload of this name or compares with it. */
bool reference_check_upload(struct request *req, const char *upload,
			    struct reply *rep);

#endif
