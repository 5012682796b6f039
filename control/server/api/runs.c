#include "control/server/api/runs.h"

#include "base/buf.h"
#include "base/str.h"
#include "conf/controller_conf.h"
#include "control/server/api/etag.h"
#include "control/server/api/page.h"
#include "control/server/api/resource.h"
#include "control/server/report/run_report.h"
#include "control/server/retention/remover.h"
#include "control/server/run/run.h"
#include "control/server/run/start.h"
#include "control/server/store/artifact_files.h"
#include "control/server/store/store_removal.h"
#include "control/server/store/store_report.h"
#include "control/server/store/store_run.h"
#include "control/server/store/store_run_list.h"

#include <errno.h>
#include <string.h>

/* A result_description is the longest part of a run, and has one sentence a
 * condition that failed. */
#define STATUS_BYTES (4u << 20)
#define LIST_BYTES   (64u << 20)

/* The end of the year 9999: years have four digits. */
#define DATE_S_MAX UINT64_C(253402300799)

/* The nth value of a query parameter, or NULL. */
static const char *query_nth(const struct request *req, const char *name,
			     size_t n)
{
	json_t *pair;
	size_t i;

	json_array_foreach(request_query(req), i, pair)
	{
		if (strcmp(json_string_value(json_array_get(pair, 0)), name) ==
			    0 &&
		    n-- == 0)
			return json_string_value(json_array_get(pair, 1));
	}
	return NULL;
}

static void check_filter(const struct run_filter *f, size_t n,
			 struct reply *rep)
{
	if (n == RUN_FILTERS_MAX)
		field_error(rep, "filtername", "there are more than %d filters",
			    RUN_FILTERS_MAX);
	else if (!f->value)
		field_error(rep, "filtername",
			    "number %zu has no filterval of this number",
			    n + 1);
	else if (!f->name)
		field_error(rep, "filterval",
			    "number %zu has no filtername of this number",
			    n + 1);
	else if (!store_run_column(f->name))
		field_error(rep, "filtername", "'%.80s' is no column of runs",
			    f->name);
	else if (!store_run_value(f->name, f->value))
		field_error(rep, "filterval", "is no value of %s", f->name);
}

/* Pairs the nth filtername with the nth filterval, in whatever order they
 * stand. @return false: rep is a 422 */
static bool read_filters(const struct request *req, struct run_query *query,
			 struct run_filter filters[RUN_FILTERS_MAX],
			 struct reply *rep)
{
	for (size_t n = 0; reply_status(rep) == 0; n++) {
		const struct run_filter f = {
			query_nth(req, "filtername", n),
			query_nth(req, "filterval", n),
		};

		if (!f.name && !f.value)
			break;
		check_filter(&f, n, rep);
		if (reply_status(rep) == 0)
			filters[query->filter_count++] = f;
	}
	query->filters = filters;
	return reply_status(rep) == 0;
}

static void read_date(const struct request *req, const char *name, bool *has,
		      int64_t *ret, struct reply *rep)
{
	const char *text = query_get(req, name);
	uint64_t seconds;

	if (!text)
		return;
	if (str_to_u64(text, DATE_S_MAX, &seconds)) {
		field_error(rep, name, "must be seconds since 1970");
		return;
	}
	*has = true;
	*ret = (int64_t)seconds;
}

static void read_order(const struct request *req, struct run_query *query,
		       struct reply *rep)
{
	const char *by = query_get(req, "orderby");
	const char *direction = query_get(req, "orderdir");

	query->order_by = by ? by : "id";
	/* the newest first, unless a column was asked for */
	query->descending = direction ? strcmp(direction, "desc") == 0 : !by;
	if (!store_run_column(query->order_by))
		field_error(rep, "orderby", "is no column of runs");
	if (direction && !query->descending && strcmp(direction, "asc") != 0)
		field_error(rep, "orderdir", "must be asc or desc");
}

void runs_list(struct request *req, struct reply *rep)
{
	struct run_filter filters[RUN_FILTERS_MAX];
	struct run_query query = {.filter_count = 0};
	struct buf text;
	int64_t total;
	int err;

	read_order(req, &query, rep);
	read_date(req, "startdate", &query.has_start_date, &query.start_date_s,
		  rep);
	read_date(req, "enddate", &query.has_end_date, &query.end_date_s, rep);
	if (!page_read(req, &query.page, rep) ||
	    !read_filters(req, &query, filters, rep))
		return;
	buf_init(&text, LIST_BYTES);
	err = buf_print(&text, "{\"runs\":");
	if (err == 0)
		err = store_run_list(request_store(req), &query, &text, &total);
	if (err == 0)
		err = buf_print(&text,
				",\"total\":%lld,\"start\":%lld,\"count\":%lld,"
				"\"status\":200}",
				(long long)total, (long long)query.page.start,
				(long long)query.page.count);
	if (err) {
		buf_release(&text);
		if (err == -EMSGSIZE)
			reply_problem(rep, 422,
				      "these runs take more than %u MiB: ask "
				      "for fewer by count",
				      LIST_BYTES >> 20);
		else
			reply_store_error(rep, err, "run");
		return;
	}
	reply_text(rep, &text);
	page_links(req, rep, &query.page, total);
}

