#include "sip/message/digest.h"

#include <errno.h>
#include <string.h>

#include "base/random.h"
#include "base/str.h"
#include "sip/message/digest_hash.h"
#include "sip/message/message.h"

/* How often a request is sent again because one realm challenges it: after the first
 * challenge, and again if a further one says that only the nonce is too old
 * (stale=true). */
#define DIGEST_TRIES_MAX  3
#define DIGEST_REALMS_MAX 4 /* bytes of a request's `challenges` */

struct challenge {
	enum sip_hdrid header; /* WWW- or Proxy-Authenticate */
	char *realm;
	char *nonce;
	char *opaque;
	const char *qop; /* "auth", "auth-int"; NULL: none was offered */
	enum digest_algorithm algorithm;
	bool sess;       /* -sess: key of this nonce (RFC 7616 3.4.2) */
	uint64_t cnonce; /* made with the first request of the nonce */
	uint32_t count;  /* requests with this nonce */
};

struct digest {
	char *username;
	char *password; /* may be NULL */
	struct challenge realms[DIGEST_REALMS_MAX];
	size_t realm_count;
};

static void challenge_clear(struct challenge *challenge)
{
	challenge->nonce = mem_deref(challenge->nonce);
	challenge->opaque = mem_deref(challenge->opaque);
}

static void digest_destructor(void *arg)
{
	struct digest *digest = arg;

	for (size_t i = 0; i < digest->realm_count; i++) {
		challenge_clear(&digest->realms[i]);
		mem_deref(digest->realms[i].realm);
	}
	mem_deref(digest->username);
	if (digest->password)
		explicit_bzero(digest->password, strlen(digest->password));
	mem_deref(digest->password);
}

int digest_new(struct digest **ret, const char *username, const char *password)
{
	struct digest *digest = mem_zalloc(sizeof(*digest), digest_destructor);

	if (!digest)
		return -ENOMEM;
	if (str_dup(&digest->username, username) ||
	    (password && str_dup(&digest->password, password))) {
		mem_deref(digest);
		return -ENOMEM;
	}
	*ret = digest;
	return 0;
}

/* The state of reading the challenges of a message. */
struct pick {
	struct digest *digest;
	uint32_t *challenges; /* of the request: how many were answered */
	enum sip_hdrid header;
	bool seen;    /* a challenge that we can answer */
	bool unknown; /* one that we cannot */
	int err;
};

/* Choose the qop: auth before auth-int. @return NULL: neither is offered */
static const char *qop_choose(const struct pl *qop)
{
	struct pl rest = *qop;
	const char *found = NULL;
	struct pl word;

	while (!re_regex(rest.p, rest.l, "[^, \t]+", &word)) {
		if (!pl_strcasecmp(&word, "auth"))
			return "auth";
		if (!pl_strcasecmp(&word, "auth-int"))
			found = "auth-int";
		pl_advance(&rest, (ssize_t)(word.p + word.l - rest.p));
	}
	return found;
}

struct algorithm {
	enum digest_algorithm is;
	bool sess;
};

static int algorithm_read(struct algorithm *ret, const struct pl *name)
{
	static const struct {
		const char *name;
		struct algorithm is;
	} known[] = {
		{"MD5", {DIGEST_MD5, false}},
		{"MD5-sess", {DIGEST_MD5, true}},
		{"SHA-256", {DIGEST_SHA256, false}},
		{"SHA-256-sess", {DIGEST_SHA256, true}},
		{"SHA-512-256", {DIGEST_SHA512_256, false}},
		{"SHA-512-256-sess", {DIGEST_SHA512_256, true}},
	};

	*ret = known[0].is; /* when none is named */
	for (size_t i = 0; pl_isset(name); i++) {
		if (i == sizeof(known) / sizeof(known[0]))
			return -EPROTONOSUPPORT;
		if (pl_strcasecmp(name, known[i].name))
			continue;
		*ret = known[i].is;
		break;
	}
	return 0;
}

static struct challenge *challenge_find(struct digest *digest,
					enum sip_hdrid header,
					const struct pl *realm)
{
	for (size_t i = 0; i < digest->realm_count; i++) {
		if (digest->realms[i].header == header &&
		    !pl_strcmp(realm, digest->realms[i].realm))
			return &digest->realms[i];
	}
	return NULL;
}

static int challenge_set(struct challenge *c,
			 const struct httpauth_digest_chall *chall,
			 const struct algorithm *algorithm)
{
	challenge_clear(c);
	c->algorithm = algorithm->is;
	c->sess = algorithm->sess;
	c->qop = qop_choose(&chall->qop);
	c->cnonce = random_u64();
	c->count = 0;
	if (pl_strdup(&c->nonce, &chall->nonce))
		return -ENOMEM;
	if (pl_isset(&chall->opaque) && pl_strdup(&c->opaque, &chall->opaque))
		return -ENOMEM;
	return 0;
}

/* Count the answer to a challenge. @return 0; -EACCES: its credentials were refused */
static int answer_count(uint32_t *challenges, size_t realm, bool stale)
{
	unsigned shift = (unsigned)realm * 8;
	uint32_t count = (*challenges >> shift) & 0xff;

	if ((count > 0 && !stale) || count >= DIGEST_TRIES_MAX)
		return -EACCES;
	*challenges += (uint32_t)1 << shift;
	return 0;
}

