#include "control/server/store/store_run_list.h"

#include "base/buf.h"
#include "base/str.h"
#include "control/server/store/record_db.h"
#include "control/server/store/record_text.h"
#include "control/server/store/store_db.h"
#include "control/server/store/store_run_internal.h"
#include "control/server/store/store_verdict.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Runs cached as text, by id modulo this number. Longer texts are not
 * cached. */
#define RUN_TEXTS      2048
#define RUN_TEXT_BYTES 2048

/* ---- runs as text ---- */

/* Shared by the threads (STORE_SHARED_RUNS). */
struct run_texts {
	struct {
		int64_t id; /* 0: free; ids are never reused */
		char *text;
		size_t len;
	} kept[RUN_TEXTS];
};

static void texts_free(void *cache)
{
	struct run_texts *texts = cache;

	for (size_t i = 0; i < RUN_TEXTS; i++)
		free(texts->kept[i].text);
	free(texts);
}

static void keep(struct run_texts *texts, int64_t id, const char *text,
		 size_t len)
{
	const size_t at = (size_t)id % RUN_TEXTS;
	char *copy = len <= RUN_TEXT_BYTES ? malloc(len) : NULL;

	if (!copy)
		return; /* not cached: written again the next time */
	memcpy(copy, text, len);
	free(texts->kept[at].text);
	texts->kept[at].id = id;
	texts->kept[at].text = copy;
	texts->kept[at].len = len;
}

/* ---- the number of runs ---- */

/* Runs up to an id, counted once: runs are made with higher ids, and the revision
 * tells when one was deleted (run_mark_deleted()). Shared by the threads
 * (STORE_SHARED_COUNT). */
struct run_count {
	int64_t gone;  /* revision "verdicts_gone" */
	int64_t up_to; /* an id */
	int64_t runs;
};

/* Ids are drawn before runs are committed: the last ones may still come. */
#define IDS_UNSETTLED 10000

/* Count the runs that are shown, with ids in (after, up_to]. */
static int count_between(struct store *s, int64_t after, int64_t up_to,
			 int64_t *ret)
{
	const struct db_value params[] = {DB_I(after), DB_I(up_to)};
	int err = db_query(store_reader(s),
			   "SELECT count(*) FROM run WHERE " RUN_SHOWN
			   " AND id > $1 AND id <= $2",
			   params, 2, db_integer_row, ret);

	return err < 0 ? err : 0;
}

/* Bring the count up to date: 168 000 runs at once take 30 ms. */
static int count_settled(struct store *s, struct run_count *c)
{
	int64_t gone = 0, up_to = 0, settled = 0;
	/* read before the rows: what changes in between is read again */
	int err = store_revision(s, "verdicts_gone", &gone);

	if (!err)
		err = db_query(store_reader(s),
			       "SELECT coalesce(max(id), 0) FROM run", NULL, 0,
			       db_integer_row, &up_to);
	if (err < 0)
		return err;
	up_to -= IDS_UNSETTLED;
	if (c->gone != gone)
		*c = (struct run_count){.gone = gone};
	if (up_to <= c->up_to)
		return 0;
	err = count_between(s, c->up_to, up_to, &settled);
	if (err)
		return err;
	c->runs += settled;
	c->up_to = up_to;
	return 0;
}

/* Count all runs that are shown. */
static int count_all(struct store *s, int64_t *total)
{
	struct run_count *shared, counted = {.gone = 0};
	int64_t rest = 0;
	void *kept;
	int err = store_shared_lock(s, STORE_SHARED_COUNT, &kept);

	if (err)
		return err;
	shared = kept;
	if (!shared) {
		shared = calloc(1, sizeof(*shared));
		store_shared_keep(s, STORE_SHARED_COUNT, shared, free);
	}
	err = shared ? count_settled(s, shared) : -ENOMEM;
	if (!err)
		counted = *shared;
	store_shared_unlock(s, STORE_SHARED_COUNT);
	if (!err)
		err = count_between(s, counted.up_to, INT64_MAX, &rest);
	*total = counted.runs + rest;
	return err;
}

/* ---- ids ---- */

/* A run of the page, and its text among the texts of the page. */
struct listed_run {
	int64_t id;
	size_t at, len; /* len 0: no text */
	bool is_new; /* the text was not cached, and will not change any more */
};

