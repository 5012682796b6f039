/**
 * Lines of the text format of Prometheus (exposition format 0.0.4).
 * Thread: any; the buffer belongs to the caller.
 */
#ifndef OFFHOOK_SERVER_REPORT_METRICS_TEXT_H
#define OFFHOOK_SERVER_REPORT_METRICS_TEXT_H

#include "base/buf.h"

/** Write the HELP and TYPE lines of offhook_NAME. @return as buf_print() */
int metrics_text_head(struct buf *b, const char *name, const char *type,
		      const char *help);

/** Write NAME="VALUE", the value escaped: users choose it.
 * @return as buf_add() */
int metrics_text_label(struct buf *b, const char *name, const char *value);

#endif
