#include "control/server/http/basic.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <strings.h>

int basic_parse(struct basic *ret, const char *value)
{
	const char *end;
	char *colon;
	size_t len;

	if (!value || strncasecmp(value, "Basic", 5) != 0 || value[5] != ' ')
		return -EINVAL;
	value += 5;
	value += strspn(value, " ");
	if (sodium_base642bin((unsigned char *)ret->text, sizeof(ret->text) - 1,
			      value, strlen(value), NULL, &len, &end,
			      sodium_base64_VARIANT_ORIGINAL) != 0)
		return -EINVAL;
	if (end[strspn(end, " ")] != '\0')
		return -EINVAL;
	ret->text[len] = '\0';
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)ret->text[i] < 0x20 || ret->text[i] == 0x7f)
			return -EINVAL;
	}
	colon = strchr(ret->text, ':');
	if (!colon)
		return -EINVAL;
	*colon = '\0';
	ret->user = ret->text;
	ret->password = colon + 1;
	return 0;
}
