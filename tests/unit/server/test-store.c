#include "base/str.h"
#include "control/server/api/resource_type.h"
#include "control/server/store/record_db.h"
#include "control/server/store/record_text.h"
#include "control/server/store/store.h"
#include "control/server/store/store_credential.h"
#include "control/server/store/store_db.h"
#include "control/server/store/store_key.h"
#include "tests/unit/temp.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct fixture {
	struct temp temp;
	struct secrets *secrets;
	struct database *database;
	struct store *store;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	temp_make(&f->temp);
	*state = f;
	assert_int_equal(secrets_load(&f->secrets, temp_path(&f->temp, "key")),
			 0);
	assert_int_equal(database_open(&f->database, temp_path(&f->temp, "db"),
				       f->secrets),
			 0);
	return store_new(&f->store, f->database);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	store_free(f->store);
	database_close(f->database);
	secrets_free(f->secrets);
	temp_remove(&f->temp);
	free(f);
	return 0;
}

static void test_database_has_one_owner(void **state)
{
	struct fixture *f = *state;
	struct database *second = NULL;

	assert_int_equal(
		database_open(&second, temp_path(&f->temp, "db"), f->secrets),
		-EBUSY);
	assert_null(second);
}

static void test_other_schema_is_refused(void **state)
{
	struct fixture *f = *state;
	struct db *db;

	assert_int_equal(store_write_begin(f->store, &db), 0);
	db_query(db, "UPDATE setting SET value = '0'", NULL, 0, NULL, NULL);
	assert_true(store_write_end(f->store, 0) == 0);
	f->store = store_free(f->store);
	f->database = database_close(f->database);
	assert_int_equal(database_open(&f->database, temp_path(&f->temp, "db"),
				       f->secrets),
			 -EPROTO);
}

static void test_failed_write_is_undone(void **state)
{
	struct fixture *f = *state;
	struct db *db;

	for (int i = 0; i < 2; i++) { /* twice: the lock was released */
		assert_int_equal(store_write_begin(f->store, &db), 0);
		assert_int_equal(
			db_query(db, "INSERT INTO setting VALUES ('x', 'y')",
				 NULL, 0, NULL, NULL),
			1);
		assert_int_equal(store_write_end(f->store, -ENOENT), -ENOENT);
	}
}

static int64_t add_project(struct fixture *f, const char *name)
{
	json_t *values = json_pack("{s:s, s:n, s:i, s:i, s:s}", "name", name,
				   "description", "created_at", 0, "updated_at",
				   1000, "id", "ignored");
	int64_t id = -1;
	int err = record_insert(f->store, project_resource.table, values, NULL,
				&id);

	json_decref(values);
	return err ? err : id;
}

static void test_records(void **state)
{
	const struct table *t = project_resource.table;
	const struct page page = {.start = 1, .count = 1};
	struct fixture *f = *state;
	json_t *row, *rows, *values;
	int64_t total;

	assert_int_equal(add_project(f, "a"), 1);
	assert_int_equal(add_project(f, "b"), 2);
	assert_int_equal(add_project(f, "a"), -EEXIST);
	assert_int_equal(record_get(f->store, t, 1, &row), 0);
	assert_string_equal(
		json_string_value(json_object_get(row, "updated_at")),
		"1970-01-01 00:00:01");
	assert_true(json_is_null(json_object_get(row, "description")));
	json_decref(row);
	assert_int_equal(record_get(f->store, t, 3, &row), -ENOENT);
	assert_int_equal(record_list(f->store, t, &page, &rows, &total), 0);
	assert_int_equal(total, 2);
	assert_int_equal(json_array_size(rows), 1);
	json_decref(rows);
	values = json_pack("{s:s}", "name", "b");
	assert_int_equal(record_update(f->store, t, 1, values, NULL), -EEXIST);
	assert_int_equal(record_update(f->store, t, 3, values, NULL), -ENOENT);
	json_decref(values);
	assert_int_equal(record_delete(f->store, t, 1), 0);
	assert_int_equal(record_delete(f->store, t, 1), -ENOENT);
}

struct writing {
	const struct table *table;
	struct buf *text;
};

