#include "control/server/api/routes.h"

#include "control/server/agentapi/agentapi.h"
#include "control/server/api/agents.h"
#include "control/server/api/appimages.h"
#include "control/server/api/artifacts.h"
#include "control/server/api/audit.h"
#include "control/server/api/callbacks.h"
#include "control/server/api/capacity_searches.h"
#include "control/server/api/capture_import.h"
#include "control/server/api/descriptions.h"
#include "control/server/api/legacy.h"
#include "control/server/api/overview.h"
#include "control/server/api/projects.h"
#include "control/server/api/resource.h"
#include "control/server/api/retention.h"
#include "control/server/api/runs.h"
#include "control/server/api/scenarios.h"
#include "control/server/api/start.h"
#include "control/server/api/users.h"
#include "control/server/report/differences.h"
#include "control/server/report/flakiness.h"
#include "control/server/report/quality.h"
#include "control/server/report/run_report.h"

#include <string.h>

/* GET /: the endpoints, their methods and rights. */
static void endpoints_list(struct request *req, struct reply *rep);

/* one endpoint a line */
/* clang-format off */
const struct route api_routes[] = {
	{"GET", "/", "endpoints", RIGHT_READ, endpoints_list, NULL},

	{"GET", "/audit", "audit log", RIGHT_ADMIN, audit_list, NULL},
	{"GET", "/retention", "retention", RIGHT_ADMIN, retention_get, NULL},
	{"GET", "/overview", "overview", RIGHT_READ, overview_get, NULL},

	{"GET", "/projects", "projects", RIGHT_READ, resource_list, NULL},
	{"POST", "/projects", "projects", RIGHT_WRITE, resource_create, NULL},
	{"GET", "/projects/:id", "project", RIGHT_READ, resource_get, NULL},
	{"PUT", "/projects/:id", "project", RIGHT_WRITE, resource_replace, NULL},
	{"DELETE", "/projects/:id", "project", RIGHT_WRITE, resource_delete, NULL},
	{"POST", "/projects/:id/import", "tests of captured calls", RIGHT_WRITE, capture_import, NULL},

	{"GET", "/targets", "targets", RIGHT_READ, resource_list, NULL},
	{"POST", "/targets", "targets", RIGHT_WRITE, resource_create, NULL},
	{"GET", "/targets/:id", "target", RIGHT_READ, resource_get, NULL},
	{"PUT", "/targets/:id", "target", RIGHT_WRITE, resource_replace, NULL},
	{"DELETE", "/targets/:id", "target", RIGHT_WRITE, resource_delete, NULL},

	{"GET", "/credential-pools", "credential pools", RIGHT_READ, resource_list, NULL},
	{"POST", "/credential-pools", "credential pools", RIGHT_WRITE, resource_create, NULL},
	{"GET", "/credential-pools/:id", "credential pool", RIGHT_READ, resource_get, NULL},
	{"PUT", "/credential-pools/:id", "credential pool", RIGHT_WRITE, resource_replace, NULL},
	{"DELETE", "/credential-pools/:id", "credential pool", RIGHT_WRITE, resource_delete, NULL},

	{"GET", "/agent-pools", "agent pools", RIGHT_READ, resource_list, NULL},
	{"POST", "/agent-pools", "agent pools", RIGHT_WRITE, resource_create, NULL},
	{"GET", "/agent-pools/:id", "agent pool", RIGHT_READ, resource_get, NULL},
	{"PUT", "/agent-pools/:id", "agent pool", RIGHT_WRITE, resource_replace, NULL},
	{"DELETE", "/agent-pools/:id", "agent pool", RIGHT_WRITE, resource_delete, NULL},
	{"POST", "/agent-pools/:id/token", "join token", RIGHT_WRITE, agent_pool_token, NULL},

	{"GET", "/agents", "agents", RIGHT_READ, resource_list, NULL},
	{"GET", "/agents/:id", "agent", RIGHT_READ, resource_get, NULL},
	{"PUT", "/agents/:id", "agent", RIGHT_WRITE, agent_replace, NULL},
	{"DELETE", "/agents/:id", "agent", RIGHT_WRITE, resource_delete, NULL},

	{"GET", "/tests", "tests", RIGHT_READ, resource_list, NULL},
	{"POST", "/tests", "tests", RIGHT_WRITE, resource_create, NULL},
	{"GET", "/tests/:id", "test", RIGHT_READ, resource_get, NULL},
	{"PUT", "/tests/:id", "test", RIGHT_WRITE, resource_replace, NULL},
	{"DELETE", "/tests/:id", "test", RIGHT_WRITE, resource_delete, NULL},

	{"GET", "/tests/verdicts", "states of tests", RIGHT_READ, verdicts_list, NULL},
	{"GET", "/tests/:id/verdict", "state of a test", RIGHT_READ, verdict_get, NULL},
	{"GET", "/tests/:id/flakiness", "flakiness of a test", RIGHT_READ, flakiness_get, NULL},
	{"POST", "/tests/:id/run", "start a run", RIGHT_RUN, test_run, NULL},
	{"POST", "/tests/run", "start a run", RIGHT_RUN, test_run_legacy, "/tests/:id/run"},

	{"GET", "/callback-templates", "callback templates", RIGHT_READ, resource_list, NULL},
	{"POST", "/callback-templates", "callback templates", RIGHT_WRITE, resource_create, NULL},
	{"GET", "/callback-templates/:id", "callback template", RIGHT_READ, resource_get, NULL},
	{"PUT", "/callback-templates/:id", "callback template", RIGHT_WRITE, resource_replace, NULL},
	{"DELETE", "/callback-templates/:id", "callback template", RIGHT_WRITE, resource_delete, NULL},
	{"GET", "/callbacks", "callbacks", RIGHT_READ, resource_list, NULL},
	{"GET", "/callbacks/:id", "callback", RIGHT_READ, resource_get, NULL},
	{"GET", "/runs/:id/callbacks", "callbacks of a run", RIGHT_READ, run_callbacks, NULL},

	{"GET", "/schedules", "schedules", RIGHT_READ, resource_list, NULL},
	{"POST", "/schedules", "schedules", RIGHT_WRITE, resource_create, NULL},
	{"GET", "/schedules/:id", "schedule", RIGHT_READ, resource_get, NULL},
	{"PUT", "/schedules/:id", "schedule", RIGHT_WRITE, resource_replace, NULL},
	{"DELETE", "/schedules/:id", "schedule", RIGHT_WRITE, resource_delete, NULL},

	{"GET", "/capacity-searches", "capacity searches", RIGHT_READ, capacity_search_list, NULL},
	{"POST", "/capacity-searches", "capacity searches", RIGHT_RUN, capacity_search_create, NULL},
	{"GET", "/capacity-searches/:id", "capacity search", RIGHT_READ, capacity_search_get, NULL},
	{"DELETE", "/capacity-searches/:id", "capacity search", RIGHT_WRITE, capacity_search_delete, NULL},
	{"POST", "/capacity-searches/:id/stop", "capacity search stop", RIGHT_RUN, capacity_search_stop, NULL},

	{"GET", "/scenarios", "scenarios", RIGHT_READ, scenarios_list, NULL},
	{"GET", "/scenarios/:name", "scenario", RIGHT_READ, scenario_get, NULL},
	{"GET", "/scenarios/:name/params", "scenario parameters", RIGHT_READ, scenario_params_get, NULL},
	{"GET", "/scenarios/:name/conditions", "scenario conditions", RIGHT_READ, scenario_conditions_get, NULL},
	{"GET", "/scenarios/:name/test", "test of a scenario", RIGHT_READ, scenario_test_get, NULL},
	{"POST", "/tests/scenarios/:name", "run a scenario", RIGHT_RUN, scenario_run, NULL},

	{"GET", "/descriptions", "descriptions", RIGHT_READ, descriptions_get, NULL},

	{"GET", "/appimages", "appimages", RIGHT_READ, resource_list, NULL},
	{"POST", "/appimages", "appimages", RIGHT_WRITE, appimage_create, NULL},
	{"GET", "/appimages/:id", "appimage", RIGHT_READ, resource_get, NULL},
	{"PUT", "/appimages/:id", "appimage", RIGHT_WRITE, resource_replace, NULL},
	{"DELETE", "/appimages/:id", "appimage", RIGHT_WRITE, appimage_delete, NULL},
	{"GET", "/appimages/:id/content", "appimage content", RIGHT_READ, appimage_content, NULL},

	{"POST", "/agent/register", "enrol an agent", RIGHT_NONE, agent_register, NULL},
	{"POST", "/agent/poll", "wait for jobs", RIGHT_AGENT, agent_poll, NULL},
	{"GET", "/agent/appimages/:sha256", "fetch a prompt", RIGHT_AGENT, agent_appimage, NULL},
	{"POST", "/agent/disconnect", "agent goes away", RIGHT_AGENT, agent_disconnect, NULL},
	{"POST", "/agent/leases/:id/start", "confirm a job", RIGHT_AGENT, agent_lease_start, NULL},
	{"PUT", "/agent/leases/:id", "renew a lease", RIGHT_AGENT, agent_lease_renew, NULL},
	{"POST", "/agent/leases/:id/barriers/:step", "end of a step", RIGHT_AGENT, agent_lease_barrier, NULL},
	{"POST", "/agent/leases/:id/stats", "upload statistics", RIGHT_AGENT, agent_lease_stats, NULL},
	{"POST", "/agent/leases/:id/events", "upload events", RIGHT_AGENT, agent_lease_events, NULL},
	{"POST", "/agent/leases/:id/sip", "upload SIP messages", RIGHT_AGENT, agent_lease_sip, NULL},
	{"PUT", "/agent/leases/:id/artifacts/:name", "upload an artifact", RIGHT_AGENT, agent_lease_artifact, NULL},
	{"POST", "/agent/leases/:id/finish", "end of a job", RIGHT_AGENT, agent_lease_finish, NULL},

	{"GET", "/api-keys", "API keys", RIGHT_ADMIN, resource_list, NULL},
	{"POST", "/api-keys", "API keys", RIGHT_ADMIN, resource_create, NULL},
	{"GET", "/api-keys/:id", "API key", RIGHT_ADMIN, resource_get, NULL},
	{"DELETE", "/api-keys/:id", "API key", RIGHT_ADMIN, resource_delete, NULL},

	{"GET", "/users", "users", RIGHT_ADMIN, resource_list, NULL},
	{"POST", "/users", "users", RIGHT_ADMIN, user_create, NULL},
	{"GET", "/users/:id", "user", RIGHT_ADMIN, resource_get, NULL},
	{"PUT", "/users/:id", "user", RIGHT_ADMIN, resource_replace, NULL},
	{"DELETE", "/users/:id", "user", RIGHT_ADMIN, resource_delete, NULL},

	{"GET", "/runs", "runs", RIGHT_READ, runs_list, NULL},
	{"GET", "/runs/:id", "run", RIGHT_READ, run_get, NULL},
	{"DELETE", "/runs/:id", "run", RIGHT_WRITE, run_delete, NULL},
	{"PUT", "/runs/:id/kiosk", "make the public link", RIGHT_WRITE, run_kiosk_share, NULL},
	{"DELETE", "/runs/:id/kiosk", "revoke the public link", RIGHT_WRITE, run_kiosk_revoke, NULL},
	{"PUT", "/runs/:id/keep", "keep a run", RIGHT_WRITE, run_keep, NULL},
	{"DELETE", "/runs/:id/keep", "keep a run no longer", RIGHT_WRITE, run_keep_end, NULL},
	{"GET", "/runs/:id/status", "run status", RIGHT_READ, run_status, NULL},
	{"POST", "/runs/:id/stop", "run stop", RIGHT_RUN, run_stop_request, NULL},
	{"GET", "/runs/:id/artifacts", "artifacts of a run", RIGHT_READ, run_artifacts, NULL},
	{"GET", "/runs/:id/artifacts/:role/:name", "artifact", RIGHT_READ, run_artifact_content, NULL},
	{"GET", "/runs/:id/differences", "differences of runs", RIGHT_READ, run_differences, NULL},
	{"GET", "/runs/:id/quality", "packets behind other buffers", RIGHT_READ, run_quality, NULL},
	{"GET", "/runs/:id/report/junit", "report of a run", RIGHT_READ, run_report_junit, NULL},
	{"GET", "/runs/:id/report/markdown", "report of a run", RIGHT_READ, run_report_markdown, NULL},
	{"GET", "/runs/:id/report/html", "report of a run", RIGHT_READ, run_report_html, NULL},
	{"GET", "/runs/:sid/stats", "run metrics", RIGHT_READ, run_stats_dimensions, NULL},
	{"GET", "/runs/:sid/stats/:measure", "run metrics", RIGHT_READ, run_stats_data, NULL},
	{"GET", "/tests/:id/status/last", "test status", RIGHT_READ, test_status_last, NULL},
	{"GET", "/tests/:tid/stats", "test metrics", RIGHT_READ, test_stats_dimensions, NULL},
	{"GET", "/tests/:tid/stats/:measure", "test metrics", RIGHT_READ, test_stats_data, NULL},
	{"POST", "/projects/:id/run", "start a project run", RIGHT_RUN, project_run, NULL},
	{"POST", "/projects/run", "start a project run", RIGHT_RUN, project_run_legacy, "/projects/:id/run"},
	{"GET", "/projects/runs/:uuid/status", "project run status", RIGHT_READ, project_run_status, NULL},
	{"GET", "/projects/runs/:uuid/report/junit", "report of a project run", RIGHT_READ, project_report_junit, NULL},
	{"GET", "/projects/runs/:uuid/report/markdown", "report of a project run", RIGHT_READ, project_report_markdown, NULL},
	{"GET", "/projects/runs/:uuid/report/html", "report of a project run", RIGHT_READ, project_report_html, NULL},
	{"DELETE", "/projects/runs/:uuid/kiosk", "revoke the public link", RIGHT_WRITE, project_run_revoke, NULL},
	{"POST", "/projects/runs/:uuid/stop", "project run stop", RIGHT_RUN, project_run_stop, NULL},
	{"GET", "/projects/:id/status/last", "project status", RIGHT_READ, project_status_last, NULL},

	{"POST", "/projects/create", "deprecated", RIGHT_WRITE, legacy_create, "/projects"},
	{"POST", "/projects/update", "deprecated", RIGHT_WRITE, legacy_update, "/projects/:id"},
	{"POST", "/projects/delete", "deprecated", RIGHT_WRITE, legacy_delete, "/projects/:id"},
	{"POST", "/targets/create", "deprecated", RIGHT_WRITE, legacy_create, "/targets"},
	{"POST", "/targets/update", "deprecated", RIGHT_WRITE, legacy_update, "/targets/:id"},
	{"POST", "/targets/delete", "deprecated", RIGHT_WRITE, legacy_delete, "/targets/:id"},
	{"POST", "/credential-pools/create", "deprecated", RIGHT_WRITE, legacy_create, "/credential-pools"},
	{"POST", "/credential-pools/update", "deprecated", RIGHT_WRITE, legacy_update, "/credential-pools/:id"},
	{"POST", "/credential-pools/delete", "deprecated", RIGHT_WRITE, legacy_delete, "/credential-pools/:id"},
	{"POST", "/agent-pools/create", "deprecated", RIGHT_WRITE, legacy_create, "/agent-pools"},
	{"POST", "/agent-pools/update", "deprecated", RIGHT_WRITE, legacy_update, "/agent-pools/:id"},
	{"POST", "/agent-pools/delete", "deprecated", RIGHT_WRITE, legacy_delete, "/agent-pools/:id"},
	{"POST", "/tests/create", "deprecated", RIGHT_WRITE, legacy_create, "/tests"},
	{"POST", "/tests/update", "deprecated", RIGHT_WRITE, legacy_update, "/tests/:id"},
	{"POST", "/tests/delete", "deprecated", RIGHT_WRITE, legacy_delete, "/tests/:id"},
};
/* clang-format on */

