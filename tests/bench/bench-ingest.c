/*
 * Rows a second through the store's ingest, next to a peer: a loop that only
 * gives the same rows to the database's own library, into a table with a row a
 * point or event, without references, in transactions of the same size. The two
 * take turns.
 * Processor time, of this process and of the server's, is what other load affects
 * least.
 *
 * Usage: bench-ingest DATABASE PEER [ROWS [BATCH [ROUNDS]]]
 * DATABASE is a new SQLite file, PEER another one; or both are the URI of an empty
 * PostgreSQL database (bench-ingest.py makes it).
 */
#include "base/buf.h"
#include "base/clock.h"
#include "base/str.h"
#include "control/server/store/store_db.h"
#include "control/server/store/store_ingest.h"
#include "media/analysis/sketch.h"
#include "tests/unit/run/lease_bench.h"

#include <inttypes.h>
#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COLUMNS_MAX 13
#define ROUNDS_MAX  99
#define TEXT_BYTES  (64 * 1024 * 1024)
#define MEASURES_OF 40 /* of each direction: what a call with two streams has */

enum kind {
	POINTS,
	SKETCHES, /* points that have one */
	EVENTS,
	KINDS
};
static const char *const names[] = {"points", "points with sketches", "events"};

static const struct table {
	const char *name, *columns;
	size_t count;
} tables[] = {
	{"peer_point",
	 "series_id, t, lease_id, n, min, max, avg, median, p75, p90, p95, "
	 "stddev, sketch_json",
	 13},
	{"peer_point",
	 "series_id, t, lease_id, n, min, max, avg, median, p75, p90, p95, "
	 "stddev, sketch_json",
	 13},
	{"peer_event", "run_id, lease_id, role, t_us, event_json, kind", 6},
};

/* What both sides store: the upload, and the rows that it makes. */
struct batch {
	json_t *items;
	char *text;
	struct db_value *rows;
	char **texts; /* of the rows */
	size_t count;
};

struct peer {
	sqlite3 *sq;
	PGconn *pg;
	struct buf copy;
};

/* A side's time, in ns. */
struct spent {
	int64_t wall, client, server;
};

struct arguments {
	const char *database, *peer;
	size_t rows, batch, rounds;
};

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	exit(1);
}

/* ---- rows ---- */

static json_t *make_sketch(void)
{
	json_t *pairs = json_array();

	for (int k = 100; k < 140; k++)
		json_array_append_new(pairs, json_pack("[i, i]", k, k + 1));
	return json_pack("{s:f, s:i, s:o, s:[]}", "a", SKETCH_ACCURACY, "z", 0,
			 "p", pairs, "n");
}

static json_t *make_point(struct batch *b, size_t i, size_t number, bool sketch,
			  const char *lease)
{
	const double v = 1.0 / (double)(3 + number % 1000);
	const size_t series = number % (2 * MEASURES_OF);
	struct wire_point p = {
		.role = "callee",
		.outgoing = series % 2,
		.measure = (enum measure)(series / 2),
		.t_s = 1700000000 + (int64_t)(number / (2 * MEASURES_OF)) * 10,
		.d = {.n = 10,
		      .min = v,
		      .max = v * 3,
		      .avg = v * 2,
		      .median = v * 1.1,
		      .p75 = v * 1.5,
		      .p90 = v * 2.5,
		      .p95 = v * 2.7,
		      .stddev = v / 7},
		.sketch = sketch ? make_sketch() : NULL,
	};
	const struct db_value row[] = {
		DB_I((int64_t)series + 1),
		DB_I(p.t_s),
		db_text(lease),
		DB_I((int64_t)p.d.n),
		DB_R(p.d.min),
		DB_R(p.d.max),
		DB_R(p.d.avg),
		DB_R(p.d.median),
		DB_R(p.d.p75),
		DB_R(p.d.p90),
		DB_R(p.d.p95),
		DB_R(p.d.stddev),
		db_text(b->texts[i] =
				sketch ? json_dumps(p.sketch, JSON_COMPACT)
				       : NULL)};
	json_t *object = wire_point_encode(&p);

	json_decref(p.sketch);
	memcpy(&b->rows[i * COLUMNS_MAX], row, sizeof(row));
	return object;
}

static json_t *make_event(struct batch *b, size_t i, size_t number,
			  int64_t run_id, const char *lease)
{
	json_t *event = json_pack("{s:I, s:I, s:s, s:s, s:s, s:s}", "t",
				  (json_int_t)(T0 * 1000 + (int64_t)number),
				  "mono", (json_int_t)number, "kind", "state",
				  "state", "CALL_ESTABLISHED", "account",
				  "1001", "call", "callee-1");
	const struct db_value row[] = {
		DB_I(run_id),
		db_text(lease),
		db_text("callee"),
		DB_I(T0 * 1000 + (int64_t)number),
		db_text(b->texts[i] = json_dumps(event, JSON_COMPACT)),
		db_text("state")};

	memcpy(&b->rows[i * COLUMNS_MAX], row, sizeof(row));
	return event;
}

