#include "control/server/store/point_rows.h"

#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int point_row_damaged(const struct point_row *row)
{
	log_error("lease %s: a block of points is damaged (series %" PRId64
		  ", upload %" PRId64 ")",
		  row->lease_id, row->series_id, row->seq);
	return -EBADMSG;
}

void point_rows_clear(struct point_rows *b)
{
	for (size_t i = 0; i < b->count; i++)
		free(b->all[i]);
	free(b->all);
	*b = (struct point_rows){.count = 0};
}

int point_rows_row(const struct db_value *row, size_t columns, void *arg)
{
	struct point_rows *b = arg;
	struct point_row *l;

	(void)columns;
	if (b->count == b->room) {
		size_t room = b->room ? 2 * b->room : 64;
		struct point_row **more =
			realloc(b->all, room * sizeof(*b->all));

		if (!more)
			return -ENOMEM;
		b->all = more;
		b->room = room;
	}
	l = malloc(sizeof(*l) + row[3].len);
	if (!l)
		return -ENOMEM;
	b->all[b->count++] = l;
	l->series_id = row[0].integer;
	l->seq = row[2].integer;
	l->len = row[3].len;
	if (l->len)
		memcpy(l->bytes, row[3].bytes, l->len);
	return str_copy(l->lease_id, sizeof(l->lease_id), row[1].bytes) ? -EIO
									: 0;
}

int point_groups_add(struct point_groups *parts, const struct point_row *from,
		     const struct point_group *group)
{
	if (parts->count == parts->room) {
		size_t room = parts->room ? 2 * parts->room : 256;
		struct found_group *more =
			realloc(parts->all, room * sizeof(*parts->all));

		if (!more)
			return -ENOMEM;
		parts->all = more;
		parts->room = room;
	}
	parts->all[parts->count++] = (struct found_group){from, *group};
	return 0;
}

/* By series, then lease and upload, then as they lie in the block. */
static int compare_parts(const void *a, const void *b)
{
	const struct found_group *x = a, *y = b;
	int order;

	if (x->group.series_id != y->group.series_id)
		return x->group.series_id < y->group.series_id ? -1 : 1;
	order = strcmp(x->from->lease_id, y->from->lease_id);
	if (order)
		return order;
	if (x->from->seq != y->from->seq)
		return x->from->seq < y->from->seq ? -1 : 1;
	return x->group.points.at < y->group.points.at ? -1 : 1;
}

int point_groups_find(struct point_groups *parts,
		      const struct point_rows *blocks)
{
	for (size_t i = 0; i < blocks->count; i++) {
		const struct point_row *l = blocks->all[i];
		struct point_block block;
		struct point_group group;
		int found = point_block_open(&block, l->bytes, l->len);

		while (!found && (found = point_block_next(&block, &group)) > 0)
			found = point_groups_add(parts, l, &group);
		if (found < 0)
			return found == -EBADMSG ? point_row_damaged(l) : found;
	}
	if (parts->count)
		qsort(parts->all, parts->count, sizeof(*parts->all),
		      compare_parts);
	return 0;
}

int lease_points_add(const struct found_group *parts, size_t parts_count,
		     struct lease_point *points, size_t *count)
{
	for (size_t i = 0; i < parts_count; i++) {
		struct point_group group = parts[i].group;
		struct lease_point *to = &points[*count];
		int found;

		while ((found = point_group_next(&group, &to->p)) > 0) {
			to->lease_id = parts[i].from->lease_id;
			to->seq = parts[i].from->seq;
			to = &points[++*count];
		}
		if (found < 0)
			return point_row_damaged(parts[i].from);
	}
	return 0;
}

static int compare_keys(const struct lease_point *x,
			const struct lease_point *y)
{
	if (x->p.t_s != y->p.t_s)
		return x->p.t_s < y->p.t_s ? -1 : 1;
	return strcmp(x->lease_id, y->lease_id);
}

static int compare_points(const void *a, const void *b)
{
	const struct lease_point *x = *(const struct lease_point *const *)a;
	const struct lease_point *y = *(const struct lease_point *const *)b;
	const int order = compare_keys(x, y);

	if (order)
		return order;
	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return x < y ? -1 : x > y; /* of one array, in the order of arrival */
}

static bool is_sorted(const struct lease_point *points, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (compare_keys(&points[i - 1], &points[i]) >= 0)
			return false;
	return true;
}

int lease_points_sort(struct lease_point **points, size_t *count)
{
	const struct lease_point **order;
	struct lease_point *sorted;
	size_t kept = 0;

	if (is_sorted(*points, *count))
		return 0;
	order = calloc(*count, sizeof(*order));
	sorted = calloc(*count, sizeof(*sorted));
	if (!order || !sorted) {
		free(order);
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < *count; i++)
		order[i] = &(*points)[i];
	qsort(order, *count, sizeof(*order), compare_points);
	for (size_t i = 0; i < *count; i++)
		if (kept == 0 || compare_keys(&sorted[kept - 1], order[i]))
			sorted[kept++] = *order[i];
	free(order);
	free(*points);
	*points = sorted;
	*count = kept;
	return 0;
}

size_t point_groups_points(const struct found_group *parts, size_t count)
{
	size_t points = 0;

	for (size_t i = 0; i < count; i++)
		points += parts[i].group.count;
	return points;
}
