#include "control/server/store/store_credential.h"

#include "control/server/store/store_db.h"
#include "control/server/store/store_lease_db.h"
#include "control/server/store/store_secret.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const texts[] = {"username", "auth_username", "domain",
				    "display_name", "extension"};
#define TEXT_COUNT (sizeof(texts) / sizeof(*texts))

struct reading {
	const struct secrets *secrets;
	bool passwords;
	json_t *list;
};

static int add_password(struct reading *reading, json_t *credential,
			const struct db_value *box)
{
	char *password = NULL;
	size_t len;
	int err;

	if (!reading->passwords) {
		json_object_set_new(credential, "has_password",
				    json_boolean(box->type != DB_NULL));
		return 0;
	}
	if (box->type == DB_NULL)
		return 0;
	err = secret_open(reading->secrets, CREDENTIAL_BOX, box->bytes,
			  box->len, &password, &len);
	if (err)
		return err;
	err = json_object_set_new(credential, "password",
				  json_stringn(password, len));
	secret_wipe_free(password, len);
	return err ? -ENOMEM : 0;
}

/* username, auth_username, domain, display_name, extension, password_box */
static int read_credential(const struct db_value *row, size_t columns,
			   void *arg)
{
	struct reading *reading = arg;
	json_t *credential = json_object();
	int err;

	(void)columns;
	for (size_t i = 0; i < TEXT_COUNT; i++) {
		json_t *value =
			row[i].type == DB_NULL
				? json_null()
				: json_stringn(row[i].bytes, row[i].len);

		json_object_set_new(credential, texts[i], value);
	}
	err = add_password(reading, credential, &row[TEXT_COUNT]);
	if (err) {
		json_decref(credential);
		return err;
	}
	return json_array_append_new(reading->list, credential) ? -ENOMEM : 0;
}

static int read_list(struct db *db, const struct secrets *secrets,
		     bool passwords, int64_t pool_id, json_t **ret)
{
	struct reading reading = {.secrets = secrets, .passwords = passwords};
	const struct db_value param = DB_I(pool_id);
	int err;

	reading.list = json_array();
	err = db_query(db,
		       "SELECT username, auth_username, domain, display_name, "
		       "extension, password_box FROM credential "
		       "WHERE pool_id = $1 ORDER BY position",
		       &param, 1, read_credential, &reading);
	if (err < 0) {
		json_decref(reading.list);
		return err;
	}
	*ret = reading.list;
	return 0;
}

int store_credentials_get(struct store *s, int64_t pool_id, json_t **ret)
{
	return read_list(store_reader(s), store_secrets(s), false, pool_id,
			 ret);
}

int store_credentials_open(struct store *s, int64_t pool_id, json_t **ret)
{
	return read_list(store_reader(s), store_secrets(s), true, pool_id, ret);
}

/* Make {username: [password or null, ...]} in the order of the pool: a username
 * may occur several times. @return new reference; NULL: out of memory */
static json_t *passwords_by_user(json_t *before)
{
	json_t *users = json_object(), *old;
	size_t i;

	json_array_foreach(before, i, old)
	{
		const char *name =
			json_string_value(json_object_get(old, "username"));
		json_t *password = json_object_get(old, "password");
		json_t *own = json_object_get(users, name);

		if (!own) {
			own = json_array();
			if (json_object_set_new(users, name, own)) {
				json_decref(users);
				return NULL;
			}
		}
		json_array_append(own, password ? password : json_null());
	}
	return users;
}

/* Get the password of a new entry: its own, or the stored one of the same
 * username; the nth entry of a username keeps that of the nth stored one.
 * @return new reference; NULL: none */
static json_t *password_of(json_t *credential, json_t *users)
{
	json_t *password = json_object_get(credential, "password");
	json_t *own = json_object_get(users, json_string_value(json_object_get(
						     credential, "username")));
	json_t *kept = json_incref(json_array_get(own, 0));

	json_array_remove(own, 0);
	if (!json_is_string(password)) {
		if (json_integer_value(
			    json_object_get(credential, "has_password")) == 1 &&
		    json_is_string(kept))
			return kept;
		password = NULL;
	}
	json_decref(kept);
	return json_incref(password);
}

static int insert_credential(struct db *db, const struct secrets *secrets,
			     int64_t pool_id, size_t position,
			     json_t *credential, json_t *password)
{
	struct db_value params[3 + TEXT_COUNT] = {DB_I(pool_id),
						  DB_I((int64_t)position)};
	uint8_t *box = NULL;
	size_t box_len = 0;
	int err = 0;

	for (size_t i = 0; i < TEXT_COUNT; i++)
		params[2 + i] = db_text(json_string_value(
			json_object_get(credential, texts[i])));
	if (password)
		err = secret_seal(secrets, CREDENTIAL_BOX,
				  json_string_value(password),
				  json_string_length(password), &box, &box_len);
	if (err)
		return err;
	params[2 + TEXT_COUNT] = box ? db_blob(box, box_len) : db_text(NULL);
	err = db_query(db,
		       "INSERT INTO credential (pool_id, position, username, "
		       "auth_username, domain, display_name, extension, "
		       "password_box) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
		       params, 3 + TEXT_COUNT, NULL, NULL);
	free(box);
	return err;
}

int store_credentials_replace(struct store *s, struct db *db, int64_t pool_id,
			      json_t *values)
{
	json_t *list = json_object_get(values, "credentials");
	const struct db_value param = DB_I(pool_id);
	json_t *before, *credential, *password, *users;
	size_t i;
	int err;

	err = read_list(db, store_secrets(s), true, pool_id, &before);
	if (err)
		return err;
	users = passwords_by_user(before);
	json_decref(before);
	if (!users)
		return -ENOMEM;
	err = db_query(db, "DELETE FROM credential WHERE pool_id = $1", &param,
		       1, NULL, NULL);
	json_array_foreach(list, i, credential)
	{
		if (err < 0)
			break;
		password = password_of(credential, users);
		err = insert_credential(db, store_secrets(s), pool_id, i,
					credential, password);
		json_decref(password);
	}
	json_decref(users);
	return err < 0 ? err : 0;
}
