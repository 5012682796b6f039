#include "control/server/store/store_run_text.h"

#include "control/server/store/record_text.h"
#include "control/server/store/store_db.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct run_texts {
	struct {
		int64_t id; /* 0: free; ids are never given twice */
		char *text;
		size_t len;
	} kept[RUN_TEXTS];
};

struct run_texts *run_texts_free(struct run_texts *texts)
{
	for (size_t i = 0; texts && i < RUN_TEXTS; i++)
		free(texts->kept[i].text);
	free(texts);
	return NULL;
}

static void keep(struct run_texts *texts, int64_t id, const char *text,
		 size_t len)
{
	const size_t at = (size_t)id % RUN_TEXTS;
	char *copy = len <= RUN_TEXT_BYTES ? malloc(len) : NULL;

	if (!copy)
		return; /* it is made anew the next time */
	memcpy(copy, text, len);
	free(texts->kept[at].text);
	texts->kept[at].id = id;
	texts->kept[at].text = copy;
	texts->kept[at].len = len;
}

/* ---- ids ---- */

struct listed_run {
	int64_t id;
	bool done;
};

struct listed_runs {
	struct listed_run *runs; /* as many as the page has */
	size_t count;
};

static int id_row(const struct db_value *row, size_t columns, void *arg)
{
	struct listed_runs *l = arg;

	(void)columns;
	l->runs[l->count++] =
		(struct listed_run){row[0].integer, row[1].integer != 0};
	return 0;
}

static int select_ids(struct store *s, const char *done,
		      const struct selection *selection,
		      const struct page *page, struct listed_runs *ret,
		      int64_t *total)
{
	const struct column columns[] = {{"id", "r.id", NULL, COLUMN_INT},
					 {"done", done, NULL, COLUMN_INT}};
	const struct table ids = {
		.name = "run",
		.from = "run r",
		.id = "r.id",
		.columns = columns,
		.column_count = 2,
	};
	int err = record_count(s, &ids, selection, total);

	/* a LIMIT keeps the rows within the page */
	ret->runs = calloc((size_t)page->count + 1, sizeof(*ret->runs));
	if (!ret->runs)
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

static int add_made(struct store *s, struct run_texts *texts,
		    const struct listed_run *run, struct writing *w)
{
	static const struct page one = {.start = 0, .count = 1};
	const struct db_value id = DB_I(run->id);
	const struct selection selection = {.where = "r.id = $1",
					    .params = &id,
					    .count = 1,
					    .order = "r.id"};
	size_t begin = w->text->used + strlen(w->separator);
	int err;

	w->found = false;
	err = record_select_rows(s, w->table, &selection, &one, text_row, w);
	if (err || !w->found)
		return err; /* deleted meanwhile: it is left out */
	w->separator = ",";
	if (run->done)
		keep(texts, run->id, w->text->data + begin,
		     w->text->used - begin);
	return 0;
}

static int add_run(struct store *s, struct run_texts *texts,
		   const struct listed_run *run, struct writing *w)
{
	const size_t at = (size_t)run->id % RUN_TEXTS;
	int err;

	if (!run->done || texts->kept[at].id != run->id)
		return add_made(s, texts, run, w);
	err = buf_add(w->text, w->separator, strlen(w->separator));
	w->separator = ",";
	return err ? err
		   : buf_add(w->text, texts->kept[at].text,
			     texts->kept[at].len);
}

static struct run_texts *texts_of(struct store *s)
{
	struct run_texts **texts = store_run_texts(s);

	if (!*texts)
		*texts = calloc(1, sizeof(**texts));
	return *texts;
}

int run_text_select(struct store *s, const struct table *t, const char *done,
		    const struct selection *selection, const struct page *page,
		    struct buf *text, int64_t *total)
{
	struct writing w = {.table = t, .text = text, .separator = ""};
	struct listed_runs listed = {.count = 0};
	struct run_texts *texts = texts_of(s);
	int err = texts ? 0 : -ENOMEM;

	if (err == 0)
		err = select_ids(s, done, selection, page, &listed, total);
	if (err == 0)
		err = buf_add(text, "[", 1);
	for (size_t i = 0; i < listed.count && err == 0; i++)
		err = add_run(s, texts, &listed.runs[i], &w);
	free(listed.runs);
	return err ? err : buf_add(text, "]", 1);
}
