#include "media/nat/turn_internal.h"

#include "base/clock.h"
#include "base/str.h"
#include "media/nat/turn_frame.h"
#include "media/socket.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a server grants beyond that is asked for again all the same. */
#define LIFETIME_MAX_S 86400

int turn_new(struct turn **ret, const struct turn_params *params)
{
	struct turn *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->params = *params;
	t->params.username = NULL;
	t->params.password = NULL;
	if (str_copy(t->username, sizeof(t->username),
		     params->username ? params->username : "") ||
	    str_copy(t->password, sizeof(t->password),
		     params->password ? params->password : "")) {
		turn_free(t);
		return -EINVAL;
	}
	t->lifetime_s = TURN_LIFETIME_S;
	t->channel_next = TURN_CHANNEL_MIN;
	*ret = t;
	return 0;
}

struct turn *turn_free(struct turn *t)
{
	if (t)
		explicit_bzero(t, sizeof(*t));
	free(t);
	return NULL;
}

enum turn_state turn_state(const struct turn *t)
{
	return t->state;
}

const char *turn_reason(const struct turn *t)
{
	return t->reason;
}

const struct media_addr *turn_mapped(const struct turn *t)
{
	return &t->mapped;
}

const struct media_addr *turn_relayed(const struct turn *t)
{
	return &t->relayed;
}

unsigned turn_version(const struct turn *t)
{
	return t->version;
}

static const char *server(const struct turn *t)
{
	return t->params.stun ? "STUN" : "TURN";
}

__attribute__((format(printf, 2, 3))) static void fail(struct turn *t,
						       const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(t->reason, sizeof(t->reason), fmt, args);
	va_end(args);
	/* a server may say anything */
	for (char *p = t->reason; *p; p++) {
		if (*p < ' ' || *p > '~')
			*p = '?';
	}
	t->state = TURN_FAILED;
	t->version++;
}

/* ---- requests ---- */

static void peer_request(struct turn *t, struct turn_peer *peer)
{
	peer->request.challenges = 0;
	turn_request_begin(t, &peer->request, peer,
			   peer->number ? STUN_MESSAGE_CHANNEL
					: STUN_MESSAGE_PERMISSION);
}

static void own_request(struct turn *t)
{
	t->request.challenges = 0;
	turn_request_begin(t, &t->request, NULL,
			   t->params.stun           ? STUN_MESSAGE_BINDING
			   : t->state == TURN_READY ? STUN_MESSAGE_REFRESH
						    : STUN_MESSAGE_ALLOCATE);
}

static void peers_tick(struct turn *t)
{
	for (size_t i = 0; i < t->peer_count; i++) {
		struct turn_peer *p = &t->peers[i];

		if (p->refused)
			continue;
		if (!p->request.open && t->now_ns >= p->renew_ns)
			peer_request(t, p);
		else if (!turn_request_repeat(t, &p->request, p))
			p->renew_ns = t->now_ns + NS_PER_S;
	}
}

/* What was lent lasts on for a while: the server may be back by then. */
static void own_unanswered(struct turn *t)
{
	if (t->state == TURN_READY && t->now_ns < t->until_ns)
		t->renew_ns = t->now_ns + NS_PER_S;
	else
		fail(t, "the %s server does not answer", server(t));
}

void turn_tick(struct turn *t, int64_t now_ns)
{
	t->now_ns = now_ns;
	if (t->state == TURN_FAILED)
		return;
	if (!t->request.open && now_ns >= t->renew_ns)
		own_request(t);
	else if (!turn_request_repeat(t, &t->request, NULL))
		own_unanswered(t);
	if (t->state == TURN_READY)
		peers_tick(t);
}

/* ---- answers ---- */

static void own_answer(struct turn *t, const struct stun_message *m)
{
	bool ready = t->state == TURN_READY;

	if (m->class == STUN_MESSAGE_ERROR) {
		if (!turn_request_challenged(t, &t->request, NULL, m))
			fail(t, "the %s server says %u %s", server(t), m->error,
			     m->reason ? m->reason : "");
		return;
	}
	t->request.open = false;
	if (!t->params.stun && m->has_lifetime && m->lifetime_s == 0) {
		fail(t, "the TURN server lends an address for 0 s");
		return;
	}
	if (m->has_lifetime)
		t->lifetime_s = m->lifetime_s < LIFETIME_MAX_S ? m->lifetime_s
							       : LIFETIME_MAX_S;
	t->until_ns = t->now_ns + t->lifetime_s * NS_PER_S;
	t->renew_ns = t->params.stun
			      ? INT64_MAX
			      : t->now_ns + t->lifetime_s * NS_PER_S * 3 / 4;
	if (ready)
		return;
	if (m->mapped.len == 0 || (!t->params.stun && m->relayed.len == 0)) {
		fail(t, "the %s server names no address", server(t));
		return;
	}
	t->mapped = m->mapped;
	t->relayed = m->relayed;
	t->state = TURN_READY;
	t->version++;
}

