#include "control/server/store/store_schedule.h"

#include "control/server/store/record_db.h"
#include "control/server/store/store_lease_db.h"
#include "control/server/store/store_run_internal.h"

#include <errno.h>
#include <string.h>

void schedule_turn_release(struct schedule_turn *turn)
{
	json_decref(turn->test_ids);
	json_decref(turn->tags);
	*turn = (struct schedule_turn){.id = 0};
}

#define COLUMNS                                                      \
	"SELECT s.id, s.next_at, s.waiting_for, s.name, s.test_id, " \
	"s.project_id, coalesce(p.name, ''), s.test_ids_json, "      \
	"s.tags_json, coalesce(s.cron, ''), s.timezone, s.overlap, " \
	"s.missed, s.report_mode FROM schedule s "                   \
	"LEFT JOIN project p ON p.id = s.project_id "

static int turn_row(const struct db_value *row, size_t columns, void *arg)
{
	struct schedule_turn *t = arg;

	(void)columns;
	t->id = row[0].integer;
	t->due_at = db_integer_or_0(t->waited ? &row[2] : &row[1]);
	t->is_waiting = row[2].type == DB_INT;
	(void)str_copy(t->name, sizeof(t->name), row[3].bytes);
	t->test_id = db_integer_or_0(&row[4]);
	t->project_id = db_integer_or_0(&row[5]);
	(void)str_copy(t->project_name, sizeof(t->project_name), row[6].bytes);
	t->test_ids = record_json(&row[7]);
	t->tags = record_json(&row[8]);
	(void)str_copy(t->cron, sizeof(t->cron), row[9].bytes);
	(void)str_copy(t->timezone, sizeof(t->timezone), row[10].bytes);
	(void)str_copy(t->overlap, sizeof(t->overlap), row[11].bytes);
	(void)str_copy(t->missed, sizeof(t->missed), row[12].bytes);
	(void)str_copy(t->report_mode, sizeof(t->report_mode), row[13].bytes);
	return t->test_ids && t->tags ? 0 : -ENOMEM;
}

static int read_turn(struct store *s, const char *sql, int64_t param,
		     bool waited, struct schedule_turn *ret)
{
	const struct db_value value = DB_I(param);
	struct schedule_turn turn = {.waited = waited};
	int err = db_query(store_reader(s), sql, &value, 1, turn_row, &turn);

	if (err <= 0) {
		schedule_turn_release(&turn);
		return err;
	}
	*ret = turn;
	return 1;
}

int store_schedule_due(struct store *s, int64_t now, struct schedule_turn *ret)
{
	return read_turn(s,
			 COLUMNS "WHERE s.enabled = 1 AND s.next_at <= $1 "
				 "ORDER BY s.next_at, s.id LIMIT 1",
			 now, false, ret);
}

int store_schedule_waiting(struct store *s, int64_t after,
			   struct schedule_turn *ret)
{
	return read_turn(s,
			 COLUMNS "WHERE s.enabled = 1 AND s.waiting_for IS NOT "
				 "NULL AND s.id > $1 ORDER BY s.id LIMIT 1",
			 after, true, ret);
}

/* Events of schedule $1 whose run or project run is not over, with its UUID: of
 * further attempts (retries_on_failure) the one that is in progress. */
#define IN_PROGRESS                                                  \
	"WITH RECURSIVE attempt (event_id, session_id) AS ("         \
	"SELECT id, session_id FROM schedule_event "                 \
	"WHERE schedule_id = $1 AND session_id IS NOT NULL "         \
	"UNION SELECT a.event_id, r.session_id FROM attempt a "      \
	"JOIN run r ON r.retry_of = a.session_id), "                 \
	"in_progress (event_id, uuid) AS ("                          \
	"SELECT a.event_id, r.session_id FROM run r JOIN attempt a " \
	"ON r.session_id = a.session_id WHERE NOT (" RUN_OVER ") "   \
	"UNION ALL SELECT e.id, p.uuid FROM project_run p "          \
	"JOIN schedule_event e ON e.project_run_uuid = p.uuid "      \
	"WHERE e.schedule_id = $1 AND p.status = 'running') "

int store_schedule_busy(struct store *s, int64_t id,
			char ret[static UUID_TEXT_BYTES])
{
	const struct db_value param = DB_I(id);

	return db_query(store_reader(s),
			IN_PROGRESS "SELECT uuid FROM in_progress LIMIT 1",
			&param, 1, db_uuid_row, ret);
}

/* ---- turns ---- */

