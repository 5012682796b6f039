#include "control/server/api/references.h"

#include "control/server/api/resource.h"
#include "control/server/store/store_test.h"

#include <stdio.h>
#include <string.h>

static bool judge_found(struct reply *rep, int found, const char *name)
{
	if (found == 0)
		return true;
	if (found < 0)
		reply_store_error(rep, found, "test");
	else
		reply_problem(rep, 409, "it is in use by the test %s", name);
	return false;
}

bool reference_check(struct request *req, const char *parameter, int64_t id,
		     struct reply *rep)
{
	char name[STORE_NAME_BYTES];
	int found = store_test_refers(request_store(req), parameter, id, name);

	return judge_found(rep, found, name);
}

bool reference_check_upload(struct request *req, const char *upload,
			    struct reply *rep)
{
	char name[STORE_NAME_BYTES];
	int found = store_test_plays(request_store(req), upload, name);

	return judge_found(rep, found, name);
}
