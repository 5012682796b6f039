/*
 * X-Forwarded-For, X-Forwarded-Proto and Host, from a trusted proxy and from a
 * stranger: a line each.
 */
#include "control/server/http/client.h"
#include "tests/fuzz/check.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PROXY    "10.0.0.1"
#define STRANGER "192.0.2.1"
#define TRUSTED  "10.0.0.0/8, 2001:db8::/32"
#define OURS     "http://192.0.2.9:8080"
#define PARTS    3
#define LIST_MAX 256

static bool is_address(const char *text)
{
	struct in6_addr any;

	return inet_pton(AF_INET, text, &any) == 1 ||
	       inet_pton(AF_INET6, text, &any) == 1;
}

/* Split a list at its commas; elements without blanks around them, and no empty ones.
 * @return their number; 0 also if there are too many */
static size_t split(char *list, char *elements[LIST_MAX])
{
	size_t count = 0;
	char *rest, *e;

	for (e = strtok_r(list, ",", &rest); e;
	     e = strtok_r(NULL, ",", &rest)) {
		size_t len;

		e += strspn(e, " \t");
		len = strlen(e);
		while (len > 0 && strchr(" \t", e[len - 1]))
			len--;
		e[len] = '\0';
		if (len == 0)
			continue;
		if (count == LIST_MAX)
			return 0;
		elements[count++] = e;
	}
	return count;
}

/* The client is the last one that is no proxy of ours; what stands before an element
 * that is no address was written by anybody. */
static void check_chain(const char *address, const char *list,
			const struct netlist *trusted)
{
	char *elements[LIST_MAX], *copy = strdup(list);
	size_t count, ours = 0;
	const char *expected = PROXY;

	check(copy != NULL);
	count = split(copy, elements);
	while (ours < count &&
	       netlist_has_text(trusted, elements[count - 1 - ours]))
		ours++;
	if (ours < count && is_address(elements[count - 1 - ours]))
		expected = elements[count - 1 - ours];
	else if (ours > 0)
		expected = elements[count - ours];
	if (count > 0 || !list[strspn(list, " \t,")])
		check(strcmp(address, expected) == 0);
	free(copy);
}

static void find(const char *peer, const char *const parts[PARTS],
		 const struct netlist *trusted)
{
	const struct client_facts facts = {
		.peer = peer,
		.forwarded_for = parts[0],
		.forwarded_proto = parts[1],
		.host = parts[2],
		.names = "known.example",
		.local = "192.0.2.9",
		.ours = OURS,
	};
	const bool proxy = strcmp(peer, PROXY) == 0;
	struct client c;
	const char *host;

	client_find(&c, &facts, trusted);
	check(is_address(c.address));
	if (!proxy || !parts[0])
		check(strcmp(c.address, peer) == 0);
	else
		check_chain(c.address, parts[0], trusted);
	check(!c.secure || (proxy && parts[1] && strlen(parts[1]) == 5));
	host = strstr(c.base_url, "://");
	check(host != NULL);
	if (strcmp(c.base_url, OURS) == 0)
		return;
	check(parts[2] && strcmp(host + 3, parts[2]) == 0);
	check(strncmp(c.base_url, c.secure ? "https:" : "http:",
		      (size_t)(host + 1 - c.base_url)) == 0);
	check(!strpbrk(host + 3, "/\\@?#\"'<> \t\r\n"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), *rest = text;
	const char *parts[PARTS];
	struct netlist trusted;

	check(text && netlist_parse(&trusted, TRUSTED) == 0);
	for (size_t i = 0; i < PARTS; i++)
		parts[i] = strsep(&rest, "\n");
	find(PROXY, parts, &trusted);
	find(STRANGER, parts, &trusted);
	free(text);
	return 0;
}
