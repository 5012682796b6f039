#include "control/server/api/overview.h"

#include "base/str.h"
#include "control/server/api/etag.h"
#include "control/server/api/page.h"
#include "control/server/api/resource.h"
#include "control/server/store/store.h"
#include "control/server/store/store_overview.h"
#include "control/server/store/store_verdict.h"

#include <errno.h>

/* Entries of each list; the totals are exact. */
#define BROKEN_MAX  100
#define PASSING_MAX 20
#define AGENTS_MAX  100
#define RUNNING_MAX 20
#define NEXT_MAX    5
#define CHANGES_MAX 10

static int set(json_t *object, const char *name, int err, json_t *value)
{
	if (err)
		return err;
	return json_object_set_new(object, name, value) ? -ENOMEM : 0;
}

static int set_total(json_t *object, const char *name, int err, int64_t total)
{
	return err ? err : set(object, name, 0, json_integer(total));
}

static int add_tests(struct request *req, json_t *overview)
{
	const struct verdict_query broken = {.broken = true,
					     .count = BROKEN_MAX};
	const struct verdict_query passing = {
		.state = "passed", .recent = true, .count = PASSING_MAX};
	struct store *s = request_store(req);
	json_t *list = NULL, *counts = NULL;
	int64_t total = 0;
	int err = store_verdicts(s, &broken, &list, &counts, &total);

	err = set(overview, "broken", err, list);
	err = set(overview, "tests", err, counts);
	if (!err)
		err = store_verdicts(s, &passing, &list, NULL, &total);
	return set(overview, "passing", err, list);
}

static int add_rest(struct request *req, json_t *overview)
{
	const struct page agents = {.count = AGENTS_MAX};
	struct store *s = request_store(req);
	json_t *list = NULL;
	int64_t total = 0;
	int err = store_trend(s, store_now_ms(), 0, &list);

	err = set(overview, "trend", err, list);
	if (!err)
		err = resource_rows(req, &agent_resource, &agents, &list,
				    &total);
	err = set(overview, "agents", err, list);
	err = set_total(overview, "agents_total", err, total);
	if (!err)
		err = store_running(s, RUNNING_MAX, &list, &total);
	err = set(overview, "running", err, list);
	err = set_total(overview, "running_total", err, total);
	if (!err)
		err = store_next_starts(s, NEXT_MAX, &list);
	err = set(overview, "next", err, list);
	if (!err)
		err = store_recent_changes(s, CHANGES_MAX, &list);
	return set(overview, "changes", err, list);
}

void overview_get(struct request *req, struct reply *rep)
{
	json_t *overview = json_object();
	char tag[ETAG_BYTES];
	int err = add_tests(req, overview);

	if (!err)
		err = add_rest(req, overview);
	if (!err)
		err = etag_make(tag, overview, 0, NULL);
	if (err) {
		json_decref(overview);
		reply_store_error(rep, err, "overview");
		return;
	}
	reply_json(rep, 200, json_pack("{s:o}", "overview", overview));
	etag_reply(req, rep, tag);
}

void verdicts_list(struct request *req, struct reply *rep)
{
	struct verdict_query query = {
		.name = query_get(req, "name"),
		.project = query_get(req, "project"),
		.tag = query_get(req, "tag"),
		.state = query_get(req, "state"),
	};
	json_t *list, *counts;
	struct page page;
	int64_t total = 0;
	int err;

	if (!page_read(req, &page, rep))
		return;
	query.start = page.start;
	query.count = page.count;
	if (query.state && !str_has_word(VERDICT_STATES, query.state)) {
		field_error(rep, "state", "must be one of " VERDICT_STATES);
		return;
	}
	err = store_verdicts(request_store(req), &query, &list, &counts,
			     &total);
	if (err) {
		reply_store_error(rep, err, "test");
		return;
	}
	page_reply(req, rep, "verdicts", list, &page, total);
	reply_member(rep, "states", counts);
	json_decref(counts);
}

void verdict_get(struct request *req, struct reply *rep)
{
	struct verdict_query query = {.count = 1};
	struct store *s = request_store(req);
	json_t *list = NULL, *trend = NULL;
	int64_t total = 0;
	int err = -ENOENT;

	if (param_id(req, 0, &query.test_id))
		err = store_verdicts(s, &query, &list, NULL, &total);
	if (!err && !total)
		err = -ENOENT;
	if (!err)
		err = store_trend(s, store_now_ms(), query.test_id, &trend);
	if (err)
		reply_store_error(rep, err, "test");
	else
		reply_json(rep, 200,
			   json_pack("{s:O, s:O}", "verdict",
				     json_array_get(list, 0), "trend", trend));
	json_decref(list);
	json_decref(trend);
}
