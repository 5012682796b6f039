/**
 * Appimages: files that tests use. resource.c handles their other routes.
 */
#ifndef OFFHOOK_SERVER_API_APPIMAGES_H
#define OFFHOOK_SERVER_API_APPIMAGES_H

#include "control/server/request/request.h"

/* Folder of the files, below state_dir, created by main(). */
#define APPIMAGE_DIR "appimages"

void appimage_create(struct request *req, struct reply *rep);
void appimage_content(struct request *req, struct reply *rep);
/** Send the content of a hash to agents. */
void agent_appimage(struct request *req, struct reply *rep);
void appimage_delete(struct request *req, struct reply *rep);

#endif