static int text_row(const struct db_value *row, size_t columns, void *arg)
{
	struct writing *w = arg;
	int err = buf_add(w->text, w->text->used ? "," : "[", 1);

	return err ? err : record_text_row(w->text, w->table, row, columns);
}

/* For any row, the JSON text equals the JSON tree. */
static void test_text_is_the_tree(void **state)
{
	static const struct column columns[] = {
		{"id", "id", NULL, COLUMN_INT},
		{"name", "name", "name", COLUMN_TEXT},
		{"least", "-9223372036854775807 - 1", NULL, COLUMN_INT},
		{"hash", NULL, "name", COLUMN_HASHED},
		{"null", "NULL", NULL, COLUMN_JSON},
		{"odd",
		 "'\"\\/' || char(1, 8, 9, 10, 12, 13, 31, 127, 233, 128512)",
		 NULL, COLUMN_TEXT},
		{"empty", "''", NULL, COLUMN_TEXT},
		{"tenth", "0.1", NULL, COLUMN_REAL},
		{"whole", "3.0", NULL, COLUMN_REAL},
		{"large", "1e300", NULL, COLUMN_REAL},
		{"integer", "7", NULL, COLUMN_REAL},
		{"document", "'[1,{\"a\":null}]'", NULL, COLUMN_JSON},
		{"time", "1700000000999", NULL, COLUMN_TIME},
	};
	static const struct table t = {
		.name = "project",
		.from = "project",
		.id = "id",
		.columns = columns,
		.column_count = sizeof(columns) / sizeof(*columns),
	};
	const struct selection all = {.order = "id"};
	const struct page page = {.start = 0, .count = 10};
	struct fixture *f = *state;
	struct buf text;
	struct writing w = {&t, &text};
	int64_t total;
	json_t *rows, *tree;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(
			record_select(f->store, &t, &all, &page, &rows, &total),
			0);
		buf_init(&text, 1 << 16);
		assert_int_equal(record_select_rows(f->store, &t, &all, &page,
						    text_row, &w),
				 0);
		assert_int_equal(buf_print(&text, "%s", text.used ? "]" : "[]"),
				 0);
		tree = json_loadb(text.data, text.used, 0, NULL);
		assert_non_null(tree);
		assert_true(json_equal(tree, rows));
		/* the cached total follows every change */
		assert_int_equal(total, i);
		json_decref(tree);
		json_decref(rows);
		buf_release(&text);
		assert_int_equal(add_project(f, i == 0   ? "a"
						: i == 1 ? "b"
							 : "c"),
				 i + 1);
	}
	buf_init(&text, 100);
	assert_int_equal(
		record_select_rows(f->store, &t, &all, &page, text_row, &w),
		-EMSGSIZE);
	buf_release(&text);
}

