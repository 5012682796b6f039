#include "control/wire/share.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>

json_t *wire_share_encode(const struct wire_share *share)
{
	return json_pack("{s:I, s:I}", "index", (json_int_t)share->index, "of",
			 (json_int_t)share->of);
}

int wire_share_decode(struct wire_share *ret, const json_t *object,
		      uint32_t max)
{
	json_t *index = json_object_get(object, "index");
	json_t *of = json_object_get(object, "of");

	if (!object) {
		*ret = (struct wire_share){.index = 0, .of = 1};
		return 0;
	}
	if (!json_is_integer(index) || !json_is_integer(of) ||
	    json_integer_value(of) < 1 ||
	    json_integer_value(of) > (json_int_t)max ||
	    json_integer_value(index) < 0 ||
	    json_integer_value(index) >= json_integer_value(of))
		return -EINVAL;
	*ret = (struct wire_share){
		.index = (uint32_t)json_integer_value(index),
		.of = (uint32_t)json_integer_value(of),
	};
	return 0;
}

/* @param text  len bytes of it */
static bool count_parse(const char *text, size_t len, uint32_t *ret)
{
	char digits[4];
	uint64_t value;

	if (len == 0 || len >= sizeof(digits))
		return false;
	memcpy(digits, text, len);
	digits[len] = '\0';
	if (str_to_u64(digits, WIRE_SHARDS_MAX, &value) || value < 1)
		return false;
	*ret = (uint32_t)value;
	return true;
}

int wire_agents_parse(struct wire_agents *ret, const json_t *value)
{
	const json_int_t number = json_integer_value(value);
	const char *text = json_string_value(value);
	struct wire_agents a;
	size_t len;

	if (json_is_integer(value) && number >= 1 &&
	    number <= (json_int_t)WIRE_SHARDS_MAX) {
		*ret = (struct wire_agents){(uint32_t)number, (uint32_t)number};
		return 0;
	}
	if (!text)
		return -EINVAL;
	len = strcspn(text, "-");
	if (!count_parse(text, len, &a.least))
		return -EINVAL;
	a.most = a.least;
	if (text[len] &&
	    !count_parse(text + len + 1, strlen(text + len + 1), &a.most))
		return -EINVAL;
	if (a.least > a.most)
		return -EINVAL;
	*ret = a;
	return 0;
}
