/**
 * Read records by SQL conditions. Included by control/server/store only.
 */
#ifndef OFFHOOK_SERVER_STORE_RECORD_DB_H
#define OFFHOOK_SERVER_STORE_RECORD_DB_H

#include "control/server/store/db.h"
#include "control/server/store/record.h"
#include "control/server/store/record_json.h"

#define RECORD_PARAMS_MAX 30

struct selection {
	const char *where; /* SQL with $1...; NULL: all rows */
	const struct db_value *params;
	size_t count;      /* at most RECORD_PARAMS_MAX */
	const char *order; /* SQL, never from a client */
};

/** Count the selected rows. @return 0; -EIO; -ENOMEM */
int record_count(struct store *s, const struct table *t,
		 const struct selection *selection, int64_t *ret);

/**
 * Read a page of the selected rows.
 * @param total  rows without the page; may be NULL
 * @return 0; -EIO; -ENOMEM
 */
int record_select(struct store *s, const struct table *t,
		  const struct selection *selection, const struct page *page,
		  json_t **ret, int64_t *total);

/** Call a function with each selected row: its values in the order of the
 * columns, without those that are never read. @return 0; -EIO; -ENOMEM; row_h's
 * value if negative */
int record_select_rows(struct store *s, const struct table *t,
		       const struct selection *selection,
		       const struct page *page, db_row_h *row_h, void *arg);

#endif