static int challenge_take(struct pick *pick,
			  const struct httpauth_digest_chall *chall,
			  const struct algorithm *algorithm)
{
	struct digest *digest = pick->digest;
	struct challenge *c =
		challenge_find(digest, pick->header, &chall->realm);
	bool stale = !pl_strcasecmp(&chall->stale, "true");
	int err;

	if (!c) {
		if (digest->realm_count == DIGEST_REALMS_MAX)
			return -EACCES;
		c = &digest->realms[digest->realm_count];
		memset(c, 0, sizeof(*c));
		c->header = pick->header;
		if (pl_strdup(&c->realm, &chall->realm))
			return -ENOMEM;
		digest->realm_count++;
	} else if (c->nonce && c->count == 0) {
		/* A message may repeat its challenge with several algorithms
	 * (RFC 8760 2.4): keep the strongest one. */
		return algorithm->is > c->algorithm
			       ? challenge_set(c, chall, algorithm)
			       : 0;
	}
	err = answer_count(pick->challenges, (size_t)(c - digest->realms),
			   stale);
	return err ? err : challenge_set(c, chall, algorithm);
}

static bool challenge_handler(const struct sip_hdr *hdr,
			      const struct sip_msg *msg, void *arg)
{
	struct httpauth_digest_chall chall;
	struct algorithm algorithm;
	struct pick *pick = arg;
	(void)msg;

	if (httpauth_digest_challenge_decode(&chall, &hdr->val)) {
		pick->unknown = true;
		return false;
	}
	if (algorithm_read(&algorithm, &chall.algorithm) ||
	    (pl_isset(&chall.qop) && !qop_choose(&chall.qop))) {
		pick->unknown = true;
		return false;
	}
	pick->seen = true;
	pick->err = challenge_take(pick, &chall, &algorithm);
	return pick->err != 0;
}

bool digest_asked(const struct sip_msg *msg)
{
	return msg->scode == 401 || msg->scode == 407;
}

int digest_challenge(struct digest *digest, uint32_t *challenges,
		     const struct sip_msg *msg)
{
	struct pick pick = {
		.digest = digest,
		.challenges = challenges,
		.header = msg->scode == 407 ? SIP_HDR_PROXY_AUTHENTICATE
					    : SIP_HDR_WWW_AUTHENTICATE,
	};

	if (!digest->password)
		return -ENOKEY;
	sip_msg_hdr_apply(msg, true, pick.header, challenge_handler, &pick);
	if (pick.err)
		return pick.err;
	if (pick.seen)
		return 0;
	return pick.unknown ? -EPROTONOSUPPORT : -EBADMSG;
}

/* quoted-string (RFC 3261 25.1) */
static int quoted_write(struct mbuf *mb, const char *text)
{
	int err = mbuf_write_u8(mb, '"');

	for (; *text && !err; text++) {
		if (*text == '"' || *text == '\\')
			err = mbuf_write_u8(mb, '\\');
		if (!err)
			err = mbuf_write_u8(mb, (uint8_t)*text);
	}
	return err ? err : mbuf_write_u8(mb, '"');
}

static int response_make(char response[static DIGEST_HEX_BYTES],
			 const struct digest *digest, const struct challenge *c,
			 const struct digest_request_params *request)
{
	char nc[9], cnonce[17];
	const struct digest_input input = {
		.algorithm = c->algorithm,
		.sess = c->sess,
		.username = digest->username,
		.realm = c->realm,
		.password = digest->password,
		.nonce = c->nonce,
		.qop = c->qop,
		.nc = nc,
		.cnonce = cnonce,
		.request = request,
	};

	(void)re_snprintf(nc, sizeof(nc), "%08x", c->count);
	(void)re_snprintf(cnonce, sizeof(cnonce), "%016llx", c->cnonce);
	return digest_response(response, &input);
}

static int credentials_write(struct mbuf *mb, const struct digest *digest,
			     struct challenge *c,
			     const struct digest_request_params *request)
{
	char response[DIGEST_HEX_BYTES];
	int err;

	c->count++;
	err = response_make(response, digest, c, request);
	if (err)
		return err;
	err = mbuf_printf(mb, "%s: Digest username=",
			  c->header == SIP_HDR_PROXY_AUTHENTICATE
				  ? "Proxy-Authorization"
				  : "Authorization");
	err |= quoted_write(mb, digest->username);
	err |= mbuf_printf(mb,
			   ", realm=\"%s\", nonce=\"%s\", uri=\"%s\""
			   ", response=\"%s\", algorithm=%s%s",
			   c->realm, c->nonce, request->uri, response,
			   digest_algorithm_name(c->algorithm),
			   c->sess ? "-sess" : "");
	if (c->opaque)
		err |= mbuf_printf(mb, ", opaque=\"%s\"", c->opaque);
	if (c->qop)
		err |= mbuf_printf(mb, ", qop=%s, nc=%08x", c->qop, c->count);
	if (c->qop || c->sess)
		err |= mbuf_printf(mb, ", cnonce=\"%016llx\"", c->cnonce);
	err |= mbuf_write_str(mb, "\r\n");
	return err ? -ENOMEM : 0;
}

int digest_write(struct mbuf *mb, struct digest *digest,
		 const struct digest_request_params *request)
{
	int err = 0;

	for (size_t i = 0; i < digest->realm_count && !err; i++) {
		if (digest->realms[i].nonce)
			err = credentials_write(mb, digest, &digest->realms[i],
						request);
	}
	return err;
}

void digest_reason(char *dst, size_t size, int err, const struct sip_msg *msg)
{
	char phrase[64];
	const char *why;

	msg_line(phrase, sizeof(phrase), msg);
	switch (err) {
	case -EACCES:
		why = " after credentials were sent";
		break;
	case -ENOKEY:
		why = ", and there is no password to answer with";
		break;
	case -EPROTONOSUPPORT:
		why = " with no digest algorithm that is supported";
		break;
	case -EBADMSG:
		why = " without a challenge that can be read";
		break;
	default:
		why = "";
		break;
	}
	str_print(dst, size, "%s%s", phrase, why);
}
