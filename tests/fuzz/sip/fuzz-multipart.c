/* A message body; the first line of the input is its Content-Type. The session
 * description that is found must lie within the body. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sip/body/multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *line = memchr(data, '\n', size);
	size_t type_len = line ? (size_t)(line - data) : 0;
	size_t len = line ? size - type_len - 1 : 0;
	char *type = malloc(type_len + 1); /* ASan detects reads beyond the
					    * ends */
	char *text = malloc(len ? len : 1);
	struct multipart_text found = {NULL, 0};
	struct multipart_body body = {
		.type = {type, type_len},
		.text = {text, len},
	};
	int err;

	if (!line || !type || !text)
		goto out;
	memcpy(type, data, type_len);
	memcpy(text, line + 1, len);
	err = multipart_sdp(&found, &body);
	if (err != 0 && err != 1 && err != -EPROTONOSUPPORT && err != -EBADMSG)
		abort();
	if (err == 0 && (found.p < text || found.p + found.len > text + len))
		abort();
	for (size_t i = 0; err == 0 && i < found.len; i++) {
		volatile char c = found.p[i];
		(void)c;
	}
out:
	free(type);
	free(text);
	return 0;
}
