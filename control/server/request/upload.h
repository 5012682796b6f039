/** A file that a client uploads. */
#ifndef OFFHOOK_CONTROL_SERVER_REQUEST_UPLOAD_H
#define OFFHOOK_CONTROL_SERVER_REQUEST_UPLOAD_H

#include <stddef.h>

/** The file of a multipart upload, as the client sent it; borrowed. */
struct upload {
	const char *data;
	size_t len;
	const char *filename;   /* never a path of ours */
	const char *media_type; /* "": not told */
};

#endif
