#include "control/server/store/postgresql_lock.h"

#include <string.h>

#define KEY POSTGRESQL_LOCK_KEY

/* A controller that was stopped within a transaction keeps others from writing no
 * longer than this. One that is alone may take its time. */
#define SHARED \
	"SELECT set_config('idle_in_transaction_session_timeout', '5s', false), ''"
#define ALONE \
	"SELECT set_config('idle_in_transaction_session_timeout', '0', false), ''"

/* Run statements one after another. @return 0; of the first that failed */
static int ask_all(postgresql_ask_h *ask_h, struct db *db,
		   const char *const *statements, size_t count)
{
	char answer[2][POSTGRESQL_ANSWER_BYTES];
	int err = 0;

	for (size_t i = 0; i < count && err == 0; i++)
		err = ask_h(db, statements[i], NULL, answer);
	return err;
}

/* End a connection of this process that the server has not given up yet: it may
 * hold locks. */
static int end_former(const struct postgresql_lock *lock,
		      postgresql_ask_h *ask_h, struct db *db)
{
	const char *const former[2] = {lock->session[0], lock->session[1]};
	char answer[2][POSTGRESQL_ANSWER_BYTES];

	return ask_h(db,
		     "SELECT pg_terminate_backend(pid, 3000), '' FROM "
		     "pg_stat_activity WHERE pid = CAST($1 AS INTEGER) "
		     "AND backend_start = CAST($2 AS TIMESTAMPTZ)",
		     former, answer);
}

/* lock_timeout is how long it waits: a process that has just ended may still have
 * it. */
static int take(bool alone, postgresql_ask_h *ask_h, struct db *db)
{
	static const char *const as_one[] = {
		"SELECT pg_advisory_lock(" KEY "), ''", ALONE};
	static const char *const as_many[] = {
		"SELECT pg_advisory_lock_shared(" KEY "), ''", SHARED};

	return ask_all(ask_h, db, alone ? as_one : as_many, 2);
}

static int try_alone(struct postgresql_lock *lock, postgresql_ask_h *ask_h,
		     struct db *db)
{
	char answer[2][POSTGRESQL_ANSWER_BYTES];
	int err = ask_h(db, "SELECT pg_try_advisory_lock(" KEY "), ''", NULL,
			answer);

	if (err == 0)
		lock->alone = strcmp(answer[0], "t") == 0;
	return err;
}

static int enter_first(struct postgresql_lock *lock, postgresql_ask_h *ask_h,
		       struct db *db)
{
	static const char *const leave_shared[] = {
		"SELECT pg_advisory_unlock_shared(" KEY "), ''", ALONE};
	int err = try_alone(lock, ask_h, db);

	if (err || lock->alone)
		return err;
	err = take(false, ask_h, db);
	/* what had it may have ended meanwhile: then nobody is there to share
	 * it with. The own shared lock does not prevent the other one. */
	if (err == 0)
		err = try_alone(lock, ask_h, db);
	if (err == 0 && lock->alone)
		err = ask_all(ask_h, db, leave_shared, 2);
	return err;
}

int postgresql_lock_enter(struct postgresql_lock *lock, postgresql_ask_h *ask_h,
			  struct db *db)
{
	int err;

	if (!lock->session[0][0]) {
		err = enter_first(lock, ask_h, db);
	} else {
		err = end_former(lock, ask_h, db);
		if (err == 0)
			err = take(lock->alone, ask_h, db);
	}
	if (err)
		return err;
	return ask_h(db,
		     "SELECT pid, backend_start FROM pg_stat_activity "
		     "WHERE pid = pg_backend_pid()",
		     NULL, lock->session);
}

int postgresql_lock_change(struct postgresql_lock *lock, bool alone,
			   postgresql_ask_h *ask_h, struct db *db)
{
	/* both are held for a moment, so that nobody comes between */
	static const char *const leave_one[] = {"SELECT pg_advisory_unlock(" KEY
						"), ''"};
	static const char *const leave_many[] = {
		"SELECT pg_advisory_unlock_shared(" KEY "), ''"};
	int err = take(alone, ask_h, db);

	if (err == 0)
		err = ask_all(ask_h, db, alone ? leave_many : leave_one, 1);
	if (err == 0)
		lock->alone = alone;
	return err;
}

const char *postgresql_lock_refused(bool alone)
{
	return alone ? "in use by another controller: stop that one first, or "
		       "ask it"
		     : "another process has the database for itself: start "
		       "again when it has ended";
}
