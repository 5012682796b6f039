#include "control/server/request/markup.h"

int markup_add(struct buf *b, const char *text)
{
	int err = 0;

	for (; *text && !err; text++) {
		const char *entity = *text == '&'    ? "&amp;"
				     : *text == '<'  ? "&lt;"
				     : *text == '>'  ? "&gt;"
				     : *text == '"'  ? "&quot;"
				     : *text == '\'' ? "&#39;"
						     : NULL;

		err = entity ? buf_texts(b, entity, NULL) : buf_add(b, text, 1);
	}
	return err;
}
