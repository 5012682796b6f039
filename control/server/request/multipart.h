/**
 * multipart/form-data (RFC 7578) of a complete body. Part of body.h.
 *
 * Why not MHD_create_post_processor() of libmicrohttpd 0.9.75: repeated fields
 * it hands over well, but a body without any part passes as a form without
 * fields, a name that is no quoted string arrives as NULL, a file name ends at
 * its first escaped quote, text behind the last boundary (RFC 2046 section
 * 5.1.1 allows it) is an error, a boundary of one character or a parameter
 * written "BOUNDARY" is refused; and no error has a reason.
 */
#ifndef OFFHOOK_CONTROL_SERVER_REQUEST_MULTIPART_H
#define OFFHOOK_CONTROL_SERVER_REQUEST_MULTIPART_H

#include "control/server/request/body.h"

/**
 * Add the parts to form->object.
 * @return 0; -EBADMSG with form->reason; -ENOMEM
 */
int multipart_parse(struct body *form, const char *content_type,
		    const char *data, size_t len);

/** Add one field of a form; body.c has it. @return as multipart_parse() */
int form_add(struct body *form, const char *name, const char *value,
	     size_t len);

#endif
