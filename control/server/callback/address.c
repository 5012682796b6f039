#include "control/server/callback/address.h"

#include "base/str.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#define HOST_BYTES 256

/* RFC 6890 and its registries, multicast (RFC 5771, RFC 4291) and class E. */
static const char special[] =
	"0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 "
	"172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 "
	"192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 "
	"224.0.0.0/4 240.0.0.0/4 "
	"::/128 ::1/128 64:ff9b:1::/48 100::/64 2001::/23 2001:db8::/32 "
	"3fff::/20 "
	"5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8";

/* IPv6 prefixes with an embedded IPv4 address, and its position. */
static const struct {
	uint8_t prefix[16];
	unsigned bits;
	unsigned offset;
} carriers[] = {
	{{0}, 96, 12},                   /* ::a.b.c.d, deprecated */
	{{0, 0x64, 0xff, 0x9b}, 96, 12}, /* NAT64, RFC 6052 */
	{{0x20, 0x02}, 16, 2},           /* 6to4, RFC 3056 */
	{{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96, 12}, /* RFC 7915 */
};

static bool begins(const uint8_t *bytes, const uint8_t *prefix, unsigned bits)
{
	return memcmp(bytes, prefix, bits / 8) == 0;
}

/* Get the IPv4 address embedded in an IPv6 address. */
static bool carried(const struct sockaddr *address, struct sockaddr_in *ret)
{
	struct sockaddr_in6 in6;
	const uint8_t *bytes = in6.sin6_addr.s6_addr;

	if (address->sa_family != AF_INET6)
		return false;
	memcpy(&in6, address, sizeof(in6));
	if (IN6_IS_ADDR_UNSPECIFIED(&in6.sin6_addr) ||
	    IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr))
		return false;
	for (size_t i = 0; i < sizeof(carriers) / sizeof(*carriers); i++) {
		if (!begins(bytes, carriers[i].prefix, carriers[i].bits))
			continue;
		*ret = (struct sockaddr_in){.sin_family = AF_INET};
		memcpy(&ret->sin_addr, bytes + carriers[i].offset, 4);
		return true;
	}
	return false;
}

bool callback_address_allowed(const struct sockaddr *address,
			      const struct netlist *allow)
{
	struct sockaddr_in inner;
	struct netlist list;

	if (address->sa_family != AF_INET && address->sa_family != AF_INET6)
		return false;
	if (netlist_has(allow, address))
		return true;
	if (netlist_parse(&list, special) || netlist_has(&list, address))
		return false;
	if (!carried(address, &inner))
		return true;
	return callback_address_allowed((const struct sockaddr *)&inner, allow);
}

/* Parse a host that is an address: "127.0.0.1", "[::1]". @return false: it is a
 * name */
static bool literal(const char *host, struct sockaddr_storage *ret)
{
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
	struct sockaddr_in in = {.sin_family = AF_INET};
	char text[HOST_BYTES];
	size_t len = strlen(host);

	memset(ret, 0, sizeof(*ret));
	if (host[0] == '[' && len < sizeof(text) && host[len - 1] == ']') {
		memcpy(text, host + 1, len - 2);
		text[len - 2] = '\0';
		text[strcspn(text, "%")] = '\0';
		if (inet_pton(AF_INET6, text, &in6.sin6_addr) != 1)
			return false;
		memcpy(ret, &in6, sizeof(in6));
		return true;
	}
	if (inet_pton(AF_INET, host, &in.sin_addr) != 1)
		return false;
	memcpy(ret, &in, sizeof(in));
	return true;
}

static const char *check_parts(CURLU *parts, const struct netlist *allow)
{
	char *scheme = NULL, *host = NULL, *user = NULL, *fragment = NULL;
	const char *wrong = NULL;
	struct sockaddr_storage address;

	if (curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) ||
	    (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0))
		wrong = "must begin with http:// or https://";
	else if (!curl_url_get(parts, CURLUPART_USER, &user, 0))
		wrong = "must not have a user or password in it";
	else if (!curl_url_get(parts, CURLUPART_FRAGMENT, &fragment, 0))
		wrong = "must not have a fragment (#)";
	else if (curl_url_get(parts, CURLUPART_HOST, &host, 0) || !host[0])
		wrong = "must have a host";
	else if (literal(host, &address) &&
		 !callback_address_allowed((struct sockaddr *)&address, allow))
		wrong = "must not be a private, loopback or other special "
			"address, unless callback_allow of the configuration "
			"has it";
	curl_free(scheme);
	curl_free(host);
	curl_free(user);
	curl_free(fragment);
	return wrong;
}

int callback_url_check(const char *url, const struct netlist *allow,
		       char reason[static CALLBACK_REASON_BYTES])
{
	const char *wrong = NULL;
	CURLU *parts;

	for (const char *c = url; *c; c++)
		if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 0x7f)
			wrong = "must not have blanks or characters beyond "
				"ASCII";
	parts = curl_url();
	if (!parts || (!wrong && curl_url_set(parts, CURLUPART_URL, url, 0)))
		wrong = "must be a URL such as https://ci.example.net/hook";
	if (!wrong)
		wrong = check_parts(parts, allow);
	curl_url_cleanup(parts);
	if (!wrong)
		return 0;
	(void)str_copy(reason, CALLBACK_REASON_BYTES, wrong);
	return -EINVAL;
}
