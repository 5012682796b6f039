/** The file of a request: a part of a form, or a text in base64. */
#ifndef OFFHOOK_SERVER_API_FILE_CONTENT_H
#define OFFHOOK_SERVER_API_FILE_CONTENT_H

#include "control/server/request/request.h"

struct file_content {
	const void *data;
	size_t len;
	unsigned char *decoded; /* owned; NULL: data is the upload's */
};

/**
 * Find the file of a request.
 * @param content  the field `content` of the body; NULL or JSON null: not given
 * @param ret      to be released, also after an error
 * @return true; false: the reply is an error
 */
bool file_content_read(struct request *req, const json_t *content,
		       struct file_content *ret, struct reply *rep);
void file_content_release(struct file_content *f);

#endif
