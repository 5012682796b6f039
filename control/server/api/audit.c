#include "control/server/api/audit.h"

#include "base/str.h"
#include "control/server/api/page.h"
#include "control/server/request/fields.h"
#include "control/server/store/store_audit.h"

static void read_time(const struct request *req, struct reply *rep,
		      const char *name, int64_t *ret_ms)
{
	const char *text = query_get(req, name);

	if (text && !time_parse(text, ret_ms))
		field_error(rep, name, "must be YYYY-MM-DD HH:MM:SS");
}

void audit_list(struct request *req, struct reply *rep)
{
	struct audit_query query = {
		.actor = query_get(req, "actor"),
		.kind = query_get(req, "kind"),
		.outcome = query_get(req, "outcome"),
		.request_id = query_get(req, "request"),
	};
	struct page page;
	json_t *list;
	int64_t total = 0;
	int err;

	if (!page_read(req, &page, rep))
		return;
	read_time(req, rep, "since", &query.since_ms);
	read_time(req, rep, "until", &query.until_ms);
	if (query.outcome && !str_has_word("changed refused", query.outcome))
		field_error(rep, "outcome", "must be changed or refused");
	if (reply_status(rep))
		return;
	query.start = page.start;
	query.count = page.count;
	err = store_audit_list(request_store(req), &query, &list, &total);
	if (err)
		reply_store_error(rep, err, "audit");
	else
		page_reply(req, rep, "audit", list, &page, total);
}
