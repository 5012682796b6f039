/*
 * TCP segments and IP fragments of one text, at any offset, of any size, in any
 * order. What is delivered is complete or marked as incomplete, and is part of
 * that text.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "capture/fragments.h"
#include "capture/segments.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STEP_BYTES 8

static void take_message(const uint8_t *data, size_t bytes, bool cut, void *arg)
{
	const uint8_t *end = data + bytes;

	(void)arg;
	if (bytes == 0 || bytes > SEGMENT_BYTES)
		abort();
	if (!cut && !memmem(data, bytes, "\r\n\r\n", 4))
		abort();
	while (data < end)
		*(volatile uint8_t *)arg ^= *data++;
}

static void take_datagram(enum fragments_fate fate, enum datagram_kind kind,
			  struct datagram *d, int64_t ns, void *arg)
{
	(void)ns;
	if ((fate == FRAGMENTS_WHOLE) == d->fragment)
		abort();
	if (kind != DATAGRAM_IS_UDP && kind != DATAGRAM_IS_TCP)
		return;
	if (d->captured > d->bytes)
		abort();
	for (size_t i = 0; i < d->captured; i++)
		*(volatile uint8_t *)arg ^= d->payload[i];
}

struct step {
	bool fragment;
	uint8_t flow;
	uint16_t at;
	uint16_t bytes;
	uint8_t flags;
	uint8_t time;
};

static void take_step(const struct step *t, const uint8_t *text, size_t size,
		      struct segments *s, struct fragments *f, uint8_t *sum)
{
	size_t from = t->at < size ? t->at : size;
	static const uint8_t ip[40] = {0x45};
	struct datagram d = {.sport = t->flow, .ip = ip};

	d.payload = text + from;
	d.bytes = t->bytes < size - from ? t->bytes : size - from;
	d.captured = t->flags & 0x80 ? d.bytes / 2 : d.bytes;
	if (!t->fragment) {
		d.tcp.seq = 0xffffff00u + (uint32_t)from + (t->flow & 3u);
		d.tcp.end = t->flags & 1;
		segments_take(s, &d, take_message, sum);
		return;
	}
	d.sport = 0;
	d.part.id = t->flow;
	d.part.at = t->at & 0xfff8u;
	d.part.more = t->flags & 1;
	d.part.protocol = t->flags & 2 ? 6 : 17;
	fragments_take(f, &d, t->time * INT64_C(1000000000), take_datagram,
		       sum);
}

/*
 * The first two octets are the number of steps; then come the steps, then the
 * text.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct segments segments = {0};
	struct fragments fragments = {0};
	size_t steps;
	uint8_t sum = 0;

	if (size < 2)
		return 0;
	steps = (size_t)(data[0] << 8 | data[1]) % 1024;
	data += 2;
	size -= 2;
	if (steps * STEP_BYTES > size)
		steps = size / STEP_BYTES;
	for (size_t i = 0; i < steps; i++) {
		const uint8_t *p = data + i * STEP_BYTES;
		const struct step t = {
			.fragment = p[0] & 1,
			.flow = p[1],
			.at = (uint16_t)(p[2] << 8 | p[3]),
			.bytes = (uint16_t)(p[4] << 8 | p[5]),
			.flags = p[6],
			.time = p[7],
		};

		take_step(&t, data + steps * STEP_BYTES,
			  size - steps * STEP_BYTES, &segments, &fragments,
			  &sum);
	}
	segments_flush(&segments, take_message, &sum);
	fragments_flush(&fragments, take_datagram, &sum);
	segments_release(&segments);
	fragments_release(&fragments);
	return 0;
}
