/* The verdict of a run that ends: what is kept of it for the states of tests and trends. */
#include "control/server/store/store_db.h"
#include "control/server/store/store_point.h"
#include "control/server/store/store_verdict.h"

#include <errno.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

int verdict_print(const json_t *steps, const json_t *conditions,
		  char print[static VERDICT_PRINT_BYTES])
{
	json_t *both = json_pack("[O?, O?]", steps, conditions);
	char *text = json_dumps(both, JSON_COMPACT | JSON_SORT_KEYS);
	uint8_t hash[(VERDICT_PRINT_BYTES - 1) / 2];

	print[0] = '\0';
	json_decref(both);
	if (!text)
		return -ENOMEM;
	crypto_generichash(hash, sizeof(hash), (const unsigned char *)text,
			   strlen(text), NULL, 0);
	sodium_memzero(text, strlen(text)); /* steps may hold passwords */
	free(text);
	sodium_bin2hex(print, VERDICT_PRINT_BYTES, hash, sizeof(hash));
	return 0;
}

/* A measure of a run. */
struct figure {
	double n, sum; /* of avg * n */
	double min, max;
};

struct figures {
	struct figure mos, pdd, register_time, loss;
};

static int add_figure(const struct points_series *series, void *arg)
{
	struct figures *f = arg;
	const bool in = strcmp(series->dir, "in") == 0;
	struct figure *to;

	if (strcmp(series->measure, "sip_pdd") == 0)
		to = &f->pdd;
	else if (strcmp(series->measure, "sip_register_time") == 0)
		to = &f->register_time;
	else if (in && strcmp(series->measure, "rtp_mos") == 0)
		to = &f->mos;
	else if (in && strcmp(series->measure, "rtp_lost_pct") == 0)
		to = &f->loss;
	else
		return 0;
	for (size_t i = 0; i < series->count; i++) {
		const struct distribution *d = &series->points[i].p.d;

		to->min = to->n > 0 ? fmin(to->min, d->min) : d->min;
		to->max = to->n > 0 ? fmax(to->max, d->max) : d->max;
		to->n += (double)d->n;
		to->sum += (double)d->n * d->avg;
	}
	return 0;
}

static struct db_value if_known(const struct figure *f, double value)
{
	return f->n > 0 ? DB_R(value) : (struct db_value){.type = DB_NULL};
}

int verdict_insert(struct db *db, int64_t run_id)
{
	static const char *const measures[] = {"rtp_mos", "sip_pdd",
					       "sip_register_time",
					       "rtp_lost_pct", NULL};
	const struct points_query query = {.run_id = run_id,
					   .measures = measures};
	struct figures f = {.mos = {.n = 0}};
	int err = points_read(db, &query, add_figure, &f);

	if (err == -EBADMSG) /* the run ends, without figures */
		f = (struct figures){.mos = {.n = 0}};
	else if (err)
		return err;
	const struct db_value params[] = {
		DB_I(run_id),
		if_known(&f.mos, f.mos.sum / f.mos.n),
		if_known(&f.pdd, f.pdd.sum / f.pdd.n),
		if_known(&f.register_time,
			 f.register_time.sum / f.register_time.n),
		if_known(&f.mos, f.mos.min),
		if_known(&f.loss, f.loss.sum / f.loss.n),
		if_known(&f.pdd, f.pdd.max)};

	err = db_query(
		db,
		"INSERT INTO run_verdict (test_id, run_id, session_id, status, "
		"test_print, created_at, started_at, stopped_at, mos, pdd_ms, "
		"register_ms, mos_min, loss_pct, pdd_max_ms) SELECT "
		"coalesce(test_id, 0), id, session_id, status, test_print, "
		"created_at, started_at, stopped_at, CAST($2 AS DOUBLE "
		"PRECISION), CAST($3 AS DOUBLE PRECISION), CAST($4 AS DOUBLE "
		"PRECISION), CAST($5 AS DOUBLE PRECISION), CAST($6 AS DOUBLE "
		"PRECISION), CAST($7 AS DOUBLE PRECISION) FROM run WHERE id = "
		"$1",
		params, sizeof(params) / sizeof(*params), NULL, NULL);
	return err < 0 ? err : 0;
}
