#include "base/str.h"
#include "control/server/api/csv.h"
#include "control/server/api/references.h"
#include "control/server/api/resource_type.h"
#include "control/server/store/store_credential.h"
#include "control/wire/job_limits.h"

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
	 .max = 255,
	 .check = field_word},
	{.name = "auth_username",
	 .kind = FIELD_TEXT,
	 .max = 255,
	 .check = field_line},
	{.name = "password", .kind = FIELD_TEXT, .max = 255},
	/* null: the request gives neither password nor has_password;
	 * check_passwords() refuses that if a password would be lost */
	{.name = "has_password", .kind = FIELD_FLAG},
	{.name = "domain", .kind = FIELD_TEXT, .max = 255, .check = field_word},
	{.name = "display_name",
	 .kind = FIELD_TEXT,
	 .max = 255,
	 .check = field_line},
	{.name = "extension",
	 .kind = FIELD_TEXT,
	 .max = 255,
	 .check = field_word},
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
	{.name = "csv", .kind = FIELD_TEXT},
};

/* Invalid rows that one answer lists. */
#define ROW_ERRORS_MAX 100

struct table_reading {
	struct request *req;
	struct reply *rep;
	json_t *credentials;
};

/* A JSON pointer has the row's line number in place of an array index. */
static int add_row(unsigned line, json_t *row, void *arg)
{
	struct table_reading *t = arg;
	char at[POINTER_BYTES];
	json_t *credential;

	str_print(at, sizeof(at), "/csv/%u", line);
	if (json_array_size(t->credentials) == WIRE_CREDENTIALS_MAX) {
		field_error(t->rep, at, "is more than %d credentials",
			    WIRE_CREDENTIALS_MAX);
		return 1;
	}
	credential = fields_read(
		t->req, row, true, at, credential_fields,
		sizeof(credential_fields) / sizeof(*credential_fields), t->rep);
	if (credential)
		json_array_append_new(t->credentials, credential);
	return reply_error_count(t->rep) > ROW_ERRORS_MAX;
}

/* True if the next entry of this username in the pool has a password. */
static bool next_password(json_t *stored, const char *username)
{
	json_t *entries = json_object_get(stored, username);
	bool has = json_is_true(json_array_get(entries, 0));

	json_array_remove(entries, 0);
	return has;
}

/* Make {username: [has_password, ...]} of the pool that is replaced; empty for
 * a new pool. */
static json_t *stored_passwords(struct request *req)
{
	json_t *stored = json_object(), *list = NULL, *credential;
	int64_t id;
	size_t i;

	if (!param_id(req, 0, &id) ||
	    store_credentials_get(request_store(req), id, &list))
		return stored;
	json_array_foreach(list, i, credential)
	{
		const char *name = json_string_value(
			json_object_get(credential, "username"));
		json_t *entries = json_object_get(stored, name);

		if (!entries) {
			entries = json_array();
			json_object_set_new(stored, name, entries);
		}
		json_array_append(entries,
				  json_object_get(credential, "has_password"));
	}
	json_decref(list);
	return stored;
}

/* Refuse a credential without password for a username that has one, unless
 * has_password says whether to keep it: no password is lost by mistake. */
static void check_passwords(struct request *req, json_t *credentials,
			    struct reply *rep)
{
	json_t *stored = stored_passwords(req), *credential;
	size_t i;

	json_array_foreach(credentials, i, credential)
	{
		json_t *keep = json_object_get(credential, "has_password");
		const bool was =
			next_password(stored, json_string_value(json_object_get(
						      credential, "username")));
		char at[POINTER_BYTES];

		if (json_is_string(json_object_get(credential, "password")))
			continue;
		str_print(at, sizeof(at), "/credentials/%zu/password", i);
		if (was && json_is_null(keep))
			field_error(rep, at,
				    "is missing: give it, or has_password 1 to "
				    "keep the stored one, or 0 to remove it");
		else if (!was && json_integer_value(keep) == 1)
			field_error(rep, at,
				    "is missing: the pool has none for this "
				    "username that has_password could keep");
	}
	json_decref(stored);
}

/* Read the credentials from a CSV table instead of an array. */
static void check_table(struct request *req, json_t *values, struct reply *rep)
{
	const char *csv = json_string_value(json_object_get(values, "csv"));
	struct table_reading t = {.req = req, .rep = rep};
	char reason[CSV_REASON_BYTES] = "cannot be read";

	if (!csv)
		return;
	if (json_array_size(json_object_get(values, "credentials"))) {
		field_error(rep, "/csv", "excludes credentials");
		return;
	}
	t.credentials = json_array();
	if (csv_read(csv, add_row, &t, reason) < 0)
		field_error(rep, "/csv", "%s", reason);
	json_object_set_new(values, "credentials", t.credentials);
}

static void check(struct request *req, json_t *values, struct reply *rep)
{
	check_table(req, values, rep);
	if (reply_status(rep) == 0)
		check_passwords(req, json_object_get(values, "credentials"),
				rep);
}

static int detail(struct request *req, json_t *row)
{
	json_t *credentials;
	int err;

	err = store_credentials_get(
		request_store(req),
		json_integer_value(json_object_get(row, "id")), &credentials);
	if (err)
		return err;
	json_object_set_new(row, "credentials", credentials);
	return 0;
}

static bool may_delete(struct request *req, int64_t id, struct reply *rep)
{
	return reference_check(req, "credential_pool", id, rep) &&
	       reference_check(req, "challenge_pool", id, rep) &&
	       reference_check(req, "turn_credential_pool", id, rep);
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
	.check = check,
	.detail = detail,
	.may_delete = may_delete,
};
