/** Parses the value of one key. */
#ifndef OFFHOOK_CONF_VALUE_INTERNAL_H
#define OFFHOOK_CONF_VALUE_INTERNAL_H

#include "conf/load.h"

/**
 * Parse a value and store it.
 * Thread: any.
 * @param settings  out: the key's member; unchanged on failure
 * @param why       on failure: what is wrong, and what is allowed
 * @param size      of why, bytes
 * @return 0; -EINVAL
 */
int conf_value_set(void *settings, const struct conf_key *key, const char *text,
		   char *why, size_t size);

#endif
