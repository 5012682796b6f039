#include "control/cli/client/record_kinds.h"

#include "control/cli/common/table.h"
#include "control/cli/common/terminal.h"
#include "control/wire/json.h"

#include <stdlib.h>
#include <string.h>

static const char *const schedule_fields[] = {
	"name",    "test_id",     "project_id", "test_ids", "tags",
	"cron",    "run_at",      "timezone",   "overlap",  "missed",
	"enabled", "report_mode", NULL,
};

static const char *const template_fields[] = {
	"name", "method", "content_type", "body", NULL,
};

static const char *const user_fields[] = {
	"name",
	"rights",
	"password",
	NULL,
};

static const char *const agent_fields[] = {
	"name", "pool_id", "further_pool_ids", "draining", NULL,
};

static const char *const pool_fields[] = {"name", "description", "capabilities",
					  NULL};
static const char *const project_fields[] = {"name", "description", NULL};

static const struct record_kind kinds[] = {
	{.command = "pool",
	 .path = "/agent-pools",
	 .plural = "agent_pools",
	 .singular = "agent_pool",
	 .columns = {"id", "name", "agent_count", "description"},
	 .fields = pool_fields},
	{.command = "target",
	 .path = "/targets",
	 .plural = "targets",
	 .singular = "target",
	 .columns = {"id", "name", "domain", "outbound_proxy"}},
	{.command = "credentials",
	 .path = "/credential-pools",
	 .plural = "credential_pools",
	 .singular = "credential_pool",
	 .columns = {"id", "name", "credential_count"}},
	{.command = "project",
	 .path = "/projects",
	 .plural = "projects",
	 .singular = "project",
	 .columns = {"id", "name", "description"},
	 .fields = project_fields},
	{.command = "test",
	 .path = "/tests",
	 .plural = "tests",
	 .singular = "test",
	 .columns = {"id", "name", "state", "project_name", "agentpool_name",
		     "tags"}},
	{.command = "scenario",
	 .path = "/scenarios",
	 .plural = "scenarios",
	 .singular = "scenario",
	 .columns = {"name", "available", "roles", "title"}},
	{.command = "key",
	 .path = "/api-keys",
	 .plural = "api_keys",
	 .singular = "api_key",
	 .columns = {"id", "name", "rights", "public_key", "created_at",
		     "last_used_at", "expires_at"}},
	{.command = "schedule",
	 .path = "/schedules",
	 .plural = "schedules",
	 .singular = "schedule",
	 .columns = {"id", "name", "enabled", "cron", "run_at", "timezone",
		     "next_at"},
	 .fields = schedule_fields},
	{.command = "capacity-search",
	 .path = "/capacity-searches",
	 .plural = "capacity_searches",
	 .singular = "capacity_search",
	 .columns = {"id", "test_name", "unit", "min", "max", "status",
		     "trial_count", "created_at"}},
	{.command = "callback",
	 .path = "/callbacks",
	 .plural = "callbacks",
	 .singular = "callback",
	 .columns = {"id", "created_at", "state", "try_count", "next_try_at",
		     "session_id", "url"}},
	{.command = "user",
	 .path = "/users",
	 .plural = "users",
	 .singular = "user",
	 .columns = {"id", "name", "rights", "created_at", "updated_at"},
	 .fields = user_fields},
	{.command = "agent",
	 .path = "/agents",
	 .plural = "agents",
	 .singular = "agent",
	 .columns = {"id", "name", "pool_name", "state", "capacity", "in_use",
		     "version", "last_seen"},
	 .fields = agent_fields},
	{.command = "artifact",
	 .path = "/artifacts",
	 .plural = "artifacts",
	 .of_run = true,
	 .columns = {"role", "name", "media_type", "size", "created_at",
		     "sha256"}},
	{.command = "callback-template",
	 .path = "/callback-templates",
	 .plural = "callback_templates",
	 .singular = "callback_template",
	 .columns = {"id", "name", "method", "content_type"},
	 .fields = template_fields},
};

const struct record_kind *record_kind_find(const char *command)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(kinds[i].command, command) == 0)
			return &kinds[i];
	return NULL;
}

char *record_text(const json_t *value)
{
	if (!value || json_is_null(value))
		return NULL;
	if (json_is_string(value))
		return strdup(json_string_value(value));
	return json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_DECIMAL);
}

void record_print_list(FILE *out, const struct record_kind *kind,
		       const json_t *rows, size_t width)
{
	struct table_column columns[KIND_COLUMNS_MAX] = {{.title = ""}};
	json_t *cells = json_array(), *row;
	size_t count = 0, i;

	while (count < KIND_COLUMNS_MAX && kind->columns[count]) {
		columns[count].title = kind->columns[count];
		count++;
	}
	json_array_foreach(rows, i, row)
	{
		json_t *texts = json_array();

		for (size_t c = 0; c < count; c++) {
			char *text = record_text(
				json_object_get(row, columns[c].title));

			json_array_append_new(texts, text ? json_string(text)
							  : json_null());
			free(text);
		}
		json_array_append_new(cells, texts);
	}
	table_print(out, columns, count, cells, width);
	json_decref(cells);
}

static void print_member(FILE *out, const char *name, const json_t *value)
{
	char *text = record_text(value);

	fprintf(out, "%s: ", name);
	terminal_print(out, text ? text : "-", 0);
	fputc('\n', out);
	free(text);
}

void record_print(FILE *out, json_t *record)
{
	const char *name;
	json_t *value, *entry;
	size_t i;

	json_object_foreach(record, name, value)
	{
		if (!json_is_object(json_array_get(value, 0))) {
			print_member(out, name, value);
			continue;
		}
		fprintf(out, "%s:\n", name);
		json_array_foreach(value, i, entry)
		{
			char *text = record_text(entry);

			fputs("  ", out);
			terminal_print(out, text ? text : "", 0);
			fputc('\n', out);
			free(text);
		}
	}
}
