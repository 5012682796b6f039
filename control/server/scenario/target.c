#include "control/server/request/body.h"
#include "control/server/scenario/scenario_internal.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#define HOST_BYTES 256

/* "tcp" of ";transport=tcp" or "?..."; NULL: none */
static const char *transport_of(const char *params)
{
	static const char *const known[] = {"udp", "tcp", "tls"};
	static const char key[] = ";transport=";
	const char *at = strcasestr(params, key);

	for (size_t i = 0; at && i < sizeof(known) / sizeof(*known); i++)
		if (strcasecmp(at + strlen(key), known[i]) == 0)
			return known[i];
	return NULL;
}

/* host, host:port, [v6], [v6]:port */
static int split_host(const char *text, size_t len, char host[HOST_BYTES],
		      uint64_t *port)
{
	const char *end = text + len;
	const char *colon = NULL, *from = text, *until;
	char digits[8];

	if (len && text[0] == '[') {
		const char *close = memchr(text, ']', len);

		if (!close)
			return -EINVAL;
		from = text + 1;
		until = close;
		if (close + 1 < end)
			colon = close + 1;
	} else {
		colon = memchr(text, ':', len);
		until = colon ? colon : end;
	}
	if (until == from || until - from >= HOST_BYTES)
		return -EINVAL;
	memcpy(host, from, (size_t)(until - from));
	host[until - from] = '\0';
	*port = 0;
	if (!colon)
		return 0;
	len = (size_t)(end - colon - 1);
	if (*colon != ':' || !len || len >= sizeof(digits))
		return -EINVAL;
	memcpy(digits, colon + 1, len);
	digits[len] = '\0';
	return str_to_u64(digits, 65535, port) ? -EINVAL : 0;
}

static int parse_text(const char *text, json_t **ret)
{
	const char *transport;
	char host[HOST_BYTES];
	uint64_t port;
	bool secure = false;
	size_t len;

	if (strncasecmp(text, "sips:", 5) == 0) {
		secure = true;
		text += 5;
	} else if (strncasecmp(text, "sip:", 4) == 0) {
		text += 4;
	}
	len = strcspn(text, ";");
	transport = transport_of(text + len);
	if ((text[len] && !transport) || strpbrk(text, "@<> \"\t") ||
	    split_host(text, len, host, &port))
		return -EINVAL;
	if (!transport)
		transport = secure ? "tls" : "udp";
	*ret = json_pack("{s:[{s:s, s:I, s:s}]}", "hosts", "host", host, "port",
			 (json_int_t)port, "transport", transport);
	return *ret ? 0 : -ENOMEM;
}

/* {host, port, transport} beside the members of a target, or these alone */
static int parse_object(json_t *value, json_t **ret)
{
	static const char *const of_host[] = {"host", "port", "transport"};
	json_t *target = json_copy(value), *host = json_object();
	int err = target && host ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < sizeof(of_host) / sizeof(*of_host);
	     i++) {
		json_t *member = json_object_get(target, of_host[i]);

		if (member && json_object_set(host, of_host[i], member))
			err = -ENOMEM;
		(void)json_object_del(target, of_host[i]);
	}
	if (!err &&
	    !json_object_size(host) == !json_object_get(target, "hosts"))
		err = -EINVAL;
	if (!err && json_object_size(host) &&
	    json_object_set_new(target, "hosts", json_pack("[O]", host)))
		err = -ENOMEM;
	json_decref(host);
	if (err) {
		json_decref(target);
		return err;
	}
	*ret = target;
	return 0;
}

int target_parse(json_t *value, json_t **ret)
{
	const char *text = json_string_value(value);
	json_t *parsed;
	int err;

	if (json_is_object(value))
		return parse_object(value, ret);
	if (!text)
		return -EINVAL;
	if (text[0] != '{')
		return parse_text(text, ret);
	parsed = body_json_text(text);
	err = json_is_object(parsed) ? parse_object(parsed, ret) : -EINVAL;
	json_decref(parsed);
	return err;
}
