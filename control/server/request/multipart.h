/**
 * multipart/form-data (RFC 7578) of a complete body. Part of body.h.
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
