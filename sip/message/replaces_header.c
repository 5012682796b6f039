#include "sip/message/replaces_header.h"

#include <errno.h>

#include "sip/message/headers.h"
#include "sip/message/text.h"

int replaces_header_read(struct replaces_header *ret, const struct pl *value)
{
	struct replaces_header r = {.early_only = false};
	struct pl params, flag;

	if (re_regex(value->p, value->l, "[^; \t\r\n]+[ \t\r\n]*;[^]+",
		     &r.callid, NULL, &params))
		return -EBADMSG;
	/* msg_param_decode() needs the semicolon */
	params.p--;
	params.l++;
	if (msg_param_decode(&params, "to-tag", &r.to_tag) ||
	    msg_param_decode(&params, "from-tag", &r.from_tag))
		return -EBADMSG;
	r.early_only = !msg_param_exists(&params, "early-only", &flag);
	*ret = r;
	return 0;
}

int replaces_header_of_uri(char **ret, const struct uri *uri)
{
	static const struct pl name = {"Replaces", 8};
	struct replaces_header r;
	struct pl value;
	char *text;
	int err;

	if (!pl_isset(&uri->headers) ||
	    uri_header_get(&uri->headers, &name, &value))
		return 0;
	err = text_print(&text, "%H", uri_header_unescape, &value);
	if (err)
		return err;
	pl_set_str(&value, text);
	if (!header_text_valid(text) || replaces_header_read(&r, &value)) {
		mem_deref(text);
		return -EBADMSG;
	}
	*ret = text;
	return 0;
}
