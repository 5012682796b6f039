/* A stored block of points: what is accepted is the same after it was written again. */
#include "base/buf.h"
#include "control/server/store/point_block.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Write a group again, and compare the points. */
static void write_again(struct point_group group)
{
	struct series_point *points = calloc(group.count, sizeof(*points)), p;
	struct point_group again = group;
	struct point_block block;
	size_t count = 0;
	struct buf b;

	if (!points)
		abort();
	buf_init(&b, POINT_BLOCK_BYTES_MAX);
	while (count < group.count &&
	       point_group_next(&again, &points[count]) == 1)
		count++;
	if (count != group.count || point_block_begin(&b) ||
	    point_block_add(&b, group.series_id, points, count) ||
	    point_block_check(b.data, b.used, group.series_id) !=
		    (int64_t)count ||
	    point_block_open(&block, b.data, b.used) ||
	    point_block_next(&block, &again) != 1)
		abort();
	for (size_t i = 0; i < count; i++)
		if (point_group_next(&again, &p) != 1 ||
		    p.t_s != points[i].t_s ||
		    memcmp(&p.d, &points[i].d, sizeof(p.d)) ||
		    p.sketch.len != points[i].sketch.len ||
		    (p.sketch.len &&
		     memcmp(p.sketch.at, points[i].sketch.at, p.sketch.len)))
			abort();
	buf_release(&b);
	free(points);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct point_block block;
	struct point_group group;

	if (point_block_check(data, size, 0) < 0)
		return 0;
	if (point_block_open(&block, data, size))
		abort();
	while (point_block_next(&block, &group) == 1)
		write_again(group);
	return 0;
}
