#include "control/server/store/store_point_part.h"

#include "control/server/store/point_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Blocks that are read at most. */
#define PART_BLOCKS 64

#define PARAMS(params) (params), sizeof(params) / sizeof((params)[0])

/* Find the groups of blocks of the first lease, until they have enough points. */
static int choose_blocks(struct points_part *part, size_t points,
			 struct point_groups *parts)
{
	const struct point_rows *b = part->of;
	size_t found = 0;

	for (size_t i = 0; i < b->count; i++) {
		const struct point_row *l = b->all[i];
		struct point_block block;
		struct point_group group;
		int err;

		part->lease_ends =
			strcmp(l->lease_id, b->all[0]->lease_id) != 0;
		if (part->lease_ends || (part->blocks > 1 && found >= points))
			return 0;
		if (point_block_open(&block, l->bytes, l->len) ||
		    point_block_next(&block, &group) != 1)
			return point_row_damaged(l);
		err = point_groups_add(parts, l, &group);
		if (err)
			return err;
		found += group.count;
		part->blocks++;
		part->bytes += l->len;
		part->last.seq = l->seq;
	}
	/* fewer than were asked for: there are no others */
	part->lease_ends = b->count < PART_BLOCKS;
	return 0;
}

static int decode_part(struct points_part *part,
		       const struct point_groups *parts)
{
	const size_t room = point_groups_points(parts->all, parts->count);
	struct lease_point *points = calloc(room + 1, sizeof(*points));
	size_t count = 0;
	int err = points ? lease_points_add(parts->all, parts->count, points,
					    &count)
			 : -ENOMEM;

	if (err == 0)
		err = lease_points_sort(&points, &count);
	if (err == 0)
		part->points = calloc(count + 1, sizeof(*part->points));
	if (err == 0 && !part->points)
		err = -ENOMEM;
	for (size_t i = 0; i < count && err == 0; i++)
		part->points[part->count++] = points[i].p;
	free(points);
	return err;
}

int points_part_read(struct db *db, const struct points_cursor *from,
		     size_t points, struct points_part *ret)
{
	const struct db_value params[] = {
		DB_I(from->run_id), DB_I(from->series_id),
		db_text(from->lease_id), DB_I(from->seq), DB_I(PART_BLOCKS)};
	struct points_part part = {.last = *from};
	struct point_groups parts = {.count = 0};
	int err;

	part.of = calloc(1, sizeof(*part.of));
	if (!part.of)
		return -ENOMEM;
	err = db_query(db,
		       "SELECT " POINT_ROW_COLUMNS
		       " FROM point_block WHERE run_id = $1 "
		       "AND series_id = $2 AND (lease_id > $3 OR (lease_id = "
		       "$3 AND seq > $4)) ORDER BY lease_id, seq LIMIT $5",
		       PARAMS(params), point_rows_row, part.of);
	if (err > 0) {
		memcpy(part.last.lease_id, part.of->all[0]->lease_id,
		       sizeof(part.last.lease_id));
		part.first_seq = part.of->all[0]->seq;
		err = choose_blocks(&part, points, &parts);
		if (err == 0)
			err = decode_part(&part, &parts);
		free(parts.all);
	}
	if (err < 0) {
		points_part_release(&part);
		return err;
	}
	*ret = part;
	return 0;
}

void points_part_release(struct points_part *part)
{
	if (part->of)
		point_rows_clear(part->of);
	free(part->of);
	free(part->points);
	*part = (struct points_part){.count = 0};
}

static int write_part(struct db *db, const struct points_part *part,
		      int64_t seq, const struct series_point *points,
		      size_t count, size_t *bytes)
{
	const struct points_upload u = {.run_id = part->last.run_id,
					.lease_id = part->last.lease_id,
					.seq = seq};

	return count ? points_write(db, &u, part->last.series_id, points, count,
				    bytes)
		     : 0;
}

int points_part_replace(struct db *db, const struct points_part *part,
			const struct series_point *points, size_t count,
			size_t rest, size_t *ret_bytes)
{
	const struct points_cursor *c = &part->last;
	const struct db_value params[] = {DB_I(c->run_id), DB_I(c->series_id),
					  db_text(c->lease_id),
					  DB_I(part->first_seq), DB_I(c->seq)};
	size_t bytes = 0;
	int err = db_query(db,
			   "DELETE FROM point_block WHERE run_id = $1 AND "
			   "series_id = $2 AND lease_id = $3 AND seq >= $4 AND "
			   "seq <= $5",
			   PARAMS(params), NULL, NULL);

	if (err >= 0)
		err = write_part(db, part, rest ? part->first_seq : c->seq,
				 points, count - rest, &bytes);
	if (err == 0)
		err = write_part(db, part, c->seq, points + count - rest, rest,
				 &bytes);
	if (err == 0)
		*ret_bytes = bytes;
	return err < 0 ? err : 0;
}
