#include "tests/unit/times.h"
#include "world.h"

static const char challenge[] =
	"WWW-Authenticate: Digest realm=\"test, realm\", "
	"nonce=\"abc\", qop=\"auth\", algorithm=MD5\r\n";

static void script_ok(struct peer *peer)
{
	char value[512];

	peer_expect(peer, "REGISTER sip:example.net SIP/2.0\r\n");
	peer_has_not(peer, "Authorization");
	peer_has(peer, "Expires: 120\r\n");
	peer_has(peer, "To: <sip:1001@example.net>\r\n");
	peer_has(peer, "From: \"Test \\\"User\\\"\" "
		       "<sip:1001@example.net>;tag=");
	peer_has(peer, "X-Register: yes\r\n");
	peer_has_not(peer, "X-Invite");
	peer_has_not(peer, "Route:");
	peer_reply(peer, 401, "Unauthorized", challenge, NULL);
	peer_expect(peer, "REGISTER ");
	peer_has(peer, "Authorization: Digest username=\"1001\", "
		       "realm=\"test, realm\", nonce=\"abc\"");
	peer_has(peer, "nc=00000001");
	peer_header(peer, "Contact", value, sizeof(value));
	strncat(value, ";expires=60", sizeof(value) - strlen(value) - 1);
	{
		char extra[600];

		snprintf(extra, sizeof(extra),
			 "Contact: <sip:other@127.0.0.9>;expires=7, %s\r\n",
			 value);
		peer_reply(peer, 200, "OK", extra, NULL);
	}
	peer_expect(peer, "REGISTER ");
	peer_has(peer, "Expires: 0\r\n");
	peer_has(peer, "nc=00000002");
	peer_reply(peer, 200, "OK", NULL, NULL);
}

static void unregister_on_ok(struct world *world, enum sip_account_event event)
{
	if (event == SIP_ACCOUNT_REGISTER_OK) {
		assert_int_equal(world->account_info.code, 200);
		assert_int_equal(world->account_info.expires_s, 60);
		assert_true(world->account_info.took_ns > 0);
		assert_int_equal(sip_account_register(world->account),
				 -EALREADY);
		assert_int_equal(sip_account_unregister(world->account), 0);
	} else if (event != SIP_ACCOUNT_REGISTERING) {
		sip_loop_stop();
	}
}

static void test_register_with_digest_and_unregister(void **state)
{
	const struct sip_custom_header headers[] = {
		{"X-Register", "yes", SIP_SCOPE_REGISTERS},
		{"X-Invite", "no", SIP_SCOPE_INVITES},
	};
	static struct world world;
	(void)state;

	world_open(&world, &(struct world_options){.password = "secret",
						   .domain = "example.net",
						   .regexpire_s = 120,
						   .headers = headers,
						   .header_count = 2});
	world.script = script_ok;
	world.account_h = unregister_on_ok;
	assert_int_equal(sip_account_register(world.account), 0);
	assert_string_equal(world.log, "");
	world_run(&world);
	assert_string_equal(world.log, "REGISTERING REGISTER_OK UNREGISTERED");
	assert_int_equal(world.sent, 3);
	assert_int_equal(world.received, 3);
	world_close(&world);
}

static void stop_when_final(struct world *world, enum sip_account_event event)
{
	(void)world;
	if (event != SIP_ACCOUNT_REGISTERING)
		sip_loop_stop();
}

static void script_endless(struct peer *peer)
{
	peer_expect(peer, "REGISTER ");
	peer_reply(peer, 401, "Unauthorized", challenge, NULL);
	peer_expect(peer, "REGISTER ");
	peer_has(peer, "Authorization: ");
	peer_reply(peer, 401, "Unauthorized",
		   "WWW-Authenticate: Digest realm=\"test, realm\", "
		   "nonce=\"other\"\r\n",
		   NULL);
	peer_silence(peer, "REGISTER ", 300);
}

static void test_register_challenged_for_ever(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &(struct world_options){.password = "wrong"});
	world.script = script_endless;
	world.account_h = stop_when_final;
	assert_int_equal(sip_account_register(world.account), 0);
	world_run(&world);
	assert_string_equal(world.log, "REGISTERING REGISTER_FAIL");
	assert_int_equal(world.account_info.code, 401);
	assert_string_equal(world.account_reason,
			    "Unauthorized after credentials were sent");
	world_close(&world);
}