struct listed_runs {
	struct listed_run *runs;
	size_t count;
	struct buf texts;
};

static int id_row(const struct db_value *row, size_t columns, void *arg)
{
	struct listed_runs *l = arg;

	(void)columns;
	l->runs[l->count++].id = row[0].integer;
	return 0;
}

/* The ids alone: SQLite reads them from the index run_shown, without the rows. */
static int select_ids(struct store *s, const struct selection *selection,
		      const struct page *page, struct listed_runs *ret,
		      int64_t *total)
{
	const struct column column = {"id", "r.id", NULL, COLUMN_INT};
	const struct table ids = {
		.name = "run",
		.from = "run r",
		.id = "r.id",
		.columns = &column,
		.column_count = 1,
	};
	int err = selection->count > 0 ? record_count(s, &ids, selection, total)
				       : count_all(s, total);

	/* a LIMIT keeps the rows within the page */
	ret->runs = calloc((size_t)page->count + 1, sizeof(*ret->runs));
	if (!ret->runs)
		return -ENOMEM;
	return err ? err
		   : record_select_rows(s, &ids, selection, page, id_row, ret);
}

/* ---- texts ---- */

/* One statement reads so many runs: one a run made most of the time of a page from
 * PostgreSQL. */
#define RUNS_READ 24
_Static_assert(RUNS_READ <= RECORD_PARAMS_MAX, "one statement reads them");

static const char are_these[] =
	"r.id IN ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, "
	"$15, $16, $17, $18, $19, $20, $21, $22, $23, $24)";

/* Runs that one statement reads. */
struct chunk {
	struct listed_run *runs[RUNS_READ];
	size_t count;
	struct buf *texts;
};

static bool is_finished(const struct db_value *row)
{
	for (size_t i = 0; i < store_run_listed.column_count; i++)
		if (strcmp(store_run_listed.columns[i].name, "is_finished") ==
		    0)
			return row[i].integer != 0;
	return false;
}

/* @param row  its first column is the id */
static int text_row(const struct db_value *row, size_t columns, void *arg)
{
	struct chunk *c = arg;
	size_t i = 0;
	int err;

	while (i < c->count && c->runs[i]->id != row[0].integer)
		i++;
	if (i == c->count)
		return -EIO;
	c->runs[i]->at = c->texts->used;
	err = record_text_row(c->texts, &store_run_listed, row, columns);
	c->runs[i]->len = c->texts->used - c->runs[i]->at;
	c->runs[i]->is_new = is_finished(row);
	return err;
}

static int read_chunk(struct store *s, struct chunk *c)
{
	static const struct page all = {.start = 0, .count = RUNS_READ};
	struct db_value ids[RUNS_READ];
	const struct selection selection = {.where = are_these,
					    .params = ids,
					    .count = RUNS_READ,
					    .order = "r.id"};

	for (size_t i = 0; i < RUNS_READ; i++)
		ids[i] = DB_I(i < c->count ? c->runs[i]->id : 0);
	return record_select_rows(s, &store_run_listed, &selection, &all,
				  text_row, c);
}

/* Read the runs that have no text yet. Those that were deleted meanwhile get none. */
static int read_texts(struct store *s, struct listed_runs *l)
{
	struct chunk chunk = {.texts = &l->texts};
	int err = 0;

	for (size_t i = 0; i < l->count && !err; i++) {
		if (!l->runs[i].len)
			chunk.runs[chunk.count++] = &l->runs[i];
		if (chunk.count < RUNS_READ && i + 1 < l->count)
			continue;
		err = chunk.count ? read_chunk(s, &chunk) : 0;
		chunk.count = 0;
	}
	return err;
}

/* Take the texts that are cached. */
static int take_kept(struct store *s, struct listed_runs *l)
{
	const struct run_texts *texts;
	void *kept;
	int err = store_shared_lock(s, STORE_SHARED_RUNS, &kept);

	if (err)
		return err;
	texts = kept;
	for (size_t i = 0; texts && i < l->count && !err; i++) {
		struct listed_run *run = &l->runs[i];
		const size_t at = (size_t)run->id % RUN_TEXTS;

		if (texts->kept[at].id != run->id)
			continue;
		run->at = l->texts.used;
		run->len = texts->kept[at].len;
		err = buf_add(&l->texts, texts->kept[at].text, run->len);
	}
	store_shared_unlock(s, STORE_SHARED_RUNS);
	return err;
}

