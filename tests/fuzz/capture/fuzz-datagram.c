/*
 * Any bytes as a frame of any link type. What is found lies within the frame,
 * and a frame that matches learned headers gives the same as decoding. The
 * first octet selects the link type.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "capture/datagram.h"
#include "tests/unit/capture/header_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint32_t links[] = {1,   0,   12,  14,  101, 108,
				 113, 228, 229, 276, 147};

/* Check the frame with each octet changed, and cut to each shorter length. */
static void check_repeated(const struct frame *f)
{
	struct header_layouts all = {0};
	struct header_match m = {0};
	struct packet_record r;
	struct datagram d;
	struct frame changed = *f;
	uint8_t *copy;

	if (!header_decode(f, &d, &r))
		return;
	header_match_learn(&m, &all, f, &d);
	header_check(&m, &d, f);
	copy = malloc(f->captured);
	if (!copy)
		return;
	memcpy(copy, f->data, f->captured);
	changed.data = copy;
	for (size_t i = 0; i < f->captured; i++) {
		copy[i] ^= f->data[f->captured - 1 - i] | 1;
		header_check(&m, &d, &changed);
		copy[i] = f->data[i];
	}
	for (; changed.captured > 0; changed.captured--)
		header_check(&m, &d, &changed);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct datagram d;
	struct frame f;
	enum datagram_kind kind;

	if (size < 1)
		return 0;
	f = (struct frame){
		.link = links[data[0] % (sizeof(links) / sizeof(links[0]))],
		.data = data + 1,
		.captured = size - 1,
		.bytes = size - 1,
	};
	kind = datagram_parse(&d, &f);
	if ((kind == DATAGRAM_BAD_LINK) != (f.link == 147))
		abort();
	if (kind == DATAGRAM_IS_OTHER || kind == DATAGRAM_BAD_LINK)
		return 0;
	if (kind == DATAGRAM_IS_FRAGMENT &&
	    (d.part.at % 8 != 0 || d.part.at > UINT16_MAX ||
	     (d.part.at == 0 && !d.part.more)))
		abort();
	if (d.captured > d.bytes || d.bytes > UINT16_MAX + 40u ||
	    d.payload < f.data ||
	    d.captured > (size_t)(f.data + f.captured - d.payload))
		abort();
	check_repeated(&f);
	return 0;
}