static void batch_make(struct batch *b, enum kind kind, size_t first,
		       size_t count, int64_t run_id, const char *lease)
{
	*b = (struct batch){
		.items = json_array(),
		.rows = calloc(count * COLUMNS_MAX, sizeof(*b->rows)),
		.texts = calloc(count, sizeof(*b->texts)),
		.count = count,
	};
	if (!b->items || !b->rows || !b->texts)
		fail("batch", "out of memory");
	for (size_t i = 0; i < count; i++)
		json_array_append_new(
			b->items,
			kind == EVENTS
				? make_event(b, i, first + i, run_id, lease)
				: make_point(b, i, first + i, kind == SKETCHES,
					     lease));
	b->text = json_dumps(b->items, JSON_COMPACT);
}

static void batch_free(struct batch *b)
{
	for (size_t i = 0; i < b->count; i++)
		free(b->texts[i]);
	free(b->texts);
	free(b->rows);
	free(b->text);
	json_decref(b->items);
}

/* ---- the peer ---- */

static void peer_sql(struct peer *p, const char *sql)
{
	PGresult *result;

	if (p->sq) {
		if (sqlite3_exec(p->sq, sql, NULL, NULL, NULL) != SQLITE_OK)
			fail(sql, sqlite3_errmsg(p->sq));
		return;
	}
	result = PQexec(p->pg, sql);
	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		fail(sql, PQerrorMessage(p->pg));
	PQclear(result);
}

/* One row for each point, stored next to the other points of its series. */
#define PEER_POINT                                                          \
	"CREATE TABLE peer_point (series_id BIGINT NOT NULL, t BIGINT NOT " \
	"NULL, lease_id TEXT NOT NULL, n BIGINT NOT NULL, min DOUBLE "      \
	"PRECISION NOT NULL, max DOUBLE PRECISION NOT NULL, avg DOUBLE "    \
	"PRECISION NOT NULL, median DOUBLE PRECISION NOT NULL, p75 DOUBLE " \
	"PRECISION NOT NULL, p90 DOUBLE PRECISION NOT NULL, p95 DOUBLE "    \
	"PRECISION NOT NULL, stddev DOUBLE PRECISION NOT NULL, "            \
	"sketch_json TEXT, PRIMARY KEY (series_id, t, lease_id))"

static void peer_open(struct peer *p, const struct arguments *a,
		      const struct bench *b)
{
	struct database *made;

	memset(p, 0, sizeof(*p));
	buf_init(&p->copy, TEXT_BYTES);
	if (!database_is_file(a->peer)) {
		p->pg = PQconnectdb(a->peer);
		if (PQstatus(p->pg) != CONNECTION_OK)
			fail(a->peer, PQerrorMessage(p->pg));
		peer_sql(p, PEER_POINT);
		peer_sql(p, "CREATE TABLE peer_event (LIKE event INCLUDING "
			    "ALL)");
		return;
	}
	if (database_open(&made, a->peer, b->secrets))
		fail(a->peer, "cannot be opened");
	database_close(made);
	if (sqlite3_open(a->peer, &p->sq) != SQLITE_OK)
		fail(a->peer, sqlite3_errmsg(p->sq));
	peer_sql(p, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
		    "PRAGMA mmap_size = 0; PRAGMA foreign_keys = OFF");
	peer_sql(p, PEER_POINT " WITHOUT ROWID");
	peer_sql(p, "ALTER TABLE event RENAME TO peer_event");
}

static void peer_close(struct peer *p)
{
	if (p->sq)
		sqlite3_close(p->sq);
	if (p->pg)
		PQfinish(p->pg);
	buf_release(&p->copy);
}

