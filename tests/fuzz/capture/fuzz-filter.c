/*
 * A filter text up to the first NUL, a link type, and a frame. No text exceeds
 * a limit or makes libpcap look up a name (names.c). The kernel's program never
 * drops what the filter matches, and passes no complete datagram that it does
 * not match.
 */
#include <pcap/pcap.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "capture/filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Run in libpcap's interpreter: the instructions have the kernel's format. */
static bool passes(const struct filter_program *p, const struct frame *f)
{
	static struct bpf_insn code[FILTER_PROGRAM_MAX];

	_Static_assert(sizeof(code[0]) == sizeof(p->code[0]), "one form");
	memcpy(code, p->code, p->count * sizeof(code[0]));
	if (!bpf_validate(code, (int)p->count))
		abort();
	return bpf_filter(code, f->data, (unsigned)f->bytes,
			  (unsigned)f->captured) > 0;
}

static void compare(struct filter *f, const struct frame *frame, bool by_length)
{
	static struct filter_program program;
	enum datagram_kind kind;
	struct datagram d;
	bool matches;
	bool passed;

	if (filter_socket_program(&program, f,
				  frame->link == 1 ? FILTER_LINK_ETHERNET
						   : FILTER_LINK_IP,
				  false, FILTER_DETAIL_ALL))
		return;
	passed = passes(&program, frame);
	kind = datagram_parse(&d, frame);
	if (kind != DATAGRAM_IS_UDP && kind != DATAGRAM_IS_TCP)
		return;
	matches = filter_matches(f, &d, kind == DATAGRAM_IS_TCP);
	if (matches && !passed)
		abort();
	/*
	 * only the kernel sees the bytes after the datagram; it does not decide
	 * behind extension headers
	 */
	if (!matches && passed && !by_length && d.captured == d.bytes &&
	    d.payload + d.captured == frame->data + frame->captured &&
	    (d.ip[0] >> 4 == 4 || d.transport == d.ip + 40))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, 0, size);
	char reason[FILTER_REASON_BYTES];
	struct filter *f = NULL;
	struct frame frame;

	if (!end || end + 2 > data + size)
		return 0;
	if (filter_new(&f, (const char *)data, reason)) {
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
	compare(f, &frame,
		strstr((const char *)data, "le") ||
			strstr((const char *)data, "greater"));
	filter_free(f);
	return 0;
}
