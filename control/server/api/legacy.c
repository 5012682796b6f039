#include "control/server/api/legacy.h"

#include "base/str.h"
#include "control/server/api/resource.h"
#include "control/server/request/fields.h"

#define ID_BYTES 24

/* Take `id` out of the body and make it the path's parameter.
 * @return false: rep is a 422 */
static bool move_id(struct request *req, char id[ID_BYTES], struct reply *rep)
{
	json_t *value = json_object_get(request_body(req), "id");
	int64_t record;
	int len = -1;

	if (json_is_integer(value))
		len = str_print(id, ID_BYTES, "%" JSON_INTEGER_FORMAT,
				json_integer_value(value));
	else if (json_is_string(value) && request_body_is_form(req))
		len = str_copy(id, ID_BYTES, json_string_value(value));
	if (len < 0)
		field_error(rep, "/id", "must be the number of the record");
	if (reply_status(rep))
		return false;
	json_object_del(request_body(req), "id");
	request_set_param(req, 0, id);
	if (param_id(req, 0, &record))
		reply_successor(rep, record);
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
	request_set_param(req, 0, NULL);
}

void legacy_delete(struct request *req, struct reply *rep)
{
	char id[ID_BYTES];

	if (move_id(req, id, rep))
		resource_delete(req, rep);
	request_set_param(req, 0, NULL);
}
