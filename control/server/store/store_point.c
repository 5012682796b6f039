#include "control/server/store/store_point.h"

#include "base/buf.h"
#include "control/server/store/point_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The blocks of a run are read by one statement up to so many bytes, and series by series
 * above, or if fewer series are wanted. */
#define WHOLE_BYTES  (1024 * 1024)
#define WHOLE_SERIES 4

#define PARAMS(params) (params), sizeof(params) / sizeof((params)[0])

/* ---- writing ---- */

static const char *const columns[] = {"run_id", "series_id", "lease_id", "seq",
				      "block"};
static const enum db_type types[] = {DB_INT, DB_INT, DB_TEXT, DB_INT, DB_BLOB};
/* A key that is there would be a point lost: the upload fails. */
static const struct db_load load = {"point_block", columns, 5, types, NULL};

/* The points of an upload, those of a series together, in their order. */
struct sorted {
	const struct point_entry **order;
	struct series_point *points;
	size_t count, series;
};

static void sorted_release(struct sorted *s)
{
	free(s->order);
	free(s->points);
}

static int compare_entries(const void *a, const void *b)
{
	const struct point_entry *x = *(const struct point_entry *const *)a;
	const struct point_entry *y = *(const struct point_entry *const *)b;

	if (x->series_id != y->series_id)
		return x->series_id < y->series_id ? -1 : 1;
	return x < y ? -1 : x > y; /* of one array */
}

static int sort_entries(struct sorted *s, const struct point_entry *entries,
			size_t count)
{
	*s = (struct sorted){.order = calloc(count + 1, sizeof(*s->order)),
			     .points = calloc(count + 1, sizeof(*s->points)),
			     .count = count};
	if (!s->order || !s->points)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		s->order[i] = &entries[i];
	qsort(s->order, count, sizeof(*s->order), compare_entries);
	for (size_t i = 0; i < count; i++) {
		s->points[i] = s->order[i]->p;
		if (i == 0 ||
		    s->order[i]->series_id != s->order[i - 1]->series_id)
			s->series++;
	}
	return 0;
}

/* @return the end of the series that begins at an index */
static size_t series_end(const struct sorted *s, size_t from)
{
	size_t end = from + 1;

	while (end < s->count &&
	       s->order[end]->series_id == s->order[from]->series_id)
		end++;
	return end;
}

static int insert_block(struct db *db, const struct points_upload *u,
			int64_t series_id, const struct buf *block)
{
	const struct db_value row[] = {DB_I(u->run_id), DB_I(series_id),
				       db_text(u->lease_id), DB_I(u->seq),
				       db_blob(block->data, block->used)};
	int err = db_query(db,
			   "INSERT INTO point_block (run_id, series_id, "
			   "lease_id, seq, block) VALUES ($1, $2, $3, $4, $5)",
			   PARAMS(row), NULL, NULL);

	return err < 0 ? err : 0;
}

/* One row for all series. */
static int write_mixed(struct db *db, const struct points_upload *u,
		       const struct sorted *s)
{
	struct buf block;
	int err;

	buf_init(&block, POINT_BLOCK_BYTES_MAX);
	err = point_block_begin(&block);
	for (size_t i = 0, end; i < s->count && err == 0; i = end) {
		end = series_end(s, i);
		err = point_block_add(&block, s->order[i]->series_id,
				      &s->points[i], end - i);
	}
	if (err == 0)
		err = insert_block(db, u, 0, &block);
	buf_release(&block);
	return err < 0 ? err : 0;
}

static int make_block(struct buf *block, int64_t series_id,
		      const struct series_point *points, size_t count)
{
	int err;

	buf_consume(block, block->used);
	err = point_block_begin(block);
	return err ? err : point_block_add(block, series_id, points, count);
}

int points_write(struct db *db, const struct points_upload *u,
		 int64_t series_id, const struct series_point *points,
		 size_t count, size_t *bytes)
{
	struct buf block;
	int err;

	buf_init(&block, POINT_BLOCK_BYTES_MAX);
	err = make_block(&block, series_id, points, count);
	if (err == 0)
		err = insert_block(db, u, series_id, &block);
	if (err == 0)
		*bytes += block.used;
	buf_release(&block);
	return err;
}

static int load_block(struct db *db, const struct points_upload *u,
		      int64_t series_id, const struct buf *block)
{
	const struct db_value row[] = {DB_I(u->run_id), DB_I(series_id),
				       db_text(u->lease_id), DB_I(u->seq),
				       db_blob(block->data, block->used)};

	return db_load_row(db, row);
}

