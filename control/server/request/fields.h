/**
 * Reading a request body member by member: types, ranges, defaults, and all
 * errors with their pointers in one 422 answer.
 * Thread: worker.
 */
#ifndef OFFHOOK_CONTROL_SERVER_REQUEST_FIELDS_H
#define OFFHOOK_CONTROL_SERVER_REQUEST_FIELDS_H

#include "control/server/request/request.h"

#define POINTER_BYTES 160

enum field_kind {
	FIELD_TEXT,    /* min, max: characters as bytes */
	FIELD_INTEGER, /* min, max: value */
	FIELD_FLAG,    /* 0, 1, false or true; becomes 0 or 1 */
	FIELD_CHOICE,  /* one of choices */
	FIELD_ARRAY,   /* max: elements; text with a JSON array in forms */
	FIELD_OBJECT,  /* likewise */
	FIELD_TAGS,    /* array of texts, or text with that */
	FIELD_TIME,    /* `YYYY-MM-DD HH:MM:SS`; becomes ms since 1970 */
};

/** Add errors of a value to the reply by field_error(). */
typedef void(field_check_h)(struct request *req, json_t *value,
			    const char *pointer, struct reply *rep);

struct field {
	const char *name;
	enum field_kind kind;
	bool required; /* otherwise null and absent mean the fallback */
	int64_t min;
	int64_t max;
	const char *choices;  /* separated by blanks */
	const char *fallback; /* JSON text; NULL: null */
	field_check_h *check; /* may be NULL; may change an array in place */
};

/** Note an error: makes the reply a 422, or adds to it. */
void field_error(struct reply *rep, const char *pointer, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * Read the members of an object; unknown members are errors.
 * @param object   borrowed; NULL: there was no body
 * @param strings  values are text, as forms have them
 * @param base     pointer of the object, "" for the body
 * @return new object with every field; NULL if there was an error
 */
json_t *fields_read(struct request *req, json_t *object, bool strings,
		    const char *base, const struct field *fields, size_t count,
		    struct reply *rep);

/**
 * Read the objects of an array in place: each element becomes what
 * fields_read() makes of it. Meant for the check of a FIELD_ARRAY.
 */
void fields_read_elements(struct request *req, json_t *array,
			  const char *pointer, const struct field *fields,
			  size_t count, struct reply *rep);

/** Checks of a FIELD_TEXT for SIP messages: a line, and a word. The agent
 * checks the same (TEXT_LINE, TEXT_WORD of control/wire/decode.h). */
field_check_h field_line;
field_check_h field_word;

/** Find the first value of a query parameter. @return NULL: there is none */
const char *query_get(const struct request *req, const char *name);

/** Parse `YYYY-MM-DD HH:MM:SS` (UTC). @return true and ms since 1970 */
bool time_parse(const char *text, int64_t *ret_ms);

#endif
