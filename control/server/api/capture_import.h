/** Tests made of captured calls. */
#ifndef OFFHOOK_SERVER_API_CAPTURE_IMPORT_H
#define OFFHOOK_SERVER_API_CAPTURE_IMPORT_H

#include "control/server/request/request.h"

/* Of one import; docs/reference/ceilings.md. */
#define IMPORT_SECONDS     10
#define IMPORT_STREAMS_MAX 1000
#define IMPORT_TESTS_MAX   100

/** POST /projects/:id/import: the calls of a capture, and what a test of them
 * would be. Nothing is stored. */
void capture_import(struct request *req, struct reply *rep);

#endif