/* A row for each series. */
static int write_series(struct db *db, const struct points_upload *u,
			const struct sorted *s)
{
	struct buf block;
	int err = db_load_begin(db, &load);

	buf_init(&block, POINT_BLOCK_BYTES_MAX);
	for (size_t i = 0, end; i < s->count && err == 0; i = end) {
		end = series_end(s, i);
		err = make_block(&block, s->order[i]->series_id, &s->points[i],
				 end - i);
		if (err == 0)
			err = load_block(db, u, s->order[i]->series_id, &block);
	}
	buf_release(&block);
	return err ? err : db_load_end(db);
}

static int add_entries(struct point_entry *entries,
		       const struct point_groups *parts, size_t *count)
{
	for (size_t i = 0; i < parts->count; i++) {
		struct point_group group = parts->all[i].group;
		struct point_entry *e = &entries[*count];
		int found;

		while ((found = point_group_next(&group, &e->p)) > 0) {
			e->series_id = group.series_id;
			e = &entries[++*count];
		}
		if (found < 0)
			return point_row_damaged(parts->all[i].from);
	}
	return 0;
}

/* Write the points of blocks, by series: one block each. */
static int write_folded(struct db *db, const struct points_upload *u,
			const struct point_rows *blocks)
{
	struct point_groups parts = {.count = 0};
	struct point_entry *entries = NULL;
	struct sorted s = {.count = 0};
	size_t room = 1, count = 0;
	int err = point_groups_find(&parts, blocks);

	for (size_t i = 0; i < parts.count; i++)
		room += parts.all[i].group.count;
	if (err == 0) {
		entries = calloc(room, sizeof(*entries));
		err = entries ? add_entries(entries, &parts, &count) : -ENOMEM;
	}
	if (err == 0)
		err = sort_entries(&s, entries, count);
	if (err == 0)
		err = write_series(db, u, &s);
	sorted_release(&s);
	free(entries);
	free(parts.all);
	return err;
}

/* The blocks of uploads of a lease become one a series. If one of them is damaged, all stay as
 * they are: that is no reason to refuse what comes now. */
static int fold_lease(struct db *db, int64_t run_id, const char *lease_id)
{
	const struct db_value params[] = {DB_I(run_id), db_text(lease_id)};
	struct point_rows blocks = {.count = 0};
	int err = db_query(db,
			   "SELECT " POINT_ROW_COLUMNS
			   " FROM point_block WHERE run_id = "
			   "$1 AND series_id = 0 AND lease_id = $2 ORDER BY "
			   "seq",
			   PARAMS(params), point_rows_row, &blocks);

	if (err > 0) {
		const struct points_upload u = {
			.run_id = run_id,
			.lease_id = lease_id,
			.seq = blocks.all[blocks.count - 1]->seq};

		err = write_folded(db, &u, &blocks);
		if (err == -EBADMSG)
			err = 0; /* it is in the log */
		else if (err == 0)
			err = db_query(db,
				       "DELETE FROM point_block WHERE run_id = "
				       "$1 AND series_id = 0 AND lease_id = $2",
				       PARAMS(params), NULL, NULL);
	}
	point_rows_clear(&blocks);
	return err < 0 ? err : 0;
}

int points_add(struct db *db, const struct points_upload *u)
{
	const struct db_value params[] = {DB_I(u->run_id), db_text(u->lease_id),
					  DB_I(POINTS_FOLD),
					  DB_I(POINTS_FOLD_BYTES)};
	struct sorted s = {.count = 0};
	int64_t fold = 0;
	int err;

	if (u->count == 0)
		return 0;
	err = sort_entries(&s, u->entries, u->count);
	if (err == 0 && s.count >= POINTS_DENSE * s.series) {
		err = write_series(db, u, &s);
	} else if (err == 0) {
		err = write_mixed(db, u, &s);
		if (err == 0)
			err = db_query(db,
				       "SELECT CASE WHEN count(*) >= $3 OR "
				       "sum(length(block)) >= $4 THEN 1 ELSE 0 "
				       "END FROM point_block WHERE run_id = $1 "
				       "AND series_id = 0 AND lease_id = $2",
				       PARAMS(params), db_integer_row, &fold);
	}
	sorted_release(&s);
	if (err >= 0 && fold)
		err = fold_lease(db, u->run_id, u->lease_id);
	return err < 0 ? err : 0;
}

int points_add_by_series(struct db *db, const struct points_upload *u)
{
	struct sorted s = {.count = 0};
	int err = 0;

	if (u->count == 0)
		return 0;
	err = sort_entries(&s, u->entries, u->count);
	if (err == 0)
		err = write_series(db, u, &s);
	sorted_release(&s);
	return err;
}

