#include "sip/digest_server.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "sip/dialog/originator.h"
#include "sip/message/digest.h"
#include "sip/message/digest_hash.h"
#include "sip/message/headers.h"
#include "sip/message/text.h"
#include "sip/transaction/server_transaction.h"
#include "sip/transport/transport.h"
#include "sip/ua/account_internal.h"
#include "sip/ua/digest_server_internal.h"
#include "sip/ua/ua_internal.h"

/* Nonces that are kept; a new one replaces the oldest. A nonce begins with
 * its index in hex. */
#define NONCES_MAX   4096
#define PLACE_DIGITS 4
#define NONCE_LIFE_S 300
#define NONCE_BYTES  (PLACE_DIGITS + 33)
#define NAME_BYTES   256

struct nonce {
	char text[NONCE_BYTES]; /* "": free */
	int64_t issued_ns;
	uint32_t count; /* nc of the last request */
	uint32_t uses;
};

struct sip_digest_server {
	struct sip_digest_server_params p; /* its texts are copies */
	struct sip_user *users;
	struct nonce nonces[NONCES_MAX];
	size_t next;
};

static void verifier_destructor(void *arg)
{
	struct sip_digest_server *v = arg;

	for (size_t i = 0; v->users && i < v->p.user_count; i++) {
		char *password = (char *)(uintptr_t)v->users[i].password;

		if (password)
			explicit_bzero(password, strlen(password));
		mem_deref(password);
		mem_deref((void *)(uintptr_t)v->users[i].username);
	}
	mem_deref(v->users);
	mem_deref((void *)(uintptr_t)v->p.realm);
}

static int users_copy(struct sip_digest_server *v, const struct sip_user *users)
{
	v->users = mem_zalloc(v->p.user_count * sizeof(*users), NULL);
	if (!v->users)
		return -ENOMEM;
	for (size_t i = 0; i < v->p.user_count; i++) {
		const char *password =
			users[i].password ? users[i].password : "";
		char *copy;

		if (str_dup(&copy, users[i].username))
			return -ENOMEM;
		v->users[i].username = copy;
		if (str_dup(&copy, password))
			return -ENOMEM;
		v->users[i].password = copy;
	}
	return 0;
}

int sip_digest_server_new(struct sip_digest_server **ret,
			  const struct sip_digest_server_params *p)
{
	struct sip_digest_server *v;
	char *realm = NULL;
	int err = 0;

	if ((p->code != 401 && p->code != 407) || p->user_count == 0 ||
	    p->user_count > SIP_USERS_MAX ||
	    (p->realm &&
	     (!header_text_valid(p->realm) || strpbrk(p->realm, "\"\\"))))
		return -EINVAL;
	v = mem_zalloc(sizeof(*v), verifier_destructor);
	if (!v)
		return -ENOMEM;
	v->p = *p;
	v->p.users = NULL;
	v->p.realm = NULL;
	if (p->realm)
		err = text_print(&realm, "%s", p->realm);
	v->p.realm = realm;
	if (!err)
		err = users_copy(v, p->users);
	if (err) {
		mem_deref(v);
		return err;
	}
	*ret = v;
	return 0;
}

struct sip_digest_server *sip_digest_server_free(
	struct sip_digest_server *verifier)
{
	return mem_deref(verifier);
}

int sip_account_verify(struct sip_account *account,
		       struct sip_digest_server *verifier)
{
	if (!account_is_native(account))
		return verifier ? -EOPNOTSUPP : 0;
	mem_deref(account->verifier);
	account->verifier = mem_ref(verifier);
	return 0;
}

/* ---- challenges ---- */

static const char *nonce_make(struct sip_digest_server *v)
{
	size_t place = v->next++ % NONCES_MAX;
	struct nonce *nonce = &v->nonces[place];

	*nonce = (struct nonce){.issued_ns = clock_mono_ns()};
	(void)re_snprintf(nonce->text, sizeof(nonce->text),
			  "%04zx%016llx%016llx", place, random_u64(),
			  random_u64());
	return nonce->text;
}

static const char *realm_of(const struct sip_account *account)
{
	const char *realm = account->verifier->p.realm;

	return realm ? realm : originator_domain(account->origin);
}

