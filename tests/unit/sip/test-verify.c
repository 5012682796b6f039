/*
 * We challenge callers; the peer is a scripted caller that computes its own
 * digest.
 */
#include <openssl/evp.h>

#include "sip/digest_server.h"
#include "world.h"

static const struct world_options plain = {.domain = "example.net"};
static uint16_t ua_port; /* set before the script's thread starts */

/* How the peer answers a challenge, with a digest of its own. */
struct answer {
	const char *user;
	const char *password;
	const char *nonce; /* NULL: the nonce of the challenge */
	unsigned nc;
	enum digest_algorithm algorithm;
	bool bare; /* without qop */
};

/* A second implementation, by OpenSSL's name of each hash function. */
static const struct {
	const char *name;
	const char *function;
} algorithms[] = {
	[DIGEST_MD5] = {"MD5", "MD5"},
	[DIGEST_SHA256] = {"SHA-256", "SHA256"},
	[DIGEST_SHA512_256] = {"SHA-512-256", "SHA512-256"},
};

static void hex_of(char *hex, enum digest_algorithm algorithm, const char *text)
{
	unsigned char md[EVP_MAX_MD_SIZE];
	unsigned int len = 0;

	EVP_Digest(text, strlen(text), md, &len,
		   EVP_get_digestbyname(algorithms[algorithm].function), NULL);
	for (unsigned i = 0; i < len; i++)
		sprintf(hex + 2 * i, "%02x", md[i]);
}

static void nonce_of(struct peer *peer, char *nonce, size_t size)
{
	const char *p = strstr(peer->in, "nonce=\"");

	nonce[0] = '\0';
	if (p)
		snprintf(nonce, size, "%.*s", (int)strcspn(p + 7, "\""), p + 7);
}

static void credentials(struct peer *peer, char *line, size_t size,
			const char *name, const char *method, const char *nonce,
			const struct answer *a)
{
	char text[1024], ha1[130], ha2[130], response[130];

	snprintf(text, sizeof(text), "%s:example.net:%s", a->user, a->password);
	hex_of(ha1, a->algorithm, text);
	snprintf(text, sizeof(text), "%s:%s", method, peer->target);
	hex_of(ha2, a->algorithm, text);
	if (a->bare)
		snprintf(text, sizeof(text), "%s:%s:%s", ha1, nonce, ha2);
	else
		snprintf(text, sizeof(text), "%s:%s:%08x:c0:auth:%s", ha1,
			 nonce, a->nc, ha2);
	hex_of(response, a->algorithm, text);
	snprintf(line, size,
		 "%s: Digest username=\"%s\", realm=\"example.net\", "
		 "nonce=\"%s\", uri=\"%s\", response=\"%s\", algorithm=%s",
		 name, a->user, nonce, peer->target, response,
		 algorithms[a->algorithm].name);
	if (!a->bare)
		snprintf(line + strlen(line), size - strlen(line),
			 ", qop=auth, nc=%08x, cnonce=\"c0\"", a->nc);
	strcat(line, "\r\n");
}

static void aim(struct peer *peer)
{
	peer_aim(peer, ua_port);
	snprintf(peer->target, sizeof(peer->target), "sip:1001@127.0.0.1:%u",
		 ua_port);
	snprintf(peer->remote_to, sizeof(peer->remote_to), "<sip:1001@x>");
}

static void message(struct peer *peer, const char *nonce,
		    const struct answer *a, const char *expected)
{
	char line[1024];

	credentials(peer, line, sizeof(line), "Authorization", "MESSAGE",
		    a->nonce ? a->nonce : nonce, a);
	peer_request(peer, "MESSAGE", line, NULL);
	peer_expect(peer, expected);
}

