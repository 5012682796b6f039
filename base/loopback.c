#include "base/loopback.h"

#include "base/netlist.h"

#include <string.h>
#include <strings.h>

#define HOST_BYTES 64

bool loopback_address(const char *text)
{
	struct netlist list;

	return netlist_parse(&list, "127.0.0.0/8 ::1") == 0 &&
	       netlist_has_text(&list, text);
}

bool loopback_url_exposed(const char *url)
{
	static const char scheme[] = "http://";
	char host[HOST_BYTES];
	const char *start;
	size_t len;

	if (strncasecmp(url, scheme, sizeof(scheme) - 1) != 0)
		return false;
	start = url + sizeof(scheme) - 1;
	len = strcspn(start, "/?#");
	if (memchr(start, '@',
		   len)) /* of a user; no controller's URL has one */
		return true;
	if (*start == '[') {
		start++;
		len = strcspn(start, "]");
	} else {
		len = strcspn(start, ":/?#");
	}
	if (len >= sizeof(host))
		return true;
	memcpy(host, start, len);
	host[len] = '\0';
	return strcasecmp(host, "localhost") != 0 && !loopback_address(host);
}
