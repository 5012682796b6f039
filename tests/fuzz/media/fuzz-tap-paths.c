/*
 * Datagrams of a tapped program and its peers: the datagram inside one lies
 * within it. Each datagram of the input begins with an octet of flags (1: sent,
 * 2: another port, 4: truncated by the capture) and an octet with its size.
 */
#include "media/socket.h"
#include "media/tap/tap_paths.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(struct tap_paths *w, uint8_t flags, const uint8_t *data,
		 size_t bytes)
{
	struct tap_paths_datagram d = {
		.port = flags & 2 ? 30002 : 30000,
		.sent = flags & 1,
		.data = data,
		.captured = bytes,
		.bytes = bytes + (flags & 4 ? 8 : 0),
	};

	tap_paths_take(w, &d);
	if (d.data < data || d.captured > d.bytes ||
	    d.bytes > bytes + (flags & 4 ? 8 : 0) ||
	    (d.captured > 0 && d.data + d.captured > data + bytes))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct tap_paths w;

	memset(&w, 0, sizeof(w));
	for (size_t at = 0; at + 2 <= size;) {
		size_t bytes = data[at + 1];

		if (bytes > size - at - 2)
			bytes = size - at - 2;
		take(&w, data[at], data + at + 2, bytes);
		at += 2 + bytes;
	}
	for (size_t i = 0; i < w.mapping_next; i++) {
		if (w.mappings[i].port &&
		    !tap_paths_port(&w, &w.mappings[i].addr))
			abort();
	}
	return 0;
}
