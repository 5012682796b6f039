#include "control/server/http/client.h"

#include "base/str.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* The last element of a list that ends at *end, without blanks; *end moves in
 * front of it. @return false: there is none, or it is too long */
static bool last_element(const char *list, size_t *end, char *text, size_t size)
{
	size_t start, len;

	while (*end > 0 && strchr(" \t,", list[*end - 1]))
		(*end)--;
	start = *end;
	while (start > 0 && list[start - 1] != ',')
		start--;
	len = *end - start;
	*end = start;
	while (len > 0 && strchr(" \t", list[start])) {
		start++;
		len--;
	}
	if (len == 0 || len >= size)
		return false;
	memcpy(text, list + start, len);
	text[len] = '\0';
	return true;
}

/* What stands left of something that is no address was not written by a proxy
 * of ours: the last good one counts. */
static void forwarded_address(struct client *ret, const char *list,
			      const struct netlist *trusted)
{
	static const struct netlist everything = {.count = 1,
						  .nets = {{.bits = 0}}};
	size_t end = strlen(list);
	char text[CLIENT_ADDRESS_BYTES];

	while (last_element(list, &end, text, sizeof(text)) &&
	       netlist_has_text(&everything, text)) {
		str_copy(ret->address, sizeof(ret->address), text);
		if (!netlist_has_text(trusted, text))
			return;
	}
}

static bool host_valid(const char *host)
{
	size_t i = 0;

	while (host[i] &&
	       (isalnum((unsigned char)host[i]) || strchr("-._:[]", host[i])))
		i++;
	return i > 0 && host[i] == '\0';
}

void client_find(struct client *ret, const struct client_facts *facts,
		 const struct netlist *trusted)
{
	bool from_proxy = netlist_has_text(trusted, facts->peer);

	str_copy(ret->address, sizeof(ret->address), facts->peer);
	ret->secure = facts->tls;
	if (from_proxy && facts->forwarded_for)
		forwarded_address(ret, facts->forwarded_for, trusted);
	if (from_proxy && facts->forwarded_proto)
		ret->secure = strcasecmp(facts->forwarded_proto, "https") == 0;
	if (facts->public_url) {
		str_copy(ret->base_url, sizeof(ret->base_url),
			 facts->public_url);
		return;
	}
	if (!facts->host || !host_valid(facts->host) ||
	    str_print(ret->base_url, sizeof(ret->base_url), "%s://%s",
		      ret->secure ? "https" : "http", facts->host) < 0)
		str_copy(ret->base_url, sizeof(ret->base_url), facts->ours);
}
