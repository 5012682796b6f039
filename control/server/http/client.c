#include "control/server/http/client.h"

#include "base/str.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* Get the last element, without blanks, of the list that ends at *end; move
 * *end before it. @return false: there is none, or it is too long */
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

/* Find the client in X-Forwarded-For, from right to left. An element that is
 * not an address was not written by a trusted proxy, and nothing to its left
 * can be trusted: the last valid address counts. */
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

#define NAME_BYTES 256

/* Remove the port of a Host (RFC 9110 section 7.2) and the brackets of an
 * address. @return false: not a valid host */
static bool host_name(const char *host, char name[static NAME_BYTES])
{
	const bool bracket = host[0] == '[';
	const char *start = host + bracket;
	const char *end = start + strcspn(start, bracket ? "]" : ":");
	const char *port = end;
	uint64_t number;

	if (bracket && *port++ != ']')
		return false;
	if (*port && (*port != ':' || str_to_u64(port + 1, 65535, &number) ||
		      number == 0))
		return false;
	if (end == start || end - start >= NAME_BYTES)
		return false;
	memcpy(name, start, (size_t)(end - start));
	name[end - start] = '\0';
	for (const char *c = name; *c; c++)
		if (bracket ? !isxdigit((unsigned char)*c) && !strchr(".:", *c)
			    : !isalnum((unsigned char)*c) && !strchr("-._", *c))
			return false;
	return !bracket || strchr(name, ':');
}

static bool is_listed(const char *names, const char *name)
{
	const size_t len = strlen(name);

	while (*names) {
		const size_t word = strcspn(names, " \t,");

		if (word == len && strncasecmp(names, name, len) == 0)
			return true;
		names += word;
		names += strspn(names, " \t,");
	}
	return false;
}

/* Compare binary addresses: one address has several spellings. */
static bool is_local_address(const char *name, const char *local)
{
	static const char loopback[] = "127.0.0.0/8 ::1";
	struct netlist list;

	return (netlist_parse(&list, loopback) == 0 &&
		netlist_has_text(&list, name)) ||
	       (netlist_parse(&list, local) == 0 &&
		netlist_has_text(&list, name));
}

static bool host_is_ours(const struct client_facts *facts)
{
	char name[NAME_BYTES];

	return facts->host && host_name(facts->host, name) &&
	       (strcasecmp(name, "localhost") == 0 ||
		is_local_address(name, facts->local) ||
		(facts->names && is_listed(facts->names, name)));
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
	if (!host_is_ours(facts) ||
	    str_print(ret->base_url, sizeof(ret->base_url), "%s://%s",
		      ret->secure ? "https" : "http", facts->host) < 0)
		str_copy(ret->base_url, sizeof(ret->base_url), facts->ours);
}
