#include "control/server/report/report.h"

#include "base/buf.h"
#include "base/str.h"
#include "control/server/report/download.h"
#include "control/server/report/metrics.h"
#include "control/server/report/page_policy.h"
#include "control/server/report/project_page.h"
#include "control/server/report/report_data.h"
#include "control/server/session/session.h"
#include "control/server/store/store_capacity.h"
#include "control/server/store/store_project.h"
#include "control/server/store/store_report.h"
#include "control/server/store/store_verdict.h"
#include "control/web/assets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void reply_asset(struct reply *rep, const char *name)
{
	struct web_asset asset;
	struct buf text;
	size_t len;

	if (!web_asset_find(name, &asset)) {
		reply_problem(rep, 404, "there is no file of this name");
		return;
	}
	len = (size_t)(asset.end - asset.data);
	buf_init(&text, len);
	if (buf_add(&text, asset.data, len))
		reply_unavailable(rep, REPLY_RETRY_S, "out of memory");
	else
		reply_document(rep, &text, asset.content_type);
}

static void get_static(struct request *req, struct reply *rep)
{
	reply_asset(rep, request_param(req, 0));
	if (reply_status(rep) == 200)
		reply_header(rep, "Cache-Control", "max-age=300");
}

/* Browsers ask for it at answers that are no pages. */
static void get_icon(struct request *req, struct reply *rep)
{
	(void)req;
	reply_asset(rep, "favicon.svg");
	reply_header(rep, "Cache-Control", "max-age=300");
}

static void get_openapi(struct request *req, struct reply *rep)
{
	(void)req;
	reply_asset(rep, "openapi.yaml");
	reply_header(rep, "Cache-Control", "no-cache");
}

static void get_openapi_json(struct request *req, struct reply *rep)
{
	(void)req;
	reply_asset(rep, "openapi.json");
	reply_header(rep, "Cache-Control", "no-cache");
}

static void get_apidocs(struct request *req, struct reply *rep)
{
	(void)req;
	reply_asset(rep, "apidocs.html");
	reply_header(rep, "Content-Security-Policy",
		     "default-src 'none'; style-src 'self'; base-uri 'none'; "
		     "form-action 'none'; frame-ancestors 'none'");
	reply_header(rep, "Cache-Control", "no-cache");
}

static void reply_page_as(struct reply *rep, const char *name,
			  const char *policy)
{
	reply_asset(rep, name);
	reply_header(rep, "Content-Security-Policy", "%s", policy);
	reply_header(rep, "Referrer-Policy", "no-referrer");
	reply_header(rep, "Cache-Control", "no-cache");
}

static void reply_run_page(struct request *req, struct reply *rep,
			   const char *kiosk_id)
{
	struct report_run run;
	int err = store_report_run(request_store(req), request_param(req, 0),
				   kiosk_id, &run);

	if (err == -ENOENT) {
		reply_problem(rep, 404, "there is no run of this id");
	} else if (err) {
		reply_unavailable(rep, REPLY_RETRY_S,
				  "the report could not be read: %s",
				  strerror(-err));
	} else {
		report_run_release(&run);
		reply_page_as(rep, "report.html", PAGE_POLICY);
	}
}

static void get_page(struct request *req, struct reply *rep)
{
	reply_run_page(req, rep, NULL);
}

/* A public link is valid or not: the answer does not tell which half is
 * wrong. */
static void get_kiosk_page(struct request *req, struct reply *rep)
{
	reply_run_page(req, rep, request_param(req, 1));
}

static void reply_project_page(struct request *req, struct reply *rep,
			       const char *kiosk_id)
{
	json_t *doc;
	int err = store_project_run_page(request_store(req),
					 request_param(req, 0), kiosk_id, &doc);

	if (err == -ENOENT) {
		reply_problem(rep, 404, "there is no project run of this id");
	} else if (err) {
		reply_unavailable(rep, REPLY_RETRY_S,
				  "the report could not be read: %s",
				  strerror(-err));
	} else {
		json_decref(doc);
		reply_page_as(rep, "project_run.html", PAGE_POLICY);
	}
}

static void get_project_page(struct request *req, struct reply *rep)
{
	reply_project_page(req, rep, NULL);
}

/* The page of a link that was revoked is 404, like its data. */
static void get_project_kiosk_page(struct request *req, struct reply *rep)
{
	reply_project_page(req, rep, request_param(req, 1));
}

