#include "control/server/api/references.h"

#include "control/server/api/resource.h"
#include "control/server/store/store_test.h"

#include <stdio.h>
#include <string.h>

bool reference_check(struct request *req, const char *parameter, int64_t id,
		     struct reply *rep)
{
	char name[STORE_NAME_BYTES];
	int found;

	found = store_test_refers(req->store, parameter, id, name);
	if (found == 0)
		return true;
	if (found < 0)
		reply_store_error(rep, found, "test");
	else
		reply_problem(rep, 409, "it is in use by the test %s", name);
	return false;
}