/* Keep the texts of the runs that are over. */
static void keep_new(struct store *s, const struct listed_runs *l)
{
	struct run_texts *texts;
	void *kept;

	if (store_shared_lock(s, STORE_SHARED_RUNS, &kept))
		return; /* written again the next time */
	texts = kept;
	if (!texts) {
		texts = calloc(1, sizeof(*texts));
		store_shared_keep(s, STORE_SHARED_RUNS, texts, texts_free);
	}
	for (size_t i = 0; texts && i < l->count; i++)
		if (l->runs[i].is_new)
			keep(texts, l->runs[i].id,
			     l->texts.data + l->runs[i].at, l->runs[i].len);
	store_shared_unlock(s, STORE_SHARED_RUNS);
}

static int write_array(struct buf *text, const struct listed_runs *l)
{
	const char *separator = "";
	int err = buf_add(text, "[", 1);

	for (size_t i = 0; i < l->count && !err; i++) {
		if (!l->runs[i].len)
			continue;
		err = buf_add(text, separator, strlen(separator));
		if (!err)
			err = buf_add(text, l->texts.data + l->runs[i].at,
				      l->runs[i].len);
		separator = ",";
	}
	return err ? err : buf_add(text, "]", 1);
}

/*
 * Append the selected runs as a JSON array. Runs that are over do not change
 * any more: their text is cached, so that a repeated listing costs little more
 * than reading its ids.
 * @return 0; -EIO; -EBUSY; -ENOMEM; -EMSGSIZE; after an error the text is incomplete
 */
static int run_text_select(struct store *s, const struct selection *selection,
			   const struct page *page, struct buf *text,
			   int64_t *total)
{
	struct listed_runs listed = {.count = 0};
	int err;

	buf_init(&listed.texts, text->ceiling);
	err = select_ids(s, selection, page, &listed, total);
	if (!err)
		err = take_kept(s, &listed);
	if (!err)
		err = read_texts(s, &listed);
	if (!err) {
		keep_new(s, &listed);
		err = write_array(text, &listed);
	}
	free(listed.runs);
	buf_release(&listed.texts);
	return err;
}

/* ---- listings ---- */

#define WHERE_BYTES 8192

static const struct column *find_column(const char *name)
{
	if (strcmp(name, "status") == 0)
		return NULL; /* listed, but asked for as session_status */
	for (size_t i = 0; i < store_run_listed.column_count; i++) {
		const struct column *c = &store_run_listed.columns[i];

		if (strcmp(c->name, name) == 0)
			return c;
	}
	return NULL;
}

bool store_run_column(const char *name)
{
	return find_column(name) != NULL;
}

/* Parse `YYYY-MM-DD HH:MM:SS` to seconds since 1970. */
static bool parse_time(const char *text, int64_t *ret)
{
	struct tm tm = {.tm_sec = 0};
	const char *end = strptime(text, "%Y-%m-%d %H:%M:%S", &tm);

	if (!end || *end)
		return false;
	*ret = (int64_t)timegm(&tm);
	return true;
}

bool store_run_value(const char *name, const char *value)
{
	const struct column *c = find_column(name);
	uint64_t number;
	int64_t seconds;

	if (!c)
		return false;
	if (c->kind == COLUMN_INT)
		return str_to_u64(value, INT64_MAX, &number) == 0;
	if (c->kind == COLUMN_TIME)
		return parse_time(value, &seconds);
	return true;
}

/* The SQL condition and its values while they are built. */
struct builder {
	bool postgresql;
	struct buf where;
	struct db_value params[RECORD_PARAMS_MAX];
	size_t count;
	char *texts[RUN_FILTERS_MAX]; /* own the values of some params */
	size_t text_count;
};

/* Add a condition: "left $n right". */
static int add_condition(struct builder *b, const char *left,
			 struct db_value value, const char *right)
{
	if (b->count == RECORD_PARAMS_MAX)
		return -EINVAL;
	b->params[b->count++] = value;
	return buf_print(&b->where, "%s%s $%zu%s", b->where.used ? " AND " : "",
			 left, b->count, right);
}

