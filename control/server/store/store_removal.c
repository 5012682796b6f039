#include "control/server/store/store_removal.h"

#include "control/server/store/audit_entry.h"
#include "control/server/store/store_db.h"
#include "control/server/store/store_point.h"
#include "control/server/store/store_run_internal.h"

#include <errno.h>
#include <string.h>

/* ---- marking ---- */

/* Link the attempt after a run to the attempt before it. */
#define TAKE_OUT_OF_CHAIN                                            \
	"UPDATE run SET retry_of = (SELECT retry_of FROM run WHERE " \
	"id = $1) WHERE retry_of = (SELECT session_id FROM run "     \
	"WHERE id = $1)"

/* Nothing finds the row any more but the removal: neither test, project and
 * project run nor the links of pages. */
#define MARK                                                                \
	"UPDATE run SET status = 'deleted', test_id = NULL, project_id = "  \
	"NULL, project_run_id = NULL, project_position = NULL, retry_of = " \
	"NULL, kiosk_id = NULL, retry_state = 'none', retry_box = NULL, "   \
	"callback_state = 'none', callback_box = NULL, verdicts_json = "    \
	"NULL WHERE id = $1"

static int execute(struct db *db, const char *const *statements, size_t count,
		   const struct db_value *run_id)
{
	int err = 0;

	for (size_t i = 0; i < count && err >= 0; i++)
		err = db_query(db, statements[i], run_id, 1, NULL, NULL);
	return err;
}

/* @return 0 it may be deleted; -ENOENT; -EBUSY; -EIO */
static int check_over(struct db *db, const struct db_value *run_id)
{
	int64_t over = 0;
	int rows = db_query(db,
			    "SELECT CASE WHEN " RUN_OVER " THEN 1 ELSE 0 END "
			    "FROM run r WHERE r.id = $1 AND r." RUN_SHOWN,
			    run_id, 1, db_integer_row, &over);

	if (rows <= 0)
		return rows < 0 ? rows : -ENOENT;
	return over ? 0 : -EBUSY;
}

int removal_add(struct db *db, int64_t run_id, const char *kind)
{
	const struct db_value params[] = {DB_I(run_id), db_text(kind)};
	int err = db_query(db,
			   "INSERT INTO removal (run_id, kind) VALUES ($1, $2) "
			   "ON CONFLICT (run_id, kind) DO NOTHING",
			   params, 2, NULL, NULL);

	return err < 0 ? err : 0;
}

/* The event of the schedule that started the run gets the next attempt, which may be
 * in progress: the schedule finds it by the chain of attempts that begins there. */
static int hand_on_event(struct db *db, const struct db_value *run_id)
{
	char next[UUID_TEXT_BYTES];
	int rows = db_query(db,
			    "SELECT n.session_id FROM run r JOIN run n ON "
			    "n.retry_of = r.session_id WHERE r.id = $1",
			    run_id, 1, db_uuid_row, next);

	if (rows <= 0)
		return rows;
	const struct db_value params[] = {*run_id, db_text(next)};

	return db_query(db,
			"UPDATE schedule_event SET session_id = $2 WHERE "
			"session_id = (SELECT session_id FROM run WHERE "
			"id = $1)",
			params, 2, NULL, NULL);
}

int run_mark_deleted(struct db *db, int64_t run_id)
{
	static const char *const statements[] = {
		TAKE_OUT_OF_CHAIN,
		MARK,
		"DELETE FROM run_verdict WHERE run_id = $1",
		"DELETE FROM callback WHERE run_id = $1",
		/* a backup asks for the files of these rows */
		"DELETE FROM artifact WHERE run_id = $1",
		/* they are a part of the whole */
		"DELETE FROM removal WHERE run_id = $1",
		"DELETE FROM thinning WHERE run_id = $1",
	};
	const struct db_value param = DB_I(run_id);
	int err = hand_on_event(db, &param);

	if (err >= 0)
		err = execute(db, statements,
			      sizeof(statements) / sizeof(*statements), &param);
	/* also for a run without a verdict: totals of runs are kept by it */
	if (err >= 0)
		err = db_query(db,
			       "UPDATE revision SET value = value + 1 "
			       "WHERE name = 'verdicts_gone'",
			       NULL, 0, NULL, NULL);
	return err < 0 ? err : removal_add(db, run_id, "run");
}

int store_run_delete(struct store *s, int64_t run_id)
{
	const struct db_value param = DB_I(run_id);
	struct db *db;
	int err;

	err = store_write_begin(s, &db);
	if (err)
		return err;
	err = check_over(db, &param);
	if (err == 0)
		err = audit_record(*store_audit(s), db, "run", run_id);
	if (err == 0)
		err = run_mark_deleted(db, run_id);
	err = store_write_end(s, err);
	return err < 0 ? err : 0;
}