static void put_sqlite(struct peer *p, const struct table *t,
		       const struct batch *b)
{
	static const char *const questions = "?,?,?,?,?,?,?,?,?,?,?,?,?";
	sqlite3_stmt *stmt;
	char sql[512];

	snprintf(sql, sizeof(sql), "INSERT INTO %s (%s) VALUES (%.*s)", t->name,
		 t->columns, (int)(2 * t->count - 1), questions);
	peer_sql(p, "BEGIN IMMEDIATE");
	if (sqlite3_prepare_v2(p->sq, sql, -1, &stmt, NULL) != SQLITE_OK)
		fail(sql, sqlite3_errmsg(p->sq));
	for (size_t i = 0; i < b->count; i++) {
		const struct db_value *row = &b->rows[i * COLUMNS_MAX];

		for (size_t c = 0; c < t->count; c++) {
			const int at = (int)c + 1;

			if (row[c].type == DB_INT)
				sqlite3_bind_int64(stmt, at, row[c].integer);
			else if (row[c].type == DB_REAL)
				sqlite3_bind_double(stmt, at, row[c].real);
			else if (row[c].type == DB_TEXT)
				sqlite3_bind_text(stmt, at, row[c].bytes,
						  (int)row[c].len,
						  SQLITE_STATIC);
			else
				sqlite3_bind_null(stmt, at);
		}
		if (sqlite3_step(stmt) != SQLITE_DONE)
			fail("row", sqlite3_errmsg(p->sq));
		sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
	peer_sql(p, "COMMIT");
}

static void put_postgresql(struct peer *p, const struct table *t,
			   const struct batch *b)
{
	PGresult *result;
	char sql[512];

	snprintf(sql, sizeof(sql), "COPY %s (%s) FROM STDIN", t->name,
		 t->columns);
	peer_sql(p, "BEGIN");
	result = PQexec(p->pg, sql);
	if (PQresultStatus(result) != PGRES_COPY_IN)
		fail(sql, PQerrorMessage(p->pg));
	PQclear(result);
	for (size_t i = 0; i < b->count * COLUMNS_MAX; i++) {
		const struct db_value *v = &b->rows[i];
		const size_t c = i % COLUMNS_MAX;

		if (c >= t->count)
			continue;
		if (v->type == DB_INT)
			buf_print(&p->copy, "%" PRId64, v->integer);
		else if (v->type == DB_REAL)
			buf_print(&p->copy, "%.17g", v->real);
		else if (v->type == DB_TEXT)
			buf_add(&p->copy, v->bytes, v->len);
		else
			buf_add(&p->copy, "\\N", 2);
		buf_add(&p->copy, c + 1 < t->count ? "\t" : "\n", 1);
	}
	PQputCopyData(p->pg, p->copy.data, (int)p->copy.used);
	buf_consume(&p->copy, p->copy.used);
	PQputCopyEnd(p->pg, NULL);
	while ((result = PQgetResult(p->pg))) {
		if (PQresultStatus(result) != PGRES_COMMAND_OK)
			fail(sql, PQerrorMessage(p->pg));
		PQclear(result);
	}
	peer_sql(p, "COMMIT");
}

/* ---- turns ---- */

struct turn {
	struct bench *bench;
	struct peer *peer;
	int64_t servers
		[2]; /* process of the store's and the peer's connection */
	const char *lease;
	int64_t seq;
	size_t next[KINDS]; /* number of the next row */
};

/* Processor time of a process. Source: Linux, Documentation/scheduler/
 * sched-stats.rst, /proc/PID/schedstat. */
static int64_t process_ns(int64_t pid)
{
	char path[64];
	long long ns = 0;
	FILE *file;

	if (!pid)
		return 0;
	snprintf(path, sizeof(path), "/proc/%" PRId64 "/schedstat", pid);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%lld", &ns) != 1)
		fail(path, "cannot be read");
	fclose(file);
	return ns;
}

static struct spent now(int64_t server)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (struct spent){clock_mono_ns(),
			      t.tv_sec * INT64_C(1000000000) + t.tv_nsec,
			      process_ns(server)};
}

static void add(struct spent *sum, struct spent from, struct spent to)
{
	sum->wall += to.wall - from.wall;
	sum->client += to.client - from.client;
	sum->server += to.server - from.server;
}

/* One round of a kind: the store's part, then the peer's, batch by batch. */
static void run_round(struct turn *t, const struct arguments *a, enum kind kind,
		      struct spent ret[2])
{
	const struct lease_times times = bench_times(T0 + 1000);

