#include "control/server/http/auth.h"

#include "control/server/http/basic.h"
#include "control/server/store/store_key.h"

#include <errno.h>
#include <sodium.h>

static int check_agent(struct request *req, const struct basic *basic)
{
	int64_t agent_id;
	int err;

	err = store_agent_verify(req->store, basic->user, basic->password,
				 &agent_id);
	if (err)
		return err;
	req->agent_id = agent_id;
	req->right = RIGHT_AGENT;
	return 0;
}

static int check_key(struct request *req, const struct basic *basic,
		     enum api_right needed)
{
	struct api_key key;
	int err;

	err = store_key_verify(req->store, basic->user, basic->password, &key);
	if (err)
		return err;
	req->key_id = key.id;
	req->right = key.right;
	return key.right < needed ? -EPERM : 0;
}

int auth_check(struct request *req, enum api_right needed)
{
	struct basic basic;
	int err;

	if (needed == RIGHT_NONE)
		return 0;
	if (basic_parse(&basic, req->header(req, "Authorization")))
		return -EACCES;
	if (needed == RIGHT_AGENT)
		err = check_agent(req, &basic);
	else
		err = check_key(req, &basic, needed);
	sodium_memzero(&basic, sizeof(basic));
	return err;
}
