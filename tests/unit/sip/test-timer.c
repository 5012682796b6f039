#include "world.h"

static const struct world_options plain = {.password = "secret",
					   .domain = "example.net"};
static uint16_t ua_port;

static void invite(struct peer *peer, const char *extra)
{
	peer_aim(peer, ua_port);
	snprintf(peer->target, sizeof(peer->target), "sip:1001@127.0.0.1:%u",
		 ua_port);
	snprintf(peer->remote_to, sizeof(peer->remote_to), "<%s>",
		 peer->target);
	peer_request(peer, "INVITE", extra, peer_sdp);
}

static void peer_ends(struct peer *peer)
{
	peer_request(peer, "BYE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
}

static void expect_bye(struct peer *peer)
{
	peer_expect(peer, "BYE ");
	peer_reply(peer, 200, "OK", NULL, NULL);
}

/* ---- we call ---- */

static void script_422(struct peer *peer)
{
	peer_expect(peer, "INVITE ");
	peer_has(peer, "\r\nSession-Expires: 2\r\nMin-SE: 2\r\n");
	peer_has(peer, ", timer\r\n");
	peer_reply(peer, 422, "Session Interval Too Small", "Min-SE: 4\r\n",
		   NULL);
	peer_expect(peer, "ACK ");
	peer_expect(peer, "INVITE ");
	peer_has(peer, "\r\nSession-Expires: 4\r\nMin-SE: 4\r\n");
	peer_dialog_from_request(peer);
	peer_reply(peer, 200, "OK",
		   "Require: timer\r\nSession-Expires: 4;refresher=uac\r\n",
		   peer_sdp);
	peer_expect(peer, "ACK ");
	/*
	 * no Allow: refreshed by re-INVITE, with the same session description
	 */
	peer_expect(peer, "INVITE ");
	peer_has(peer, "\r\nSession-Expires: 4;refresher=uac\r\n");
	peer_has(peer, "m=audio 30000 RTP/AVP 0 8\r\n");
	peer_reply(peer, 200, "OK", "Session-Expires: 4;refresher=uac\r\n",
		   peer_sdp);
	peer_expect(peer, "ACK ");
	peer_ends(peer);
}

static void script_update(struct peer *peer)
{
	peer_expect(peer, "INVITE ");
	peer_dialog_from_request(peer);
	peer_reply(peer, 200, "OK",
		   "Allow: INVITE, ACK, BYE, UPDATE\r\n"
		   "Session-Expires: 2;refresher=uac\r\n",
		   peer_sdp);
	peer_expect(peer, "ACK ");
	peer_expect(peer, "UPDATE ");
	peer_has(peer, "\r\nSession-Expires: 2;refresher=uac\r\n");
	peer_has(peer, "Content-Length: 0\r\n");
	peer_reply(peer, 200, "OK", NULL, NULL);
	/* no Session-Expires: the session never expires */
	peer_silence(peer, "UPDATE", 2500);
	peer_ends(peer);
}

static void script_refuses(struct peer *peer)
{
	peer_expect(peer, "INVITE ");
	peer_dialog_from_request(peer);
	peer_reply(peer, 200, "OK",
		   "Allow: UPDATE\r\nSession-Expires: 3;refresher=uac\r\n",
		   peer_sdp);
	peer_expect(peer, "ACK ");
	peer_expect(peer, "UPDATE ");
	peer_reply(peer, 503, "Service Unavailable", NULL, NULL);
	expect_bye(peer);
}

static void script_lazy(struct peer *peer)
{
	peer_expect(peer, "INVITE ");
	peer_has(peer, "\r\nSession-Expires: 2;refresher=uas\r\n");
	peer_dialog_from_request(peer);
	peer_reply(peer, 200, "OK",
		   "Require: timer\r\nSession-Expires: 2;refresher=uas\r\n",
		   peer_sdp);
	peer_expect(peer, "ACK ");
	peer_request(peer, "UPDATE",
		     "Supported: timer\r\n"
		     "Session-Expires: 2;refresher=uac\r\n",
		     NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_has(peer, "\r\nRequire: timer\r\n"
		       "Session-Expires: 2;refresher=uac\r\n");
	expect_bye(peer);
}

static void test_timer_of_a_call_we_place(void **state)
{
	static const struct {
		world_script_h *script;
		enum sip_refresher refresher;
		enum sip_call_end end;
		const char *reason;
		const char *log;
	} cases[] = {
		{script_422, SIP_REFRESHER_ANY, SIP_END_REMOTE,
		 "hung up by the peer",
		 "ESTABLISHED LOCAL_SDP REMOTE_SDP CLOSED"},
		{script_update, SIP_REFRESHER_ANY, SIP_END_REMOTE,
		 "hung up by the peer", "ESTABLISHED CLOSED"},
		{script_refuses, SIP_REFRESHER_ANY, SIP_END_FAILED,
		 "the session timer expired: no refresh within 3 s, "
		 "the peer did not accept ours",
		 "ESTABLISHED CLOSED"},
		{script_lazy, SIP_REFRESHER_UAS, SIP_END_FAILED,
		 "the session timer expired: no refresh within 2 s",
		 "ESTABLISHED CLOSED"},
	};
	static struct world world;
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		world_open(&world, &plain);
		world.options.session_timer_s = 2;
		world.options.refresher = cases[i].refresher;
		world.script = cases[i].script;
		world_dial(&world);
		world_run(&world);
		assert_int_equal(world.closed.end, cases[i].end);
		assert_string_equal(world.closed_reason, cases[i].reason);
		assert_non_null(strstr(world.log, cases[i].log));
		world_close(&world);
	}
}

/* ---- we are called ---- */

static void answer(struct world *world, struct sip_call *call)
{
	assert_int_equal(sip_call_answer(call, &world->media), 0);
}

static void callee_run(struct world *world, uint32_t s,
		       enum sip_refresher refresher, world_script_h *script)
{
	const struct sip_call_options options = {.session_timer_s = s,
						 .refresher = refresher};

	world_open(world, &plain);
	sip_account_call_options(world->account, &options);
	ua_port = world->port;
	world->script = script;
	world->incoming_h = answer;
	world_run(world);
}

static void script_too_short(struct peer *peer)
{
	invite(peer, "Supported: timer\r\nSession-Expires: 60\r\n");
	peer_expect(peer, "SIP/2.0 422 ");
	peer_has(peer, "\r\nMin-SE: 90\r\n");
	peer_tag_from_response(peer);
	peer_request(peer, "ACK", NULL, NULL);
	invite(peer, "k: timer\r\nx: 400\r\nMin-SE: 120\r\n");
	peer_expect(peer, "SIP/2.0 200 ");
	peer_has(peer, "\r\nRequire: timer\r\n"
		       "Session-Expires: 120;refresher=uac\r\n");
	peer_dialog_from_response(peer);
	peer_request(peer, "ACK", NULL, NULL);
	peer_ends(peer);
}

static void script_knows_none(struct peer *peer)
{
	invite(peer, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_has_not(peer, "Require:");
	peer_has(peer, "\r\nSession-Expires: 2;refresher=uas\r\n");
	peer_dialog_from_response(peer);
	peer_request(peer, "ACK", NULL, NULL);
	peer_expect(peer, "INVITE ");
	peer_has(peer, "\r\nSession-Expires: 2;refresher=uac\r\n");
	peer_reply(peer, 200, "OK", NULL, peer_sdp);
	peer_expect(peer, "ACK ");
	peer_ends(peer);
}

static void script_lets_it_expire(struct peer *peer)
{
	invite(peer, "Supported: timer\r\nSession-Expires: 2\r\n");
	peer_expect(peer, "SIP/2.0 200 ");
	peer_has(peer, "\r\nSession-Expires: 2;refresher=uac\r\n");
	peer_dialog_from_response(peer);
	peer_request(peer, "ACK", NULL, NULL);
	expect_bye(peer);
}

static void script_we_refresh(struct peer *peer)
{
	invite(peer, "Supported: timer\r\nAllow: UPDATE\r\n"
		     "Session-Expires: 2\r\n");
	peer_expect(peer, "SIP/2.0 200 ");
	peer_has(peer, "\r\nSession-Expires: 2;refresher=uas\r\n");
	peer_dialog_from_response(peer);
	peer_request(peer, "ACK", NULL, NULL);
	for (int i = 0; i < 3; i++) {
		peer_expect(peer, "UPDATE ");
		peer_reply(peer, 200, "OK",
			   "Session-Expires: 2;refresher=uac\r\n", NULL);
	}
	peer_ends(peer);
}

static void test_timer_of_a_call_we_take(void **state)
{
	static const struct {
		world_script_h *script;
		uint32_t s;
		enum sip_refresher refresher;
		enum sip_call_end end;
		const char *reason;
	} cases[] = {
		{script_too_short, 100, SIP_REFRESHER_ANY, SIP_END_REMOTE,
		 "hung up by the peer"},
		{script_knows_none, 2, SIP_REFRESHER_ANY, SIP_END_REMOTE,
		 "hung up by the peer"},
		{script_lets_it_expire, 2, SIP_REFRESHER_ANY, SIP_END_FAILED,
		 "the session timer expired: no refresh within 2 s"},
		{script_we_refresh, 2, SIP_REFRESHER_UAS, SIP_END_REMOTE,
		 "hung up by the peer"},
	};
	static struct world world;
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		callee_run(&world, cases[i].s, cases[i].refresher,
			   cases[i].script);
		assert_int_equal(world.closed.end, cases[i].end);
		assert_string_equal(world.closed_reason, cases[i].reason);
		world_close(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_timer_of_a_call_we_place),
		cmocka_unit_test(test_timer_of_a_call_we_take),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
