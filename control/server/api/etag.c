#include "control/server/api/etag.h"

#include "base/str.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define RAW_BYTES          (EDIT_HEX_BYTES / 2)
#define OBSERVED_RAW_BYTES 8 /* the first ones of a hash */

static int hash(uint8_t raw[static RAW_BYTES], const json_t *value,
		int64_t version)
{
	crypto_generichash_state state;
	char *text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);

	if (!text)
		return -ENOMEM;
	crypto_generichash_init(&state, NULL, 0, RAW_BYTES);
	crypto_generichash_update(&state, (const unsigned char *)text,
				  strlen(text));
	crypto_generichash_update(&state, (const unsigned char *)&version,
				  sizeof(version));
	crypto_generichash_final(&state, raw, RAW_BYTES);
	free(text);
	return 0;
}

int etag_make(char tag[static ETAG_BYTES], const json_t *edited,
	      int64_t version, const json_t *shown)
{
	uint8_t edit[RAW_BYTES], observed[RAW_BYTES];
	char hex[2 * OBSERVED_RAW_BYTES + 1] = "";
	int err = hash(edit, edited, version);

	if (err == 0 && shown)
		err = hash(observed, shown, version);
	if (err)
		return err;
	tag[0] = '"';
	sodium_bin2hex(tag + 1, ETAG_BYTES - 1, edit, sizeof(edit));
	if (shown)
		sodium_bin2hex(hex, sizeof(hex), observed, OBSERVED_RAW_BYTES);
	str_print(tag + 1 + EDIT_HEX_BYTES, ETAG_BYTES - 1 - EDIT_HEX_BYTES,
		  "%s%s\"", shown ? "-" : "", hex);
	return 0;
}

/* True if a list of tags ("a", W/"b", or *) has one with the same first
 * bytes. */
static bool listed(const char *list, const char *tag, size_t same)
{
	for (const char *at = list; *at;) {
		const char *end;

		at += strspn(at, " \t,");
		if (*at == '*')
			return true;
		if (strncmp(at, "W/", 2) == 0)
			at += 2; /* weak: made so by a proxy that compresses */
		if (*at != '"')
			return false;
		end = strchr(at + 1, '"');
		if (!end)
			return false;
		if ((size_t)(end + 1 - at) == strlen(tag) &&
		    memcmp(at, tag, same) == 0)
			return true;
		at = end + 1;
	}
	return false;
}

bool etag_allows(const char *list, const char *tag)
{
	return listed(list, tag, 1 + EDIT_HEX_BYTES);
}

void etag_reply(struct request *req, struct reply *rep, const char *tag)
{
	const char *known = request_header(req, "If-None-Match");

	reply_header(rep, "ETag", "%s", tag);
	if (reply_status(rep) != 200 ||
	    strcmp(request_method(req), "GET") != 0 || !known ||
	    !listed(known, tag, strlen(tag)))
		return;
	reply_empty(rep, 304);
}
