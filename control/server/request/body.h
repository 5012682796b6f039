/**
 * Request bodies: JSON, URL-encoded forms and multipart forms, all to one JSON
 * object. A body is complete when it gets here.
 * Thread: any; pure.
 */
#ifndef OFFHOOK_CONTROL_SERVER_REQUEST_BODY_H
#define OFFHOOK_CONTROL_SERVER_REQUEST_BODY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define BODY_DEPTH            32   /* of JSON within a text of a body */
#define BODY_MEMBERS_MAX      2000 /* fields of a form */
#define BODY_REASON_BYTES     160
#define BODY_FILENAME_BYTES   256
#define BODY_MEDIA_TYPE_BYTES 128

/** The file of a form: the first part that has a file name. */
struct body_file {
	const char *data; /* borrowed from the body; NULL: there was none */
	size_t len;
	char filename[BODY_FILENAME_BYTES];
	char media_type[BODY_MEDIA_TYPE_BYTES]; /* "": not told */
};

struct body {
	json_t *object;                 /* owned by the caller on success */
	bool is_form;                   /* all members are strings */
	char reason[BODY_REASON_BYTES]; /* on failure: a sentence */
	struct body_file *file;         /* where a form may hold one; or NULL */
};

/**
 * Decode a body.
 * @param content_type  value of the header, may be NULL
 * @param data          len bytes, a 0 behind them
 * @param depth         brackets in each other that JSON may have
 * @return 0; -EMEDIUMTYPE content type; -EBADMSG broken, too deep, a
 *         duplicate member, no object (ret->reason); -ENOMEM
 */
int body_parse(struct body *ret, const char *content_type, const char *data,
	       size_t len, unsigned depth);

/**
 * Make integers of the numbers in a document that are whole, up to 2^53: in
 * JSON 1.0 and 1 are the same number (RFC 8259 section 6). In place.
 * @param document  may be NULL, or neither object nor array: nothing is done
 */
void body_whole_numbers(json_t *document);

/**
 * Decode JSON that stands in a text, as forms have it: an object or array, no
 * deeper than BODY_DEPTH, its whole numbers integers.
 * @return new reference; NULL: it is something else
 */
json_t *body_json_text(const char *text);

/**
 * Decode a body that may be a form with one file in it.
 * @param max  bytes of the body beside the file
 * @return as body_parse(); -EFBIG larger
 */
int body_parse_file(struct body *ret, const char *content_type,
		    const char *data, size_t len, unsigned depth, size_t max,
		    struct body_file *file);

#endif
