#include "control/wire/client_actions.h"
#include "control/wire/pairs.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define NAME_MAX_BYTES  64
#define VALUE_MAX_BYTES 1024

static bool is_token(const char *text)
{
	/* RFC 3261 section 25.1, token */
	for (const char *p = text; *p; p++) {
		if (!isalnum((unsigned char)*p) && !strchr("-.!%*_+`'~", *p))
			return false;
	}
	return text[0] != '\0';
}

/* True for header fields that match transactions and dialogs or frame the body
 * (RFC 3261 8.1.1 and 20): another value would break the call, not test it. All
 * others may be set, also those that the user agent sets itself. */
static bool is_protected(const char *name)
{
	static const char *const names[] = {
		"Via",
		"v",
		"To",
		"t",
		"CSeq",
		"Call-ID",
		"i",
		"Route",
		"Record-Route",
		"Content-Length",
		"l",
		"Content-Type",
		"c",
		"Authorization",
		"Proxy-Authorization",
		NULL,
	};
	size_t i;

	return decode_word(names, name, &i);
}

static int header_decode(struct decoder *d, json_t *entry, void *item)
{
	struct wire_header *ret = item;
	static const char *const types[] = {"any",      "registers", "calls",
					    "presence", "invites",   "updates",
					    "refers",   NULL};
	const char *type = "any";
	size_t i;
	int err;

	if (!json_is_array(entry) || json_array_size(entry) < 2 ||
	    json_array_size(entry) > 3)
		return decoder_refuse(d,
				      "must be [header, value, message type]");
	err = decode_pair_text(d, entry, 0, NAME_MAX_BYTES, &ret->name);
	if (!err)
		err = decode_pair_text(d, entry, 1, VALUE_MAX_BYTES,
				       &ret->value);
	if (!err)
		err = decode_pair_text(d, entry, 2, NAME_MAX_BYTES, &type);
	if (err)
		return err;
	if (!ret->name || !ret->value || !is_token(ret->name))
		return decoder_refuse(d, "needs a header name and a value");
	if (is_protected(ret->name))
		return decoder_refuse_member(
			d, "0", "the header %s is set by the user agent itself",
			ret->name);
	if ((strcasecmp(ret->name, "From") == 0 ||
	     strcasecmp(ret->name, "f") == 0) &&
	    strstr(ret->value, ";tag="))
		return decoder_refuse_member(
			d, "1",
			"a From must have no tag: the user agent adds its own");
	if (type[0] == '\0')
		type = "any";
	if (!decode_word(types, type, &i))
		return decoder_refuse_member(
			d, "2", "there is no message type \"%.40s\"", type);
	ret->message_type = types[i];
	return 0;
}

int custom_headers_decode(struct decoder *d, json_t *value,
			  const struct wire_header **ret, size_t *ret_count)
{
	void *list = NULL;
	int err = decode_pairs(d, value, WIRE_HEADERS_MAX, sizeof(**ret),
			       header_decode, &list, ret_count);

	if (!err)
		*ret = list;
	return err;
}
