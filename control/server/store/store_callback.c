#include "control/server/store/store_callback.h"

#include "control/server/store/record_db.h"
#include "control/server/store/store_lease_db.h"
#include "control/server/store/store_secret.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_on(const json_t *test, const char *flag)
{
	return json_integer_value(json_object_get(test, flag)) == 1;
}

json_t *callback_wanted(const json_t *test)
{
	return is_on(test, "callback_on_failure") ||
			       is_on(test, "callback_on_recovery")
		       ? json_object_get(test, "callback")
		       : NULL;
}

const char *callback_on(const json_t *test)
{
	if (!is_on(test, "callback_on_recovery"))
		return "failure";
	return is_on(test, "callback_on_failure") ? "both" : "recovery";
}

int callback_seal(struct store *s, json_t *callback, uint8_t **ret,
		  size_t *ret_len)
{
	if (!json_string_length(json_object_get(callback, "url")))
		return 0;
	return store_seal_json(s, CALLBACK_BOX, callback, ret, ret_len);
}

/* ---- what is due ---- */

struct due_reading {
	struct store *store;
	struct callback_due due;
};

static int due_row(const struct db_value *row, size_t columns, void *arg)
{
	struct due_reading *r = arg;

	(void)columns;
	r->due.run_id = db_integer_or_0(&row[0]);
	r->due.project_run_id = db_integer_or_0(&row[1]);
	(void)str_copy(r->due.key, sizeof(r->due.key), row[2].bytes);
	return store_open_json(r->store, CALLBACK_BOX, &row[3], &r->due.how);
}

int store_callback_due(struct store *s, struct callback_due *ret)
{
	struct due_reading r = {.store = s};
	int err;

	err = db_query(store_reader(s),
		       "SELECT id, NULL, session_id, callback_box FROM run "
		       "WHERE callback_state = 'due' ORDER BY id LIMIT 1",
		       NULL, 0, due_row, &r);
	if (err == 0)
		err = db_query(store_reader(s),
			       "SELECT NULL, id, uuid, callback_box FROM "
			       "project_run WHERE callback_state = 'due' "
			       "ORDER BY id LIMIT 1",
			       NULL, 0, due_row, &r);
	if (err <= 0)
		return err;
	*ret = r.due;
	return 1;
}

static int insert_callback(struct db *db, const struct callback_due *due,
			   const struct callback_new *callback,
			   struct db_value box)
{
	const struct db_value params[] = {
		db_id_or_null(due->run_id), db_id_or_null(due->project_run_id),
		db_text(callback->url),     db_text(callback->method),
		DB_I(callback->created_at), box};

	return lease_exec(db,
			  "INSERT INTO callback (run_id, project_run_id, url, "
			  "method, state, next_at, created_at, request_box) "
			  "VALUES ($1, $2, $3, $4, 'waiting', $5, $5, $6)",
			  LEASE_PARAMS(params));
}

int store_callback_make(struct store *s, const struct callback_due *due,
			const struct callback_new *callback)
{
	const struct db_value id[] = {
		DB_I(due->run_id ? due->run_id : due->project_run_id)};
	uint8_t *box = NULL;
	size_t box_len = 0;
	struct db *db;
	int err = 0;

	if (callback->request)
		err = store_seal_json(s, REQUEST_BOX, callback->request, &box,
				      &box_len);
	if (!err)
		err = store_write_begin(s, &db);
	if (err) {
		free(box);
		return err;
	}
	err = lease_exec(db,
			 due->run_id
				 ? "UPDATE run SET callback_state = 'made', "
				   "callback_box = NULL WHERE id = $1 AND "
				   "callback_state = 'due'"
				 : "UPDATE project_run SET callback_state = "
				   "'made', callback_box = NULL WHERE id = $1 "
				   "AND callback_state = 'due'",
			 LEASE_PARAMS(id));
	if (err == 0)
		err = -EALREADY;
	if (err > 0 && box)
		err = insert_callback(db, due, callback, db_blob(box, box_len));
	err = store_write_end(s, err);
	free(box);
	return err < 0 ? err : 0;
}

