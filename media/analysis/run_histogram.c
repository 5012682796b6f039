#include "media/analysis/run_histogram.h"

#include <string.h>

/* @return index of a length, or where to insert it */
static size_t place_find(const struct run_histogram *h, uint64_t length)
{
	size_t low = 0;
	size_t high = h->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (h->longer[middle].length < length)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void run_histogram_add(struct run_histogram *h, uint64_t length)
{
	size_t at;

	if (length < RUN_LENGTHS_SHORT) {
		h->shorter[length]++;
		return;
	}
	at = place_find(h, length);
	if (at < h->count && h->longer[at].length == length) {
		h->longer[at].runs++;
		return;
	}
	if (h->count == h->room) {
		h->left_out++;
		return;
	}
	memmove(&h->longer[at + 1], &h->longer[at],
		(h->count - at) * sizeof(h->longer[0]));
	h->longer[at] = (struct run_length){.length = length, .runs = 1};
	h->count++;
}
