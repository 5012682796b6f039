/*
 * Calls whose peer answers late, or never: what is sent, and when it ends, on a
 * simulated clock.
 */
#include "lab.h"

static const char capped[] = "0 500 1500 3500 7500 11500 15500 19500 23500 "
			     "27500 31500";

/* ---- steps ---- */

static char invite_text[65536];

static void answer(int code, const char *extra, const char *body)
{
	peer_reply(&lab.world.peer, code, "Whatever", extra, body);
}

/* The last message, mostly one that came again. */
static void ok(void *arg)
{
	(void)arg;
	answer(200, NULL, NULL);
}

static void try(void *arg)
{
	(void)arg;
	answer(100, NULL, NULL);
}

static void ring(void *arg)
{
	(void)arg;
	answer(180, NULL, NULL);
}

static void keep(void *arg)
{
	(void)arg;
	memcpy(invite_text, lab.world.peer.in, sizeof(invite_text));
}

static void take_up(void *arg)
{
	(void)arg;
	answer(200, NULL, peer_sdp);
}

static void take_up_with_timer(void *arg)
{
	(void)arg;
	answer(200, "Session-Expires: 90;refresher=uac\r\n", peer_sdp);
}

static void hangup(void *arg)
{
	(void)arg;
	if (lab.world.call)
		sip_call_hangup(lab.world.call);
}

static void hold(void *arg)
{
	(void)arg;
	assert_int_equal(sip_call_hold(lab.world.call), 0);
}

/* ---- a final response after the call has ended ---- */

static const char *late_headers;
static int late_code;

static void late(void *arg)
{
	(void)arg;
	answer(late_code, late_headers, late_code == 200 ? peer_sdp : NULL);
}

/* We hung up, and reported it 5 s later. The call that the peer takes up then
 * is ended; the INVITE is not sent anew. */
static void test_late_answer_of_a_call_hung_up(void **state)
{
	static const struct simulated_step steps[] = {
		{50, hangup}, {10000, late}, {10100, ok}};
	static const char once[] = "0 500 1500 3500 7500";
	(void)state;

	late_code = 200;
	late_headers = NULL;
	lab_open(false);
	world_dial(&lab.world);
	lab_run(steps, 3, 50000);
	lab_assert_ms(lab.closed_ms, 5050);
	lab_assert_times("INVITE", 0, once);
	lab_assert_times("CANCEL", 0, "");
	lab_assert_times("ACK", 0, "10000");
	lab_assert_times("BYE", 0, "10000");
	lab_assert_ms(lab.none_ms, 15100);
	assert_int_equal(lab.world.closed.end, SIP_END_CANCELLED);
	lab_close();
}

static void test_late_refusals_of_a_call_hung_up(void **state)
{
	static const struct simulated_step steps[] = {{50, hangup},
						      {10000, late}};
	static const struct {
		int code;
		const char *headers;
	} cases[] = {
		{401, "WWW-Authenticate: Digest realm=\"r\", nonce=\"n\"\r\n"},
		{407,
		 "Proxy-Authenticate: Digest realm=\"r\", nonce=\"n\"\r\n"},
		{422, "Min-SE: 120\r\n"},
		{302, "Contact: <sip:other@127.0.0.1:9>\r\n"},
		{486, NULL},
	};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		late_code = cases[i].code;
		late_headers = cases[i].headers;
		lab_open(false);
		lab.world.options.session_timer_s = 90;
		lab.world.options.redirects_max = 3;
		world_dial(&lab.world);
		lab_run(steps, 2, 50000);
		lab_assert_ms(lab.closed_ms, 5050);
		lab_assert_times("INVITE", 0, "0 500 1500 3500 7500");
		lab_assert_times("ACK", 0, "10000");
		lab_assert_times("BYE", 0, "");
		lab_assert_ms(lab.none_ms, 42000);
		lab_close();
	}
}

/* ---- a re-INVITE of ours that gets only provisional responses ---- */

static void final_487(void *arg)
{
	struct peer *peer = &lab.world.peer;
	(void)arg;

	answer(200, NULL, NULL); /* the CANCEL */
	memcpy(peer->in, invite_text, sizeof(peer->in));
	answer(487, NULL, NULL);
}

/* The session timer counts on meanwhile. */
static void test_reinvite_that_hangs_and_the_session_timer(void **state)
{
	static const struct simulated_step steps[] = {{100, take_up_with_timer},
						      {20000, hold},
						      {20100, try},
						      {60150, ok}};
	(void)state;

	lab_open(false);
	lab.world.options.session_timer_s = 90;
	world_dial(&lab.world);
	lab_run(steps, 4, 300000);
	lab_assert_times("INVITE", 0, "0 20000");
	lab_assert_times("BYE", 0, "60100");
	lab_assert_ms(lab.closed_ms, 60150);
	assert_int_equal(lab.world.closed.end, SIP_END_FAILED);
	assert_string_equal(lab.world.closed_reason,
			    "the session timer expired: no refresh within 90 "
			    "s, the peer did not accept ours");
	lab_close();
}

static void refuse(void *arg)
{
	(void)arg;
	answer(488, NULL, NULL);
}