static int add_event(struct db *db, const struct schedule_turn *turn,
		     const char *outcome, const char *detail,
		     const char *session_id, const char *project_run_uuid,
		     int64_t now)
{
	const struct db_value params[] = {DB_I(turn->id),
					  DB_I(turn->due_at),
					  DB_I(now),
					  db_text(outcome),
					  db_text(detail),
					  db_text(session_id),
					  db_text(project_run_uuid)};
	const struct db_value old[] = {DB_I(turn->id),
				       DB_I(SCHEDULE_EVENTS_MAX)};
	int err = lease_exec(db,
			     "INSERT INTO schedule_event (schedule_id, due_at, "
			     "at, outcome, detail, session_id, "
			     "project_run_uuid) "
			     "VALUES ($1, $2, $3, $4, $5, $6, $7)",
			     LEASE_PARAMS(params));

	if (err < 0)
		return err;
	/* an event is the only link from its schedule to its run */
	err = lease_exec(db,
			 IN_PROGRESS
			 "DELETE FROM schedule_event WHERE schedule_id = $1 "
			 "AND id <= (SELECT id FROM schedule_event WHERE "
			 "schedule_id = $1 ORDER BY id DESC LIMIT 1 OFFSET $2) "
			 "AND id NOT IN (SELECT event_id FROM in_progress)",
			 LEASE_PARAMS(old));
	return err < 0 ? err : 0;
}

/* @param wait  true: the turn waits for the previous run */
static int move_on(struct db *db, const struct schedule_turn *turn, bool wait)
{
	const struct db_value waited[] = {DB_I(turn->id), DB_I(turn->due_at)};
	const struct db_value due[] = {DB_I(turn->id), DB_I(turn->due_at),
				       turn->next_at ? DB_I(turn->next_at)
						     : db_text(NULL),
				       DB_I(wait)};
	int taken;

	if (turn->waited)
		taken = lease_exec(db,
				   "UPDATE schedule SET waiting_for = NULL "
				   "WHERE id = $1 AND waiting_for = $2 "
				   "AND enabled = 1",
				   LEASE_PARAMS(waited));
	else
		taken = lease_exec(db,
				   "UPDATE schedule SET next_at = $3, "
				   "waiting_for = CASE WHEN $4 THEN $2 "
				   "ELSE waiting_for END "
				   "WHERE id = $1 AND next_at = $2 "
				   "AND enabled = 1",
				   LEASE_PARAMS(due));
	if (taken < 0)
		return taken;
	return taken ? 0 : -EALREADY;
}

int schedule_take(struct db *db, const struct schedule_turn *turn,
		  const char *session_id, const char *project_run_uuid,
		  int64_t now)
{
	int err = move_on(db, turn, false);

	if (err)
		return err;
	return add_event(db, turn, "started", NULL, session_id,
			 project_run_uuid, now);
}

int store_schedule_pass(struct store *s, const struct schedule_turn *turn,
			const char *outcome, const char *detail, int64_t now)
{
	struct db *db;
	int err = store_write_begin(s, &db);

	if (err)
		return err;
	err = move_on(db, turn, strcmp(outcome, "waiting") == 0);
	if (!err)
		err = add_event(db, turn, outcome, detail, NULL, NULL, now);
	err = store_write_end(s, err);
	return err < 0 ? err : 0;
}

/* ---- what the API shows ---- */

static int event_row(const struct db_value *row, size_t columns, void *arg)
{
	json_t *entry = json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:o}", "due_at",
		record_time(&row[0]), "at", record_time(&row[1]), "outcome",
		record_value(&row[2]), "detail", record_value(&row[3]),
		"session_id", record_value(&row[4]), "project_run_uuid",
		record_value(&row[5]));

	(void)columns;
	return json_array_append_new(arg, entry) ? -ENOMEM : 0;
}

int store_schedule_history(struct store *s, int64_t id, unsigned count,
			   json_t **ret)
{
	const struct db_value params[] = {DB_I(id), DB_I(count)};
	json_t *events = json_array();
	int err = events ? 0 : -ENOMEM;

	if (!err)
		err = db_query(store_reader(s),
			       "SELECT due_at, at, outcome, detail, "
			       "session_id, project_run_uuid "
			       "FROM schedule_event WHERE schedule_id = $1 "
			       "ORDER BY id DESC LIMIT $2",
			       LEASE_PARAMS(params), event_row, events);
	if (err < 0) {
		json_decref(events);
		return err;
	}
	*ret = events;
	return 0;
}
