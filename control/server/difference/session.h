/**
 * Session descriptions as tallies.
 * Thread: the owner of the object.
 */
#ifndef OFFHOOK_SERVER_DIFFERENCE_SESSION_H
#define OFFHOOK_SERVER_DIFFERENCE_SESSION_H

#include <jansson.h>
#include <stddef.h>

/** Count the lines of a session description. @return 0; -ENOMEM */
int session_count(json_t *tallies, const char *role, const char *dir,
		  const char *label, unsigned nth, const char *sdp, size_t len);

#endif