/* Add what a run waits for, and its shards. @return 0; -ENOMEM; -EIO */
static int add_state(struct request *req, json_t *run)
{
	const int64_t id = json_integer_value(json_object_get(run, "id"));
	json_t *shards;
	int err = store_report_shards(request_store(req), id, &shards);

	if (err)
		return err;
	return json_object_set_new(run, "shards", shards) ||
			       json_object_set_new(
				       run, "waiting_for",
				       run_waiting_for(request_store(req),
						       request_conf(req), id))
		       ? -ENOMEM
		       : 0;
}

/* @return the run, a new reference; NULL: the reply is an error */
static json_t *find_run(struct request *req, struct reply *rep)
{
	json_t *run;
	int err =
		store_run_get(request_store(req), request_param(req, 0), &run);

	if (err) {
		reply_store_error(rep, err, "run");
		return NULL;
	}
	err = add_state(req, run);
	if (err) {
		json_decref(run);
		reply_store_error(rep, err, "run");
		return NULL;
	}
	return run;
}

void run_get(struct request *req, struct reply *rep)
{
	json_t *run = find_run(req, rep);
	char tag[ETAG_BYTES];
	int err;

	if (!run)
		return;
	run_report_url(req, run);
	err = etag_make(tag, run, 0, NULL);
	reply_json(rep, 200, json_pack("{s:o}", "run", run));
	if (err == 0)
		etag_reply(req, rep, tag);
}

/* Write the beginning of the answer; a finished run may follow. */
static int begin_status(struct request *req, struct buf *text,
			struct run_status *status)
{
	*status = (struct run_status){
		.text = text,
		.alias = request_conf(req)->session_status_alias,
	};
	buf_init(text, STATUS_BYTES);
	return buf_print(text, "{\"run\":");
}

static void reply_run_status(struct reply *rep, const struct run_status *status,
			     int err)
{
	if (err == 0 && !status->finished)
		err = buf_print(
			status->text, "{\"status\":\"running\"%s}",
			status->alias ? ",\"session_status\":\"running\"" : "");
	if (err == 0)
		err = buf_print(status->text, ",\"status\":200}");
	if (err) {
		buf_release(status->text);
		reply_store_error(rep, err, "run");
	} else {
		reply_text(rep, status->text);
	}
}

void run_status(struct request *req, struct reply *rep)
{
	struct run_status status;
	struct buf text;
	int err = begin_status(req, &text, &status);

	if (err == 0)
		err = store_run_status(request_store(req),
				       request_param(req, 0), &status);
	reply_run_status(rep, &status, err);
}

void run_stop_request(struct request *req, struct reply *rep)
{
	json_t *run = find_run(req, rep);
	int64_t id;
	int err;

	if (!run)
		return;
	id = json_integer_value(json_object_get(run, "id"));
	json_decref(run);
	err = run_stop(request_controller(req), request_store(req), id);
	if (err == -EALREADY)
		reply_problem(rep, 409, "the run is over or stopping already");
	else if (err)
		reply_store_error(rep, err, "run");
	else
		reply_json(rep, 202, NULL);
}

/* Only runs that are over can be deleted, and these do not change. @return
 * true: go on */
static bool run_matches(struct request *req, struct reply *rep, json_t *run)
{
	const char *wanted = request_header(req, "If-Match");
	char tag[ETAG_BYTES];

	run_report_url(req, run);
	if (!wanted ||
	    (etag_make(tag, run, 0, NULL) == 0 && etag_allows(wanted, tag)))
		return true;
	reply_problem(rep, 412, "the run has changed since it was read");
	return false;
}

void run_delete(struct request *req, struct reply *rep)
{
	json_t *run = find_run(req, rep);
	int err;

	if (!run)
		return;
	if (!run_matches(req, rep, run)) {
		json_decref(run);
		return;
	}
	err = store_run_delete(request_store(req),
			       json_integer_value(json_object_get(run, "id")));
	if (err == 0) {
		artifact_files_delete(
			request_conf(req),
			json_string_value(json_object_get(run, "session_id")));
		remover_poke(request_controller(req));
	}
	json_decref(run);
	if (err == -EBUSY)
		reply_problem(rep, 409,
			      "the run is in progress: stop it first");
	else if (err)
		reply_store_error(rep, err, "run");
	else
		reply_empty(rep, 204);
}