/* ---- carrying out ---- */

static bool is(const struct removal *r, const char *kind)
{
	return strcmp(r->kind, kind) == 0;
}

static int removal_row(const struct db_value *row, size_t columns, void *arg)
{
	struct removal *r = arg;

	(void)columns;
	r->run_id = row[0].integer;
	if (str_copy(r->kind, sizeof(r->kind), row[2].bytes))
		return -EIO;
	r->files = is(r, "run") || is(r, "artifacts");
	return str_copy(r->session_id, sizeof(r->session_id), row[1].bytes)
		       ? -EIO
		       : 0;
}

int store_removal_next(struct store *s, struct removal *ret)
{
	return db_query(store_reader(s),
			"SELECT m.run_id, r.session_id, m.kind FROM removal m "
			"JOIN run r ON r.id = m.run_id ORDER BY m.run_id, "
			"m.kind LIMIT 1",
			NULL, 0, removal_row, ret);
}

/* Rows of a run that are deleted in order of a number: $1 the owner, $2 how many.
 * Each statement reads and deletes one range of an index. */
#define OF_RUN(table)                                                        \
	"DELETE FROM " table " WHERE run_id = $1 AND id <= (SELECT max(id) " \
	"FROM (SELECT id FROM " table " WHERE run_id = $1 ORDER BY id "      \
	"LIMIT $2) AS chunk)"
#define UPLOADS                                                      \
	"DELETE FROM upload WHERE lease_id = $1 AND seq <= (SELECT " \
	"max(seq) FROM (SELECT seq FROM upload WHERE lease_id = $1 " \
	"ORDER BY seq LIMIT $2) AS chunk)"

/* Delete up to *left rows of an owner, and count them off. @return 0; -EIO */
static int delete_of(struct db *db, const char *sql, struct db_value owner,
		     int64_t *left)
{
	const struct db_value params[] = {owner, DB_I(*left)};
	int rows;

	if (*left <= 0)
		return 0;
	rows = db_query(db, sql, params, 2, NULL, NULL);
	if (rows < 0)
		return rows;
	*left -= rows;
	return 0;
}

/* The points of a run, then its series. */
static int delete_series(struct db *db, int64_t run_id, int64_t *left)
{
	int64_t deleted = points_delete(db, run_id, *left);

	if (deleted < 0)
		return (int)deleted;
	*left -= deleted;
	return delete_of(db, OF_RUN("series"), DB_I(run_id), left);
}

/* Which uploads arrived, then the leases. */
static int delete_leases(struct db *db, int64_t run_id, int64_t *left)
{
	const struct db_value run = DB_I(run_id);
	int err = 0;

	while (err == 0 && *left > 0) {
		char id[UUID_TEXT_BYTES];
		struct db_value lease;
		int rows = db_query(db,
				    "SELECT id FROM lease WHERE run_id = $1 "
				    "ORDER BY id LIMIT 1",
				    &run, 1, db_uuid_row, id);

		if (rows <= 0)
			return rows;
		lease = db_text(id);
		err = delete_of(db, UPLOADS, lease, left);
		if (err == 0 && *left > 0)
			err = delete_of(db,
					"DELETE FROM lease WHERE id = $1 "
					"AND $2 > 0",
					lease, left);
	}
	return err;
}

/* Nothing is left but the last row. */
static int finish(struct db *db, const struct removal *removal)
{
	const struct db_value params[] = {DB_I(removal->run_id),
					  db_text(removal->kind)};

	if (is(removal, "run"))
		return db_query(db, "DELETE FROM run WHERE id = $1", params, 1,
				NULL, NULL);
	return db_query(db,
			"DELETE FROM removal WHERE run_id = $1 AND kind = $2",
			params, 2, NULL, NULL);
}

int store_removal_step(struct store *s, const struct removal *removal)
{
	const struct db_value run = DB_I(removal->run_id);
	const bool whole = is(removal, "run");
	int64_t left = REMOVAL_CHUNK_ROWS;
	struct db *db;
	int err = store_write_begin(s, &db);

	if (err)
		return err;
	if (whole || is(removal, "metrics"))
		err = delete_series(db, removal->run_id, &left);
	if (err == 0 && whole)
		err = delete_of(db, OF_RUN("event"), run, &left);
	if (err == 0 && (whole || is(removal, "sip")))
		err = delete_of(db, OF_RUN("sip_message"), run, &left);
	if (err == 0 && whole)
		err = delete_leases(db, removal->run_id, &left);
	if (err == 0 && left > 0)
		err = finish(db, removal);
	err = store_write_end(s, err);
	return err < 0 ? err : left <= 0;
}
