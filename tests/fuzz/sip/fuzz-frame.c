/*
 * A TCP stream: where messages end must not depend on how much has arrived.
 */
#include <errno.h>
#include <stdlib.h>

#include "sip/transport/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t len = 0;
	int err = frame_find(data, size, &len);

	switch (err) {
	case 0:
		if (len == 0 || len > size || len > FRAME_BYTES_MAX)
			abort();
		break;
	case -EAGAIN:
		if (len <= size || len > FRAME_BYTES_MAX)
			abort();
		return 0;
	case -EBADMSG:
	case -EMSGSIZE:
		return 0;
	default:
		abort();
	}
	for (size_t part = 0; part < len; part++) {
		size_t other = 0;
		uint8_t *copy =
			malloc(part ? part : 1); /* ASan sees overruns */

		if (!copy)
			return 0;
		for (size_t i = 0; i < part; i++)
			copy[i] = data[i];
		err = frame_find(copy, part, &other);
		free(copy);
		if (err != -EAGAIN || other <= part || other > len)
			abort();
		if (part > 256) /* larger inputs would only be slow */
			break;
	}
	return 0;
}
