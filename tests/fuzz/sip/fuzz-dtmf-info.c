/*
 * The body of an INFO: the first byte selects the content type, the rest is the
 * body.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sip/body/dtmf_info.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const types[] = {"application/dtmf-relay",
					    "application/dtmf", "text/plain"};
	struct dtmf_info info;
	const char *type;

	if (size == 0)
		return 0;
	type = types[data[0] % 3];
	if (dtmf_info_parse(&info, type, strlen(type), (const char *)data + 1,
			    size - 1))
		return 0;
	if (!info.digit || !strchr("0123456789*#ABCD", info.digit))
		abort();
	return 0;
}
