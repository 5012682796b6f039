/**
 * Capacity searches: /capacity-searches (docs/reference/api.md), and the scenario that starts one.
 * Thread: worker.
 */
#ifndef OFFHOOK_SERVER_API_CAPACITY_SEARCHES_H
#define OFFHOOK_SERVER_API_CAPACITY_SEARCHES_H

#include "control/server/request/request.h"

void capacity_search_list(struct request *req, struct reply *rep);
void capacity_search_get(struct request *req, struct reply *rep);
void capacity_search_delete(struct request *req, struct reply *rep);

/** POST /capacity-searches */
void capacity_search_create(struct request *req, struct reply *rep);

/** POST /capacity-searches/:id/stop */
void capacity_search_stop(struct request *req, struct reply *rep);

/**
 * Start a search of a scenario's test, and answer as a start does.
 * @param test    as store_test_load() makes it; taken over
 * @param values  of the scenario's parameters, borrowed
 * @param known   NULL-terminated: keys of the body that the caller has read
 * @param errors  what the caller found wrong with them; taken over
 */
void capacity_search_of_scenario(struct request *req, struct reply *rep,
				 json_t *test, json_t *values,
				 const char *const *known, json_t *errors);

#endif
