/* Addresses of a stream action: RTP is sent without negotiation. */
#include "control/wire/action_members.h"

#include "base/str.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

/* Parse "192.0.2.1:4000" or "[2001:db8::1]:4000". @return false: neither */
static bool address_parse(const char *text, struct wire_stream *s)
{
	const char *colon = strrchr(text, ':');
	bool brackets = text[0] == '[';
	struct in6_addr unused;
	uint64_t port;
	size_t len;

	if (!colon || str_to_u64(colon + 1, 65534, &port) || port < 1)
		return false;
	len = (size_t)(colon - text);
	if (brackets && (len < 3 || colon[-1] != ']'))
		return false;
	text += brackets;
	len -= brackets ? 2 : 0;
	if (len >= sizeof(s->host))
		return false;
	memcpy(s->host, text, len);
	s->host[len] = '\0';
	s->port = (uint16_t)port;
	return inet_pton(brackets ? AF_INET6 : AF_INET, s->host, &unused) == 1;
}

int wire_stream_decode(struct decoder *d, json_t *object, struct wire_action *a)
{
	int err;

	if (a->type != WIRE_ACTION_STREAM)
		return 0;
	if (!a->dial_destination ||
	    !address_parse(a->dial_destination, &a->stream))
		return decoder_refuse_member(
			d, "dial_destination",
			"must be an address with a port, such as "
			"192.0.2.1:4000 or [2001:db8::1]:4000");
	err = decode_u16(d, object, "local_port", 0, 65534,
			 &a->stream.local_port);
	if (!err && a->stream.local_port & 1)
		err = decoder_refuse_member(
			d, "local_port",
			"must be even, the next one is for RTCP");
	if (!err && a->stream.local_port && a->max_concurrent_calls > 1)
		err = decoder_refuse_member(
			d, "local_port",
			"is one: max_concurrent_calls must be 1");
	if (!err && a->encryption != WIRE_ENCRYPTION_NONE)
		err = decoder_refuse_member(
			d, "media_encryption",
			"keys are agreed on in SIP: a stream has none");
	if (!err && a->nat != WIRE_NAT_NONE)
		err = decoder_refuse_member(
			d, "media_nat",
			"addresses are agreed on in SIP: a stream does not");
	if (!err && a->media_shared)
		err = decoder_refuse_member(
			d, "media_path",
			"a stream has no SDP that announces its SSRC");
	if (!err && a->client_action_count)
		err = decoder_refuse_member(
			d, "sipclient_actions",
			"are those of a call: a stream has no script");
	return err;
}
