#include "control/server/api/legacy.h"

#include "control/server/api/resource.h"
#include "control/server/request/fields.h"

#include <stdio.h>

#define ID_BYTES 24

/* Take `id` out of the body and make it the path's parameter.
 * @return false: rep is a 422 */
static bool move_id(struct request *req, char id[ID_BYTES], struct reply *rep)
{
	json_t *value = json_object_get(req->body, "id");

	if (json_is_integer(value))
		(void)snprintf(id, ID_BYTES, "%" JSON_INTEGER_FORMAT,
			       json_integer_value(value));
	else if (json_is_string(value) && req->body_is_form)
		(void)snprintf(id, ID_BYTES, "%s", json_string_value(value));
	else
		field_error(rep, "/id", "must be the number of the record");
	if (rep->status)
		return false;
	json_object_del(req->body, "id");
	req->params[0] = id;
	(void)param_id(req, 0, &rep->successor_id);
	return true;
}

void legacy_create(struct request *req, struct reply *rep)
{
	resource_create(req, rep);
}

void legacy_update(struct request *req, struct reply *rep)
{
	char id[ID_BYTES];

	if (move_id(req, id, rep))
		resource_replace(req, rep);
	req->params[0] = NULL;
}

void legacy_delete(struct request *req, struct reply *rep)
{
	char id[ID_BYTES];

	if (move_id(req, id, rep))
		resource_delete(req, rep);
	req->params[0] = NULL;
}