static void peer_answer(struct turn *t, struct turn_peer *p,
			const struct stun_message *m)
{
	if (m->class == STUN_MESSAGE_ERROR) {
		if (turn_request_challenged(t, &p->request, p, m))
			return;
		p->request.open = false;
		p->refused = true;
		if (p->number)
			fail(t,
			     "the TURN server binds no channel to the peer: "
			     "%u %s",
			     m->error, m->reason ? m->reason : "");
		return;
	}
	p->request.open = false;
	p->renew_ns = t->now_ns + TURN_PERMISSION_NS;
	if (p->good)
		return;
	p->good = true;
	t->version++;
}

static bool is_of(const struct turn_request *r, const struct stun_message *m)
{
	return r->open && r->method == m->method &&
	       memcmp(r->id, m->id, sizeof(m->id)) == 0;
}

static void answer_take(struct turn *t, const struct stun_message *m)
{
	if (m->class == STUN_MESSAGE_SUCCESS && t->realm[0] &&
	    !stun_message_verify(m, t->key, sizeof(t->key)))
		return;
	if (is_of(&t->request, m)) {
		own_answer(t, m);
		return;
	}
	for (size_t i = 0; i < t->peer_count; i++) {
		if (is_of(&t->peers[i].request, m)) {
			peer_answer(t, &t->peers[i], m);
			return;
		}
	}
}

void turn_input(struct turn *t, const uint8_t *data, size_t bytes,
		int64_t now_ns)
{
	struct stun_message m;

	t->now_ns = now_ns;
	if (t->state == TURN_FAILED || stun_message_open(&m, data, bytes))
		return;
	if (m.class == STUN_MESSAGE_SUCCESS || m.class == STUN_MESSAGE_ERROR)
		answer_take(t, &m);
	stun_message_close(&m);
}

/* ---- peers ---- */

/* A permission is for an address, whatever its port (RFC 8656 9). */
static bool permits(const struct turn_peer *p, const struct media_addr *peer)
{
	struct media_addr at = *peer;

	if (p->addr.ss.ss_family != peer->ss.ss_family)
		return false;
	media_addr_set_port(&at, media_addr_port(&p->addr));
	return media_addr_equal(&p->addr, &at);
}

static int peer_add(struct turn *t, const struct media_addr *peer,
		    uint16_t number)
{
	if (!media_addr_valid(peer) || t->params.stun)
		return -EINVAL;
	if (t->peer_count == TURN_PEERS_MAX)
		return -ENOSPC;
	/* another family than the relay's would be refused */
	if (t->relayed.len > 0 && t->relayed.ss.ss_family != peer->ss.ss_family)
		return -EINVAL;
	t->peers[t->peer_count++] =
		(struct turn_peer){.addr = *peer, .number = number};
	return 0;
}

int turn_permit(struct turn *t, const struct media_addr *peer)
{
	for (size_t i = 0; i < t->peer_count; i++) {
		if (permits(&t->peers[i], peer))
			return 0;
	}
	return peer_add(t, peer, 0);
}

int turn_bind(struct turn *t, const struct media_addr *peer)
{
	int err;

	for (size_t i = 0; i < t->peer_count; i++) {
		if (t->peers[i].number &&
		    media_addr_equal(&t->peers[i].addr, peer))
			return 0;
	}
	err = peer_add(t, peer, t->channel_next);
	if (err)
		return err;
	t->channel_next++;
	/* the server may send in it before its answer is read: who reads is to
	 * know of it before the request leaves */
	t->version++;
	return 0;
}

uint16_t turn_channel(const struct turn *t, const struct media_addr *peer)
{
	for (size_t i = 0; i < t->peer_count; i++) {
		const struct turn_peer *p = &t->peers[i];

		if (p->number && p->good && media_addr_equal(&p->addr, peer))
			return p->number;
	}
	return 0;
}

uint16_t turn_channel_at(const struct turn *t, size_t n,
			 struct media_addr *ret_peer)
{
	for (size_t i = 0; i < t->peer_count; i++) {
		const struct turn_peer *p = &t->peers[i];

		if (!p->number || n-- > 0)
			continue;
		*ret_peer = p->addr;
		return p->number;
	}
	return 0;
}

void turn_lost(struct turn *t, const char *reason)
{
	if (t->state != TURN_FAILED)
		fail(t, "%s", reason);
}

void turn_end(struct turn *t)
{
	struct turn_request r = {.method = STUN_MESSAGE_REFRESH};

	if (t->params.stun || t->state != TURN_READY)
		return;
	random_bytes(r.id, sizeof(r.id));
	turn_request_write(t, &r, NULL, 0);
}
