/*
 * json_text_*() find members in the text of agents' uploads: the result equals
 * that of the parser's tree.
 */
#include "control/wire/json_text.h"

#include "base/buf.h"
#include "control/wire/json.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void same(struct json_text text, json_t *tree)
{
	json_t *value = json_loadb(text.at, text.len, JSON_DECODE_ANY, NULL);

	if (!value || !json_equal(value, tree))
		abort();
	json_decref(value);
}

static void check(struct json_text text, json_t *tree)
{
	struct json_text rest = text, piece, key;
	const char *name;
	json_t *value;
	size_t i;

	same(text, tree);
	json_array_foreach(tree, i, value)
	{
		if (json_text_item(&rest, &piece) != 1)
			abort();
		check(piece, value);
	}
	if (json_text_item(&rest, &piece) != 0)
		abort();
	rest = text;
	for (i = 0; i < json_object_size(tree); i++)
		if (json_text_pair(&rest, &key, &piece) != 1)
			abort();
	if (json_is_object(tree) && json_text_pair(&rest, &key, &piece) != 0)
		abort();
	json_object_foreach(tree, name, value)
	{
		int found = json_text_member(text, name, &piece);

		if (found == 0)
			abort();
		if (found == 1)
			check(piece, value);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json_text text = {(const char *)data, size}, piece;
	json_t *tree = json_loadb((const char *)data, size,
				  JSON_REJECT_DUPLICATES, NULL);
	struct buf out;

	buf_init(&out, 64 * size + 64);
	if (json_text_decimal(&out, text))
		abort();
	json_text_member(text, "a", &piece);
	if (tree) {
		json_t *again = json_loadb(out.data, out.used, 0, NULL);

		if (!again)
			abort();
		check(text, tree);
		json_decref(again);
	}
	json_decref(tree);
	buf_release(&out);
	return 0;
}