/* ---- tries ---- */

struct claim_reading {
	struct store *store;
	struct callback_claim claim;
	int64_t tries;
};

static int claim_row(const struct db_value *row, size_t columns, void *arg)
{
	struct claim_reading *r = arg;

	(void)columns;
	r->claim.id = row[0].integer;
	r->tries = row[1].integer;
	(void)str_copy(r->claim.url, sizeof(r->claim.url), row[2].bytes);
	(void)str_copy(r->claim.method, sizeof(r->claim.method), row[3].bytes);
	return store_open_json(r->store, REQUEST_BOX, &row[4],
			       &r->claim.request);
}

/* Give up: the last attempt began before the controller stopped, and its result
 * is unknown. */
static int give_up(struct db *db, int64_t id, int64_t now)
{
	const struct db_value params[] = {DB_I(id), DB_I(now)};

	return lease_exec(db,
			  "UPDATE callback SET state = 'failed', next_at = "
			  "NULL, ended_at = $2 WHERE id = $1",
			  LEASE_PARAMS(params));
}

static int begin_try(struct db *db, const struct claim_reading *r, int64_t now,
		     int64_t claimed_until)
{
	const struct db_value params[] = {DB_I(r->claim.id), DB_I(r->tries + 1),
					  DB_I(now)};
	const struct db_value claim[] = {DB_I(r->claim.id), DB_I(r->tries + 1),
					 DB_I(claimed_until)};
	int err;

	err = lease_exec(db,
			 "UPDATE callback SET state = 'sending', tries = $2, "
			 "next_at = $3 WHERE id = $1",
			 LEASE_PARAMS(claim));
	if (err <= 0)
		return err;
	return lease_exec(db,
			  "INSERT INTO callback_try (callback_id, number, "
			  "started_at, error) VALUES ($1, $2, $3, 'no result: "
			  "it is in progress, or the controller ended during "
			  "it')",
			  LEASE_PARAMS(params));
}

#define DUE                                                                      \
	"FROM callback WHERE state IN ('waiting', 'sending') AND next_at <= $1 " \
	"ORDER BY next_at, id LIMIT 1"

int store_callback_claim(struct store *s, int64_t now, int64_t claimed_until,
			 struct callback_claim *ret)
{
	const struct db_value params[] = {DB_I(now)};
	struct claim_reading r = {.store = s};
	struct db *db;
	int64_t id;
	/* usually none is due: look without the write lock first */
	int err = lease_integer(store_reader(s), "SELECT id " DUE, params, 1,
				&id);

	if (err || !id)
		return err;
	err = store_write_begin(s, &db);
	if (err)
		return err;
	err = db_query(db, "SELECT id, tries, url, method, request_box " DUE,
		       params, 1, claim_row, &r);
	if (err > 0 && r.tries >= CALLBACK_TRIES_MAX)
		err = give_up(db, r.claim.id, now) < 0 ? -EIO : 0;
	else if (err > 0)
		err = begin_try(db, &r, now, claimed_until);
	err = store_write_end(s, err);
	if (err <= 0) {
		json_decref(r.claim.request);
		return err;
	}
	r.claim.number = r.tries + 1;
	*ret = r.claim;
	return 1;
}

static struct db_value text_or_null(const char *text)
{
	return db_text(text[0] ? text : NULL);
}

static int end_try(struct db *db, const struct callback_claim *claim,
		   const struct callback_result *r)
{
	const struct db_value params[] = {
		DB_I(claim->id),
		DB_I(claim->number),
		DB_I(r->duration_ms),
		text_or_null(r->address),
		r->http_status ? DB_I(r->http_status) : db_text(NULL),
		text_or_null(r->error),
		text_or_null(r->response),
	};

	return lease_exec(db,
			  "UPDATE callback_try SET duration_ms = $3, address = "
			  "$4, http_status = $5, error = $6, response = $7 "
			  "WHERE callback_id = $1 AND number = $2",
			  LEASE_PARAMS(params));
}