static void script_stale(struct peer *peer)
{
	static const char stale[] =
		"Proxy-Authenticate: Digest realm=\"r\", nonce=\"n\", "
		"stale=TRUE\r\n";

	for (int i = 0; i < 4; i++) {
		peer_expect(peer, "REGISTER ");
		peer_reply(peer, 407, "Proxy Authentication Required", stale,
			   NULL);
	}
	peer_silence(peer, "REGISTER ", 300);
}

static void test_register_stale_for_ever_is_bounded(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &(struct world_options){.password = "secret"});
	world.script = script_stale;
	world.account_h = stop_when_final;
	assert_int_equal(sip_account_register(world.account), 0);
	world_run(&world);
	assert_string_equal(world.log, "REGISTERING REGISTER_FAIL");
	assert_int_equal(world.account_info.code, 407);
	world_close(&world);
}

/*
 * RFC 8760 2.4: the strongest supported algorithm, wherever it is listed.
 * Without qop the response is fixed; the values are from Python's hashlib.
 */
static const struct offered {
	const char *algorithms[3];
	const char *answer;
	const char *response;
} offers[] = {
	{{"SHA-512-256", "SHA-256", "MD5"},
	 "SHA-512-256",
	 "dcd820c3e53436f11d20f5f4179988c7ceb64f6237f8eea14471d113006fe82c"},
	{{"MD5", "SHA-256", "SHA-512-256"},
	 "SHA-512-256",
	 "dcd820c3e53436f11d20f5f4179988c7ceb64f6237f8eea14471d113006fe82c"},
	{{"SHA-512-256"},
	 "SHA-512-256",
	 "dcd820c3e53436f11d20f5f4179988c7ceb64f6237f8eea14471d113006fe82c"},
	{{"MD5", "sha-256"},
	 "SHA-256",
	 "cb320ea2745e47c6cad8aa0eb71130998fc183564b667a3aea79a4915747d437"},
	{{"SHA-1024", "MD5"}, "MD5", "17b5f68624b5c0644ce1192695c1851d"},
};
static const struct offered *offer;

static void script_algorithms(struct peer *peer)
{
	char extra[512] = "", expected[160];

	peer_expect(peer, "REGISTER ");
	for (size_t i = 0; i < 3 && offer->algorithms[i]; i++)
		snprintf(extra + strlen(extra), sizeof(extra) - strlen(extra),
			 "WWW-Authenticate: Digest realm=\"r\", nonce=\"n\", "
			 "algorithm=%s\r\n",
			 offer->algorithms[i]);
	peer_reply(peer, 401, "Unauthorized", extra, NULL);
	peer_expect(peer, "REGISTER ");
	snprintf(expected, sizeof(expected),
		 "response=\"%s\", algorithm=%s\r\n", offer->response,
		 offer->answer);
	peer_has(peer, expected);
	peer_reply(peer, 403, "Forbidden", NULL, NULL);
}

static void test_register_prefers_the_strongest_digest(void **state)
{
	static struct world world;
	(void)state;

	for (size_t i = 0; i < sizeof(offers) / sizeof(offers[0]); i++) {
		offer = &offers[i];
		world_open(&world, &(struct world_options){.password = "secret",
							   .domain = "a"});
		world.script = script_algorithms;
		world.account_h = stop_when_final;
		assert_int_equal(sip_account_register(world.account), 0);
		world_run(&world);
		assert_int_equal(world.account_info.code, 403);
		assert_string_equal(world.account_reason, "Forbidden");
		world_close(&world);
	}
}

/*
 * RFC 7616: without qop the response has a fixed value, compared byte for byte.
 */
static void script_fixed_response(struct peer *peer)
{
	char expected[128];

	peer_expect(peer, "REGISTER sip:a SIP/2.0");
	peer_reply(peer, 401, "Unauthorized",
		   "WWW-Authenticate: Digest realm=\"r\", nonce=\"n\"\r\n",
		   NULL);
	peer_expect(peer, "REGISTER ");
	/* printf 1001:r:secret | md5sum; printf REGISTER:sip:a | md5sum;
	 * printf HA1:n:HA2 | md5sum */
	snprintf(expected, sizeof(expected), "response=\"%s\"",
		 "17b5f68624b5c0644ce1192695c1851d");
	peer_has(peer, expected);
	peer_reply(peer, 423, "Interval Too Brief", "Min-Expires: 7200\r\n",
		   NULL);
	peer_expect(peer, "REGISTER ");
	peer_has(peer, "Expires: 7200\r\n");
	peer_reply(peer, 200, "OK", "Expires: 1\r\n", NULL);
	/* the registration is refreshed before it expires */
	peer_expect(peer, "REGISTER ");
	peer_reply(peer, 503, "Service Unavailable", NULL, NULL);
}

