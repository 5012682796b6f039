#include "control/server/store/store_bounds.h"

#include "base/str.h"
#include "control/server/store/record_json.h"
#include "control/server/store/store_db.h"

#include <errno.h>
#include <string.h>

/* Which bound a measure has. The figures of `out` are the peer's, but for the round trip. */
static const struct {
	const char *measure;
	const char *member; /* of a calibration */
	bool received_only;
} bounds_of[] = {
	{"rtp_jitter", "jitter_bound_ms", true},
	{"rtp_rtt", "rtt_bound_ms", false},
	{"rtp_lost_pct", "loss_bound_pct", true},
};

#define BOUNDS (sizeof(bounds_of) / sizeof(*bounds_of))

struct reading {
	json_t *roles;
	char lease[UUID_TEXT_BYTES];
	json_int_t calls; /* up at once in the engines of the lease so far */
};

/* The bound of two jobs is the larger one; it is unknown if one of them is. */
static int add_job(json_t *roles, const char *role, const json_t *calibration)
{
	json_t *known = json_object_get(roles, role);
	const bool first = !known;

	if (first) {
		known = json_object();
		if (json_object_set_new(roles, role, known))
			return -ENOMEM;
	}
	for (size_t i = 0; i < BOUNDS; i++) {
		const char *name = bounds_of[i].member;
		json_t *value = json_object_get(calibration, name);
		const json_t *before = json_object_get(known, name);

		if (!json_is_number(value))
			(void)json_object_del(known, name);
		else if (first || (before && json_number_value(value) >
						     json_number_value(before)))
			json_object_set(known, name, value);
	}
	return 0;
}

static int evidence_row(const struct db_value *row, size_t columns, void *arg)
{
	struct reading *r = arg;
	json_t *evidence = row[2].type == DB_TEXT ? record_json(&row[2]) : NULL;
	const json_t *calibration = json_object_get(evidence, "calibration");
	int err;

	(void)columns;
	if (strcmp(r->lease, row[0].bytes) != 0) {
		r->calls = 0;
		if (str_copy(r->lease, sizeof(r->lease), row[0].bytes) < 0) {
			json_decref(evidence);
			return -EIO;
		}
	}
	/* the engines of a job may have had their most calls at one time */
	r->calls += json_integer_value(json_object_get(evidence, "calls_most"));
	if (r->calls >
	    json_integer_value(json_object_get(calibration, "bounds_calls")))
		calibration = NULL;
	err = add_job(r->roles, row[1].bytes, calibration);
	json_decref(evidence);
	return err;
}

int store_bounds_read(struct store *store, int64_t run_id, json_t **ret)
{
	const struct db_value id = DB_I(run_id);
	struct reading r = {.roles = json_object()};
	int rows = db_query(
		store_reader(store),
		"WITH e AS MATERIALIZED (SELECT lease_id, event_json FROM event "
		"WHERE run_id = $1 AND kind = 'evidence') "
		"SELECT l.id, l.role, e.event_json FROM lease l LEFT JOIN e ON "
		"e.lease_id = l.id WHERE l.run_id = $1 AND l.state <> 'lost' "
		"ORDER BY l.id",
		&id, 1, evidence_row, &r);

	if (rows < 0) {
		json_decref(r.roles);
		return rows;
	}
	*ret = r.roles;
	return r.roles ? 0 : -ENOMEM;
}

bool store_bounds_find(const json_t *bounds, const char *role, const char *dir,
		       const char *measure, double *ret)
{
	const json_t *known = json_object_get(bounds, role), *value;

	for (size_t i = 0; i < BOUNDS; i++) {
		if (strcmp(bounds_of[i].measure, measure) != 0 ||
		    (bounds_of[i].received_only && strcmp(dir, "in") != 0))
			continue;
		value = json_object_get(known, bounds_of[i].member);
		if (!json_is_number(value))
			return false;
		*ret = json_number_value(value);
		return true;
	}
	return false;
}
