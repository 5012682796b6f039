/**
 * A document while it is written: markup of ours, and text from outside that is
 * escaped. After the first failure nothing more is written.
 * Thread: one owner.
 */
#ifndef OFFHOOK_RENDER_DOCUMENT_H
#define OFFHOOK_RENDER_DOCUMENT_H

#include <stddef.h>

struct buf;

struct document {
	struct buf *out; /* borrowed */
	int err;         /* 0; the first failure of out */
};

/* Bytes of a text from outside, before it is escaped. */
#define DOCUMENT_NAME_BYTES     200
#define DOCUMENT_SENTENCE_BYTES 4000
#define DOCUMENT_BLOCK_BYTES    65536 /* a SIP message */

/** Append markup as it is. */
void document_put(struct document *d, const char *markup);

/** Append markup; arguments that are text must be ours. */
void document_print(struct document *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * Append text as character data or attribute value of XML 1.0 and of HTML.
 * Bytes that are not UTF-8, and characters that XML 1.0 (section 2.2) does not
 * have, become U+FFFD.
 * @param max_bytes  of the text; a longer one is cut and ends with "..."
 */
void document_xml(struct document *d, const char *text, size_t max_bytes);

/**
 * Append text as one line of Markdown (CommonMark and the extensions of GitHub
 * and GitLab): it makes no markup and no table cell, and its URLs no links.
 */
void document_markdown(struct document *d, const char *text, size_t max_bytes);

#endif
