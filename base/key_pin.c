#include "base/key_pin.h"

#include <string.h>

#define PREFIX "sha256//"

/* RFC 4648 section 4 */
static const char base64[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool key_pin_valid(const char *text)
{
	const size_t prefix = sizeof(PREFIX) - 1;

	/* 256 bits are 43 characters and one "=" */
	return strncmp(text, PREFIX, prefix) == 0 &&
	       strspn(text + prefix, base64) == 43 &&
	       strcmp(text + prefix + 43, "=") == 0;
}
