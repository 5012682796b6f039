/**
 * Runs of whole projects: POST /projects/:id/run, its deprecated form, polling
 * and stopping (docs/reference/api.md).
 * Thread: worker.
 */
#ifndef OFFHOOK_SERVER_API_PROJECTS_H
#define OFFHOOK_SERVER_API_PROJECTS_H

#include "control/server/request/request.h"

void project_run(struct request *req, struct reply *rep);

/** POST /projects/run: the project is named by id or project.name. */
void project_run_legacy(struct request *req, struct reply *rep);

void project_run_status(struct request *req, struct reply *rep);
void project_run_stop(struct request *req, struct reply *rep);
void project_run_revoke(struct request *req, struct reply *rep);

#endif
