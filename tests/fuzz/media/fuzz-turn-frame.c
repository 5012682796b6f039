/* Datagrams of a TURN server: what is found lies within them. */
#include "media/nat/turn_frame.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct turn_frame f;
	size_t bytes, whole;

	if (size < 1)
		return 0;
	/* the first byte: how many bytes were truncated when it was read */
	bytes = size - 1 + data[0] % 8;
	/* a datagram that is a frame is a complete frame of a stream, too */
	if (turn_frame_size(&whole, data + 1, size - 1) == 0 &&
	    (whole < TURN_CHANNEL_BYTES || whole > 65535 + 20 + 3))
		abort();
	if (turn_frame_parse(&f, data + 1, size - 1, bytes))
		return 0;
	if (f.offset + f.bytes > bytes || f.offset > size - 1 + 7)
		abort();
	if ((f.kind == TURN_FRAME_DATA || f.kind == TURN_FRAME_SEND) &&
	    (f.peer.len == 0 || f.offset > size - 1))
		abort();
	if (f.kind == TURN_FRAME_CHANNEL &&
	    (f.channel < TURN_CHANNEL_MIN || f.channel > TURN_CHANNEL_MAX))
		abort();
	return 0;
}
