/*
 * Calls whose peer answers late, or never: what is sent, and when it ends, on a
 * simulated clock.
 */
#include "lab.h"

/* ---- steps ---- */

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

static void hangup(void *arg)
{
	(void)arg;
	if (lab.world.call)
		sip_call_hangup(lab.world.call);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		LAB_TEST(test_late_answer_of_a_call_hung_up),
		LAB_TEST(test_late_refusals_of_a_call_hung_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
