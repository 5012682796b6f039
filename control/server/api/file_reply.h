/**
 * Replies with a file.
 * Thread: worker.
 */
#ifndef OFFHOOK_SERVER_API_FILE_REPLY_H
#define OFFHOOK_SERVER_API_FILE_REPLY_H

#include "control/server/request/request.h"

#define FILE_NAME_BYTES 256

/**
 * Reply with a file as a download that a browser does not run.
 * @param path      of ours
 * @param filename  for the client; characters that are not plain become `_`
 * @param sha256    hex, for the ETag
 * @param type      media type that is safe in a browser
 * @return 0; -errno it cannot be read: rep is untouched
 */
int reply_file(struct reply *rep, const char *path, const char *filename,
	       const char *sha256, const char *type);

#endif
