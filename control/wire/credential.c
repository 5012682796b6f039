#include "control/wire/action.h"

#include <stdio.h>

static int credential_decode(struct decoder *d, json_t *object, void *item)
{
	const size_t max = WIRE_NAME_BYTES_MAX;
	struct wire_credential *c = item;
	int err;

	if (!json_is_object(object))
		return decoder_refuse(d, "must be an object");
	err = decode_text(d, object, "username", TEXT_WORD, max, &c->username);
	if (!err)
		err = decode_text(d, object, "auth_username", TEXT_LINE, max,
				  &c->auth_username);
	if (!err)
		err = decode_text(d, object, "password", TEXT_ANY, max,
				  &c->password);
	if (!err)
		err = decode_text(d, object, "domain", TEXT_WORD, max,
				  &c->domain);
	if (!err)
		err = decode_text(d, object, "display_name", TEXT_LINE, max,
				  &c->display_name);
	if (!err)
		err = decode_text(d, object, "extension", TEXT_WORD, max,
				  &c->extension);
	if (err)
		return err;
	if (!c->username)
		return decoder_refuse_member(d, "username", "is missing");
	return 0;
}

int wire_credentials_decode(struct decoder *d, json_t *object, const char *name,
			    const struct wire_credential **ret,
			    size_t *ret_count)
{
	const struct wire_credential *list;
	char place[40];
	json_t *array;
	int err = decode_array(d, object, name, WIRE_CREDENTIALS_MAX, &array);

	if (err || json_array_size(array) == 0)
		return err;
	snprintf(place, sizeof(place), "/%s", name);
	list = decode_items(d, array, place, sizeof(*list), credential_decode,
			    &err);
	if (!list)
		return err;
	*ret = list;
	*ret_count = json_array_size(array);
	return 0;
}
