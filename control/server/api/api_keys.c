#include "control/server/api/resource.h"
#include "control/server/store/store_key.h"

#include <sodium.h>

static const struct column columns[] = {
	{"id", "id", NULL, COLUMN_INT},
	{"public_key", "public_key", "public_key", COLUMN_TEXT},
	{"secret", NULL, "secret_hash", COLUMN_HASHED},
	{"name", "name", "name", COLUMN_TEXT},
	{"rights", "rights", "rights", COLUMN_TEXT},
	{"created_at", "created_at", "created_at", COLUMN_TIME},
	{"last_used_at", "last_used_at", NULL, COLUMN_TIME},
	{"expires_at", "expires_at", "expires_at", COLUMN_TIME},
};

static const struct table table = {
	.name = "api_key",
	.from = "api_key",
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
	{.name = "rights",
	 .kind = FIELD_CHOICE,
	 .required = true,
	 .choices = "read run write admin"},
	{.name = "expires_at", .kind = FIELD_TIME},
};

static json_t *issue(json_t *values)
{
	char public_key[PUBLIC_KEY_BYTES], token[SECRET_TOKEN_BYTES];
	json_t *secret;

	store_key_names(public_key, token);
	secret = json_string(token);
	sodium_memzero(token, sizeof(token));
	json_object_set_new(values, "public_key", json_string(public_key));
	json_object_set(values, "secret", secret);
	return json_pack("{s:o}", "secret", secret);
}

const struct resource api_key_resource = {
	.path = "/api-keys",
	.plural = "api_keys",
	.singular = "api_key",
	.table = &table,
	.fields = fields,
	.field_count = sizeof(fields) / sizeof(*fields),
	.issue = issue,
};