static void reply_data(struct request *req, struct reply *rep,
		       const char *kiosk_id)
{
	struct buf data;
	int err;

	buf_init(&data, REPORT_DATA_BYTES);
	err = report_data(request_store(req), request_conf(req),
			  request_param(req, 0), kiosk_id, &data);
	if (err == -ENOENT)
		reply_problem(rep, 404, "there is no run of this id");
	else if (err == -EBADMSG)
		reply_store_error(rep, err, "run");
	else if (err)
		reply_unavailable(rep, REPLY_RETRY_S,
				  "the report could not be read: %s",
				  strerror(-err));
	else
		reply_text(rep, &data);
	buf_release(&data);
	reply_header(rep, "Cache-Control", "no-store");
}

static void get_data(struct request *req, struct reply *rep)
{
	reply_data(req, rep, NULL);
}

static void get_kiosk_data(struct request *req, struct reply *rep)
{
	reply_data(req, rep, request_param(req, 1));
}

/* Answer for load balancers: the configuration and the database were read. */
static void get_health(struct request *req, struct reply *rep)
{
	(void)req;
	reply_json(rep, 200, NULL);
}

static void get_account(struct request *req, struct reply *rep)
{
	(void)req;
	reply_page_as(rep, "account.html", PAGE_POLICY);
}

/* The home of browsers. For clients of the API there is nothing. */
static void get_home(struct request *req, struct reply *rep)
{
	const char *accept = request_header(req, "Accept");

	if (accept && strstr(accept, "text/html"))
		reply_page_as(rep, "home.html", PAGE_POLICY);
	else
		reply_problem(rep, 404, "there is nothing at this address");
	reply_header(rep, "Vary", "Accept");
}

/* Pages that are all script: "/schedules" is schedules.html. */
static void get_named_page(struct request *req, struct reply *rep)
{
	char name[64];

	str_print(name, sizeof(name), "%s.html", request_path(req) + 1);
	reply_page_as(rep, name, PAGE_POLICY);
}

static void get_compare(struct request *req, struct reply *rep)
{
	(void)req;
	reply_page_as(rep, "compare.html", PAGE_POLICY);
}

static void get_editor(struct request *req, struct reply *rep)
{
	(void)req;
	reply_page_as(rep, "editor.html", PAGE_POLICY);
}

static void get_import(struct request *req, struct reply *rep)
{
	(void)req;
	reply_page_as(rep, "import.html", PAGE_POLICY);
}

static void get_test(struct request *req, struct reply *rep)
{
	struct verdict_query query = {.count = 1};
	json_t *list = NULL;
	int64_t total = 0;
	int err = -ENOENT;

	if (param_id(req, 0, &query.test_id))
		err = store_verdicts(request_store(req), &query, &list, NULL,
				     &total);
	json_decref(list);
	if (err == 0 && total > 0)
		reply_page_as(rep, "test.html", PAGE_POLICY);
	else
		reply_store_error(rep, err ? err : -ENOENT, "test");
}

static void get_capacity_search(struct request *req, struct reply *rep)
{
	int64_t id;
	int err = -ENOENT;

	if (param_id(req, 0, &id))
		err = store_capacity_known(request_store(req), id);
	if (err)
		reply_store_error(rep, err, "capacity search");
	else
		reply_page_as(rep, "capacity_search.html", PAGE_POLICY);
}

/* Pages of one script, which knows them by their address: kinds.js. */
static void get_records(struct request *req, struct reply *rep)
{
	(void)req;
	reply_page_as(rep, "records.html", PAGE_POLICY);
}

