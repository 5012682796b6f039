#include "control/server/api/file_content.h"

#include "control/server/request/fields.h"
#include "control/server/request/upload.h"

#include <sodium.h>
#include <stdlib.h>

static void decode(struct file_content *f, const json_t *content,
		   struct reply *rep)
{
	const char *text = json_string_value(content);
	size_t len = json_string_length(content);

	f->decoded = malloc(len + 1);
	if (!f->decoded)
		reply_problem(rep, 500, "out of memory");
	else if (sodium_base642bin(f->decoded, len, text, len, "\r\n", &f->len,
				   NULL, sodium_base64_VARIANT_ORIGINAL))
		field_error(rep, "/content", "is not base64");
	f->data = f->decoded;
}

bool file_content_read(struct request *req, const json_t *content,
		       struct file_content *ret, struct reply *rep)
{
	const struct upload *u = request_upload(req);

	*ret = (struct file_content){.data = NULL};
	if (!u == !json_is_string(content)) {
		field_error(rep, "/content",
			    "either a file or content must be given");
		return false;
	}
	if (u) {
		ret->data = u->data;
		ret->len = u->len;
	} else {
		decode(ret, content, rep);
	}
	return reply_status(rep) == 0;
}

void file_content_release(struct file_content *f)
{
	free(f->decoded);
	f->decoded = NULL;
}
