/**
 * Appimages: files that tests use. The plain rest of them is resource.h's.
 */
#ifndef OFFHOOK_SERVER_API_APPIMAGES_H
#define OFFHOOK_SERVER_API_APPIMAGES_H

#include "control/server/request/request.h"

/* Folder of the files, below state_dir; main() makes it. */
#define APPIMAGE_DIR "appimages"

void appimage_create(struct request *req, struct reply *rep);
void appimage_content(struct request *req, struct reply *rep);
/** The content by its hash, for agents. */
void agent_appimage(struct request *req, struct reply *rep);
void appimage_delete(struct request *req, struct reply *rep);

#endif
