#include "control/server/http/auth.h"

#include "control/server/http/basic.h"
#include "control/server/request/request_data.h"
#include "control/server/session/session.h"
#include "control/server/store/store_key.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

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

/* Another site can make a browser send the cookie, but neither read the token
 * nor set a header. */
static bool csrf_matches(struct request *req, const char *token)
{
	const char *sent = req->header(req, "X-CSRF-Token");
	char csrf[SESSION_CSRF_BYTES];

	if (strcmp(req->method, "GET") == 0 || strcmp(req->method, "HEAD") == 0)
		return true;
	session_csrf(req->store, token, csrf);
	return sent && strlen(sent) == strlen(csrf) &&
	       sodium_memcmp(sent, csrf, strlen(csrf)) == 0;
}

static int check_session(struct request *req, enum api_right needed)
{
	char token[SECRET_TOKEN_BYTES];
	struct web_user user;
	int err;

	if (!session_token(req, token))
		return -EACCES;
	err = store_session_find(req->store, token, &user);
	if (err)
		return err;
	if (!csrf_matches(req, token))
		return -ESTALE;
	req->key_id = -user.id;
	req->right = user.right;
	return user.right < needed ? -EPERM : 0;
}

int auth_check(struct request *req, enum api_right needed)
{
	struct basic basic;
	int err;

	if (needed == RIGHT_NONE)
		return 0;
	if (needed != RIGHT_AGENT && !req->header(req, "Authorization"))
		return check_session(req, needed);
	if (basic_parse(&basic, req->header(req, "Authorization")))
		return -EACCES;
	if (needed == RIGHT_AGENT)
		err = check_agent(req, &basic);
	else
		err = check_key(req, &basic, needed);
	sodium_memzero(&basic, sizeof(basic));
	return err;
}
