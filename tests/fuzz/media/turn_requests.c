#include "turn_requests.h"

#include "base/big_endian.h"
#include "base/clock.h"
#include "media/nat/turn.h"
#include "media/nat/turn_frame.h"
#include "media/socket.h"
#include "tests/fuzz/check.h"

#include <stdlib.h>
#include <string.h>

#define LIFETIME_MAX_S 86400

struct request *requests_find(struct requests *all, const uint8_t *id)
{
	for (size_t i = 0; i < all->count; i++) {
		if (memcmp(all->at[i].id, id, STUN_TRANSACTION_BYTES) == 0)
			return &all->at[i];
	}
	return NULL;
}

/* An attribute of a message that we wrote. @return NULL: there is none */
static const uint8_t *attribute(const uint8_t *data, size_t bytes,
				uint16_t type, size_t *ret_bytes)
{
	size_t at = 20, more;

	for (; at + 4 <= bytes; at += 4 + (more + 3) / 4 * 4) {
		more = be16(data + at + 2);
		check(more <= bytes - at - 4);
		*ret_bytes = more;
		if (be16(data + at) == type)
			return data + at + 4;
	}
	check(at == bytes);
	return NULL;
}

/* Does the request have what its method needs (RFC 8656 7, 9, 12)? */
static void check_attributes(struct requests *all, const struct stun_message *m,
			     struct request *r, const uint8_t *data,
			     size_t bytes)
{
	size_t count;
	const uint8_t *number = attribute(data, bytes, 0x000c, &count);
	const uint8_t *peer;

	check(!number == (m->method != STUN_MESSAGE_CHANNEL));
	check(!number || (count == 4 && be16(number) >= TURN_CHANNEL_MIN &&
			  be16(number) < TURN_CHANNEL_MIN + TURN_PEERS_MAX));
	peer = attribute(data, bytes, 0x0012, &count);
	check(!peer == (m->method != STUN_MESSAGE_CHANNEL &&
			m->method != STUN_MESSAGE_PERMISSION));
	if (peer)
		check(turn_frame_addr(&r->peer, peer, count, data));
	check(m->has_lifetime == (m->method == STUN_MESSAGE_ALLOCATE ||
				  m->method == STUN_MESSAGE_REFRESH));
	if (m->has_lifetime)
		check(m->lifetime_s <= LIFETIME_MAX_S &&
		      (m->lifetime_s == 0) == all->ends);
	check(!attribute(data, bytes, 0x0019, &count) ==
	      (m->method != STUN_MESSAGE_ALLOCATE));
	check(!attribute(data, bytes, 0x0017, &count) ==
	      (m->method != STUN_MESSAGE_ALLOCATE || !all->ipv6));
}

/* Room for one more: the oldest one that is over is forgotten. */
static struct request *request_new(struct requests *all)
{
	size_t i = 0;

	if (all->count < REQUESTS_MAX)
		return &all->at[all->count++];
	while (!all->at[i].over)
		check(++i < REQUESTS_MAX);
	memmove(all->at + i, all->at + i + 1,
		(REQUESTS_MAX - 1 - i) * sizeof(all->at[0]));
	return &all->at[REQUESTS_MAX - 1];
}

void requests_note(struct requests *all, const struct stun_message *m,
		   const uint8_t *data, size_t bytes, int64_t now_ns)
{
	struct request *r = requests_find(all, m->id);

	if (!r) {
		r = request_new(all);
		*r = (struct request){
			.method = m->method,
			.over = all->ends,
			.due = 1,
			.due_ns = now_ns + TURN_RTO_NS,
		};
		memcpy(r->id, m->id, sizeof(r->id));
	} else {
		check(!r->over && r->method == m->method);
	}
	r->times++;
	check_attributes(all, m, r, data, bytes);
	for (size_t i = 0; i < all->count; i++)
		check(!all->at[i].refused || r->method != all->at[i].method ||
		      !media_addr_equal(&all->at[i].peer, &r->peer));
}

void requests_check_repeated(struct requests *all, int64_t now_ns)
{
	for (size_t i = 0; i < all->count; i++) {
		struct request *r = &all->at[i];

		if (r->over)
			continue;
		if (now_ns >= r->due_ns && r->due == TURN_SENDS_MAX) {
			r->over = true;
		} else if (now_ns >= r->due_ns) {
			r->due_ns = now_ns + (TURN_RTO_NS << r->due);
			r->due++;
		}
		check(r->times == (all->reliable ? 1 : r->due));
	}
}