int points_fold(struct db *db, int64_t run_id)
{
	char lease_id[UUID_TEXT_BYTES] = "", next[UUID_TEXT_BYTES];

	for (;;) {
		const struct db_value params[] = {DB_I(run_id),
						  db_text(lease_id)};
		int err = db_query(db,
				   "SELECT lease_id FROM point_block WHERE "
				   "run_id = $1 AND series_id = 0 AND lease_id "
				   "> $2 ORDER BY lease_id LIMIT 1",
				   PARAMS(params), db_uuid_row, next);

		if (err <= 0)
			return err;
		memcpy(lease_id, next, sizeof(lease_id));
		err = fold_lease(db, run_id, lease_id);
		if (err < 0)
			return err;
	}
}

struct block_key {
	int64_t series_id, seq;
	char lease_id[UUID_TEXT_BYTES];
};

static int key_row(const struct db_value *row, size_t n, void *arg)
{
	struct block_key *c = arg;

	(void)n;
	c->series_id = row[0].integer;
	c->seq = row[2].integer;
	return str_copy(c->lease_id, sizeof(c->lease_id), row[1].bytes) ? -EIO
									: 0;
}

int points_delete(struct db *db, int64_t run_id, int64_t max)
{
	struct block_key last = {.seq = 0};
	const struct db_value place[] = {DB_I(run_id), DB_I(max - 1)};
	int rows;

	if (max <= 0)
		return 0;
	/* The last one of them. A range is found in the index by both databases, a list of
	 * keys is not. */
	rows = db_query(db,
			"SELECT series_id, lease_id, seq FROM point_block "
			"WHERE run_id = $1 ORDER BY series_id, lease_id, seq "
			"LIMIT 1 OFFSET $2",
			PARAMS(place), key_row, &last);
	if (rows < 0)
		return rows;
	if (rows == 0)
		return db_query(db, "DELETE FROM point_block WHERE run_id = $1",
				place, 1, NULL, NULL);
	const struct db_value params[] = {DB_I(run_id), DB_I(last.series_id),
					  db_text(last.lease_id),
					  DB_I(last.seq)};

	return db_query(db,
			"DELETE FROM point_block WHERE run_id = $1 AND "
			"(series_id, lease_id, seq) <= ($2, $3, $4)",
			PARAMS(params), NULL, NULL);
}

/* ---- reading ---- */

struct listed {
	int64_t id;
	char role[64], dir[8], measure[64];
};

struct reading {
	const struct points_query *query;
	points_series_h *series_h;
	void *arg;
	struct db *db;
	struct listed *series;
	size_t count, room;
	struct point_rows blocks;  /* of uploads, or all */
	struct point_groups parts; /* of blocks */
};

static bool is_wanted(const struct points_query *q, const char *role,
		      const char *dir, const char *measure)
{
	if ((q->role && strcmp(q->role, role) != 0) ||
	    (q->dir && strcmp(q->dir, dir) != 0))
		return false;
	if (!q->measures)
		return true;
	for (const char *const *m = q->measures; *m; m++)
		if (strcmp(*m, measure) == 0)
			return true;
	return false;
}

static int listed_row(const struct db_value *row, size_t n, void *arg)
{
	struct reading *r = arg;
	struct listed *l;

	(void)n;
	if (!is_wanted(r->query, row[1].bytes, row[2].bytes, row[3].bytes))
		return 0;
	if (r->count == r->room) {
		size_t room = r->room ? 2 * r->room : 128;
		struct listed *more =
			realloc(r->series, room * sizeof(*r->series));

		if (!more)
			return -ENOMEM;
		r->series = more;
		r->room = room;
	}
	l = &r->series[r->count++];
	l->id = row[0].integer;
	if (str_copy(l->role, sizeof(l->role), row[1].bytes) ||
	    str_copy(l->dir, sizeof(l->dir), row[2].bytes) ||
	    str_copy(l->measure, sizeof(l->measure), row[3].bytes))
		return -EIO;
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;
	int order = strcmp(x->measure, y->measure);

	if (!order)
		order = strcmp(y->role, x->role);
	if (!order)
		order = strcmp(x->dir, y->dir);
	return order ? order : x->id < y->id ? -1 : x->id > y->id;
}