static void script_messages(struct peer *peer)
{
	struct answer good = {.user = "2001", .password = "s", .nc = 1};
	struct answer bad = {.user = "2001", .password = "x", .nc = 1};
	struct answer no_one = {.user = "9", .password = "s", .nc = 1};
	struct answer strong = good, bare = good, foreign = good;
	char nonce[128];

	strong.algorithm = DIGEST_SHA256;
	bare.bare = true;
	foreign.nonce = "0000deadbeef";
	aim(peer);
	peer_request(peer, "MESSAGE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 401 Unauthorized\r\n");
	peer_has(peer,
		 "WWW-Authenticate: Digest realm=\"example.net\", nonce=");
	peer_has(peer, "algorithm=MD5, qop=\"auth\"\r\n");
	nonce_of(peer, nonce, sizeof(nonce));
	/* wrong credentials are challenged again, not as stale */
	message(peer, nonce, &bad, "SIP/2.0 401 ");
	peer_has_not(peer, "stale");
	message(peer, nonce, &no_one, "SIP/2.0 401 ");
	peer_has_not(peer, "stale");
	message(peer, nonce, &strong, "SIP/2.0 401 ");
	peer_has_not(peer, "stale");
	message(peer, nonce, &bare, "SIP/2.0 401 ");
	peer_has_not(peer, "stale");
	/* the right credentials are accepted once: nc must grow */
	message(peer, nonce, &good, "SIP/2.0 200 ");
	message(peer, nonce, &good, "SIP/2.0 401 ");
	peer_has(peer, "stale=true");
	good.nc = 7;
	message(peer, nonce, &good, "SIP/2.0 200 ");
	good.nc = 6;
	message(peer, nonce, &good, "SIP/2.0 401 ");
	peer_has(peer, "stale=true");
	/* a nonce is good for three requests: one is left */
	good.nc = 8;
	message(peer, nonce, &good, "SIP/2.0 200 ");
	good.nc = 9;
	message(peer, nonce, &good, "SIP/2.0 401 ");
	peer_has(peer, "stale=true");
	nonce_of(peer, nonce, sizeof(nonce));
	good.nc = 1;
	message(peer, nonce, &good, "SIP/2.0 200 ");
	/* a nonce that we never issued */
	message(peer, nonce, &foreign, "SIP/2.0 401 ");
	peer_has(peer, "stale=true");
	/* OPTIONS needs no credentials */
	peer_request(peer, "OPTIONS", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
}

static char verdicts[1024];

static void verify_h(struct sip_account *account, enum sip_verdict verdict,
		     const struct sip_digest_info *info, void *arg)
{
	size_t used = strlen(verdicts);

	(void)account;
	(void)arg;
	snprintf(verdicts + used, sizeof(verdicts) - used, "%s %s%s%s, ",
		 info->method, info->username,
		 verdict == SIP_VERIFIED ? "" : ": ", info->reason);
}

static const struct sip_user users[] = {{"2002", "t"}, {"2001", "s"}};

static struct sip_digest_server *verifier(
	const struct sip_digest_server_params *params)
{
	struct sip_digest_server_params p = *params;
	struct sip_digest_server *v;

	p.users = users;
	p.user_count = 2;
	p.handler = verify_h;
	verdicts[0] = '\0';
	assert_int_equal(sip_digest_server_new(&v, &p), 0);
	return v;
}

#define NONCES_MAX 4096 /* sip/ua/digest_server.c */

/* The oldest nonce gives way to the one after NONCES_MAX. */
static void script_many_nonces(struct peer *peer)
{
	struct answer good = {.user = "2001", .password = "s", .nc = 1};
	char oldest[128], second[128];

	aim(peer);
	for (unsigned i = 0; i < NONCES_MAX; i++) {
		peer_request(peer, "MESSAGE", NULL, NULL);
		peer_expect(peer, "SIP/2.0 401 ");
		if (i < 2)
			nonce_of(peer, i ? second : oldest, sizeof(oldest));
	}
	message(peer, oldest, &good, "SIP/2.0 200 ");
	peer_request(peer, "MESSAGE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 401 ");
	good.nc = 2;
	message(peer, oldest, &good, "SIP/2.0 401 ");
	peer_has(peer,
		 "stale=true"); /* its challenge has replaced the second */
	message(peer, second, &good, "SIP/2.0 401 ");
	peer_has(peer, "stale=true");
}

static void test_more_nonces_than_are_kept(void **state)
{
	const struct sip_digest_server_params params = {.code = 401};
	struct sip_digest_server *v = verifier(&params);
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	ua_port = world.port;
	world.script = script_many_nonces;
	world.linger = true;
	assert_int_equal(sip_account_verify(world.account, v), 0);
	v = sip_digest_server_free(v);
	world_run(&world);
	world_close(&world);
}

static void test_credentials(void **state)
{
	const struct sip_digest_server_params params = {.code = 401,
							.nonce_uses = 3};
	struct sip_digest_server *v = verifier(&params);
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	ua_port = world.port;
	world.script = script_messages;
	world.linger = true;
	assert_int_equal(sip_account_verify(world.account, v), 0);
	v = sip_digest_server_free(v);
	world_run(&world);
	assert_string_equal(
		verdicts,
		"MESSAGE 2001: the password is wrong, "
		"MESSAGE 9: the user is not known, "
		"MESSAGE 2001: another algorithm than that of the challenge, "
		"MESSAGE 2001: qop, nc or cnonce is missing, MESSAGE 2001, "
		"MESSAGE 2001, MESSAGE 2001, MESSAGE 2001, ");
	world_close(&world);
}

/* ---- a call ---- */

static enum digest_algorithm asked; /* set before the script's thread starts */

static void script_call(struct peer *peer)
{
	struct answer good = {
		.user = "2002", .password = "t", .nc = 1, .algorithm = asked};
	char nonce[128], line[1024], algorithm[64];

	aim(peer);
	peer_request(peer, "INVITE", NULL, peer_sdp);
	peer_expect(peer, "SIP/2.0 407 Proxy Authentication Required\r\n");
	peer_has(peer, "Proxy-Authenticate: Digest ");
	snprintf(algorithm, sizeof(algorithm), "algorithm=%s, qop=\"auth\"\r\n",
		 algorithms[asked].name);
	peer_has(peer, algorithm);
	nonce_of(peer, nonce, sizeof(nonce));
	peer_tag_from_response(peer);
	peer_request(peer, "ACK", NULL, NULL);
	aim(peer);
	/* right credentials, challenged once as stale */
	credentials(peer, line, sizeof(line), "Proxy-Authorization", "INVITE",
		    nonce, &good);
	peer_request(peer, "INVITE", line, peer_sdp);
	peer_expect(peer, "SIP/2.0 407 ");
	peer_has(peer, "stale=true");
	nonce_of(peer, nonce, sizeof(nonce));
	peer_tag_from_response(peer);
	peer_request(peer, "ACK", NULL, NULL);
	aim(peer);
	credentials(peer, line, sizeof(line), "Proxy-Authorization", "INVITE",
		    nonce, &good);
	peer_request(peer, "INVITE", line, peer_sdp);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_dialog_from_response(peer);
	peer_request(peer, "ACK", NULL, NULL);
	/* within the dialog */
	peer_request(peer, "INFO", NULL, NULL);
	peer_expect(peer, "SIP/2.0 407 ");
	good.nc = 2;
	credentials(peer, line, sizeof(line), "Proxy-Authorization", "BYE",
		    nonce, &good);
	peer_request(peer, "BYE", line, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
}

static void answer_h(struct world *world, struct sip_call *call)
{
	assert_int_equal(sip_call_answer(call, &world->media), 0);
}

static void challenged_call(enum digest_algorithm algorithm)
{
	const struct sip_digest_server_params params = {
		.code = 407, .algorithm = algorithm, .all = true, .stale = 1};
	struct sip_digest_server *v = verifier(&params);
	static struct world world;

	asked = algorithm;
	world_open(&world, &plain);
	ua_port = world.port;
	world.script = script_call;
	world.incoming_h = answer_h;
	assert_int_equal(sip_account_verify(world.account, v), 0);
	world_run(&world);
	assert_int_equal(world.closed.end, SIP_END_REMOTE);
	assert_string_equal(verdicts, "INVITE 2002, BYE 2002, ");
	assert_int_equal(sip_account_verify(world.account, NULL), 0);
	v = sip_digest_server_free(v);
	world_close(&world);
}

static void test_call_sha256(void **state)
{
	(void)state;
	challenged_call(DIGEST_SHA256);
}

static void test_call_sha512_256(void **state)
{
	(void)state;
	challenged_call(DIGEST_SHA512_256);
}

static void test_parameters(void **state)
{
	struct sip_digest_server_params p = {
		.code = 401, .users = users, .user_count = 2};
	struct sip_digest_server *v;
	(void)state;

	p.code = 403;
	assert_int_equal(sip_digest_server_new(&v, &p), -EINVAL);
	p.code = 407;
	p.realm = "a\"b";
	assert_int_equal(sip_digest_server_new(&v, &p), -EINVAL);
	p.realm = NULL;
	p.user_count = 0;
	assert_int_equal(sip_digest_server_new(&v, &p), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_credentials),
		cmocka_unit_test(test_more_nonces_than_are_kept),
		cmocka_unit_test(test_call_sha256),
		cmocka_unit_test(test_call_sha512_256),
		cmocka_unit_test(test_parameters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