void run_kiosk_share(struct request *req, struct reply *rep)
{
	char kiosk_id[UUID_TEXT_BYTES];
	json_t *run = find_run(req, rep);
	int err;

	if (!run)
		return;
	uuid_make(kiosk_id);
	err = store_run_share(request_store(req),
			      json_integer_value(json_object_get(run, "id")),
			      kiosk_id);
	json_decref(run);
	if (err) {
		reply_store_error(rep, err, "run");
		return;
	}
	run = find_run(req, rep); /* with the link that it has now */
	if (!run)
		return;
	run_report_url(req, run);
	reply_json(rep, 200,
		   json_pack("{s:O}", "report_url",
			     json_object_get(run, "report_url")));
	json_decref(run);
}

void run_kiosk_revoke(struct request *req, struct reply *rep)
{
	json_t *run = find_run(req, rep);
	int err;

	if (!run)
		return;
	err = store_run_revoke(request_store(req),
			       json_integer_value(json_object_get(run, "id")));
	json_decref(run);
	if (err == -ENOENT)
		reply_problem(rep, 404, "the run has no public link");
	else if (err)
		reply_store_error(rep, err, "run");
	else
		reply_empty(rep, 204);
}

void test_status_last(struct request *req, struct reply *rep)
{
	struct run_status status;
	struct buf text;
	json_t *test;
	int64_t id;
	int err = -ENOENT;

	if (param_id(req, 0, &id))
		err = resource_find(req, &test_resource, id, &test);
	if (err) {
		reply_store_error(rep, err, "test");
		return;
	}
	json_decref(test);
	err = begin_status(req, &text, &status);
	if (err == 0)
		err = store_run_status_last(request_store(req), id, &status);
	if (err == -ENOENT) { /* the test never ran */
		status.finished = true;
		err = buf_print(&text, "null");
	}
	reply_run_status(rep, &status, err);
}

static json_t *pick(json_t *row, const char *const *names, size_t count)
{
	json_t *picked = json_object();

	for (size_t i = 0; i < count; i++)
		json_object_set(picked, names[i],
				json_object_get(row, names[i]));
	return picked;
}

/* @return 0 and {run, test}; -errno */
static int last_entry(struct request *req, json_t *test, json_t **ret)
{
	static const char *const of_run[] = {
		"has_passed",         "id",         "is_failed",  "is_finished",
		"result_description", "session_id", "started_at", "status",
		"stopped_at"};
	static const char *const of_test[] = {"id",
					      "name",
					      "description",
					      "tags",
					      "testcase_name",
					      "agentpool_name",
					      "callback_on_failure",
					      "callback_template_name",
					      "callback_url",
					      "retries_on_failure"};
	json_t *run = NULL, *shown;
	int err;

	err = store_run_last(request_store(req),
			     json_integer_value(json_object_get(test, "id")),
			     &run);
	if (err && err != -ENOENT)
		return err;
	shown = run ? pick(run, of_run, sizeof(of_run) / sizeof(*of_run))
		    : json_null();
	json_decref(run);
	err = resource_present(req, &test_resource, test);
	if (err) {
		json_decref(shown);
		return err;
	}
	*ret = json_pack(
		"{s:o, s:o}", "run", shown, "test",
		pick(test, of_test, sizeof(of_test) / sizeof(*of_test)));
	return 0;
}

void project_status_last(struct request *req, struct reply *rep)
{
	json_t *project, *tests = NULL, *test, *list, *entry;
	struct page page;
	int64_t id, total = 0;
	size_t i;
	int err = -ENOENT;

	if (!page_read_all(req, &page, rep))
		return;
	if (param_id(req, 0, &id))
		err = resource_find(req, &project_resource, id, &project);
	if (err) {
		reply_store_error(rep, err, "project");
		return;
	}
	json_decref(project);
	err = resource_list_of(req, &test_resource, "t.project_id", id, &page,
			       &tests, &total);
	list = json_array();
	json_array_foreach(tests, i, test)
	{
		if (err)
			break;
		err = last_entry(req, test, &entry);
		if (err == 0)
			json_array_append_new(list, entry);
	}
	json_decref(tests);
	if (err) {
		json_decref(list);
		reply_store_error(rep, err, "project");
		return;
	}
	reply_json(rep, 200, json_pack("{s:o}", "tests", list));
	page_links(req, rep, &page, total);
}
