/**
 * The description of a plain resource. Included by the files that define one,
 * and by resource.c.
 */
#ifndef OFFHOOK_SERVER_API_RESOURCE_TYPE_H
#define OFFHOOK_SERVER_API_RESOURCE_TYPE_H

#include "control/server/api/resource.h"
#include "control/server/store/record.h"

struct resource {
	const char *path;     /* "/credential-pools" */
	const char *plural;   /* "credential_pools": member of a listing */
	const char *singular; /* "credential_pool" */
	const struct table *table;
	const struct field *fields;
	size_t field_count;
	record_children_h *children; /* may be NULL */
	bool updated_at;             /* the table has that column */
	/** Members of a record, separated by blanks, that change without an
	 * edit (reported by agents, or counted): a PUT accepts any value of
	 * them, as they may have changed since the client read them. */
	const char *observed;
	/** Check all values before they are written; may be NULL. */
	void (*check)(struct request *req, json_t *values, struct reply *rep);
	/** Add a new token to the values of a new row; may be NULL.
	 * @return members that only the answer of this request shows */
	json_t *(*issue)(json_t *values);
	/** Convert a row for the API; may be NULL. @return 0; -errno */
	int (*present)(struct request *req, json_t *row);
	/** As above, for a record that is shown alone; may be NULL. */
	int (*detail)(struct request *req, json_t *row);
	/** Answer 409 if something refers to it; may be NULL. @return true: go on */
	bool (*may_delete)(struct request *req, int64_t id, struct reply *rep);
	/** Likewise for a change, 422; as may_delete() between store_edit_begin()
	 * and the change, so that no other one comes between; may be NULL.
	 * @param values  of check(), borrowed. @return true: go on */
	bool (*may_replace)(struct request *req, int64_t id,
			    const json_t *values, struct reply *rep);
};

#endif
