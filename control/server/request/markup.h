/**
 * Text in XML and HTML.
 * Thread: any.
 */
#ifndef OFFHOOK_CONTROL_SERVER_REQUEST_MARKUP_H
#define OFFHOOK_CONTROL_SERVER_REQUEST_MARKUP_H

#include "base/buf.h"

/** Add a text so that it stays text, between tags and in a quoted attribute: with
 * entities for & < > " and '.
 * @return 0; -errno as buf_add() */
int markup_add(struct buf *b, const char *text);

#endif
