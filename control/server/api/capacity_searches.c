#include "control/server/api/capacity_searches.h"

#include "base/str.h"
#include "control/capacity/stored_search.h"
#include "control/server/api/etag.h"
#include "control/server/api/page.h"
#include "control/server/api/start.h"
#include "control/server/capacity/capacity.h"
#include "control/server/request/body.h"
#include "control/server/request/fields.h"
#include "control/server/run/override.h"
#include "control/server/run/params.h"
#include "control/server/run/run.h"
#include "control/server/store/store.h"
#include "control/server/store/store_capacity.h"
#include "control/server/store/store_lease_run.h"
#include "control/wire/text.h"

#include <errno.h>
#include <string.h>

#define URL_BYTES 1024

static const struct column columns[] = {
	{"id", "c.id", NULL, COLUMN_INT},
	{"uuid", "c.uuid", NULL, COLUMN_TEXT},
	{"test_id", "c.test_id", NULL, COLUMN_INT},
	{"test_name", "c.test_name", NULL, COLUMN_TEXT},
	{"project_id", "c.project_id", NULL, COLUMN_INT},
	{"project_name", "c.project_name", NULL, COLUMN_TEXT},
	{"agentpool_name", "c.agentpool_name", NULL, COLUMN_TEXT},
	{"params", "c.params_json", NULL, COLUMN_JSON},
	{"status", "c.status", NULL, COLUMN_TEXT},
	{"trial_count",
	 "(SELECT count(*) FROM capacity_trial ct WHERE ct.search_id = c.id)",
	 NULL, COLUMN_INT},
	{"next_at", "c.next_at", NULL, COLUMN_TIME},
	{"waiting_for", "c.waiting_for", NULL, COLUMN_TEXT},
	{"description", "c.description", NULL, COLUMN_TEXT},
	{"result", "c.result_json", NULL, COLUMN_JSON},
	{"created_at", "c.created_at", NULL, COLUMN_TIME},
	{"stopped_at", "c.stopped_at", NULL, COLUMN_TIME},
};

static const struct table table = {
	.name = "capacity_search",
	.from = "capacity_search c",
	.id = "c.id",
	.columns = columns,
	.column_count = sizeof(columns) / sizeof(*columns),
};

/* ---- what is shown ---- */

static void page_url(struct request *req, json_int_t id,
		     char url[static URL_BYTES])
{
	str_print(url, URL_BYTES, "%s/capacity/%lld", request_base_url(req),
		  (long long)id);
}

/* The parameters are members of the record, as in the body of its start. */
static int present(struct request *req, json_t *row)
{
	json_t *params = json_incref(json_object_get(row, "params"));
	char url[URL_BYTES];
	int err;

	page_url(req, json_integer_value(json_object_get(row, "id")), url);
	(void)json_object_del(row, "params");
	err = json_object_update(row, params) ||
	      json_object_set_new(row, "report_url", json_string(url));
	json_decref(params);
	return err ? -ENOMEM : 0;
}

static int detail(struct request *req, json_t *row)
{
	struct stored_search s = {.voids = 0};
	json_t *trials;
	int err = store_capacity_trials(
		request_store(req),
		json_integer_value(json_object_get(row, "id")), &trials);

	if (err)
		return err;
	err = stored_search_load(&s, row, trials);
	if (!err)
		err = stored_search_mark(&s, trials);
	if (!err &&
	    (json_object_set(row, "trials", trials) ||
	     json_object_set_new(row, "curve", stored_search_curve(&s))))
		err = -ENOMEM;
	stored_search_release(&s);
	json_decref(trials);
	return err;
}

/* @return the search as it is shown alone, a new reference; NULL: rep is an error */
static json_t *read_search(struct request *req, struct reply *rep, int64_t id)
{
	json_t *row = NULL;
	int err = record_get(request_store(req), &table, id, &row);

	if (!err)
		err = present(req, row);
	if (!err)
		err = detail(req, row);
	if (err) {
		json_decref(row);
		reply_store_error(rep, err, "capacity search");
		return NULL;
	}
	return row;
}

