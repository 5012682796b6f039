#include "control/server/api/resource.h"

static const struct column columns[] = {
	{"id", "id", NULL, COLUMN_INT},
	{"name", "name", "name", COLUMN_TEXT},
	{"description", "description", "description", COLUMN_TEXT},
	{"created_at", "created_at", "created_at", COLUMN_TIME},
	{"updated_at", "updated_at", "updated_at", COLUMN_TIME},
};

static const struct table table = {
	.name = "project",
	.from = "project",
	.id = "id",
	.columns = columns,
	.column_count = sizeof(columns) / sizeof(*columns),
};

static const struct field fields[] = {
	{.name = "name",
	 .kind = FIELD_TEXT,
	 .required = true,
	 .min = 1,
	 .max = 200},
	{.name = "description", .kind = FIELD_TEXT, .max = 4000},
};

const struct resource project_resource = {
	.path = "/projects",
	.plural = "projects",
	.singular = "project",
	.table = &table,
	.fields = fields,
	.field_count = sizeof(fields) / sizeof(*fields),
	.updated_at = true,
};
