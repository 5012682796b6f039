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

/* Runs up to an id, counted once: runs are made with higher ids, and the revision
 * tells when one was deleted (run_mark_deleted()). */
struct run_count {
	int64_t gone;  /* revision "verdicts_gone" */
	int64_t up_to; /* an id */
	int64_t runs;
};

struct run_texts {
	struct run_count count;
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

/* ---- ids ---- */

struct listed_runs {
	int64_t *ids; /* of the page */
	size_t count;
};

static int id_row(const struct db_value *row, size_t columns, void *arg)
{
	struct listed_runs *l = arg;

	(void)columns;
	l->ids[l->count++] = row[0].integer;
	return 0;
}

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

/* Count all runs that are shown: 168 000 at once take 30 ms. */
static int count_all(struct store *s, struct run_count *c, int64_t *total)
{
	int64_t gone = 0, up_to = 0, settled = 0, rest = 0;
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
	if (up_to > c->up_to) {
		err = count_between(s, c->up_to, up_to, &settled);
		if (err)
			return err;
		c->runs += settled;
		c->up_to = up_to;
	}
	err = count_between(s, c->up_to, INT64_MAX, &rest);
	*total = c->runs + rest;
	return err;
}

/* The ids alone: SQLite reads them from the index run_shown, without the rows. */
static int select_ids(struct store *s, struct run_count *counted,
		      const struct selection *selection,
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
				       : count_all(s, counted, total);

	/* a LIMIT keeps the rows within the page */
	ret->ids = calloc((size_t)page->count + 1, sizeof(*ret->ids));
	if (!ret->ids)
		return -ENOMEM;
	return err ? err
		   : record_select_rows(s, &ids, selection, page, id_row, ret);
}

/* ---- texts ---- */

struct writing {
	const struct table *table;
	struct buf *text;
	const char *separator;
	bool found;
};

static int text_row(const struct db_value *row, size_t columns, void *arg)
{
	struct writing *w = arg;
	int err = buf_add(w->text, w->separator, strlen(w->separator));

	w->found = true;
	return err ? err : record_text_row(w->text, w->table, row, columns);
}

static int add_made(struct store *s, struct run_texts *texts, int64_t run_id,
		    struct writing *w)
{
	static const struct page one = {.start = 0, .count = 1};
	const struct db_value id = DB_I(run_id);
	const struct selection selection = {.where = "r.id = $1",
					    .params = &id,
					    .count = 1,
					    .order = "r.id"};
	size_t begin = w->text->used + strlen(w->separator);
	int64_t done = 0;
	int err;

	w->found = false;
	/* asked before the text: a run may end between the two */
	err = db_query(store_reader(s),
		       "SELECT CASE WHEN " RUN_DONE " THEN 1 ELSE 0 END FROM "
		       "run r WHERE r.id = $1",
		       &id, 1, db_integer_row, &done);
	if (err < 0)
		return err;
	err = record_select_rows(s, w->table, &selection, &one, text_row, w);
	if (err || !w->found)
		return err; /* deleted meanwhile: left out */
	w->separator = ",";
	if (done)
		keep(texts, run_id, w->text->data + begin,
		     w->text->used - begin);
	return 0;
}

static int add_run(struct store *s, struct run_texts *texts, int64_t run_id,
		   struct writing *w)
{
	const size_t at = (size_t)run_id % RUN_TEXTS;
	int err;

	if (texts->kept[at].id != run_id)
		return add_made(s, texts, run_id, w);
	err = buf_add(w->text, w->separator, strlen(w->separator));
	w->separator = ",";
	return err ? err
		   : buf_add(w->text, texts->kept[at].text,
			     texts->kept[at].len);
}

static struct run_texts *texts_of(struct store *s)
{
	struct run_texts *texts = store_cache(s, STORE_CACHE_RUNS);

	if (!texts) {
		texts = calloc(1, sizeof(*texts));
		if (texts)
			store_cache_keep(s, STORE_CACHE_RUNS, texts,
					 texts_free);
	}
	return texts;
}

/*
 * Append the selected runs as a JSON array. Runs that are over do not change
 * any more: their text is cached, so that a repeated listing costs little more
 * than reading its ids.
 * @param t  of runs, `run r`: the columns to show
 * @return 0; -EIO; -ENOMEM; -EMSGSIZE; after an error the text is incomplete
 */
static int run_text_select(struct store *s, const struct table *t,
			   const struct selection *selection,
			   const struct page *page, struct buf *text,
			   int64_t *total)
{
	struct writing w = {.table = t, .text = text, .separator = ""};
	struct listed_runs listed = {.count = 0};
	struct run_texts *texts = texts_of(s);
	int err = texts ? 0 : -ENOMEM;

	if (err == 0)
		err = select_ids(s, &texts->count, selection, page, &listed,
				 total);
	if (err == 0)
		err = buf_add(text, "[", 1);
	for (size_t i = 0; i < listed.count && err == 0; i++)
		err = add_run(s, texts, listed.ids[i], &w);
	free(listed.ids);
	return err ? err : buf_add(text, "]", 1);
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

/* Convert a filter value to stored text: an array of tags to the whole column,
 * any other value to one tag as it is written in the column. */
static char *tags_value(const char *value, bool *ret_is_array)
{
	json_t *tags = json_loads(value, JSON_DECODE_ANY, NULL);
	char *text = NULL;

	*ret_is_array = json_is_array(tags);
	if (*ret_is_array) {
		text = json_dumps(tags, JSON_COMPACT);
		json_decref(tags);
		return text;
	}
	json_decref(tags);
	tags = json_string(value);
	text = json_dumps(tags, JSON_ENCODE_ANY | JSON_COMPACT);
	json_decref(tags);
	return text;
}

static int add_tags(struct builder *b, const char *value)
{
	bool is_array;
	char *text = tags_value(value, &is_array);

	if (!text)
		return -ENOMEM;
	b->texts[b->text_count++] = text;
	return is_array ? add_condition(b, "r.tags_json =", db_text(text), "")
			/* not LIKE, which ignores case */
			: add_condition(b, "replace(r.tags_json,",
					db_text(text), ", '') <> r.tags_json");
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
	struct builder b = {.count = 0};
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
		err = run_text_select(s, &store_run_listed, &selection,
				      &query->page, text, total);
	for (size_t i = 0; i < b.text_count; i++)
		free(b.texts[i]);
	buf_release(&b.where);
	return err;
}