	memset(ret, 0, 2 * sizeof(*ret));
	for (size_t done = 0; done < a->rows; done += a->batch) {
		struct ingest_result result;
		struct batch b;
		struct spent from;

		batch_make(&b, kind, t->next[kind], a->batch, t->bench->run_id,
			   t->lease);
		t->next[kind] += a->batch;
		struct ingest u = {.agent_id = t->bench->agents[0],
				   .lease_id = t->lease,
				   .kind = kind == EVENTS ? INGEST_EVENTS
							  : INGEST_STATS,
				   .seq = ++t->seq,
				   .items = b.items,
				   .text = {b.text, strlen(b.text)}};
		from = now(t->servers[0]);
		if (store_ingest(t->bench->store, &u, &times, &result))
			fail("upload", "refused");
		add(&ret[0], from, now(t->servers[0]));
		from = now(t->servers[1]);
		if (t->peer->sq)
			put_sqlite(t->peer, &tables[kind], &b);
		else
			put_postgresql(t->peer, &tables[kind], &b);
		add(&ret[1], from, now(t->servers[1]));
		batch_free(&b);
	}
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Figures of the rounds, each sorted by itself. */
struct figures {
	double rate[2][ROUNDS_MAX];   /* rows/s */
	double client[2][ROUNDS_MAX]; /* us of processor time a row */
	double server[2][ROUNDS_MAX];
	double ratio[ROUNDS_MAX]; /* of the rates */
	double cost[ROUNDS_MAX];  /* ratio of the processor times */
};

static void show(struct turn *t, const struct arguments *a, enum kind kind)
{
	const double rows = (double)a->rows;
	const size_t middle = a->rounds / 2, last = a->rounds - 1;
	struct figures f;

	for (size_t r = 0; r < a->rounds; r++) {
		struct spent s[2];

		run_round(t, a, kind, s);
		for (size_t i = 0; i < 2; i++) {
			f.rate[i][r] = rows * 1e9 / (double)s[i].wall;
			f.client[i][r] = (double)s[i].client / 1e3 / rows;
			f.server[i][r] = (double)s[i].server / 1e3 / rows;
		}
		f.ratio[r] = f.rate[0][r] / f.rate[1][r];
		f.cost[r] = (double)(s[0].client + s[0].server) /
			    (double)(s[1].client + s[1].server);
	}
	for (double *list = f.rate[0]; list < (double *)(&f + 1);
	     list += ROUNDS_MAX)
		qsort(list, a->rounds, sizeof(*list), compare);
	printf("%s, %zu a batch: %.0f rows/s (best %.0f), peer %.0f (best "
	       "%.0f), ratio %.2f (%.2f to %.2f)\n"
	       "  processor time a row: %.2f us + %.2f of the server, peer "
	       "%.2f + %.2f, ratio %.2f (%.2f to %.2f)\n",
	       names[kind], a->batch, f.rate[0][middle], f.rate[0][last],
	       f.rate[1][middle], f.rate[1][last], f.ratio[middle], f.ratio[0],
	       f.ratio[last], f.client[0][middle], f.server[0][middle],
	       f.client[1][middle], f.server[1][middle], f.cost[middle],
	       f.cost[0], f.cost[last]);
	fflush(stdout);
}

/* The server's processes of both connections. */
static void find_servers(struct turn *t)
{
	struct db *db;
	int err;

	if (t->peer->sq)
		return;
	err = store_write_begin(t->bench->store, &db);
	if (err == 0)
		err = db_query(db, "SELECT pg_backend_pid()", NULL, 0,
			       db_integer_row, &t->servers[0]);
	if (err < 0 || store_write_end(t->bench->store, err) < 0)
		fail("pg_backend_pid", "refused");
	t->servers[1] = PQbackendPID(t->peer->pg);
}

static size_t number(char **argv, int argc, int at, size_t otherwise,
		     size_t max)
{
	uint64_t value;

	if (at >= argc)
		return otherwise;
	if (str_to_u64(argv[at], max, &value) || value == 0)
		fail(argv[at], "not a number");
	return (size_t)value;
}

/* The series in the order of the peer's numbers. */
static void make_series(struct bench *b)
{
	struct db *db;
	int err = store_write_begin(b->store, &db);

	for (size_t i = 0; i < 2 * MEASURES_OF && err >= 0; i++) {
		const struct db_value params[] = {
			DB_I(b->run_id), db_text(i % 2 ? "out" : "in"),
			db_text(measure_name((enum measure)(i / 2)))};

		err = db_query(db,
			       "INSERT INTO series (run_id, role, dir, "
			       "measure) VALUES ($1, 'callee', $2, $3)",
			       params, 3, NULL, NULL);
	}
	if (store_write_end(b->store, err) < 0)
		fail("series", "cannot be made");
}

int main(int argc, char **argv)
{
	const struct arguments a = {
		.database = argc > 1 ? argv[1] : NULL,
		.peer = argc > 2 ? argv[2] : NULL,
		.rows = number(argv, argc, 3, 50000, 10000000),
		.batch = number(argv, argc, 4, 500, INGEST_ITEMS_MAX),
		.rounds = number(argv, argc, 5, 5, ROUNDS_MAX),
	};
	struct bench b;
	struct peer peer;
	json_t *jobs;

	if (argc < 3)
		fail("usage",
		     "bench-ingest DATABASE PEER [ROWS [BATCH [ROUNDS]]]");
	bench_open_at(&b, a.database, 4);
	bench_run_alone(&b);
	make_series(&b);
	peer_open(&peer, &a, &b);
	jobs = bench_start(&b, T0);
	struct turn t = {
		.bench = &b, .peer = &peer, .lease = bench_lease(jobs, 0)};
	find_servers(&t);
	for (enum kind kind = POINTS; kind < KINDS; kind++) {
		/* points with sketches lie behind the others */
		if (kind == SKETCHES)
			t.next[kind] = t.next[POINTS];
		show(&t, &a, kind);
	}
	json_decref(jobs);
	peer_close(&peer);
	bench_close(&b);
	return 0;
}
