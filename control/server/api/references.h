/**
 * What tests refer to by an id inside their steps.
 */
#ifndef OFFHOOK_SERVER_API_REFERENCES_H
#define OFFHOOK_SERVER_API_REFERENCES_H

#include "control/server/api/handler.h"

/**
 * Look for an action of a stored test that has a parameter with this id.
 * @return true: none; false: the reply is a 409 that names the test, or 503
 */
bool reference_check(struct request *req, const char *parameter, int64_t id,
		     struct reply *rep);

/** Likewise, by a parameter with this text. */
bool reference_check_name(struct request *req, const char *parameter,
			  const char *text, struct reply *rep);

#endif