/* That of the path. */
static json_t *find_search(struct request *req, struct reply *rep)
{
	int64_t id;

	if (param_id(req, 0, &id))
		return read_search(req, rep, id);
	reply_store_error(rep, -ENOENT, "capacity search");
	return NULL;
}

static void reply_search(struct request *req, struct reply *rep,
			 unsigned status, json_t *search)
{
	char tag[ETAG_BYTES];
	int err = etag_make(tag, search, 0, NULL);

	reply_json(rep, status, json_pack("{s:o}", "capacity_search", search));
	if (!err)
		etag_reply(req, rep, tag);
}

void capacity_search_list(struct request *req, struct reply *rep)
{
	struct page page;
	json_t *rows, *row;
	int64_t total;
	size_t i;
	int err;

	if (!page_read(req, &page, rep))
		return;
	err = record_list(request_store(req), &table, &page, &rows, &total);
	if (err) {
		reply_store_error(rep, err, "capacity search");
		return;
	}
	json_array_foreach(rows, i, row)
	{
		if (!err)
			err = present(req, row);
	}
	if (err) {
		json_decref(rows);
		reply_store_error(rep, err, "capacity search");
	} else {
		page_reply(req, rep, "capacity_searches", rows, &page, total);
	}
}

void capacity_search_get(struct request *req, struct reply *rep)
{
	json_t *search = find_search(req, rep);

	if (search)
		reply_search(req, rep, 200, search);
}

/* Only what is over can be deleted, and does not change. @return true: go on */
static bool may_delete(struct request *req, struct reply *rep,
		       const json_t *search)
{
	const char *wanted = request_header(req, "If-Match");
	char tag[ETAG_BYTES];

	if (wanted &&
	    (etag_make(tag, search, 0, NULL) || !etag_allows(wanted, tag)))
		reply_problem(rep, 412,
			      "the capacity search has changed since it was "
			      "read");
	else if (strcmp(text_of(search, "status"), "running") == 0)
		reply_problem(rep, 409,
			      "the search is in progress: stop it first");
	return reply_status(rep) == 0;
}

void capacity_search_delete(struct request *req, struct reply *rep)
{
	json_t *search = find_search(req, rep);
	int err;

	if (!search)
		return;
	if (may_delete(req, rep, search)) {
		err = record_delete(
			request_store(req), &table,
			json_integer_value(json_object_get(search, "id")));
		if (err)
			reply_store_error(rep, err, "capacity search");
		else
			reply_empty(rep, 204);
	}
	json_decref(search);
}

/* ---- starting ---- */

/* The search that request_started() names. @return false: rep is an error */
static bool find_started(struct request *req, struct reply *rep,
			 int64_t *ret_id)
{
	int err = store_capacity_find(request_store(req), request_started(req),
				      ret_id);

	if (err == -ENOENT)
		start_reply_deleted(rep);
	else if (err)
		reply_store_error(rep, err, "capacity search");
	return !err;
}

/* @return false: rep is an error */
static bool start(struct request *req, struct reply *rep,
		  const struct capacity_start *search, json_t *errors,
		  int64_t *ret_id)
{
	int err;

	if (request_started(req))
		return find_started(req, rep, ret_id);
	err = capacity_start(request_store(req), request_conf(req), search,
			     errors, ret_id);
	if (!err)
		run_engine_poke(request_controller(req));
	else if (err == -EINVAL)
		start_refuse(rep, errors);
	else if (err == -EBADMSG)
		reply_problem(rep, 500,
			      "a stored password cannot be read: the key file "
			      "is another one than when it was written");
	else
		reply_store_error(rep, err, "capacity search");
	return !err;
}