static void stop_when_failed(struct world *world, enum sip_account_event event)
{
	(void)world;
	if (event == SIP_ACCOUNT_REGISTER_FAIL)
		sip_loop_stop();
}

static void test_register_response_refresh_and_loss(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &(struct world_options){.password = "secret",
						   .domain = "a"});
	world.script = script_fixed_response;
	world.account_h = stop_when_failed;
	assert_int_equal(sip_account_register(world.account), 0);
	world_run(&world);
	assert_string_equal(world.log, "REGISTERING REGISTER_OK REGISTER_FAIL");
	assert_int_equal(world.account_info.code, 503);
	world_close(&world);
}

static void script_busy(struct peer *peer)
{
	peer_expect(peer, "REGISTER ");
	peer_reply(peer, 503, "Service Unavailable",
		   "Retry-After: 1 (restarting);duration=9\r\n", NULL);
	peer_silence(peer, "REGISTER ", 500);
	peer_expect(peer, "REGISTER ");
	peer_reply(peer, 200, "OK", NULL, NULL);
}

static void test_register_waits_for_retry_after(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &(struct world_options){.password = "secret"});
	world.script = script_busy;
	world.account_h = stop_when_final;
	assert_int_equal(sip_account_register(world.account), 0);
	world_run(&world);
	assert_string_equal(world.log, "REGISTERING REGISTER_OK");
	assert_lasted(world.account_info.took_ns, NS_PER_S);
	world_close(&world);
}

static void script_busy_for_long(struct peer *peer)
{
	peer_expect(peer, "REGISTER ");
	peer_reply(peer, 503, "Service Unavailable", "Retry-After: 3600\r\n",
		   NULL);
}

static void script_busy_for_ever(struct peer *peer)
{
	for (int i = 0; i < 4; i++) {
		peer_expect(peer, "REGISTER ");
		peer_reply(peer, 503, "Service Unavailable",
			   "Retry-After: 1\r\n", NULL);
	}
	peer_silence(peer, "REGISTER ", 1500);
}

static void test_register_does_not_wait_for_ever(void **state)
{
	static const struct {
		void (*script)(struct peer *peer);
		const char *reason;
	} cases[] = {
		{script_busy_for_long,
		 "Service Unavailable, Retry-After: 3600 s is more than the "
		 "120 s that are waited for"},
		{script_busy_for_ever,
		 "Service Unavailable, also after 3 waits"},
	};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static struct world world;

		world_open(&world,
			   &(struct world_options){.password = "secret"});
		world.script = cases[i].script;
		world.account_h = stop_when_final;
		assert_int_equal(sip_account_register(world.account), 0);
		world_run(&world);
		assert_string_equal(world.log, "REGISTERING REGISTER_FAIL");
		assert_int_equal(world.account_info.code, 503);
		assert_string_equal(world.account_reason, cases[i].reason);
		world_close(&world);
	}
}

static void test_register_connection_refused(void **state)
{
	static struct world world;
	char expected[128];
	(void)state;

	/* nobody listens on TCP at the peer's UDP port */
	world_open(&world,
		   &(struct world_options){.transport = SIP_TRANSPORT_TCP});
	world.account_h = stop_when_final;
	assert_int_equal(sip_account_register(world.account), 0);
	world_run(&world);
	assert_string_equal(world.log, "REGISTERING REGISTER_FAIL");
	assert_int_equal(world.account_info.code, 0);
	snprintf(expected, sizeof(expected),
		 "connection refused by 127.0.0.1:%u over TCP",
		 world.peer.port);
	assert_string_equal(world.account_reason, expected);
	world_close(&world);
}