static int list_series(struct reading *r)
{
	const struct db_value run = DB_I(r->query->run_id);
	int err = db_query(r->db,
			   "SELECT s.id, s.role, s.dir, s.measure FROM series "
			   "s JOIN run r ON r.id = s.run_id WHERE s.run_id = "
			   "$1 AND r.metrics_removed_at IS NULL ORDER BY s.id",
			   &run, 1, listed_row, r);

	if (err > 0 && r->query->by_name && r->count)
		qsort(r->series, r->count, sizeof(*r->series), compare_names);
	return err < 0 ? err : 0;
}

#define BLOCKS                                                                 \
	"SELECT " POINT_ROW_COLUMNS " FROM point_block WHERE run_id = $1 AND " \
	"series_id >= $2 AND series_id <= $3 "
#define JUDGED                                                             \
	"AND lease_id NOT IN (SELECT id FROM lease WHERE run_id = $1 AND " \
	"state = 'lost') "
#define BLOCKS_ORDER "ORDER BY series_id, lease_id, seq"

/* Load the blocks of series [first, last] and find their groups. */
static int load_series(const struct reading *r, int64_t first, int64_t last,
		       struct point_rows *blocks, struct point_groups *parts)
{
	const struct db_value params[] = {DB_I(r->query->run_id), DB_I(first),
					  DB_I(last)};
	int err = db_query(r->db,
			   r->query->judged ? BLOCKS JUDGED BLOCKS_ORDER
					    : BLOCKS BLOCKS_ORDER,
			   PARAMS(params), point_rows_row, blocks);

	return err < 0 ? err : point_groups_find(parts, blocks);
}

/* @return 1 all blocks of the run are read at once; 0; -EIO */
static int reads_whole(const struct reading *r)
{
	const struct db_value run = DB_I(r->query->run_id);
	int64_t bytes = 0;
	int err;

	if (r->count <= WHOLE_SERIES)
		return 0;
	err = db_query(r->db,
		       "SELECT CAST(coalesce(sum(length(block)), 0) AS BIGINT) "
		       "FROM point_block WHERE run_id = $1",
		       &run, 1, db_integer_row, &bytes);
	return err < 0 ? err : bytes <= WHOLE_BYTES;
}

/* Find the groups of a series. @return the first; *ret_count of them */
static const struct found_group *find_series(const struct point_groups *parts,
					     int64_t id, size_t *ret_count)
{
	size_t low = 0, high = parts->count, end;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (parts->all[middle].group.series_id < id)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low;
	     end < parts->count && parts->all[end].group.series_id == id;)
		end++;
	*ret_count = end - low;
	return parts->all + low;
}

/* @param own  its blocks, if they were not loaded with the others; else empty */
static int deliver(const struct reading *r, const struct listed *l,
		   const struct point_groups *own)
{
	size_t n, count = 0;
	const struct found_group *shared = find_series(&r->parts, l->id, &n);
	const size_t room = point_groups_points(shared, n) +
			    point_groups_points(own->all, own->count);
	struct lease_point *points;
	int err;

	if (room == 0)
		return 0;
	points = calloc(room + 1, sizeof(*points)); /* one is written behind */
	if (!points)
		return -ENOMEM;
	err = lease_points_add(shared, n, points, &count);
	if (err == 0)
		err = lease_points_add(own->all, own->count, points, &count);
	if (err == 0)
		err = lease_points_sort(&points, &count);
	if (err == 0) {
		const struct points_series series = {
			l->id, l->role, l->dir, l->measure, points, count};

		err = r->series_h(&series, r->arg);
	}
	free(points);
	return err;
}

static int deliver_all(struct reading *r)
{
	const int whole = reads_whole(r);
	int err;

	if (whole < 0)
		return whole;
	/* First those of uploads: what is folded meanwhile is read twice, and counts once. */
	err = load_series(r, 0, whole ? INT64_MAX : 0, &r->blocks, &r->parts);
	for (size_t i = 0; i < r->count && err == 0; i++) {
		const struct listed *l = &r->series[i];
		struct point_rows blocks = {.count = 0};
		struct point_groups own = {.count = 0};

		if (!whole)
			err = load_series(r, l->id, l->id, &blocks, &own);
		if (err == 0)
			err = deliver(r, l, &own);
		free(own.all);
		point_rows_clear(&blocks);
	}
	return err;
}

int points_read(struct db *db, const struct points_query *query,
		points_series_h *series_h, void *arg)
{
	struct reading r = {
		.query = query, .series_h = series_h, .arg = arg, .db = db};
	int err = list_series(&r);

	if (err == 0 && r.count)
		err = deliver_all(&r);
	free(r.series);
	free(r.parts.all);
	point_rows_clear(&r.blocks);
	return err;
}
