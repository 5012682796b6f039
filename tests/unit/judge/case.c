#include "case.h"

json_t *load(const char *text)
{
	char buffer[8192];
	json_error_t error;
	json_t *json;

	assert_true(strlen(text) < sizeof(buffer));
	snprintf(buffer, sizeof(buffer), "%s", text);
	for (char *p = buffer; *p; p++)
		if (*p == '\'')
			*p = '"';
	json = json_loads(buffer, JSON_DECODE_ANY, &error);
	if (!json)
		fail_msg("%s: %s", error.text, text);
	return json;
}
