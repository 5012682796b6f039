#include "media/nat/stun_message.h"

#include <errno.h>
#include <re.h>
#include <string.h>

static struct media_addr addr_of(const struct sa *sa)
{
	struct media_addr a;

	memset(&a, 0, sizeof(a));
	if (sa->len <= sizeof(a.ss)) {
		memcpy(&a.ss, &sa->u, sa->len);
		a.len = sa->len;
	}
	return a;
}

static bool sa_of(struct sa *ret, const struct media_addr *a)
{
	return a && sa_set_sa(ret, (const struct sockaddr *)&a->ss) == 0;
}

static struct stun_attr *attr(const struct stun_message *m, uint16_t type)
{
	return stun_msg_attr(m->msg, type);
}

static const char *text(const struct stun_message *m, uint16_t type)
{
	const struct stun_attr *a = attr(m, type);

	return a && strlen(a->v.str) < STUN_TEXT_BYTES ? a->v.str : NULL;
}

static void numbers_read(struct stun_message *m)
{
	const struct stun_attr *a = attr(m, STUN_ATTR_PRIORITY);

	m->has_priority = a != NULL;
	m->priority = a ? a->v.priority : 0;
	a = attr(m, STUN_ATTR_LIFETIME);
	m->has_lifetime = a != NULL;
	m->lifetime_s = a ? a->v.lifetime : 0;
	m->use_candidate = attr(m, STUN_ATTR_USE_CAND) != NULL;
	a = attr(m, STUN_ATTR_CONTROLLED);
	m->controlled = a != NULL;
	m->tie_breaker = a ? a->v.controlled : 0;
	a = attr(m, STUN_ATTR_CONTROLLING);
	m->controlling = a != NULL;
	m->tie_breaker = a ? a->v.controlling : m->tie_breaker;
	a = attr(m, STUN_ATTR_ERR_CODE);
	if (a) {
		m->error = a->v.err_code.code;
		m->reason = a->v.err_code.reason;
	}
}

int stun_message_open(struct stun_message *ret, const uint8_t *data,
		      size_t bytes)
{
	struct stun_message m = {.reason = ""};
	struct mbuf *mb = mbuf_alloc(bytes);
	struct stun_unknown_attr unknown;
	const struct stun_attr *a;
	int err;

	if (!mb)
		return -ENOMEM;
	err = mbuf_write_mem(mb, data, bytes);
	mb->pos = 0;
	if (!err)
		err = stun_msg_decode(&m.msg, mb, &unknown);
	mem_deref(mb); /* the message holds its own reference */
	if (err)
		return err == ENOMEM ? -ENOMEM : -EBADMSG;
	m.method = stun_msg_method(m.msg);
	m.class = (enum stun_message_class)stun_msg_class(m.msg);
	memcpy(m.id, stun_msg_tid(m.msg), sizeof(m.id));
	m.unknown = unknown.typec > 0;
	numbers_read(&m);
	m.username = text(&m, STUN_ATTR_USERNAME);
	m.realm = text(&m, STUN_ATTR_REALM);
	m.nonce = text(&m, STUN_ATTR_NONCE);
	a = attr(&m, STUN_ATTR_XOR_MAPPED_ADDR);
	if (a)
		m.mapped = addr_of(&a->v.xor_mapped_addr);
	a = attr(&m, STUN_ATTR_XOR_RELAY_ADDR);
	if (a)
		m.relayed = addr_of(&a->v.xor_relay_addr);
	*ret = m;
	return 0;
}

void stun_message_close(struct stun_message *m)
{
	m->msg = mem_deref(m->msg);
}

bool stun_message_fingerprint(const struct stun_message *m)
{
	return stun_msg_chk_fingerprint(m->msg) == 0;
}

bool stun_message_verify(const struct stun_message *m, const void *key,
			 size_t key_bytes)
{
	return stun_msg_chk_mi(m->msg, key, key_bytes) == 0;
}

int stun_message_write(uint8_t dst[static STUN_MESSAGE_BYTES], size_t *ret,
		       const struct stun_draft *d)
{
	struct stun_errcode error = {.code = (uint16_t)d->error};
	struct sa mapped, relayed, peer;
	bool has_mapped = sa_of(&mapped, d->mapped);
	bool has_relayed = sa_of(&relayed, d->relayed);
	bool has_peer = sa_of(&peer, d->peer);
	struct mbuf *mb = mbuf_alloc(STUN_MESSAGE_BYTES);
	char reason[64] = "";
	int err;

	if (!mb)
		return -ENOMEM;
	if (d->reason)
		(void)str_ncpy(reason, d->reason, sizeof(reason));
	error.reason = reason;
	err = stun_msg_encode(
		mb, (uint16_t)d->method, (uint8_t)d->class, d->id,
		d->error ? &error : NULL, d->key, d->key_bytes, d->fingerprint,
		0x00, 14, STUN_ATTR_USERNAME, d->username, STUN_ATTR_REALM,
		d->realm, STUN_ATTR_NONCE, d->nonce, STUN_ATTR_PRIORITY,
		d->priority, STUN_ATTR_CONTROLLING, d->controlling,
		STUN_ATTR_CONTROLLED, d->controlled, STUN_ATTR_USE_CAND,
		d->use_candidate ? &d->use_candidate : NULL,
		STUN_ATTR_XOR_MAPPED_ADDR, has_mapped ? &mapped : NULL,
		STUN_ATTR_XOR_RELAY_ADDR, has_relayed ? &relayed : NULL,
		STUN_ATTR_XOR_PEER_ADDR, has_peer ? &peer : NULL,
		STUN_ATTR_LIFETIME, d->lifetime_s, STUN_ATTR_CHANNEL_NUMBER,
		d->channel ? &d->channel : NULL, STUN_ATTR_REQ_TRANSPORT,
		d->transport ? &d->transport : NULL, STUN_ATTR_REQ_ADDR_FAMILY,
		d->family ? &d->family : NULL);
	if (!err && mb->end > STUN_MESSAGE_BYTES)
		err = EMSGSIZE;
	if (!err) {
		memcpy(dst, mb->buf, mb->end);
		*ret = mb->end;
	}
	mem_deref(mb);
	return -err;
}
