/**
 * api_handler: people who sign in to the pages, for those who administer them.
 */
#ifndef OFFHOOK_SERVER_API_USERS_H
#define OFFHOOK_SERVER_API_USERS_H

#include "control/server/request/request.h"

void user_create(struct request *req, struct reply *rep);

#endif