const size_t api_route_count = sizeof(api_routes) / sizeof(*api_routes);

#define PAGE    "start count"
#define METRICS "role dir confidence"

const struct route_query api_queries[] = {
	{resource_list, PAGE},
	{capacity_search_list, PAGE},
	{scenarios_list, PAGE},
	{audit_list, PAGE " actor kind outcome request since until"},
	{verdicts_list, PAGE " name project tag state"},
	{run_artifacts, PAGE},
	{run_callbacks, PAGE},
	{run_differences, "with"},
	{run_quality, "jitter_buffer codec least network_delay"},
	{project_status_last, PAGE},
	{project_run_status, PAGE},
	{runs_list,
	 PAGE " orderby orderdir startdate enddate filtername* filterval*"},
	{run_stats_data, METRICS},
	{test_stats_data, METRICS},
};

const size_t api_query_count = sizeof(api_queries) / sizeof(*api_queries);

/* ---- GET / ---- */

static json_t *entry_of(json_t *endpoints, const char *path)
{
	json_t *entry;
	size_t i;

	json_array_foreach(endpoints, i, entry)
	{
		json_t *url = json_object_get(entry, "url");

		if (strcmp(json_string_value(url), path) == 0)
			return entry;
	}
	return NULL;
}

static const char *right_name(enum api_right right)
{
	static const char *const names[] = {
		[RIGHT_NONE] = "none",   [RIGHT_READ] = "read",
		[RIGHT_RUN] = "run",     [RIGHT_WRITE] = "write",
		[RIGHT_ADMIN] = "admin", [RIGHT_AGENT] = "agent",
	};

	return names[right];
}

static void endpoints_list(struct request *req, struct reply *rep)
{
	json_t *endpoints = json_array();

	(void)req;
	for (size_t i = 0; i < api_route_count; i++) {
		const struct route *r = &api_routes[i];
		json_t *entry = entry_of(endpoints, r->path);

		if (!entry) {
			entry = json_pack("{s:s, s:[], s:{}}", "url", r->path,
					  "methods", "rights");
			if (r->name)
				json_object_set_new(entry, "name",
						    json_string(r->name));
			json_array_append_new(endpoints, entry);
		}
		json_array_append_new(json_object_get(entry, "methods"),
				      json_string(r->method));
		json_object_set_new(json_object_get(entry, "rights"), r->method,
				    json_string(right_name(r->right)));
	}
	reply_json(rep, 200, json_pack("{s:o}", "endpoints", endpoints));
}
