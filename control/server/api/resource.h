/**
 * The plain resources: list, create, read, replace and delete rows of one
 * table, all by the same handlers, from one description each.
 */
#ifndef OFFHOOK_SERVER_API_RESOURCE_H
#define OFFHOOK_SERVER_API_RESOURCE_H

#include "control/server/request/fields.h"

struct page;
struct resource;

/* api_handler: the resource is found by the first element of the path */
void resource_list(struct request *req, struct reply *rep);
void resource_create(struct request *req, struct reply *rep);
void resource_get(struct request *req, struct reply *rep);
void resource_replace(struct request *req, struct reply *rep);
void resource_delete(struct request *req, struct reply *rep);

/**
 * Reply with a record.
 * @param shown_once  members added to the answer only, taken over; or NULL
 */
void resource_reply(struct request *req, struct reply *rep,
		    const struct resource *r, int64_t id, unsigned status,
		    json_t *shown_once);

/** Answer 422 with a pointer if a value is not an id of the resource; null is
 * accepted. */
void resource_reference(struct request *req, struct reply *rep,
			const struct resource *r, json_t *id,
			const char *pointer);

/** Read a record as it is stored. @return 0; -ENOENT; -EIO; -ENOMEM */
int resource_find(struct request *req, const struct resource *r, int64_t id,
		  json_t **ret);

/** Read a page of records as listings show them. @param ret  new array
 * @return 0; -EIO; -ENOMEM */
int resource_rows(struct request *req, const struct resource *r,
		  const struct page *page, json_t **ret, int64_t *total);

/** Read records with this number in a column: record_list_of(), record.h. */
int resource_list_of(struct request *req, const struct resource *r,
		     const char *column, int64_t value, const struct page *page,
		     json_t **ret, int64_t *total);

/** Convert a stored record to what listings show. @return 0; -errno */
int resource_present(struct request *req, const struct resource *r,
		     json_t *row);

/** The word for a record in messages: "agent_pool". */
const char *resource_singular(const struct resource *r);

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
