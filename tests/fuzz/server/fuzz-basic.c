/* The Authorization header: any client can send it. */
#include "control/server/http/basic.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *value = strndup((const char *)data, size);
	struct basic basic;

	if (basic_parse(&basic, value) == 0 &&
	    (strchr(basic.user, ':') ||
	     strlen(basic.user) + strlen(basic.password) + 2 > BASIC_BYTES))
		abort();
	free(value);
	return 0;
}
