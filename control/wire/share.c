#include "control/wire/share.h"

#include <errno.h>

json_t *wire_share_encode(const struct wire_share *share)
{
	return json_pack("{s:I, s:I}", "index", (json_int_t)share->index, "of",
			 (json_int_t)share->of);
}

int wire_share_decode(struct wire_share *ret, const json_t *object)
{
	json_t *index = json_object_get(object, "index");
	json_t *of = json_object_get(object, "of");

	if (!object) {
		*ret = (struct wire_share){.index = 0, .of = 1};
		return 0;
	}
	if (!json_is_integer(index) || !json_is_integer(of) ||
	    json_integer_value(of) < 1 ||
	    json_integer_value(of) > (json_int_t)WIRE_ENGINES_MAX ||
	    json_integer_value(index) < 0 ||
	    json_integer_value(index) >= json_integer_value(of))
		return -EINVAL;
	*ret = (struct wire_share){
		.index = (uint32_t)json_integer_value(index),
		.of = (uint32_t)json_integer_value(of),
	};
	return 0;
}