int store_callback_end(struct store *s, const struct callback_claim *claim,
		       const struct callback_result *r)
{
	bool delivered = !r->error[0];
	bool over =
		delivered || r->final || claim->number >= CALLBACK_TRIES_MAX;
	const struct db_value params[] = {
		DB_I(claim->id),
		DB_I(claim->number),
		db_text(delivered ? "delivered"
			: over    ? "failed"
				  : "waiting"),
		over ? db_text(NULL) : DB_I(r->next_at),
		over ? DB_I(r->ended_at) : db_text(NULL),
	};
	struct db *db;
	int err = store_write_begin(s, &db);

	if (err)
		return err;
	err = end_try(db, claim, r);
	/* unless the claim expired and another sender took it */
	if (err >= 0)
		err = lease_exec(db,
				 "UPDATE callback SET state = $3, next_at = "
				 "$4, ended_at = $5 WHERE id = $1 AND "
				 "state = 'sending' AND tries = $2",
				 LEASE_PARAMS(params));
	err = store_write_end(s, err);
	return err < 0 ? err : 0;
}

/* ---- what the API shows ---- */

static int try_row(const struct db_value *row, size_t columns, void *arg)
{
	json_t *entry = json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "number",
		record_value(&row[0]), "started_at", record_time(&row[1]),
		"duration_ms", record_value(&row[2]), "address",
		record_value(&row[3]), "http_status", record_value(&row[4]),
		"error", record_value(&row[5]), "response",
		record_value(&row[6]));

	(void)columns;
	return json_array_append_new(arg, entry) ? -ENOMEM : 0;
}

int store_callback_tries(struct store *s, int64_t id, json_t **ret)
{
	const struct db_value param = DB_I(id);
	json_t *tries = json_array();
	int err = tries ? 0 : -ENOMEM;

	if (!err)
		err = db_query(store_reader(s),
			       "SELECT number, started_at, duration_ms, "
			       "address, http_status, error, response FROM "
			       "callback_try WHERE callback_id = $1 "
			       "ORDER BY number",
			       &param, 1, try_row, tries);
	if (err < 0) {
		json_decref(tries);
		return err;
	}
	*ret = tries;
	return 0;
}

static int template_row(const struct db_value *row, size_t columns, void *arg)
{
	json_t **ret = arg;

	(void)columns;
	*ret = json_pack("{s:o, s:o, s:o, s:o}", "id", record_value(&row[0]),
			 "method", record_value(&row[1]), "content_type",
			 record_value(&row[2]), "body", record_value(&row[3]));
	return *ret ? 0 : -ENOMEM;
}

int store_callback_template(struct store *s, const char *name, json_t **ret)
{
	const struct db_value param = db_text(name);
	int err = db_query(store_reader(s),
			   "SELECT id, method, content_type, body FROM "
			   "callback_template WHERE name = $1",
			   &param, 1, template_row, ret);

	return err < 0 ? err : err == 0 ? -ENOENT : 0;
}

int store_test_secret(struct store *s, struct db *db, int64_t id,
		      json_t *values)
{
	json_t *secret = json_object_get(values, "callback_secret");
	bool kept = json_integer_value(json_object_get(
			    values, "has_callback_secret")) == 1;
	uint8_t *box = NULL;
	size_t box_len = 0;
	int err = 0;

	if (!json_string_length(secret) && kept)
		return 0;
	if (json_string_length(secret))
		err = secret_seal(store_secrets(s), CALLBACK_SECRET_BOX,
				  json_string_value(secret),
				  json_string_length(secret), &box, &box_len);
	if (!err) {
		const struct db_value params[] = {
			DB_I(id), box ? db_blob(box, box_len) : db_text(NULL)};

		err = lease_exec(db,
				 "UPDATE test SET callback_secret_box = $2 "
				 "WHERE id = $1",
				 LEASE_PARAMS(params));
	}
	free(box);
	return err < 0 ? err : 0;
}
