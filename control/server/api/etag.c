#include "control/server/api/etag.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define TAG_RAW_BYTES 16

int etag_make(char tag[static ETAG_BYTES], const json_t *shown, int64_t version)
{
	uint8_t raw[TAG_RAW_BYTES];
	crypto_generichash_state state;
	char *text = json_dumps(shown, JSON_COMPACT | JSON_SORT_KEYS);

	if (!text)
		return -ENOMEM;
	crypto_generichash_init(&state, NULL, 0, sizeof(raw));
	crypto_generichash_update(&state, (const unsigned char *)text,
				  strlen(text));
	crypto_generichash_update(&state, (const unsigned char *)&version,
				  sizeof(version));
	crypto_generichash_final(&state, raw, sizeof(raw));
	free(text);
	tag[0] = '"';
	sodium_bin2hex(tag + 1, ETAG_BYTES - 2, raw, sizeof(raw));
	tag[ETAG_BYTES - 2] = '"';
	tag[ETAG_BYTES - 1] = '\0';
	return 0;
}

bool etag_listed(const char *list, const char *tag)
{
	size_t len = strlen(tag);

	for (const char *at = list; *at;) {
		const char *end;

		at += strspn(at, " \t,");
		if (*at == '*')
			return true;
		if (strncmp(at, "W/", 2) == 0)
			at += 2; /* a proxy that compresses weakens tags */
		if (*at != '"')
			return false;
		end = strchr(at + 1, '"');
		if (!end)
			return false;
		if ((size_t)(end + 1 - at) == len && memcmp(at, tag, len) == 0)
			return true;
		at = end + 1;
	}
	return false;
}

void etag_reply(struct request *req, struct reply *rep, const char *tag)
{
	const char *known = req->header(req, "If-None-Match");

	reply_header(rep, "ETag", "%s", tag);
	if (rep->status != 200 || strcmp(req->method, "GET") != 0 || !known ||
	    !etag_listed(known, tag))
		return;
	json_decref(rep->body);
	rep->body = NULL;
	rep->status = 304;
}
