#include "control/server/request/request.h"

#include "base/str.h"
#include "control/server/request/request_data.h"

struct controller *request_controller(const struct request *req)
{
	return req->controller;
}

const struct controller_conf *request_conf(const struct request *req)
{
	return req->conf;
}

struct store *request_store(const struct request *req)
{
	return req->store;
}

const char *request_method(const struct request *req)
{
	return req->method;
}

const char *request_path(const struct request *req)
{
	return req->path;
}

const char *request_param(const struct request *req, size_t i)
{
	return req->params[i];
}

bool param_id(const struct request *req, size_t at, int64_t *ret)
{
	uint64_t id;

	/* no row has id 0, which means a new row to the store */
	if (!request_param(req, at) ||
	    str_to_u64(request_param(req, at), INT64_MAX, &id) || id == 0)
		return false;
	*ret = (int64_t)id;
	return true;
}

void request_set_param(struct request *req, size_t i, const char *param)
{
	req->params[i] = param;
}

json_t *request_query(const struct request *req)
{
	return req->query;
}

const char *request_header(const struct request *req, const char *name)
{
	return req->header(req, name);
}

const char *request_cookie(const struct request *req, const char *name)
{
	return req->cookie(req, name);
}

json_t *request_body(const struct request *req)
{
	return req->body;
}

bool request_body_is_form(const struct request *req)
{
	return req->body_is_form;
}

struct json_text request_body_text(const struct request *req)
{
	return req->body_text;
}

const struct upload *request_upload(const struct request *req)
{
	return req->upload;
}

const char *request_remote_addr(const struct request *req)
{
	return req->remote_addr;
}

const char *request_base_url(const struct request *req)
{
	return req->base_url;
}

bool request_is_certified(struct request *req, struct reply *rep,
			  const char *agent)
{
	return req->certified(req, rep, agent);
}

bool request_secure(const struct request *req)
{
	return req->secure;
}

int64_t request_agent_id(const struct request *req)
{
	return req->agent_id;
}

int64_t request_key_id(const struct request *req)
{
	return req->key_id;
}

const char *request_started(const struct request *req)
{
	return req->started;
}

bool request_waited(const struct request *req)
{
	return req->waited;
}

bool request_woken(const struct request *req)
{
	return req->woken;
}
