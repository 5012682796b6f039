/**
 * Reading records by conditions of one's own. Included by control/server/store
 * only.
 */
#ifndef OFFHOOK_SERVER_STORE_RECORD_DB_H
#define OFFHOOK_SERVER_STORE_RECORD_DB_H

#include "control/server/store/db.h"
#include "control/server/store/record.h"

#define RECORD_PARAMS_MAX 30

struct selection {
	const char *where; /* SQL with $1..., or NULL: all */
	const struct db_value *params;
	size_t count;      /* at most RECORD_PARAMS_MAX */
	const char *order; /* SQL, never from outside */
};

/**
 * Read a page of the selected rows.
 * @param total  rows without the page; may be NULL
 * @return 0; -EIO; -ENOMEM
 */
int record_select(struct store *s, const struct table *t,
		  const struct selection *selection, const struct page *page,
		  json_t **ret, int64_t *total);

#endif
