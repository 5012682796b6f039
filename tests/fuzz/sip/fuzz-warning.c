/*
 * The value of a Warning header. The first byte is the size of the destination.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sip/call/warning.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char dst[256];
	char *value;
	size_t room;

	if (size == 0)
		return 0;
	room = data[0] ? data[0] : sizeof(dst);
	value = malloc(size); /* a separate allocation: ASan detects a read
			       * beyond it */
	if (!value)
		return 0;
	memcpy(value, data + 1, size - 1);
	memset(dst, 'x', sizeof(dst));
	warning_parse(dst, room, value, size - 1);
	free(value);
	if (strnlen(dst, room) == room)
		abort();
	for (const char *c = dst; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			abort();
	}
	return 0;
}
