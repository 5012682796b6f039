#include "media/nat/turn_internal.h"

#include "base/str.h"
#include "media/socket.h"

#include <openssl/evp.h>
#include <string.h>

/* Answers that ask for other credentials, in a row (a stale nonce is one) */
#define CHALLENGES_MAX 4
#define UDP            17 /* REQUESTED-TRANSPORT */
#define FAMILY_IPV6    2  /* RFC 8656 18.6; without it: IPv4 */

void turn_request_write(struct turn *t, const struct turn_request *r,
			const struct turn_peer *peer, uint32_t lifetime_s)
{
	bool known = t->realm[0] != '\0';
	bool permits = r->method == STUN_MESSAGE_PERMISSION ||
		       r->method == STUN_MESSAGE_CHANNEL;
	bool allocates = r->method == STUN_MESSAGE_ALLOCATE ||
			 r->method == STUN_MESSAGE_REFRESH;
	struct stun_draft draft = {
		.method = r->method,
		.class = STUN_MESSAGE_REQUEST,
		.id = r->id,
		.key = known ? t->key : NULL,
		.key_bytes = sizeof(t->key),
		.fingerprint = true,
		.username = known ? t->username : NULL,
		.realm = known ? t->realm : NULL,
		.nonce = known ? t->nonce : NULL,
		.peer = permits ? &peer->addr : NULL,
		.channel = r->method == STUN_MESSAGE_CHANNEL ? peer->number : 0,
		.lifetime_s = allocates ? &lifetime_s : NULL,
		.transport = r->method == STUN_MESSAGE_ALLOCATE ? UDP : 0,
		.family = t->params.ipv6 && r->method == STUN_MESSAGE_ALLOCATE
				  ? FAMILY_IPV6
				  : 0,
	};
	uint8_t data[STUN_MESSAGE_BYTES];
	size_t bytes;

	if (stun_message_write(data, &bytes, &draft) == 0)
		t->params.send(data, bytes, t->params.arg);
}

void turn_request_begin(struct turn *t, struct turn_request *r,
			const struct turn_peer *peer,
			enum stun_message_method method)
{
	unsigned challenges = r->challenges;

	*r = (struct turn_request){
		.open = true,
		.method = method,
		.sent = 1,
		.challenges = challenges,
		.next_ns = t->now_ns + TURN_RTO_NS,
	};
	random_bytes(r->id, sizeof(r->id));
	turn_request_write(t, r, peer, t->lifetime_s);
}

bool turn_request_repeat(struct turn *t, struct turn_request *r,
			 const struct turn_peer *peer)
{
	if (!r->open || t->now_ns < r->next_ns)
		return true;
	if (r->sent == TURN_SENDS_MAX) {
		r->open = false;
		return false;
	}
	r->next_ns = t->now_ns + (TURN_RTO_NS << r->sent);
	r->sent++;
	if (!t->params.reliable)
		turn_request_write(t, r, peer, t->lifetime_s);
	return true;
}

/* RFC 8489 9.2.2: MD5(user ":" realm ":" password) */
static bool key_make(struct turn *t)
{
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	unsigned bytes = 0;
	bool good =
		md && EVP_DigestInit_ex(md, EVP_md5(), NULL) == 1 &&
		EVP_DigestUpdate(md, t->username, strlen(t->username)) == 1 &&
		EVP_DigestUpdate(md, ":", 1) == 1 &&
		EVP_DigestUpdate(md, t->realm, strlen(t->realm)) == 1 &&
		EVP_DigestUpdate(md, ":", 1) == 1 &&
		EVP_DigestUpdate(md, t->password, strlen(t->password)) == 1 &&
		EVP_DigestFinal_ex(md, t->key, &bytes) == 1;

	EVP_MD_CTX_free(md);
	return good;
}

bool turn_request_challenged(struct turn *t, struct turn_request *r,
			     const struct turn_peer *peer,
			     const struct stun_message *m)
{
	bool first = t->realm[0] == '\0';

	if (!(m->error == 438 || (m->error == 401 && (first || peer))) ||
	    !m->realm || !m->nonce || !t->username[0] ||
	    ++r->challenges > CHALLENGES_MAX ||
	    str_copy(t->realm, sizeof(t->realm), m->realm) ||
	    str_copy(t->nonce, sizeof(t->nonce), m->nonce) || !key_make(t))
		return false;
	turn_request_begin(t, r, peer, r->method);
	return true;
}
