#include "base/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int ring_new(struct ring **ret, size_t record_bytes, size_t records)
{
	struct ring *r;

	if (record_bytes == 0 || records == 0 || (records & (records - 1)))
		return -EINVAL;
	r = aligned_alloc(RING_LINE_BYTES, sizeof(*r));
	if (!r)
		return -ENOMEM;
	memset(r, 0, sizeof(*r));
	r->records = calloc(records, record_bytes);
	if (!r->records) {
		free(r);
		return -ENOMEM;
	}
	r->record_bytes = record_bytes;
	r->mask = records - 1;
	*ret = r;
	return 0;
}

struct ring *ring_free(struct ring *r)
{
	if (r) {
		free(r->records);
		free(r);
	}
	return NULL;
}

bool ring_push(struct ring *r, const void *record)
{
	void *place = ring_reserve(r);

	if (!place)
		return false;
	memcpy(place, record, r->record_bytes);
	ring_commit(r);
	return true;
}

bool ring_pop(struct ring *r, void *record)
{
	const void *oldest = ring_front(r);

	if (!oldest)
		return false;
	memcpy(record, oldest, r->record_bytes);
	ring_release(r);
	return true;
}

uint64_t ring_dropped(const struct ring *r)
{
	/* relaxed: a statistic, it orders nothing */
	return atomic_load_explicit(&r->dropped, memory_order_relaxed);
}