/* @return new reference; NULL: rep is an error */
static json_t *find_test(struct request *req, struct reply *rep)
{
	static const struct step_param param = {.name = "test_id",
						.type = "integer"};
	json_t *given = json_object_get(request_body(req), param.name);
	json_t *id = NULL, *test = NULL;
	int err;

	if (!given || json_is_null(given)) {
		field_error(rep, "/test_id", "must be given");
		return NULL;
	}
	if (param_normalize(&param, given, &id) || json_integer_value(id) < 1) {
		field_error(rep, "/test_id", "must be the number of a test");
		json_decref(id);
		return NULL;
	}
	err = store_test_load(request_store(req), json_integer_value(id), NULL,
			      &test);
	if (err == -ENOENT)
		field_error(rep, "/test_id",
			    "there is no test with the id %lld",
			    (long long)json_integer_value(id));
	else if (err)
		reply_store_error(rep, err, "test");
	json_decref(id);
	return test;
}

static bool is_param(const char *name)
{
	const struct step_param *p;

	for (size_t i = 0; (p = capacity_param_at(i)); i++)
		if (strcmp(p->name, name) == 0)
			return true;
	return strcmp(name, "test_id") == 0 || strcmp(name, "overrides") == 0;
}

static void check_names(struct request *req, json_t *errors)
{
	const char *name;
	json_t *value;

	json_object_foreach(request_body(req), name, value)
	{
		if (!is_param(name))
			plan_key_error(errors, name, "",
				       "is no parameter of a capacity search");
	}
}

/* A form has them as a text. @return new reference; NULL: there are none, or they are wrong (noted) */
static json_t *read_overrides(struct request *req, json_t *errors)
{
	json_t *given = json_object_get(request_body(req), "overrides"), *read;
	const char *text = json_string_value(given);

	if (!given || json_is_null(given) || (text && !text[0]))
		return NULL;
	read = text ? body_json_text(text) : json_incref(given);
	if (json_is_object(read))
		return read;
	plan_error(errors, "/overrides",
		   "must be an object of keys as of a start");
	json_decref(read);
	return NULL;
}

void capacity_search_create(struct request *req, struct reply *rep)
{
	static const char *const known[] = {NULL};
	struct capacity_start search = {
		.values = request_body(req),
		.known = known,
		.pointer = "/overrides",
		.key_id = request_key_id(req),
	};
	json_t *errors, *made = NULL;
	int64_t id = 0;

	search.test = find_test(req, rep);
	if (!search.test)
		return;
	errors = json_array();
	check_names(req, errors);
	search.overrides = read_overrides(req, errors);
	if (start(req, rep, &search, errors, &id))
		made = read_search(req, rep, id);
	if (made) {
		reply_search(req, rep, 201, made);
		reply_header(rep, "Location", "/api/v2/capacity-searches/%lld",
			     (long long)id);
	}
	json_decref(search.overrides);
	json_decref(errors);
	json_decref(search.test);
}

void capacity_search_of_scenario(struct request *req, struct reply *rep,
				 json_t *test, json_t *values,
				 const char *const *known, json_t *errors)
{
	const struct capacity_start search = {
		.test = test,
		.values = values,
		.overrides = request_body(req),
		.known = known,
		.pointer = "",
		.key_id = request_key_id(req),
	};
	char page[URL_BYTES], status[URL_BYTES];
	int64_t id;

	if (start(req, rep, &search, errors, &id)) {
		page_url(req, id, page);
		str_print(status, sizeof(status),
			  "%s/api/v2/capacity-searches/%lld",
			  request_base_url(req), (long long)id);
		reply_json(rep, 200,
			   json_pack("{s:{s:I, s:s, s:s}}", "data",
				     "capacity_search_id", (json_int_t)id,
				     "status_url", status, "report_url", page));
	}
	json_decref(errors);
	json_decref(test);
}

void capacity_search_stop(struct request *req, struct reply *rep)
{
	int64_t id;
	int err = -ENOENT;

	if (param_id(req, 0, &id))
		err = store_capacity_stop(request_store(req), id,
					  store_now_ms());
	if (err == -EALREADY) {
		reply_problem(rep, 409,
			      "the search is over or stopping already");
	} else if (err) {
		reply_store_error(rep, err, "capacity search");
	} else {
		run_engine_poke(request_controller(req));
		reply_json(rep, 202, NULL);
	}
}