/* An array is all tags of a run; any other value is one of them. */
static int add_tags(struct builder *b, const char *value)
{
	json_t *tags = json_loads(value, 0, NULL);
	char *text;

	if (!json_is_array(tags)) {
		json_decref(tags);
		return add_condition(
			b,
			b->postgresql
				? "EXISTS (SELECT 1 FROM "
				  "json_array_elements_text(CAST(r.tags_json "
				  "AS json)) tag(value) WHERE tag.value ="
				: "EXISTS (SELECT 1 FROM "
				  "json_each(r.tags_json) tag "
				  "WHERE tag.value =",
			db_text(value), ")");
	}
	text = json_dumps(tags, JSON_COMPACT);
	json_decref(tags);
	if (!text)
		return -ENOMEM;
	b->texts[b->text_count++] = text;
	return add_condition(b, "r.tags_json =", db_text(text), "");
}

/* What the column is, in words that the indexes have: a CASE is in none. The
 * value is a parameter in either case: only what has none counts as all runs. */
static int add_status(struct builder *b, const char *value)
{
	return add_condition(b,
			     strcmp(value, "running") == 0
				     ? "r.phase <> 'done' AND 'running' ="
				     : RUN_DONE " AND r.status =",
			     db_text(value), "");
}

static int add_filter(struct builder *b, const struct run_filter *filter)
{
	const struct column *c = find_column(filter->name);
	char left[256];
	uint64_t number = 0;
	int64_t seconds = 0;

	if (!c || !store_run_value(filter->name, filter->value))
		return -EINVAL;
	if (strcmp(c->name, "tags") == 0)
		return add_tags(b, filter->value);
	if (strcmp(c->name, "session_status") == 0)
		return add_status(b, filter->value);
	if (c->kind == COLUMN_TIME) {
		parse_time(filter->value, &seconds);
		snprintf(left, sizeof(left), "%s / 1000 =", c->sql);
		return add_condition(b, left, DB_I(seconds), "");
	}
	snprintf(left, sizeof(left), "%s =", c->sql);
	if (c->kind == COLUMN_TEXT)
		return add_condition(b, left, db_text(filter->value), "");
	str_to_u64(filter->value, INT64_MAX, &number);
	return add_condition(b, left, DB_I((int64_t)number), "");
}

static int build(struct builder *b, const struct run_query *query)
{
	int err = buf_print(&b->where, "r." RUN_SHOWN);

	if (query->filter_count > RUN_FILTERS_MAX)
		return -EINVAL;
	for (size_t i = 0; i < query->filter_count && err == 0; i++)
		err = add_filter(b, &query->filters[i]);
	if (err == 0 && query->has_start_date)
		err = add_condition(b, "r.started_at >",
				    DB_I(query->start_date_s * 1000), "");
	if (err == 0 && query->has_end_date)
		err = add_condition(b, "r.started_at <",
				    DB_I(query->end_date_s * 1000), "");
	return err;
}

/* Databases differ in where NULL belongs: here it is the lowest value. Ids are
 * never NULL, and the words would keep PostgreSQL from their index. */
static const char *order_of(const struct column *column, bool descending)
{
	if (strcmp(column->sql, "r.id") == 0)
		return descending ? "DESC" : "ASC";
	return descending ? "DESC NULLS LAST" : "ASC NULLS FIRST";
}

int store_run_list(struct store *s, const struct run_query *query,
		   struct buf *text, int64_t *total)
{
	const struct column *order = find_column(query->order_by);
	struct builder b = {.postgresql = store_is_shared(s)};
	struct selection selection;
	char order_sql[256];
	int err;

	if (!order)
		return -EINVAL;
	buf_init(&b.where, WHERE_BYTES);
	err = build(&b, query);
	/* by id last: equal rows keep their order from page to page */
	snprintf(order_sql, sizeof(order_sql), "%s %s, r.id %s", order->sql,
		 order_of(order, query->descending),
		 query->descending ? "DESC" : "ASC");
	selection = (struct selection){
		.where = b.where.data,
		.params = b.params,
		.count = b.count,
		.order = order_sql,
	};
	if (err == 0)
		err = run_text_select(s, &selection, &query->page, text, total);
	for (size_t i = 0; i < b.text_count; i++)
		free(b.texts[i]);
	buf_release(&b.where);
	return err;
}
