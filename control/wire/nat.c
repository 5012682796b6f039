#include "control/wire/action.h"

#include <errno.h>

int wire_nat_decode(struct decoder *d, json_t *object, struct wire_action *a)
{
	static const char *const words[] = {"none", "", "ice", NULL};
	static const enum wire_nat values[] = {WIRE_NAT_NONE, WIRE_NAT_NONE,
					       WIRE_NAT_ICE};
	json_t *value = json_object_get(object, "media_nat");
	const char *text = json_string_value(value);
	size_t k;

	if (value && !json_is_null(value)) {
		if (!text || !decode_word(words, text, &k))
			return decoder_refuse_member(d, "media_nat",
						     "must be none or ice");
		a->nat = values[k];
	}
	return decode_bool(d, object, "ice_lite", &a->ice_lite);
}
