#include "media/tap/tap_paths.h"

#include "base/big_endian.h"
#include "media/nat/turn_frame.h"
#include "media/socket.h"

#include <string.h>

#define HEADER_BYTES      20 /* RFC 8489 section 5 */
#define ATTRIBUTE_BYTES   4
#define ID_AT             8
#define BINDING_REQUEST   0x0001
#define ALLOCATE_REQUEST  0x0003
#define CHANNEL_REQUEST   0x0009
#define BINDING_SUCCESS   0x0101
#define ALLOCATE_SUCCESS  0x0103
#define ATTR_CHANNEL      0x000c
#define ATTR_XOR_PEER     0x0012
#define ATTR_XOR_RELAYED  0x0016
#define ATTR_XOR_MAPPED   0x0020
#define CHANNEL_BYTES_MIN 2

/* Find the first attribute of a type.
 * @return NULL: there is none, or the capture cut it */
static const uint8_t *attribute(size_t *ret_bytes,
				const struct tap_paths_datagram *d,
				uint16_t type)
{
	size_t end = HEADER_BYTES + (size_t)be16(d->data + 2);
	size_t at = HEADER_BYTES;

	if (end > d->captured)
		end = d->captured;
	while (at + ATTRIBUTE_BYTES <= end) {
		size_t bytes = be16(d->data + at + 2);
		size_t value = at + ATTRIBUTE_BYTES;

		if (value + bytes > end)
			return NULL;
		if (be16(d->data + at) == type) {
			*ret_bytes = bytes;
			return d->data + value;
		}
		at = value + ((bytes + 3) & ~(size_t)3);
	}
	return NULL;
}

static bool addr_find(struct media_addr *ret,
		      const struct tap_paths_datagram *d, uint16_t type)
{
	size_t bytes = 0;
	const uint8_t *value = attribute(&bytes, d, type);

	return value && turn_frame_addr(ret, value, bytes, d->data) &&
	       media_addr_valid(ret);
}

/* ---- the tables ---- */

static void request_add(struct tap_paths *w, const struct tap_paths_datagram *d)
{
	struct tap_paths_request *a = &w->requests[w->request_next];

	w->request_next = (w->request_next + 1) % TAP_PATHS_REQUESTS;
	a->port = d->port;
	memcpy(a->id, d->data + ID_AT, sizeof(a->id));
}

static bool request_match(struct tap_paths *w,
			  const struct tap_paths_datagram *d)
{
	for (size_t i = 0; i < TAP_PATHS_REQUESTS; i++) {
		struct tap_paths_request *a = &w->requests[i];

		if (a->port != d->port ||
		    memcmp(a->id, d->data + ID_AT, sizeof(a->id)) != 0)
			continue;
		a->port = 0;
		return true;
	}
	return false;
}

static void mapping_add(struct tap_paths *w, uint16_t port,
			const struct media_addr *addr)
{
	struct tap_paths_mapping *o = NULL;

	for (size_t i = 0; !o && i < TAP_PATHS_MAPPINGS; i++) {
		if (w->mappings[i].port &&
		    media_addr_equal(&w->mappings[i].addr, addr))
			o = &w->mappings[i];
	}
	if (!o) {
		o = &w->mappings[w->mapping_next];
		w->mapping_next = (w->mapping_next + 1) % TAP_PATHS_MAPPINGS;
	}
	o->port = port;
	o->addr = *addr;
}

static struct tap_paths_channel *channel_find(struct tap_paths *w,
					      uint16_t port, uint16_t number)
{
	for (size_t i = 0; i < TAP_PATHS_CHANNELS; i++) {
		if (w->channels[i].port == port &&
		    w->channels[i].number == number)
			return &w->channels[i];
	}
	return NULL;
}

static void channel_add(struct tap_paths *w, const struct tap_paths_datagram *d)
{
	size_t bytes = 0;
	const uint8_t *number = attribute(&bytes, d, ATTR_CHANNEL);
	struct tap_paths_channel *c;
	struct media_addr peer;

	if (!number || bytes < CHANNEL_BYTES_MIN ||
	    !addr_find(&peer, d, ATTR_XOR_PEER))
		return;
	c = channel_find(w, d->port, be16(number));
	if (!c) {
		c = &w->channels[w->channel_next];
		w->channel_next = (w->channel_next + 1) % TAP_PATHS_CHANNELS;
	}
	c->port = d->port;
	c->number = be16(number);
	c->peer = peer;
}

/* ---- messages ---- */

static void request_take(struct tap_paths *w,
			 const struct tap_paths_datagram *d)
{
	uint16_t type = be16(d->data);

	if (type == BINDING_REQUEST || type == ALLOCATE_REQUEST)
		request_add(w, d);
	else if (type == CHANNEL_REQUEST)
		channel_add(w, d);
}

static bool answer_take(struct tap_paths *w, const struct tap_paths_datagram *d)
{
	uint16_t type = be16(d->data);
	struct media_addr addr;
	bool learned = false;

	if ((type != BINDING_SUCCESS && type != ALLOCATE_SUCCESS) ||
	    !request_match(w, d))
		return false;
	if (addr_find(&addr, d, ATTR_XOR_MAPPED)) {
		mapping_add(w, d->port, &addr);
		learned = true;
	}
	if (type == ALLOCATE_SUCCESS && addr_find(&addr, d, ATTR_XOR_RELAYED)) {
		mapping_add(w, d->port, &addr);
		learned = true;
	}
	return learned;
}

bool tap_paths_take(struct tap_paths *w, struct tap_paths_datagram *d)
{
	struct tap_paths_channel *c = NULL;
	struct turn_frame f;

	if (!d->port || turn_frame_parse(&f, d->data, d->captured, d->bytes))
		return false;
	if (f.kind == TURN_FRAME_CONTROL) {
		if (!d->sent)
			return answer_take(w, d);
		request_take(w, d);
		return false;
	}
	if (f.kind == TURN_FRAME_CHANNEL)
		c = channel_find(w, d->port, f.channel);
	if (c)
		d->peer = c->peer;
	else if (f.kind != TURN_FRAME_CHANNEL)
		d->peer = f.peer;
	d->data += f.offset;
	d->captured -= f.offset < d->captured ? f.offset : d->captured;
	d->bytes = f.bytes;
	if (d->captured > d->bytes)
		d->captured = d->bytes;
	return false;
}

uint16_t tap_paths_port(const struct tap_paths *w,
			const struct media_addr *mapped)
{
	for (size_t i = 0; i < TAP_PATHS_MAPPINGS; i++) {
		if (w->mappings[i].port &&
		    media_addr_equal(&w->mappings[i].addr, mapped))
			return w->mappings[i].port;
	}
	return 0;
}
