/* A filter's text up to the first NUL, a link type, and a frame: no text is too
 * much, the program keeps the rules, and it never leaves out what the filter
 * wants, nor lets through a whole datagram that it does not want. */
#include <linux/if_packet.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "capture/filter.h"
#include "tests/unit/capture/bpf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare(const struct filter *f, const struct frame *frame)
{
	static struct filter_program program;
	enum datagram_kind kind;
	struct datagram d;
	bool passed;

	if (filter_compile(&program, f,
			   frame->link == 1 ? FILTER_LINK_ETHERNET
					    : FILTER_LINK_IP,
			   false))
		return;
	passed = bpf_run(&program, frame->data, frame->captured, PACKET_HOST) >
		 0;
	kind = datagram_parse(&d, frame);
	if (kind != DATAGRAM_IS_UDP && kind != DATAGRAM_IS_TCP)
		return;
	if (filter_matches(f, &d, kind == DATAGRAM_IS_TCP) && !passed)
		abort();
	if (!filter_matches(f, &d, kind == DATAGRAM_IS_TCP) && passed &&
	    !memchr(frame->data, 44, frame->captured))
		abort(); /* 44: an IPv6 fragment header tells no ports */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, 0, size);
	char reason[FILTER_REASON_BYTES];
	struct filter f;
	struct frame frame;

	if (!end || end + 2 > data + size)
		return 0;
	if (filter_parse(&f, (const char *)data, reason)) {
		if (!memchr(reason, 0, sizeof(reason)) || !reason[0])
			abort();
		return 0;
	}
	frame = (struct frame){
		.link = end[1] & 1 ? 1 : 101,
		.data = end + 2,
		.captured = (size_t)(data + size - end - 2),
		.bytes = (size_t)(data + size - end - 2),
	};
	compare(&f, &frame);
	return 0;
}