static void test_deleted_key_is_forgotten(void **state)
{
	char public_key[PUBLIC_KEY_BYTES], secret[SECRET_TOKEN_BYTES];
	struct fixture *f = *state;
	struct store *other;
	struct api_key key;
	int64_t id;

	assert_int_equal(store_new(&other, f->database), 0);
	assert_int_equal(store_key_create(f->store, "n", "run", 0, public_key,
					  secret, &id),
			 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(
			store_key_verify(other, public_key, secret, &key), 0);
	assert_int_equal(record_delete(f->store, api_key_resource.table, id),
			 0);
	assert_int_equal(store_key_verify(other, public_key, secret, &key),
			 -EACCES);
	store_free(other);
}

static void test_key_pair(void **state)
{
	char public_key[PUBLIC_KEY_BYTES], secret[SECRET_TOKEN_BYTES];
	char other[PUBLIC_KEY_BYTES], other_secret[SECRET_TOKEN_BYTES];
	struct fixture *f = *state;
	struct api_key key;
	int64_t id, other_id;

	assert_int_equal(store_key_create(f->store, "n", "run", 0, public_key,
					  secret, &id),
			 0);
	assert_int_equal(store_key_create(f->store, "old", "run", 1, other,
					  other_secret, &other_id),
			 0);
	assert_int_equal(store_key_verify(f->store, public_key, secret, &key),
			 0);
	assert_int_equal(key.id, id);
	assert_int_equal(key.right, RIGHT_RUN);
	assert_int_equal(
		store_key_verify(f->store, public_key, other_secret, &key),
		-EACCES);
	assert_int_equal(store_key_verify(f->store, "ok_x", secret, &key),
			 -EACCES);
	assert_int_equal(store_key_verify(f->store, public_key, "", &key),
			 -EACCES);
	/* expired in 1970 */
	assert_int_equal(store_key_verify(f->store, other, other_secret, &key),
			 -EACCES);
	assert_int_equal(store_agent_verify(f->store, "1", secret, &id),
			 -EACCES);
}

static int64_t put_pool(struct fixture *f, int64_t id, const char *credentials)
{
	const struct table *t = credential_pool_resource.table;
	json_t *values =
		json_pack("{s:s, s:i, s:i, s:o}", "name", "pool", "created_at",
			  0, "updated_at", 0, "credentials",
			  json_loads(credentials, 0, NULL));
	int err;

	err = id ? record_update(f->store, t, id, values,
				 store_credentials_replace)
		 : record_insert(f->store, t, values, store_credentials_replace,
				 &id);
	json_decref(values);
	assert_int_equal(err, 0);
	return id;
}

static const char *password(json_t *list, size_t at)
{
	return json_string_value(
		json_object_get(json_array_get(list, at), "password"));
}

static void test_credentials(void **state)
{
	struct fixture *f = *state;
	struct secrets *other;
	json_t *list;
	int64_t id;

	id = put_pool(f, 0,
		      "[{\"username\": \"1\", \"password\": \"one\"},"
		      " {\"username\": \"2\"},"
		      " {\"username\": \"3\", \"password\": \"\"}]");
	assert_int_equal(store_credentials_get(f->store, id, &list), 0);
	assert_int_equal(json_array_size(list), 3);
	assert_null(password(list, 0));
	assert_true(json_is_true(
		json_object_get(json_array_get(list, 0), "has_password")));
	json_decref(list);
	assert_int_equal(store_credentials_open(f->store, id, &list), 0);
	assert_string_equal(password(list, 0), "one");
	assert_null(password(list, 1));
	assert_string_equal(password(list, 2), "");
	json_decref(list);
	/* the password is kept by username, whatever the position */
	put_pool(f, id,
		 "[{\"username\": \"3\"},"
		 " {\"username\": \"1\", \"has_password\": 1}]");
	assert_int_equal(store_credentials_open(f->store, id, &list), 0);
	assert_null(password(list, 0));
	assert_string_equal(password(list, 1), "one");
	json_decref(list);
	/* the nth entry of a username keeps the nth password */
	put_pool(f, id,
		 "[{\"username\": \"1\", \"password\": \"a\"},"
		 " {\"username\": \"1\"},"
		 " {\"username\": \"1\", \"password\": \"c\"}]");
	put_pool(f, id,
		 "[{\"username\": \"2\", \"password\": \"new\"},"
		 " {\"username\": \"1\", \"has_password\": 1},"
		 " {\"username\": \"1\", \"has_password\": 0},"
		 " {\"username\": \"1\", \"has_password\": 1}]");
	assert_int_equal(store_credentials_open(f->store, id, &list), 0);
	assert_string_equal(password(list, 0), "new");
	assert_string_equal(password(list, 1), "a");
	assert_null(password(list, 2));
	assert_string_equal(password(list, 3), "c");
	json_decref(list);
	/*
	 * with another master key nothing can be decrypted, and the error is
	 * reported
	 */
	f->store = store_free(f->store);
	f->database = database_close(f->database);
	assert_int_equal(secrets_load(&other, temp_path(&f->temp, "key2")), 0);
	secrets_free(f->secrets);
	f->secrets = other;
	assert_int_equal(
		database_open(&f->database, temp_path(&f->temp, "db"), other),
		0);
	assert_int_equal(store_new(&f->store, f->database), 0);
	assert_int_equal(store_credentials_open(f->store, id, &list), -EBADMSG);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_database_has_one_owner),
		CASE(test_other_schema_is_refused),
		CASE(test_failed_write_is_undone),
		CASE(test_records),
		CASE(test_text_is_the_tree),
		CASE(test_deleted_key_is_forgotten),
		CASE(test_key_pair),
		CASE(test_credentials),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
