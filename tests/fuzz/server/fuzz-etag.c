/*
 * If-Match and If-None-Match: lists of entity tags. What allows a change names the
 * record's tag, or is `*`; a good list with the tag allows it.
 */
#include "control/server/api/etag.h"
#include "tests/fuzz/check.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* @return text without what precedes its next tag; NULL: it is no list of tags */
static const char *tag_next(const char *text, size_t *ret_len)
{
	const char *end;

	text += strspn(text, " \t,");
	if (text[0] == 'W' && text[1] == '/')
		text += 2;
	end = *text == '"' ? strchr(text + 1, '"') : NULL;
	if (!end)
		return NULL;
	*ret_len = (size_t)(end + 1 - text);
	return text;
}

/* Whether the edited part of a tag is the record's, in a list up to its first error;
 * `*` stands for any. */
static bool expected(const char *list, const char *tag)
{
	const char *at;
	size_t len;

	for (;;) {
		if (list[strspn(list, " \t,")] == '*')
			return true;
		at = tag_next(list, &len);
		if (!at)
			return false;
		if (len == strlen(tag) &&
		    strncmp(at + 1, tag + 1, EDIT_HEX_BYTES) == 0)
			return true;
		list = at + len;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char tag[ETAG_BYTES];
	char *text = strndup((const char *)data, size), *list;
	json_t *record;

	check(text != NULL);
	if (!tag[0]) {
		record = json_pack("{s:s}", "name", "n");
		check(record && etag_make(tag, record, 1, record) == 0);
		json_decref(record);
	}
	check(strlen(tag) == ETAG_BYTES - 1);
	check(etag_allows(text, tag) == expected(text, tag));
	/* the tag in front is found, whatever follows */
	check(asprintf(&list, " , W/%s %s", tag, text) > 0);
	check(etag_allows(list, tag));
	free(list);
	free(text);
	return 0;
}
