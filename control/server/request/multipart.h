/**
 * multipart/form-data (RFC 7578) of a complete body. Part of body.h.
 *
 * MHD_create_post_processor() of libmicrohttpd 0.9.75 is not used: it accepts a
 * body without any part as a form without fields; a name that is not a quoted
 * string becomes NULL; a file name ends at its first escaped quote; text after
 * the last boundary is an error, although RFC 2046 section 5.1.1 allows it; a
 * boundary of one character and a parameter written "BOUNDARY" are refused; and
 * its errors have no reason.
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

/** Add one field of a form; defined in body.c. @return as multipart_parse() */
int form_add(struct body *form, const char *name, const char *value,
	     size_t len);

#endif
