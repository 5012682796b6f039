/**
 * The deprecated routes with verbs in their paths (contract section 9):
 * POST /RESOURCE/create, /RESOURCE/update and /RESOURCE/delete. The record is
 * named by `id` in the body; the answers are those of the plain resource.
 */
#ifndef OFFHOOK_SERVER_API_LEGACY_H
#define OFFHOOK_SERVER_API_LEGACY_H

#include "control/server/request/request.h"

void legacy_create(struct request *req, struct reply *rep);
void legacy_update(struct request *req, struct reply *rep);
void legacy_delete(struct request *req, struct reply *rep);

#endif
