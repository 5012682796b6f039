/**
 * Rows as one array a column, in the server's binary format, for
 * INSERT ... SELECT ... FROM unnest(): one statement instead of one a row, and no
 * number is printed or parsed.
 * Source: PostgreSQL 15, array_recv() in src/backend/utils/adt/arrayfuncs.c.
 * Thread: any
 */
#ifndef OFFHOOK_SERVER_STORE_POSTGRESQL_ARRAYS_H
#define OFFHOOK_SERVER_STORE_POSTGRESQL_ARRAYS_H

#include "base/buf.h"
#include "control/server/store/postgresql_text.h"

#include <stdbool.h>

#define POSTGRESQL_ARRAYS_COLUMNS 16

/* All zero: empty. */
struct postgresql_arrays {
	struct buf sql; /* the statement; its parameters are the arrays */
	struct buf arrays[POSTGRESQL_ARRAYS_COLUMNS];
	enum db_type types[POSTGRESQL_ARRAYS_COLUMNS];
	bool nulls[POSTGRESQL_ARRAYS_COLUMNS];
	size_t columns; /* 0: not begun */
	size_t count;   /* of rows */
};

/** Begin. @param load  with types; not kept @return 0; -ENOMEM; -EMSGSIZE too
 * many columns */
int postgresql_arrays_begin(struct postgresql_arrays *r,
			    const struct db_load *load);
/** Release; empty afterwards. */
void postgresql_arrays_release(struct postgresql_arrays *r);

/** Add a row. @param row  values of the columns' types, or NULL; copied
 * @return 0; -ENOMEM; -EMSGSIZE; -EINVAL a value of another type */
int postgresql_arrays_add(struct postgresql_arrays *r,
			  const struct db_value *row);

/** Whether the statement should be sent before more rows are added. */
bool postgresql_arrays_full(const struct postgresql_arrays *r);

/** Get the statement's parameters, r->columns of them, borrowed until the next
 * call. There is at least one row. */
void postgresql_arrays_params(struct postgresql_arrays *r,
			      struct db_value *ret);
/** Forget the rows, and keep the memory. */
void postgresql_arrays_clear(struct postgresql_arrays *r);

#endif
