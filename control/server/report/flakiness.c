#include "control/server/report/flakiness.h"

#include "control/server/compare/test_flakiness.h"
#include "control/server/request/request.h"

#include <errno.h>

void flakiness_get(struct request *req, struct reply *rep)
{
	json_t *found = NULL;
	int64_t id;
	int err = -ENOENT;

	if (param_id(req, 0, &id))
		err = test_flakiness(request_store(req), id, &found);
	if (err)
		reply_store_error(rep, err, "test");
	else
		reply_json(rep, 200, json_pack("{s:o}", "flakiness", found));
}