static void challenge(struct sip_account *account, const struct sip_msg *msg,
		      bool stale)
{
	struct sip_digest_server *v = account->verifier;
	bool proxy = v->p.code == 407;

	(void)server_transaction_replyf(
		NULL, NULL, account->ua->sip, msg, false, v->p.code,
		proxy ? "Proxy Authentication Required" : "Unauthorized",
		"%s: Digest realm=\"%s\", nonce=\"%s\", algorithm=%s, "
		"qop=\"auth\"%s\r\nContent-Length: 0\r\n\r\n",
		proxy ? "Proxy-Authenticate" : "WWW-Authenticate",
		realm_of(account), nonce_make(v),
		digest_algorithm_name(v->p.algorithm),
		stale ? ", stale=true" : "");
}

/* ---- credentials ---- */

/* The parameters of an Authorization header field. */
struct claim {
	char username[NAME_BYTES];
	char nonce[NAME_BYTES];
	char response[DIGEST_HEX_BYTES];
	char uri[1024];
	char cnonce[NAME_BYTES];
	char nc[16];
	char qop[16];
	char algorithm[16];
};

/* The value of a quoted-string without its escapes. */
static bool unquote(char *dst, size_t size, const struct pl *pl)
{
	size_t used = 0;

	for (size_t i = 0; i < pl->l; i++) {
		if (pl->p[i] == '\\' && i + 1 < pl->l)
			i++;
		if (used + 1 >= size)
			return false;
		dst[used++] = pl->p[i];
	}
	dst[used] = '\0';
	return true;
}

/* The algorithm parameter, which libre's reader leaves out. */
static void algorithm_read(struct claim *claim, const struct pl *value)
{
	struct pl pl;

	claim->algorithm[0] = '\0';
	if (!re_regex(value->p, value->l,
		      "[, \t]+algorithm[ \t]*=[ \t\"]*[^, \t\"]+", NULL, NULL,
		      NULL, &pl))
		(void)pl_strcpy(&pl, claim->algorithm,
				sizeof(claim->algorithm));
}

static bool claim_read(struct claim *claim, const struct pl *value,
		       const char *realm)
{
	struct httpauth_digest_resp resp;

	if (httpauth_digest_response_decode(&resp, value) ||
	    pl_strcmp(&resp.realm, realm))
		return false;
	if (!unquote(claim->username, sizeof(claim->username),
		     &resp.username) ||
	    !unquote(claim->nonce, sizeof(claim->nonce), &resp.nonce) ||
	    !unquote(claim->uri, sizeof(claim->uri), &resp.uri) ||
	    !unquote(claim->cnonce, sizeof(claim->cnonce), &resp.cnonce) ||
	    pl_strcpy(&resp.response, claim->response, sizeof(claim->response)))
		return false;
	claim->nc[0] = claim->qop[0] = '\0';
	if (pl_isset(&resp.nc))
		(void)pl_strcpy(&resp.nc, claim->nc, sizeof(claim->nc));
	if (pl_isset(&resp.qop))
		(void)pl_strcpy(&resp.qop, claim->qop, sizeof(claim->qop));
	algorithm_read(claim, value);
	return true;
}

struct claim_search {
	const char *realm;
	struct claim *claim;
	bool found;
};

static bool claim_handler(const struct sip_hdr *hdr, const struct sip_msg *msg,
			  void *arg)
{
	struct claim_search *search = arg;
	(void)msg;

	search->found = claim_read(search->claim, &hdr->val, search->realm);
	return search->found;
}

/* The credentials for our realm; a request may have others, too (RFC 3261
 * 22.3). */
static bool claim_find(struct claim *claim, const struct sip_account *account,
		       const struct sip_msg *msg)
{
	struct claim_search search = {
		.realm = realm_of(account),
		.claim = claim,
	};

	sip_msg_hdr_apply(msg, true,
			  account->verifier->p.code == 407
				  ? SIP_HDR_PROXY_AUTHORIZATION
				  : SIP_HDR_AUTHORIZATION,
			  claim_handler, &search);
	return search.found;
}

static const struct sip_user *user_find(const struct sip_digest_server *v,
					const char *username)
{
	for (size_t i = 0; i < v->p.user_count; i++) {
		if (strcmp(v->users[i].username, username) == 0)
			return &v->users[i];
	}
	return NULL;
}