static void test_register_no_answer(void **state)
{
	static struct world world;
	char expected[128];
	(void)state;

	world_open(&world, &(struct world_options){.password = "x"});
	world.account_h = stop_when_final;
	assert_int_equal(sip_account_register(world.account), 0);
	world_run(&world);
	assert_int_equal(world.account_info.code, 0);
	snprintf(expected, sizeof(expected),
		 "no answer from 127.0.0.1:%u over UDP within 32 s",
		 world.peer.port);
	assert_string_equal(world.account_reason, expected);
	world_close(&world);
}

static void script_silent_unregister(struct peer *peer)
{
	peer_expect(peer, "REGISTER ");
	peer_reply(peer, 200, "OK", NULL, NULL);
	peer_expect(peer, "REGISTER ");
	peer_has(peer, "Expires: 0\r\n");
}

static void unregister_or_stop(struct world *world,
			       enum sip_account_event event)
{
	if (event == SIP_ACCOUNT_REGISTER_OK)
		assert_int_equal(sip_account_unregister(world->account), 0);
	else if (event == SIP_ACCOUNT_UNREGISTERED)
		sip_loop_stop();
}

static void test_unregister_without_answer(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &(struct world_options){.regexpire_s = 60});
	world.script = script_silent_unregister;
	world.account_h = unregister_or_stop;
	assert_int_equal(sip_account_register(world.account), 0);
	world_run(&world);
	assert_string_equal(world.log, "REGISTERING REGISTER_OK UNREGISTERED");
	assert_int_equal(world.account_info.code, 0);
	assert_non_null(strstr(world.account_reason, "within 5 s"));
	world_close(&world);
}

static void test_unregister_unbound(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &(struct world_options){.password = "x"});
	world.account_h = unregister_or_stop;
	assert_int_equal(sip_account_unregister(world.account), 0);
	world_run(&world);
	assert_string_equal(world.log, "UNREGISTERED");
	assert_int_equal(world.sent, 0);
	world_close(&world);
}

static void test_account_refuses_bad_texts(void **state)
{
	const struct sip_custom_header bad[] = {
		{"X-A", "1\r\nVia: x", SIP_SCOPE_ANY},
		{"X A", "1", SIP_SCOPE_ANY},
		{"Call-ID", "1", SIP_SCOPE_ANY},
		{"", "1", SIP_SCOPE_ANY},
	};
	struct sip_account_params params = {.username = "u",
					    .target = {"127.0.0.1", 1, 0}};
	struct sip_account *account = NULL;
	char reason[SIP_REASON_BYTES] = "";
	static struct world world;
	(void)state;

	world_open(&world, &(struct world_options){.password = "x"});
	for (size_t i = 0; i < 4; i++) {
		params.headers = &bad[i];
		params.header_count = 1;
		assert_int_equal(sip_account_new(&account, world.ua, &params),
				 -EINVAL);
	}
	params.header_count = 0;
	params.display_name = "a\r\nb";
	assert_int_equal(sip_account_new(&account, world.ua, &params), -EINVAL);
	params.display_name = NULL;
	params.target.host = "a b";
	assert_int_equal(sip_account_new(&account, world.ua, &params), -EINVAL);
	params.target.host = "127.0.0.1";
	params.tls = &(const struct sip_tls){.cert_file = "/no/such/file"};
	params.reason = reason;
	assert_int_equal(sip_account_new(&account, world.ua, &params), -EINVAL);
	assert_string_equal(reason, "cannot use the certificate /no/such/file: "
				    "No such file or directory");
	params.tls = &(const struct sip_tls){.ca = "no PEM"};
	assert_int_equal(sip_account_new(&account, world.ua, &params), -EINVAL);
	assert_string_equal(reason, "cannot use the CA certificates that were "
				    "given: no start line");
	assert_null(account);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_register_with_digest_and_unregister),
		cmocka_unit_test(test_register_challenged_for_ever),
		cmocka_unit_test(test_register_stale_for_ever_is_bounded),
		cmocka_unit_test(test_register_prefers_the_strongest_digest),
		cmocka_unit_test(test_register_response_refresh_and_loss),
		cmocka_unit_test(test_register_waits_for_retry_after),
		cmocka_unit_test(test_register_does_not_wait_for_ever),
		cmocka_unit_test(test_register_connection_refused),
		cmocka_unit_test(test_register_no_answer),
		cmocka_unit_test(test_unregister_without_answer),
		cmocka_unit_test(test_unregister_unbound),
		cmocka_unit_test(test_account_refuses_bad_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
