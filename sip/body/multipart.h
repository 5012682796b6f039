/**
 * Finds the session description in a message body, also in a multipart body.
 * Source: RFC 5621; RFC 2046 5.1 (multipart); RFC 3261 20.11
 * (Content-Disposition). Pure: no libre.
 * Thread: any; no state.
 */
#ifndef OFFHOOK_SIP_BODY_MULTIPART_H
#define OFFHOOK_SIP_BODY_MULTIPART_H

#include <stdbool.h>
#include <stddef.h>

/* The types that are understood, for the Accept header field. */
#define MULTIPART_ACCEPT \
	"application/sdp, multipart/mixed, multipart/alternative"
/* Multipart bodies within multipart bodies; deeper ones are not understood. */
#define MULTIPART_DEPTH_MAX 4
/* Parts of one body; more are malformed. */
#define MULTIPART_PARTS_MAX 32

struct multipart_text {
	const char *p; /* not terminated; NULL: absent */
	size_t len;
};

struct multipart_body {
	struct multipart_text type;        /* value of Content-Type */
	struct multipart_text disposition; /* of Content-Disposition */
	struct multipart_text encoding;    /* of Content-Transfer-Encoding; of
					    * the message Content-Encoding */
	struct multipart_text text;
	/* Ignore parts with handling=required: a response or an ACK cannot be
	 * refused, and handling is for a UAS (RFC 3261 20.11). */
	bool optional;
};

/**
 * Find the session description. Of multipart/alternative the last one counts, of any
 * other multipart body the first.
 * @param ret   points into the text of body
 * @param body  borrowed
 * @return 0; 1 there is none, and no part that must be understood;
 *         -EPROTONOSUPPORT a part with handling=required (the default) is of
 *         no known type, disposition or encoding; -EBADMSG it is malformed
 */
int multipart_sdp(struct multipart_text *ret,
		  const struct multipart_body *body);

#endif
