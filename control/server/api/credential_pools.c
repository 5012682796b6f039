#include "control/server/api/references.h"
#include "control/server/api/resource.h"
#include "control/server/store/store_credential.h"
#include "control/wire/job.h"

static const struct column columns[] = {
	{"id", "p.id", NULL, COLUMN_INT},
	{"name", "p.name", "name", COLUMN_TEXT},
	{"credential_count",
	 "(SELECT count(*) FROM credential c WHERE c.pool_id = p.id)", NULL,
	 COLUMN_INT},
	{"created_at", "p.created_at", "created_at", COLUMN_TIME},
	{"updated_at", "p.updated_at", "updated_at", COLUMN_TIME},
};

static const struct table table = {
	.name = "credential_pool",
	.from = "credential_pool p",
	.id = "p.id",
	.columns = columns,
	.column_count = sizeof(columns) / sizeof(*columns),
};

static const struct field credential_fields[] = {
	{.name = "username",
	 .kind = FIELD_TEXT,
	 .required = true,
	 .min = 1,
	 .max = 255},
	{.name = "auth_username", .kind = FIELD_TEXT, .max = 255},
	{.name = "password", .kind = FIELD_TEXT, .max = 255},
	{.name = "has_password", .kind = FIELD_FLAG, .fallback = "0"},
	{.name = "domain", .kind = FIELD_TEXT, .max = 255},
	{.name = "display_name", .kind = FIELD_TEXT, .max = 255},
	{.name = "extension", .kind = FIELD_TEXT, .max = 255},
};

static void check_credentials(struct request *req, json_t *value,
			      const char *pointer, struct reply *rep)
{
	fields_read_elements(
		req, value, pointer, credential_fields,
		sizeof(credential_fields) / sizeof(*credential_fields), rep);
}

static const struct field fields[] = {
	{.name = "name",
	 .kind = FIELD_TEXT,
	 .required = true,
	 .min = 1,
	 .max = 200},
	{.name = "credentials",
	 .kind = FIELD_ARRAY,
	 .fallback = "[]",
	 .max = WIRE_CREDENTIALS_MAX,
	 .check = check_credentials},
};

static int detail(struct request *req, json_t *row)
{
	json_t *credentials;
	int err;

	err = store_credentials_get(
		req->store, json_integer_value(json_object_get(row, "id")),
		&credentials);
	if (err)
		return err;
	json_object_set_new(row, "credentials", credentials);
	return 0;
}

static bool may_delete(struct request *req, int64_t id, struct reply *rep)
{
	return reference_check(req, "credential_pool", id, rep);
}

const struct resource credential_pool_resource = {
	.path = "/credential-pools",
	.plural = "credential_pools",
	.singular = "credential_pool",
	.table = &table,
	.fields = fields,
	.field_count = sizeof(fields) / sizeof(*fields),
	.children = store_credentials_replace,
	.updated_at = true,
	.detail = detail,
	.may_delete = may_delete,
};
