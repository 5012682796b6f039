#include "control/server/store/point_block.h"

#include "base/buf.h"

#include <errno.h>
#include <string.h>

#define VERSION      1
#define VARINT_BYTES 10
#define VALUES       8

/* All of a point but the text of its sketch. */
#define POINT_BYTES (3 * VARINT_BYTES + 1 + VALUES * 8)

/* The least: t, n, which values, no sketch. */
#define POINT_BYTES_MIN 4

/* ---- writing ---- */

static uint8_t *put_varint(uint8_t *at, uint64_t value)
{
	while (value >= 0x80) {
		*at++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

/* Small for small differences of either sign. */
static uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ (0 - (difference >> 63));
}

static uint64_t unzigzag(uint64_t value)
{
	return value >> 1 ^ (0 - (value & 1));
}

static uint8_t *put_values(uint8_t *at, const struct distribution *d)
{
	const double values[VALUES] = {d->stddev, d->min, d->median, d->avg,
				       d->p75,    d->p90, d->p95,    d->max};
	uint8_t *which = at++;
	uint64_t before = 0, bits;

	*which = 0;
	for (unsigned i = 0; i < VALUES; i++) {
		memcpy(&bits, &values[i], sizeof(bits));
		if (bits == before)
			continue;
		*which |= (uint8_t)(1u << i);
		for (unsigned k = 0; k < 8; k++)
			*at++ = (uint8_t)(bits >> 8 * k);
		before = bits;
	}
	return at;
}

static int add_point(struct buf *b, int64_t before_s,
		     const struct series_point *p)
{
	uint8_t bytes[POINT_BYTES], *at;
	int err;

	at = put_varint(bytes, zigzag((uint64_t)p->t_s - (uint64_t)before_s));
	at = put_varint(at, p->d.n);
	at = put_values(at, &p->d);
	at = put_varint(at, p->sketch.at ? p->sketch.len + 1 : 0);
	err = buf_add(b, bytes, (size_t)(at - bytes));
	if (err || !p->sketch.at)
		return err;
	return buf_add(b, p->sketch.at, p->sketch.len);
}

int point_block_begin(struct buf *block)
{
	return buf_add(block, &(uint8_t){VERSION}, 1);
}

int point_block_add(struct buf *block, int64_t series_id,
		    const struct series_point *points, size_t count)
{
	uint8_t head[3 * VARINT_BYTES], *at;
	const size_t from = block->used;
	size_t bytes, head_bytes;
	int64_t t_s = 0;
	char *end;
	int err = 0;

	for (size_t i = 0; i < count && err == 0; i++) {
		err = add_point(block, t_s, &points[i]);
		t_s = points[i].t_s;
	}
	if (err)
		return err;
	bytes = block->used - from;
	at = put_varint(head, (uint64_t)series_id);
	at = put_varint(at, count);
	at = put_varint(at, bytes);
	head_bytes = (size_t)(at - head);
	err = buf_extend(block, head_bytes, &end);
	if (err)
		return err;
	memmove(block->data + from + head_bytes, block->data + from, bytes);
	memcpy(block->data + from, head, head_bytes);
	return 0;
}

/* ---- reading ---- */

static int get_varint(struct point_block *b, uint64_t *ret)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint8_t byte;

		if (b->at == b->end)
			return -EBADMSG;
		byte = *b->at++;
		if (shift == 63 && byte > 1)
			return -EBADMSG; /* above 64 bits */
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret = value;
			return 0;
		}
	}
	return -EBADMSG;
}

int point_block_open(struct point_block *ret, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	if (len < 1 || at[0] != VERSION)
		return -EBADMSG;
	*ret = (struct point_block){at + 1, at + len};
	return 0;
}

int point_block_next(struct point_block *block, struct point_group *ret)
{
	uint64_t series, count, bytes;

	if (block->at == block->end)
		return 0;
	if (get_varint(block, &series) || get_varint(block, &count) ||
	    get_varint(block, &bytes))
		return -EBADMSG;
	if (series == 0 || series > INT64_MAX || count == 0 ||
	    bytes > (size_t)(block->end - block->at) ||
	    count > bytes / POINT_BYTES_MIN)
		return -EBADMSG;
	*ret = (struct point_group){
		.series_id = (int64_t)series,
		.count = (size_t)count,
		.points = {block->at, block->at + bytes},
	};
	block->at += bytes;
	return 1;
}

static int get_values(struct point_block *b, struct distribution *d)
{
	double *const values[VALUES] = {&d->stddev, &d->min, &d->median,
					&d->avg,    &d->p75, &d->p90,
					&d->p95,    &d->max};
	uint64_t bits = 0;
	unsigned which;

	if (b->at == b->end)
		return -EBADMSG;
	which = *b->at++;
	for (unsigned i = 0; i < VALUES; i++) {
		if (which >> i & 1) {
			if (b->end - b->at < 8)
				return -EBADMSG;
			bits = 0;
			for (unsigned k = 0; k < 8; k++)
				bits |= (uint64_t)*b->at++ << 8 * k;
		}
		memcpy(values[i], &bits, sizeof(bits));
	}
	return 0;
}

int point_group_next(struct point_group *group, struct series_point *ret)
{
	struct point_block *b = &group->points;
	struct series_point p = {.sketch = {.at = NULL}};
	uint64_t difference, sketch;

	if (group->count == 0)
		return b->at == b->end ? 0 : -EBADMSG;
	if (get_varint(b, &difference) || get_varint(b, &p.d.n) ||
	    get_values(b, &p.d) || get_varint(b, &sketch))
		return -EBADMSG;
	if (sketch > 0) {
		if (sketch - 1 > (size_t)(b->end - b->at))
			return -EBADMSG;
		p.sketch = (struct json_text){(const char *)b->at,
					      (size_t)(sketch - 1)};
		b->at += sketch - 1;
	}
	p.t_s = (int64_t)((uint64_t)group->t_s + unzigzag(difference));
	group->t_s = p.t_s;
	group->count--;
	*ret = p;
	return 1;
}

int64_t point_block_check(const void *bytes, size_t len, int64_t series_id)
{
	struct point_block block;
	struct point_group group;
	struct series_point p;
	int64_t points = 0;
	size_t groups = 0;
	int found;

	if (point_block_open(&block, bytes, len))
		return -EBADMSG;
	while ((found = point_block_next(&block, &group)) > 0) {
		groups++;
		if (series_id && group.series_id != series_id)
			return -EBADMSG;
		while ((found = point_group_next(&group, &p)) > 0)
			points++;
		if (found < 0)
			return found;
	}
	if (found < 0)
		return found;
	return groups == 0 || (series_id && groups > 1) ? -EBADMSG : points;
}
