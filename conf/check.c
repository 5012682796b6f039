#include "conf/load.h"

#include "base/netlist.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>

const char *conf_check_address(const char *text)
{
	unsigned char addr[sizeof(struct in6_addr)];

	if (inet_pton(AF_INET, text, addr) == 1 ||
	    inet_pton(AF_INET6, text, addr) == 1)
		return NULL;
	return "is no IPv4 or IPv6 address";
}

const char *conf_check_url(const char *text)
{
	const char *host;
	size_t len;

	if (strncmp(text, "http://", 7) == 0)
		host = text + 7;
	else if (strncmp(text, "https://", 8) == 0)
		host = text + 8;
	else
		return "does not begin with http:// or https://";
	len = strcspn(host, "/?#");
	if (len == 0 || host[0] == ':')
		return "has no host";
	if (memchr(host, '@', len))
		return "has a user in it";
	if (host[len + strcspn(host + len, "?#")] != '\0')
		return "has a query or a fragment";
	for (const char *c = text; *c; c++) {
		if ((unsigned char)*c <= 0x20 || (unsigned char)*c >= 0x7f)
			return "has a blank or a non-ASCII character in it";
	}
	return NULL;
}

const char *conf_check_url_or_empty(const char *text)
{
	return text[0] ? conf_check_url(text) : NULL;
}

const char *conf_check_networks(const char *text)
{
	struct netlist list;

	return netlist_parse(&list, text)
		       ? "is no list of addresses and networks"
		       : NULL;
}

const char *conf_check_hosts(const char *text)
{
	size_t i = 0;

	while (text[i] &&
	       (isalnum((unsigned char)text[i]) || strchr("-._: \t,", text[i])))
		i++;
	return text[i] ? "is no list of names and addresses" : NULL;
}

const char *conf_check_filled(const char *text)
{
	return text[0] ? NULL : "is empty";
}
