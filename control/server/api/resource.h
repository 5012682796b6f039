/**
 * The plain resources: list, create, read, replace and delete rows of one
 * table, all by the same handlers, from one description each.
 */
#ifndef OFFHOOK_SERVER_API_RESOURCE_H
#define OFFHOOK_SERVER_API_RESOURCE_H

#include "control/server/request/fields.h"
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
	 * edit (what agents report, what is counted): a PUT takes any value of
	 * them, as they may have changed since they were read. */
	const char *observed;
	/** Look over all values before they are written; may be NULL. */
	void (*check)(struct request *req, json_t *values, struct reply *rep);
	/** Add a new token to the values of a new row; may be NULL.
	 * @return members that only the answer of this request shows */
	json_t *(*issue)(json_t *values);
	/** Make of a row what the API shows; may be NULL. @return 0; -errno */
	int (*present)(struct request *req, json_t *row);
	/** Likewise, where one record is shown alone; may be NULL. */
	int (*detail)(struct request *req, json_t *row);
	/** Answer 409 if something refers to it; may be NULL. @return true: go on */
	bool (*may_delete)(struct request *req, int64_t id, struct reply *rep);
};

/* api_handler: the resource is found by the first element of the path */
void resource_list(struct request *req, struct reply *rep);
void resource_create(struct request *req, struct reply *rep);
void resource_get(struct request *req, struct reply *rep);
void resource_replace(struct request *req, struct reply *rep);
void resource_delete(struct request *req, struct reply *rep);

/**
 * Answer with one record.
 * @param shown_once  members added to the answer only, taken over; or NULL
 */
void resource_reply(struct request *req, struct reply *rep,
		    const struct resource *r, int64_t id, unsigned status,
		    json_t *shown_once);

/** A 422 with a pointer if a value is no id of the table (null is well). */
void resource_reference(struct request *req, struct reply *rep,
			const struct table *table, json_t *id,
			const char *pointer);

extern const struct resource project_resource;
extern const struct resource target_resource;
extern const struct resource credential_pool_resource;
extern const struct resource agent_pool_resource;
extern const struct resource agent_resource;
extern const struct resource test_resource;
extern const struct resource api_key_resource;
extern const struct resource appimage_resource;
extern const struct resource callback_resource;
extern const struct resource callback_template_resource;
extern const struct resource schedule_resource;
extern const struct resource user_resource;

#endif
