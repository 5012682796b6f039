/* The members credentials and target of an action. */
#include "control/wire/action_members.h"

#include <stdio.h>
#include <string.h>

static int credential_decode(struct decoder *d, json_t *object, void *item)
{
	const size_t max = WIRE_NAME_BYTES_MAX;
	struct wire_credential *c = item;
	int err;

	if (!json_is_object(object))
		return decoder_refuse(d, "must be an object");
	err = decode_text(d, object, "username", TEXT_WORD, max, &c->username);
	if (!err)
		err = decode_text(d, object, "auth_username", TEXT_LINE, max,
				  &c->auth_username);
	if (!err)
		err = decode_text(d, object, "password", TEXT_ANY, max,
				  &c->password);
	if (!err)
		err = decode_text(d, object, "domain", TEXT_WORD, max,
				  &c->domain);
	if (!err)
		err = decode_text(d, object, "display_name", TEXT_LINE, max,
				  &c->display_name);
	if (!err)
		err = decode_text(d, object, "extension", TEXT_WORD, max,
				  &c->extension);
	if (err)
		return err;
	if (!c->username)
		return decoder_refuse_member(d, "username", "is missing");
	return 0;
}

int wire_credentials_decode(struct decoder *d, json_t *object, const char *name,
			    const struct wire_credential **ret,
			    size_t *ret_count)
{
	const struct wire_credential *list;
	char place[40];
	json_t *array;
	int err = decode_array(d, object, name, WIRE_CREDENTIALS_MAX, &array);

	if (err || json_array_size(array) == 0)
		return err;
	snprintf(place, sizeof(place), "/%s", name);
	list = decode_items(d, array, place, sizeof(*list), credential_decode,
			    &err);
	if (!list)
		return err;
	*ret = list;
	*ret_count = json_array_size(array);
	return 0;
}

#define CERTIFICATE_NAME_MAX 64

static int transport_decode(struct decoder *d, json_t *object, bool *ret_given,
			    enum wire_transport *ret)
{
	static const char *const words[] = {"udp", "tcp", "tls", NULL};
	static const enum wire_transport values[] = {WIRE_UDP, WIRE_TCP,
						     WIRE_TLS};
	const char *text = NULL;
	size_t i;
	int err = decode_text(d, object, "transport", TEXT_WORD, 8, &text);

	if (err || !text)
		return err;
	if (!decode_word(words, text, &i))
		return decoder_refuse_member(d, "transport",
					     "must be udp, tcp or tls");
	*ret = values[i];
	*ret_given = true;
	return 0;
}

static int host_decode(struct decoder *d, json_t *object, void *item)
{
	struct wire_host *h = item;
	bool given = false;
	uint32_t priority = 0;
	uint32_t weight = 0;
	int err;

	if (!json_is_object(object))
		return decoder_refuse(d, "must be an object");
	err = decode_text(d, object, "host", TEXT_WORD, WIRE_NAME_BYTES_MAX,
			  &h->host);
	if (!err)
		err = decode_u16(d, object, "port", 0, 65535, &h->port);
	if (!err)
		err = transport_decode(d, object, &given, &h->transport);
	if (!err)
		err = decode_u32(d, object, "priority", 0, 65535, &priority);
	if (!err)
		err = decode_u32(d, object, "weight", 0, 65535, &weight);
	if (err)
		return err;
	if (!h->host)
		return decoder_refuse_member(d, "host", "is missing");
	h->priority = priority;
	h->weight = weight;
	return 0;
}

/* Insertion sort: lists are short, and hosts of equal priority keep their
 * order. */
static void hosts_sort(struct wire_host *list, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct wire_host h = list[i];
		size_t k = i;

		for (; k > 0 && list[k - 1].priority > h.priority; k--)
			list[k] = list[k - 1];
		list[k] = h;
	}
}

/* @param transport  for all hosts; NULL: each has its own */
static int hosts_decode(struct decoder *d, json_t *target,
			const enum wire_transport *transport,
			struct wire_action *a)
{
	struct wire_host *list;
	json_t *array;
	size_t count;
	int err;

