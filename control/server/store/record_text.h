/**
 * Write rows as JSON text without a tree, for frequent requests. Included by
 * control/server/store only.
 */
#ifndef OFFHOOK_SERVER_STORE_RECORD_TEXT_H
#define OFFHOOK_SERVER_STORE_RECORD_TEXT_H

#include "base/buf.h"
#include "control/server/store/db.h"
#include "control/server/store/record.h"

/**
 * Append a row as a JSON object, with the members and values that
 * record_select() would give it.
 * @return 0; -EIO a value that does not match the table; -ENOMEM; -EMSGSIZE
 */
int record_text_row(struct buf *text, const struct table *t,
		    const struct db_value *row, size_t columns);

#endif
