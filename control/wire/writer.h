/**
 * Write JSON text member by member into a buffer, without a tree of values. The
 * text is what json_dumps() prints with JSON_COMPACT and JSON_EXACT or
 * JSON_DECIMAL (json.h).
 * Thread: one owner.
 *
 *	struct writer w;
 *
 *	writer_init(&w, &text);
 *	writer_open(&w, NULL, '{');
 *	writer_text(&w, "kind", "state");
 *	writer_close(&w, '}');
 *	if (w.err) ... the buffer holds no whole value
 */
#ifndef OFFHOOK_CONTROL_WIRE_WRITER_H
#define OFFHOOK_CONTROL_WIRE_WRITER_H

#include "base/buf.h"
#include "control/wire/json_text.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct writer {
	struct buf *buf; /* borrowed */
	bool follows;    /* a comma is needed before the next value */
	bool decimal;    /* reals have at most 15 digits; else they are exact */
	/* 0, or the first failure: -ENOMEM, -EMSGSIZE the buffer's ceiling,
	 * -EINVAL a number that is not finite. Nothing is written after it. */
	int err;
};

/** Begin to write for our own programs: real numbers as JSON_EXACT.
 * @param buf  borrowed, appended to */
void writer_init(struct writer *w, struct buf *buf);
/** Begin to write a response of the API: real numbers as JSON_DECIMAL. */
void writer_init_decimal(struct writer *w, struct buf *buf);

/*
 * All functions below: name is the member's name, without characters that JSON
 * escapes; NULL for an item of an array or the outermost value.
 */

/** Open an object or array. @param bracket  '{' or '[' */
void writer_open(struct writer *w, const char *name, char bracket);
/** Close an object or array. @param bracket  '}' or ']' */
void writer_close(struct writer *w, char bracket);

/** Write a string. Invalid UTF-8 bytes become '?'. @param text  NULL: nothing
 * is written */
void writer_text(struct writer *w, const char *name, const char *text);
/** Write a string of len bytes, none of them 0. */
void writer_text_n(struct writer *w, const char *name, const char *text,
		   size_t len);
void writer_integer(struct writer *w, const char *name, int64_t integer);
/** Write a real number. @param real  not finite: the writer fails, -EINVAL */
void writer_real(struct writer *w, const char *name, double real);
void writer_bool(struct writer *w, const char *name, bool truth);
/** Write a tree. @param tree  borrowed; NULL (out of memory): the writer fails
 */
void writer_json(struct writer *w, const char *name, const json_t *tree);
/** Write a value that is already JSON text; copied. After writer_init_decimal()
 * its real numbers are shortened to 15 digits. */
void writer_value(struct writer *w, const char *name, struct json_text text);
/** Write values that are already JSON text, separated by commas; copied.
 * @param len  0: nothing is written */
void writer_raw(struct writer *w, const char *text, size_t len);

#endif