	err = decode_array(d, target, "hosts", WIRE_HOSTS_MAX, &array);
	count = json_array_size(array);
	if (err || count == 0)
		return err;
	list = decode_items(d, array, "/hosts", sizeof(*list), host_decode,
			    &err);
	if (!list)
		return err;
	for (size_t i = 0; transport && i < count; i++)
		list[i].transport = *transport;
	hosts_sort(list, count);
	a->hosts = list;
	a->host_count = count;
	return 0;
}

/* Forms send an empty text for a field that was left out. */
static bool is_given(json_t *object, const char *name)
{
	json_t *value = json_object_get(object, name);

	return value && (!json_is_string(value) || json_string_length(value));
}

bool wire_certificate_name_valid(const char *name)
{
	size_t len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "abcdefghijklmnopqrstuvwxyz0123456789._-");

	return len > 0 && len <= CERTIFICATE_NAME_MAX && !name[len] &&
	       name[0] != '.';
}

static int tls_decode(struct decoder *d, json_t *target, struct wire_tls *tls)
{
	json_t *object = json_object_get(target, "tls");
	size_t mark;
	int err;

	if (!object || json_is_null(object))
		return 0;
	if (!json_is_object(object))
		return decoder_refuse_member(d, "tls", "must be an object");
	mark = decoder_enter(d, "/tls");
	err = decode_bool(d, object, "verify", &tls->verify);
	if (!err && is_given(object, "server_name"))
		err = decode_text(d, object, "server_name", TEXT_WORD,
				  WIRE_NAME_BYTES_MAX, &tls->server_name);
	if (!err && is_given(object, "ca"))
		err = decode_text(d, object, "ca", TEXT_ANY, WIRE_PEM_BYTES_MAX,
				  &tls->ca);
	if (!err && is_given(object, "certificate"))
		err = decode_text(d, object, "certificate", TEXT_WORD,
				  WIRE_NAME_BYTES_MAX, &tls->certificate);
	if (!err && tls->certificate &&
	    !wire_certificate_name_valid(tls->certificate))
		err = decoder_refuse_member(d, "certificate",
					    "is no name of a certificate");
	if (!err && tls->ca && !strstr(tls->ca, "-----BEGIN CERTIFICATE-----"))
		err = decoder_refuse_member(
			d, "ca", "holds no certificate in PEM format");
	if (!err)
		decoder_leave(d, mark);
	return err;
}

int wire_target_decode(struct decoder *d, json_t *object, struct wire_action *a)
{
	json_t *target = json_object_get(object, "target");
	enum wire_transport transport;
	bool given = false;
	size_t mark;
	int err = transport_decode(d, object, &given, &transport);

	if (err || !target || json_is_null(target))
		return err;
	if (!json_is_object(target))
		return decoder_refuse_member(d, "target", "must be an object");
	mark = decoder_enter(d, "/target");
	/* The action's own transport overrides its target's. */
	err = hosts_decode(d, target, given ? &transport : NULL, a);
	if (!err)
		err = decode_text(d, target, "domain", TEXT_WORD,
				  WIRE_NAME_BYTES_MAX, &a->domain);
	if (!err)
		err = decode_text(d, target, "outbound_proxy", TEXT_LINE,
				  WIRE_NAME_BYTES_MAX, &a->outbound_proxy);
	if (!err)
		err = tls_decode(d, target, &a->tls);
	if (!err)
		decoder_leave(d, mark);
	return err;
}

void wire_target_inherit(struct wire_action *a,
			 const struct wire_action *registered)
{
	if (a->type == WIRE_ACTION_REGISTER || a->type == WIRE_ACTION_ANSWER ||
	    a->host_count || !registered)
		return;
	a->hosts = registered->hosts;
	a->host_count = registered->host_count;
	a->domain = registered->domain;
	a->outbound_proxy = registered->outbound_proxy;
	a->tls = registered->tls;
	a->target_inherited = true;
}
