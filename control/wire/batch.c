#include "control/wire/batch.h"

#include "base/str.h"
#include "control/wire/text.h"

#include <string.h>

int wire_batch_head(char dst[static WIRE_BATCH_HEAD_BYTES], const char *type,
		    const char *list)
{
	return str_print(dst, WIRE_BATCH_HEAD_BYTES,
			 "{\"type\":\"%s\",\"%s\":[", type, list);
}

const char *wire_batch_items(const char *text, size_t len,
			     const json_t *message, const char *list,
			     size_t *ret_len)
{
	char head[WIRE_BATCH_HEAD_BYTES];
	int n = wire_batch_head(head, text_of(message, "type"), list);
	size_t head_len = n > 0 ? (size_t)n : 0;

	/* Two members, none repeated: only the array follows the head. */
	if (n < 0 || json_object_size(message) != 2 ||
	    !json_is_array(json_object_get(message, list)))
		return NULL;
	if (len < head_len + strlen(WIRE_BATCH_TAIL) ||
	    memcmp(text, head, head_len) != 0 || text[len - 1] != '}')
		return NULL;
	*ret_len = len - head_len; /* includes '[', not the last '}' */
	return text + head_len - 1;
}