/* @return NULL: the credentials are right; else what is wrong with them */
static const char *claim_wrong(const struct claim *claim,
			       const struct sip_account *account,
			       const struct sip_msg *msg)
{
	const struct sip_digest_server *v = account->verifier;
	const struct sip_user *user = user_find(v, claim->username);
	char method[32], response[DIGEST_HEX_BYTES];
	const struct digest_request_params request = {
		.method = method,
		.uri = claim->uri,
	};
	const struct digest_input input = {
		.algorithm = v->p.algorithm,
		.username = claim->username,
		.realm = realm_of(account),
		.password = user ? user->password : "",
		.nonce = claim->nonce,
		.qop = claim->qop,
		.nc = claim->nc,
		.cnonce = claim->cnonce,
		.request = &request,
	};

	if (!user)
		return "the user is not known";
	if (strcmp(claim->qop, "auth") != 0 || strlen(claim->nc) != 8 ||
	    strspn(claim->nc, "0123456789abcdefABCDEF") != 8 ||
	    !claim->cnonce[0])
		return "qop, nc or cnonce is missing";
	/* the default is MD5 (RFC 7616 section 3.4) */
	if (strcasecmp(claim->algorithm[0] ? claim->algorithm : "MD5",
		       digest_algorithm_name(v->p.algorithm)) != 0)
		return "another algorithm than that of the challenge";
	if (pl_strcpy(&msg->met, method, sizeof(method)) ||
	    digest_response(response, &input))
		return "it cannot be checked";
	return strcasecmp(response, claim->response) == 0
		       ? NULL
		       : "the password is wrong";
}

/* Is the nonce of right credentials fresh (RFC 7616 3.3, 3.4)? */
static bool nonce_good(struct sip_digest_server *v, const struct claim *claim)
{
	struct pl nc, place;
	struct nonce *nonce;
	uint32_t count;

	pl_set_str(&nc, claim->nc);
	count = pl_x32(&nc);
	pl_set_str(&place, claim->nonce);
	if (place.l > PLACE_DIGITS)
		place.l = PLACE_DIGITS;
	nonce = &v->nonces[pl_x32(&place) % NONCES_MAX];
	if (!nonce->text[0] || strcmp(nonce->text, claim->nonce) != 0 ||
	    clock_mono_ns() - nonce->issued_ns >
		    (int64_t)NONCE_LIFE_S * NS_PER_S ||
	    count <= nonce->count ||
	    (v->p.nonce_uses && nonce->uses >= v->p.nonce_uses))
		return false;
	if (v->p.stale) {
		v->p.stale--;
		return false;
	}
	nonce->count = count;
	nonce->uses++;
	return true;
}

static void tell(struct sip_account *account, const struct sip_msg *msg,
		 enum sip_verdict verdict, const struct claim *claim,
		 const char *reason)
{
	const struct sip_digest_server *v = account->verifier;
	char method[32];
	const struct sip_digest_info info = {
		.mono_ns = transport_received_ns(account->ua->transport),
		.method = method,
		.username = claim->username,
		.reason = reason,
	};

	(void)re_snprintf(method, sizeof(method), "%r", &msg->met);
	if (v->p.handler)
		v->p.handler(account, verdict, &info, v->p.arg);
}

bool digest_server_request(struct sip_account *account,
			   const struct sip_msg *msg)
{
	struct sip_digest_server *v = account->verifier;
	struct claim claim;
	const char *wrong;

	if (!v || !pl_strcmp(&msg->met, "ACK") ||
	    !pl_strcmp(&msg->met, "CANCEL") ||
	    (pl_isset(&msg->to.tag) && !v->p.all))
		return true;
	if (!claim_find(&claim, account, msg)) {
		challenge(account, msg, false);
		return false;
	}
	wrong = claim_wrong(&claim, account, msg);
	if (wrong) {
		challenge(account, msg, false);
		tell(account, msg, SIP_REFUSED, &claim, wrong);
		return false;
	}
	if (!nonce_good(v, &claim)) {
		challenge(account, msg, true);
		return false;
	}
	tell(account, msg, SIP_VERIFIED, &claim, "");
	return true;
}