/* The refresh that had to wait changes nothing of the expiry. */
static void test_refresh_after_a_reinvite(void **state)
{
	static const struct simulated_step steps[] = {
		{100, take_up_with_timer}, {44900, hold}, {45000, try},
		{45500, refuse},           {46200, try},  {60150, ok}};
	(void)state;

	lab_open(false);
	lab.world.options.session_timer_s = 90;
	world_dial(&lab.world);
	lab_run(steps, 6, 100000);
	lab_assert_times("INVITE", 0, "0 44900 46100");
	lab_assert_times("BYE", 0, "60100");
	assert_int_equal(lab.world.closed.end, SIP_END_FAILED);
	lab_close();
}

static char outcome[128];

static void reinvite_fails(struct world *world, struct sip_call *call,
			   enum sip_call_event event,
			   const struct sip_call_info *info)
{
	(void)world;
	(void)call;
	if (event == SIP_CALL_REINVITE_FAIL)
		snprintf(outcome, sizeof(outcome), "%u %s", info->code,
			 info->reason);
}

/* It is cancelled; refused with 487 the session stays what it was. */
static void test_reinvite_that_hangs_is_cancelled(void **state)
{
	static const struct simulated_step steps[] = {
		{100, take_up},   {20000, hold},  {20100, try},
		{20200, keep},    {120000, ring}, {200150, final_487},
		{210000, hangup}, {210100, ok}};
	(void)state;

	lab_open(false);
	lab.world.call_h = reinvite_fails;
	world_dial(&lab.world);
	lab_run(steps, 8, 300000);
	assert_string_equal(outcome, "487 no final answer within 180 s");
	lab_assert_times("INVITE", 0, "0 20000");
	lab_assert_times("CANCEL", 0, "200100");
	lab_assert_times("ACK", 0, "100 200150");
	lab_assert_times("BYE", 0, "210000");
	assert_string_equal(lab.world.log,
			    "OUTGOING LOCAL_SDP REMOTE_SDP ANSWERED "
			    "ESTABLISHED LOCAL_SDP REINVITE_FAIL CLOSED");
	assert_int_equal(lab.world.closed.end, SIP_END_LOCAL);
	lab_close();
}

static void test_reinvite_that_hangs_is_cancelled_in_vain(void **state)
{
	static const struct simulated_step steps[] = {
		{100, take_up}, {20000, hold}, {20100, try}};
	(void)state;

	lab_open(false);
	world_dial(&lab.world);
	lab_run(steps, 3, 300000);
	lab_assert_times("CANCEL", 200100, capped);
	lab_assert_times("BYE", 232100, capped);
	assert_int_equal(lab.world.closed.end, SIP_END_FAILED);
	assert_string_equal(lab.world.closed_reason,
			    "no answer to our re-INVITE");
	lab_close();
}

/* ---- a re-INVITE of the peer whose 200 gets no ACK ---- */

static void invite(void *arg)
{
	struct peer *peer = &lab.world.peer;
	(void)arg;

	peer_aim(peer, lab.world.port);
	if (!peer->target[0]) {
		snprintf(peer->target, sizeof(peer->target),
			 "sip:1001@127.0.0.1:%u", lab.world.port);
		snprintf(peer->remote_to, sizeof(peer->remote_to), "<%s>",
			 peer->target);
	}
	peer_request(peer, "INVITE", NULL, peer_sdp);
}

static void acknowledge(void *arg)
{
	struct peer *peer = &lab.world.peer;
	(void)arg;

	peer_dialog_from_response(peer);
	peer_request(peer, "ACK", NULL, NULL);
}

static void take(struct world *world, struct sip_call *call)
{
	assert_int_equal(sip_call_answer(call, &world->media), 0);
}

/* After the answer to our BYE nothing is sent any more. */
static void test_no_ack_to_a_call_hung_up(void **state)
{
	static const struct simulated_step steps[] = {{0, invite},
						      {100, acknowledge},
						      {200, invite},
						      {1000, hangup},
						      {1100, ok}};
	(void)state;

	lab_open(false);
	lab.world.incoming_h = take;
	lab_run(steps, 5, 50000);
	lab_assert_times("SIP/2.0 200", 0, "0 200 700");
	lab_assert_times("BYE", 0, "1000");
	assert_int_equal(lab.world.closed.end, SIP_END_LOCAL);
	lab_close();
}

/* Nor after the call was reported as ended, but for the BYE's repetitions. */
static void test_no_ack_and_no_answer_to_bye(void **state)
{
	static const struct simulated_step steps[] = {
		{0, invite}, {100, acknowledge}, {200, invite}, {1000, hangup}};
	(void)state;

	lab_open(false);
	lab.world.incoming_h = take;
	lab_run(steps, 4, 80000);
	lab_assert_times("SIP/2.0 200", 0, "0 200 700 1700 3700");
	lab_assert_times("BYE", 1000, capped);
	lab_assert_ms(lab.closed_ms, 6000);
	assert_int_equal(lab.world.closed.end, SIP_END_LOCAL);
	lab_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LAB_TEST(test_late_answer_of_a_call_hung_up),
		LAB_TEST(test_late_refusals_of_a_call_hung_up),
		LAB_TEST(test_reinvite_that_hangs_and_the_session_timer),
		LAB_TEST(test_refresh_after_a_reinvite),
		LAB_TEST(test_reinvite_that_hangs_is_cancelled),
		LAB_TEST(test_reinvite_that_hangs_is_cancelled_in_vain),
		LAB_TEST(test_no_ack_to_a_call_hung_up),
		LAB_TEST(test_no_ack_and_no_answer_to_bye),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
