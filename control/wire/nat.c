#include "control/wire/action_members.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>

#define SERVER_BYTES_MAX 280 /* a name, a colon, a port */
#define SECRET_BYTES_MAX 255

static int mode_decode(struct decoder *d, json_t *object, struct wire_action *a)
{
	static const char *const words[] = {"none", "",    "stun",
					    "turn", "ice", NULL};
	static const enum wire_nat values[] = {WIRE_NAT_NONE, WIRE_NAT_NONE,
					       WIRE_NAT_STUN, WIRE_NAT_TURN,
					       WIRE_NAT_ICE};
	json_t *value = json_object_get(object, "media_nat");
	const char *text = json_string_value(value);
	size_t k;

	if (!value || json_is_null(value))
		return 0;
	if (!text || !decode_word(words, text, &k))
		return decoder_refuse_member(d, "media_nat",
					     "must be none, stun, turn or ice");
	a->nat = values[k];
	return 0;
}

static int transport_decode(struct decoder *d, json_t *object,
			    struct wire_action *a)
{
	static const char *const words[] = {"udp", "tcp", "tls", NULL};
	static const enum wire_transport values[] = {WIRE_UDP, WIRE_TCP,
						     WIRE_TLS};
	const char *text = NULL;
	size_t k;
	int err = decode_text(d, object, "turn_transport", TEXT_WORD, 8, &text);

	if (err || !text)
		return err;
	if (!decode_word(words, text, &k))
		return decoder_refuse_member(d, "turn_transport",
					     "must be udp, tcp or tls");
	a->turn_transport = values[k];
	return 0;
}

/* Decode the TURN credentials. If the pool has several, the first is used. */
static int credentials_decode(struct decoder *d, json_t *object,
			      struct wire_action *a)
{
	static const char name[] = "turn_credentials";
	json_t *array, *first;
	size_t mark;
	int err = decode_array(d, object, name, 10000, &array);

	first = json_array_get(array, 0);
	if (err || !first)
		return err;
	if (!json_is_object(first))
		return decoder_refuse_member(d, name, "must hold objects");
	mark = decoder_enter(d, "/turn_credentials/0");
	err = decode_text(d, first, "username", TEXT_LINE, SECRET_BYTES_MAX,
			  &a->turn_username);
	if (!err)
		err = decode_text(d, first, "password", TEXT_ANY,
				  SECRET_BYTES_MAX, &a->turn_password);
	if (!err)
		decoder_leave(d, mark);
	return err;
}

/* "host", "host:port", "[2001:db8::1]:port" */
int wire_server_parse(const char *text, char *host, size_t size, uint16_t *port)
{
	const char *end = text[0] == '[' ? strchr(text, ']') : NULL;
	const char *colon = strchr(end ? end : text, ':');
	const char *begin = end ? text + 1 : text;
	uint64_t number = *port;

	if (text[0] == '[' && (!end || (end[1] && end[1] != ':')))
		return -EINVAL;
	/* an IPv6 literal without brackets has no port */
	if (!end && colon && strchr(colon + 1, ':'))
		colon = NULL;
	if (!end)
		end = colon ? colon : text + strlen(text);
	if (end == begin ||
	    (colon && (str_to_u64(colon + 1, UINT16_MAX, &number) || !number)))
		return -EINVAL;
	if (str_print(host, size, "%.*s", (int)(end - begin), begin) < 0)
		return -EINVAL;
	*port = (uint16_t)number;
	return 0;
}

static int server_decode(struct decoder *d, json_t *object, const char *name,
			 const char **ret)
{
	char host[SERVER_BYTES_MAX + 1];
	uint16_t port = 0;
	int err =
		decode_text(d, object, name, TEXT_WORD, SERVER_BYTES_MAX, ret);

	if (!err && *ret && wire_server_parse(*ret, host, sizeof(host), &port))
		err = decoder_refuse_member(
			d, name,
			"must be host, host:port or [2001:db8::1]:port");
	return err;
}

static int path_decode(struct decoder *d, json_t *object, struct wire_action *a)
{
	static const char *const words[] = {"call", "shared", NULL};
	json_t *value = json_object_get(object, "media_path");
	const char *text = json_string_value(value);
	size_t i;

	if (!value || json_is_null(value))
		return 0;
	if (!text || !decode_word(words, text, &i))
		return decoder_refuse_member(d, "media_path",
					     "must be call or shared");
	a->media_shared = i == 1;
	return 0;
}

int wire_nat_decode(struct decoder *d, json_t *object, struct wire_action *a)
{
	int err = mode_decode(d, object, a);

	if (!err)
		err = path_decode(d, object, a);
	if (!err)
		err = decode_bool(d, object, "ice_lite", &a->ice_lite);
	if (!err)
		err = server_decode(d, object, "stun_server", &a->stun_server);
	if (!err)
		err = server_decode(d, object, "turn_server", &a->turn_server);
	if (!err)
		err = transport_decode(d, object, a);
	a->turn_verify = true;
	if (!err)
		err = decode_bool(d, object, "turn_verify", &a->turn_verify);
	if (!err)
		err = credentials_decode(d, object, a);
	if (err)
		return err;
	if (a->nat == WIRE_NAT_STUN && !a->stun_server)
		return decoder_refuse_member(d, "stun_server",
					     "is missing: stun needs a server");
	if (a->nat == WIRE_NAT_TURN && !a->turn_server)
		return decoder_refuse_member(d, "turn_server",
					     "is missing: turn needs a server");
	return 0;
}
