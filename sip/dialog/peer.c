#include "sip/dialog/peer.h"

#include <errno.h>
#include <string.h>

#include "sip/dialog/originator.h"
#include "sip/message/headers.h"
#include "sip/message/parse.h"
#include "sip/message/text.h"

/* hostname, IPv4address or IPv6reference (RFC 3261 25.1), loosely */
static bool host_valid(const struct pl *host)
{
	for (size_t i = 0; i < host->l; i++) {
		char c = host->p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		      (c >= '0' && c <= '9') || strchr("-._:[]", c)))
			return false;
	}
	return host->l > 0;
}

int peer_uri(char **ret, const struct originator *origin, const char *uri)
{
	char *text = NULL;
	struct uri parsed;
	char *user;
	struct pl pl;
	int err;

	if (!uri || !uri[0] || !header_text_valid(uri) || strpbrk(uri, " <>\""))
		return -EINVAL;
	if (strncasecmp(uri, "sip:", 4) == 0 ||
	    strncasecmp(uri, "sips:", 5) == 0) {
		err = text_join(&text, uri, NULL);
	} else if (strchr(uri, '@')) {
		err = text_join(&text, "sip:", uri, NULL);
	} else {
		err = text_user(&user, uri);
		if (err)
			return err;
		err = text_join(&text, "sip:", user, "@",
				originator_domain(origin), NULL);
		mem_deref(user);
	}
	if (err)
		return err;
	pl_set_str(&pl, text);
	if (parse_uri(&parsed, &pl) || !host_valid(&parsed.host)) {
		mem_deref(text);
		return -EINVAL;
	}
	*ret = text;
	return 0;
}