const struct route report_routes[] = {
	{"GET", "/", "overview", RIGHT_NONE, get_home, NULL},
	{"GET", "/tests", "tests", RIGHT_READ, get_named_page, NULL},
	{"GET", "/tests/new", "new test", RIGHT_WRITE, get_editor, NULL},
	{"GET", "/tests/import", "import a capture", RIGHT_WRITE, get_import,
	 NULL},
	{"GET", "/tests/:id/edit", "edit a test", RIGHT_WRITE, get_editor,
	 NULL},
	{"GET", "/tests/:id", "one test", RIGHT_READ, get_test, NULL},
	{"GET", "/runs", "runs", RIGHT_READ, get_named_page, NULL},
	{"GET", "/runs/compare", "two runs", RIGHT_READ, get_compare, NULL},
	{"GET", "/agents", "agents", RIGHT_READ, get_records, NULL},
	{"GET", "/pools", "agent pools", RIGHT_READ, get_records, NULL},
	{"GET", "/targets", "targets", RIGHT_READ, get_records, NULL},
	{"GET", "/accounts", "accounts", RIGHT_READ, get_records, NULL},
	{"GET", "/prompts", "prompts", RIGHT_READ, get_records, NULL},
	{"GET", "/projects", "projects", RIGHT_READ, get_records, NULL},
	{"GET", "/keys", "API keys", RIGHT_ADMIN, get_records, NULL},
	{"GET", "/users", "users", RIGHT_ADMIN, get_records, NULL},
	{"GET", "/audit", "audit log", RIGHT_ADMIN, get_named_page, NULL},
	{"GET", "/scenarios", "scenarios", RIGHT_READ, get_named_page, NULL},
	{"GET", "/callbacks", "callbacks", RIGHT_READ, get_named_page, NULL},
	{"GET", "/schedules", "schedules", RIGHT_READ, get_named_page, NULL},
	{"GET", "/capacity", "capacity searches", RIGHT_READ, get_named_page,
	 NULL},
	{"GET", "/capacity/:id", "capacity search", RIGHT_READ,
	 get_capacity_search, NULL},
	{"GET", "/login", "sign in", RIGHT_NONE, get_account, NULL},
	{"GET", "/setup", "first user", RIGHT_NONE, get_account, NULL},
	{"GET", "/account", "account", RIGHT_READ, get_account, NULL},
	{"GET", "/session", "session", RIGHT_NONE, session_get, NULL},
	{"POST", "/login", "sign in", RIGHT_NONE, session_login, NULL},
	{"POST", "/logout", "sign out", RIGHT_READ, session_logout, NULL},
	{"POST", "/setup", "first user", RIGHT_NONE, session_setup, NULL},
	{"POST", "/account/password", "password", RIGHT_READ, session_password,
	 NULL},
	{"GET", "/healthz", "health", RIGHT_NONE, get_health, NULL},
	{"GET", "/metrics", "figures for monitoring", RIGHT_READ, metrics_get,
	 NULL},
	{"GET", "/favicon.ico", "icon", RIGHT_NONE, get_icon, NULL},
	{"GET", "/static/:file", "static", RIGHT_NONE, get_static, NULL},
	{"GET", "/apidocs", "API", RIGHT_NONE, get_apidocs, NULL},
	{"GET", "/apidocs/openapi.yaml", "API description", RIGHT_NONE,
	 get_openapi, NULL},
	{"GET", "/apidocs/openapi.json", "API description", RIGHT_NONE,
	 get_openapi_json, NULL},
	{"GET", "/run/details/:uuid", "report", RIGHT_READ, get_page, NULL},
	{"GET", "/run/details/:uuid/data", "report data", RIGHT_READ, get_data,
	 NULL},
	{"GET", "/run/details/:uuid/sip.txt", "SIP messages", RIGHT_READ,
	 download_sip_text, NULL},
	{"GET", "/run/details/:uuid/sip.pcap", "SIP messages as packets",
	 RIGHT_READ, download_sip_pcap, NULL},
	{"GET", "/run/details/:uuid/packets.pcapng", "SIP, RTP and RTCP",
	 RIGHT_READ, download_packets, NULL},
	{"GET", "/run/details/:uuid/stats.csv", "metrics as a table",
	 RIGHT_READ, download_stats_csv, NULL},
	{"GET", "/kiosk/:uuid/:kiosk", "kiosk", RIGHT_NONE, get_kiosk_page,
	 NULL},
	{"GET", "/kiosk/:uuid/:kiosk/data", "kiosk data", RIGHT_NONE,
	 get_kiosk_data, NULL},
	{"GET", "/run/project/:uuid", "project run", RIGHT_READ,
	 get_project_page, NULL},
	{"GET", "/run/project/:uuid/data", "project run data", RIGHT_READ,
	 project_data, NULL},
	{"GET", "/kiosk/project/:uuid/:kiosk", "project run kiosk", RIGHT_NONE,
	 get_project_kiosk_page, NULL},
	{"GET", "/kiosk/project/:uuid/:kiosk/data", "project run kiosk data",
	 RIGHT_NONE, project_data_kiosk, NULL},
};

const size_t report_route_count =
	sizeof(report_routes) / sizeof(*report_routes);
