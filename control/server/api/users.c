/* Accounts with rights: API keys, and the users of the pages. */
#include "control/server/api/users.h"

#include "control/server/api/resource_type.h"
#include "control/server/session/password.h"
#include "control/server/session/session.h"
#include "control/server/store/store_key.h"
#include "control/server/store/store_user.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

/* ---- API keys ---- */

static const struct column key_columns[] = {
	{"id", "id", NULL, COLUMN_INT},
	{"public_key", "public_key", "public_key", COLUMN_TEXT},
	{"secret", NULL, "secret_hash", COLUMN_HASHED},
	{"name", "name", "name", COLUMN_TEXT},
	{"rights", "rights", "rights", COLUMN_TEXT},
	{"created_at", "created_at", "created_at", COLUMN_TIME},
	{"last_used_at", "last_used_at", NULL, COLUMN_TIME},
	{"expires_at", "expires_at", "expires_at", COLUMN_TIME},
};

static const struct table key_table = {
	.name = "api_key",
	.from = "api_key",
	.id = "id",
	.columns = key_columns,
	.column_count = sizeof(key_columns) / sizeof(*key_columns),
};

static const struct field key_fields[] = {
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

static json_t *key_issue(json_t *values)
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
	.table = &key_table,
	.fields = key_fields,
	.field_count = sizeof(key_fields) / sizeof(*key_fields),
	.issue = key_issue,
};

/* ---- users of the pages ---- */

static const struct column columns[] = {
	{"id", "id", NULL, COLUMN_INT},
	{"name", "name", "name", COLUMN_TEXT},
	{"rights", "rights", "rights", COLUMN_TEXT},
	{"password_hash", NULL, "password_hash", COLUMN_TEXT},
	{"created_at", "created_at", "created_at", COLUMN_TIME},
	{"updated_at", "updated_at", "updated_at", COLUMN_TIME},
};

static const struct table table = {
	.name = "web_user",
	.from = "web_user",
	.id = "id",
	.columns = columns,
	.column_count = sizeof(columns) / sizeof(*columns),
};

static const struct field fields[] = {
	{.name = "name",
	 .kind = FIELD_TEXT,
	 .required = true,
	 .min = 1,
	 .max = USER_NAME_BYTES - 1},
	{.name = "rights",
	 .kind = FIELD_CHOICE,
	 .required = true,
	 .choices = "read run write admin"},
	{.name = "password", .kind = FIELD_TEXT, .max = PASSWORD_MAX},
};

/* True for the last administrator, who cannot be removed. */
static bool is_last_admin(struct request *req, int64_t id)
{
	json_t *user;
	int64_t admins;
	bool last;

	if (record_get(request_store(req), &table, id, &user))
		return false; /* the caller reports why */
	last = strcmp(json_string_value(json_object_get(user, "rights")),
		      "admin") == 0 &&
	       store_user_admins(request_store(req), &admins) == 0 &&
	       admins == 1;
	json_decref(user);
	return last;
}

static void set_password(struct request *req, json_t *values, struct reply *rep)
{
	const char *name = json_string_value(json_object_get(values, "name"));
	const char *password =
		json_string_value(json_object_get(values, "password"));
	const char *refused = password_refused(name, password);
	char hash[USER_PASSWORD_BYTES];
	int err;

	if (refused) {
		field_error(rep, "/password", "%s", refused);
		return;
	}
	if (reply_status(rep))
		return;
	err = session_hash(request_controller(req), password, hash);
	if (err) {
		reply_unavailable(rep, 1,
				  err == -EBUSY
					  ? "too many people sign in at once"
					  : "out of memory");
		return;
	}
	json_object_set_new(values, "password_hash", json_string(hash));
	sodium_memzero(hash, sizeof(hash));
}

static void check(struct request *req, json_t *values, struct reply *rep)
{
	const bool is_new = strcmp(request_method(req), "POST") == 0;

	if (!json_is_null(json_object_get(values, "password")))
		set_password(req, values, rep);
	else if (is_new)
		field_error(rep, "/password", "is missing");
	json_object_del(values, "password");
}

static bool may_replace(struct request *req, int64_t id, const json_t *values,
			struct reply *rep)
{
	const char *rights =
		json_string_value(json_object_get(values, "rights"));

	if (strcmp(rights, "admin") == 0 || !is_last_admin(req, id))
		return true;
	field_error(rep, "/rights",
		    "must stay: this is the last user who may do everything");
	return false;
}

static bool may_delete(struct request *req, int64_t id, struct reply *rep)
{
	if (!is_last_admin(req, id))
		return true;
	reply_problem(rep, 409, "this is the last user who may do everything");
	return false;
}

const struct resource user_resource = {
	.path = "/users",
	.plural = "users",
	.singular = "user",
	.table = &table,
	.fields = fields,
	.field_count = sizeof(fields) / sizeof(*fields),
	.children = store_user_children,
	.updated_at = true,
	.check = check,
	.may_delete = may_delete,
	.may_replace = may_replace,
};

void user_create(struct request *req, struct reply *rep)
{
	resource_create(req, rep);
	if (reply_status(rep) == 201)
		setup_over(request_controller(req));
}
