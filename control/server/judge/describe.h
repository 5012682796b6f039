/**
 * What conditions are made of, for GET /descriptions: from the tables that
 * check them.
 * Thread: any.
 */
#ifndef OFFHOOK_SERVER_JUDGE_DESCRIBE_H
#define OFFHOOK_SERVER_JUDGE_DESCRIBE_H

#include <jansson.h>

/** @return new array: the condition types that can be judged, with the members
 * of an entry; NULL: out of memory */
json_t *judge_describe(void);

#endif
