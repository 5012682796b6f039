/**
 * JSON text written member by member into a buffer, without a tree of values.
 * The text is what json_dumps() with JSON_COMPACT prints, and JSON_EXACT or
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
	bool follows;    /* a value stands before in this object or array */
	bool decimal;    /* reals have at most 15 digits; else they are exact */
	/* 0, or the first failure: -ENOMEM, -EMSGSIZE the buffer's ceiling,
	 * -EINVAL a number that is not finite. Nothing is written after it. */
	int err;
};

/** Begin to write for a program of ours. @param buf  borrowed; what it holds
 * stays */
void writer_init(struct writer *w, struct buf *buf);
/** Begin to write an answer of the API: real numbers as JSON_DECIMAL. */
void writer_init_decimal(struct writer *w, struct buf *buf);

/*
 * Of all functions below: name is the member's name, of characters that JSON
 * does not escape; NULL: an item of an array, or the whole value.
 */

/** @param bracket  '{' or '[' */
void writer_open(struct writer *w, const char *name, char bracket);
/** @param bracket  '}' or ']', as it was opened */
void writer_close(struct writer *w, char bracket);

/** A string. Bytes that are no UTF-8 become '?'. @param text  NULL: nothing */
void writer_text(struct writer *w, const char *name, const char *text);
/** The same of len bytes, none of them 0. */
void writer_text_n(struct writer *w, const char *name, const char *text,
		   size_t len);
void writer_integer(struct writer *w, const char *name, int64_t integer);
/** @param real  not finite: the writer fails with -EINVAL */
void writer_real(struct writer *w, const char *name, double real);
void writer_bool(struct writer *w, const char *name, bool truth);
/** @param tree  borrowed; NULL (out of memory): the writer fails */
void writer_json(struct writer *w, const char *name, const json_t *tree);
/** A value that is JSON text already. It is copied; writer_init_decimal(): its
 * reals are shortened to 15 digits. */
void writer_value(struct writer *w, const char *name, struct json_text text);
/** Values that are JSON text already, separated by commas, copied.
 * @param len  0: nothing */
void writer_raw(struct writer *w, const char *text, size_t len);

#endif
