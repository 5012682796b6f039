#include "control/server/store/store_db.h"
#include "control/server/store/store_secret.h"
#include "tests/unit/server/power_cut.h"
#include "tests/unit/temp.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>

#include <cmocka.h>

#define TRANSACTIONS 60

/* Each database in a folder of its own; the key file is in neither. */
struct fixture {
	struct temp key, before, after;
	struct secrets *secrets;
	size_t committed_at[TRANSACTIONS]; /* operations noted until then */
};

static struct database *opened(struct fixture *f, struct temp *folder)
{
	struct database *database;

	assert_int_equal(
		database_open(&database, temp_path(folder, "db"), f->secrets),
		0);
	return database;
}

static void query(struct db *db, const char *sql, const char *text)
{
	const struct db_value param = db_text(text);

	assert_true(db_query(db, sql, &param, text ? 1 : 0, NULL, NULL) >= 0);
}

/* Both rows, or none. The text fills a page and more. */
static void add_pair(struct store *s, int number)
{
	char text[5000];
	struct db *db;

	memset(text, 'x', sizeof(text));
	snprintf(text, sizeof(text), "%04d", number);
	text[4] = '-';
	text[200 + number * 75] = '\0';
	assert_int_equal(store_write_begin(s, &db), 0);
	/* the file is written now and then, not only its log */
	query(db, "PRAGMA wal_autocheckpoint = 24", NULL);
	query(db,
	      "INSERT INTO project (name, created_at, updated_at) "
	      "VALUES ($1, 0, 0)",
	      text);
	query(db,
	      "INSERT INTO agent_pool (name, join_token_hash, created_at, "
	      "updated_at) VALUES ($1, x'00', 0, 0)",
	      text);
	assert_int_equal(store_write_end(s, 0), 0);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct database *database;
	struct store *s;

	temp_make(&f->key);
	temp_make(&f->before);
	temp_make(&f->after);
	assert_int_equal(secrets_load(&f->secrets, temp_path(&f->key, "key")),
			 0);
	database_close(opened(f, &f->before));
	power_cut_record(f->before.dir);
	database = opened(f, &f->before);
	assert_int_equal(store_new(&s, database), 0);
	for (int i = 0; i < TRANSACTIONS; i++) {
		add_pair(s, i);
		f->committed_at[i] = power_cut_moments();
	}
	store_free(s);
	database_close(database);
	power_cut_end();
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	power_cut_release();
	secrets_free(f->secrets);
	temp_remove(&f->key);
	temp_remove(&f->before);
	temp_remove(&f->after);
	free(f);
	return 0;
}

/* @return the value; -1: the file is damaged */
static int64_t number(sqlite3 *sq, const char *sql)
{
	sqlite3_stmt *statement = NULL;
	int64_t value = -1;

	if (sqlite3_prepare_v2(sq, sql, -1, &statement, NULL) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW)
		value = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return value;
}

/* @param ret_damaged  the database is no longer sound, or one of two rows that were
 *                     written together is missing
 * @return how many pairs there are */
static int64_t pairs(struct fixture *f, bool *ret_damaged)
{
	sqlite3 *sq;
	int64_t found, complete, sound;

	assert_int_equal(sqlite3_open(temp_path(&f->after, "db"), &sq),
			 SQLITE_OK);
	/* it has only to be read */
	sqlite3_exec(sq, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
	sound = number(sq, "SELECT count(*) FROM pragma_integrity_check "
			   "WHERE integrity_check = 'ok'");
	found = number(sq, "SELECT max((SELECT count(*) FROM project), "
			   "(SELECT count(*) FROM agent_pool))");
	complete = number(sq, "SELECT count(*) FROM project p JOIN agent_pool "
			      "a ON a.name = p.name AND a.id = p.id");
	sqlite3_close(sq);
	*ret_damaged = sound != 1 || found != complete;
	return found;
}

static int64_t committed(const struct fixture *f, size_t moment)
{
	int64_t count = 0;

	while (count < TRANSACTIONS && f->committed_at[count] <= moment)
		count++;
	return count;
}

/* What was answered is there, what was not is there as a whole or not at all, and the controller
 * goes on with the file. */
static void test_nothing_that_was_answered_is_lost(void **state)
{
	struct fixture *f = *state;

	assert_true(power_cut_moments() > 10 * TRANSACTIONS);
	for (size_t moment = 0; moment <= power_cut_moments(); moment += 3) {
		const int64_t answered = committed(f, moment);
		struct database *database;
		struct store *s;
		bool damaged;
		int64_t found;

		power_cut_make(f->after.dir, moment, moment, false);
		found = pairs(f, &damaged);
		assert_false(damaged);
		assert_in_range(found, answered, answered + 1);
		if (moment % 48)
			continue;
		database = opened(f, &f->after);
		assert_int_equal(store_new(&s, database), 0);
		add_pair(s, TRANSACTIONS);
		store_free(s);
		database_close(database);
		assert_int_equal(pairs(f, &damaged), found + 1);
		assert_false(damaged);
	}
}

/* The simulation finds what is to be found: a disk that does not write what it was told to sync
 * loses answered transactions, and leaves damaged files. */
static void test_a_disk_that_lies(void **state)
{
	struct fixture *f = *state;
	int lost = 0, broken = 0;

	for (size_t moment = 0; moment <= power_cut_moments(); moment += 20) {
		bool damaged;
		int64_t found;

		power_cut_make(f->after.dir, moment, moment, true);
		found = pairs(f, &damaged);
		lost += found < committed(f, moment);
		broken += damaged;
	}
	assert_true(lost > 0);
	assert_true(broken > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_that_was_answered_is_lost),
		cmocka_unit_test(test_a_disk_that_lies),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
