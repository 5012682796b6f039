#include "media/nat/turn.h"

#include "base/clock.h"
#include "base/str.h"
#include "media/nat/stun_message.h"
#include "media/nat/turn_frame.h"
#include "media/socket.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longest lifetime of an allocation that is believed */
#define LIFETIME_MAX_S 86400
/* Most 401 and 438 responses in a row that are answered */
#define CHALLENGES_MAX 4
#define UDP            17 /* REQUESTED-TRANSPORT */
#define FAMILY_IPV6    2  /* REQUESTED-ADDRESS-FAMILY (RFC 8656 section 18.6) */

/* A request has at most so many bytes beside its user name, realm and nonce: header, their
 * headers and padding, XOR-PEER-ADDRESS, MESSAGE-INTEGRITY, and five numbers */
#define OTHER_BYTES (20 + 3 * (4 + 3) + 24 + 24 + 5 * 8)

#define TURN_KEY_BYTES 16 /* MD5: RFC 8489 9.2.2 */

/* A transaction with the server. */
struct turn_request {
	bool open; /* no response yet */
	enum stun_message_method method;
	uint8_t id[STUN_TRANSACTION_BYTES];
	unsigned sent;       /* number of times */
	unsigned challenges; /* 401 and 438 responses */
	int64_t next_ns;     /* when to repeat it or to give up */
};

struct turn_peer {
	struct media_addr addr;
	uint16_t number; /* of the channel; 0: only a permission */
	bool good;       /* the server has confirmed it */
	bool refused;    /* the server has refused it: not asked again */
	int64_t renew_ns;
	struct turn_request request;
};

struct turn {
	struct turn_params params;
	char username[TURN_USER_BYTES];
	char password[TURN_USER_BYTES];
	enum turn_state state;
	char reason[TURN_REASON_BYTES];
	unsigned version;
	struct media_addr mapped;
	struct media_addr relayed;
	char realm[STUN_TEXT_BYTES]; /* "": the server has not challenged us */
	char nonce[STUN_TEXT_BYTES];
	uint8_t key[TURN_KEY_BYTES];
	uint32_t lifetime_s;
	int64_t now_ns;
	int64_t renew_ns;            /* when to refresh the allocation */
	int64_t until_ns;            /* when the allocation expires */
	struct turn_request request; /* Allocate, Refresh, Binding */
	struct turn_peer peers[TURN_PEERS_MAX];
	size_t peer_count;
	uint16_t channel_next;
};

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
	/* the reason phrase of a server may hold any byte */
	for (char *p = t->reason; *p; p++) {
		if (*p < ' ' || *p > '~')
			*p = '?';
	}
	t->state = TURN_FAILED;
	t->version++;
}

/* ---- requests ---- */

/* Send a request once.
 * @param peer        for a permission or a channel; NULL: for the allocation
 * @param lifetime_s  LIFETIME of an Allocate or Refresh */
static void request_write(struct turn *t, const struct turn_request *r,
			  const struct turn_peer *peer, uint32_t lifetime_s)
{
	bool known = t->realm[0] != '\0';
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
		.peer = peer ? &peer->addr : NULL,
		.channel = peer && r->method == STUN_MESSAGE_CHANNEL
				   ? peer->number
				   : 0,
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

/* Send it as a new transaction. */
static void request_begin(struct turn *t, struct turn_request *r,
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
	request_write(t, r, peer, t->lifetime_s);
}

/* Repeat it if that is due (RFC 8489 section 6.2.1). @return false: give up */
static bool request_repeat(struct turn *t, struct turn_request *r,
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
		request_write(t, r, peer, t->lifetime_s);
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

/* Can any request be written with these? */
static bool texts_fit(const struct turn *t, const char *realm,
		      const char *nonce)
{
	return strlen(t->username) + strlen(realm) + strlen(nonce) <=
	       STUN_MESSAGE_BYTES - OTHER_BYTES;
}

/* Send a request again with the realm and nonce of a 401 or 438 (RFC 8489 section 9.2.5),
 * or fail if they are too long.
 * @param m  an error response
 * @return false: it is another error, or there were CHALLENGES_MAX of them */
static bool request_challenged(struct turn *t, struct turn_request *r,
			       const struct turn_peer *peer,
			       const struct stun_message *m)
{
	bool first = t->realm[0] == '\0';

	if (!(m->error == 438 || (m->error == 401 && (first || peer))) ||
	    !m->realm || !m->nonce || !t->username[0] ||
	    ++r->challenges > CHALLENGES_MAX)
		return false;
	if (!texts_fit(t, m->realm, m->nonce)) {
		fail(t, "the realm and nonce of the TURN server are too long");
		return true;
	}
	if (str_copy(t->realm, sizeof(t->realm), m->realm) ||
	    str_copy(t->nonce, sizeof(t->nonce), m->nonce) || !key_make(t))
		return false;
	request_begin(t, r, peer, r->method);
	return true;
}

static void peer_request(struct turn *t, struct turn_peer *peer)
{
	peer->request.challenges = 0;
	request_begin(t, &peer->request, peer,
		      peer->number ? STUN_MESSAGE_CHANNEL
				   : STUN_MESSAGE_PERMISSION);
}

static void own_request(struct turn *t)
{
	t->request.challenges = 0;
	request_begin(t, &t->request, NULL,
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
		else if (!request_repeat(t, &p->request, p))
			p->renew_ns = t->now_ns + NS_PER_S;
	}
}

/* A failed Refresh is tried again until the allocation expires. */
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
	else if (!request_repeat(t, &t->request, NULL))
		own_unanswered(t);
	if (t->state == TURN_READY)
		peers_tick(t);
}

/* ---- answers ---- */

static void own_answer(struct turn *t, const struct stun_message *m)
{
	bool ready = t->state == TURN_READY;

	if (m->class == STUN_MESSAGE_ERROR) {
		if (!request_challenged(t, &t->request, NULL, m))
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
		if (request_challenged(t, &p->request, p, m))
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

/* A permission holds for all ports of an address (RFC 8656 section 9). */
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
	/* the server refuses peers of another address family than the relay's */
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

/* The channel is in use again: put it after all others. */
static void channel_renew(struct turn *t, size_t at)
{
	struct turn_peer p = t->peers[at];
	size_t last = at;

	for (size_t i = at + 1; i < t->peer_count; i++) {
		if (t->peers[i].number)
			last = i;
	}
	if (last == at)
		return;
	memmove(t->peers + at, t->peers + at + 1,
		(last - at) * sizeof(t->peers[0]));
	t->peers[last] = p;
	t->version++;
}

int turn_bind(struct turn *t, const struct media_addr *peer)
{
	int err;

	for (size_t i = 0; i < t->peer_count; i++) {
		if (t->peers[i].number &&
		    media_addr_equal(&t->peers[i].addr, peer)) {
			channel_renew(t, i);
			return 0;
		}
	}
	err = peer_add(t, peer, t->channel_next);
	if (err)
		return err;
	t->channel_next++;
	/* The server may use the channel before we have read its response, so the RX
	 * thread must know the channel before the request is sent. */
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
	request_write(t, &r, NULL, 0);
}
