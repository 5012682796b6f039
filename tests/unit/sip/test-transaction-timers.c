/*
 * Timers A to K (RFC 3261 17, table 4) and the retransmissions of the UAS core
 * (13.3.1.4, RFC 3262 section 3), with a peer that stays silent: the times at
 * which messages reach its socket, on a simulated clock.
 */
#include <arpa/inet.h>
#include <unistd.h>

#include "lab.h"

static const char doubling[] = "0 500 1500 3500 7500 15500 31500";
static const char capped[] = "0 500 1500 3500 7500 11500 15500 19500 23500 "
			     "27500 31500";

/* ---- client transactions ---- */

static void answer(int code, const char *extra)
{
	peer_reply(&lab.world.peer, code, "Whatever", extra, NULL);
}

static void ring(void *arg)
{
	(void)arg;
	answer(180, NULL);
}

static void try(void *arg)
{
	(void)arg;
	answer(100, NULL);
}

static void ok(void *arg)
{
	(void)arg;
	answer(200, NULL);
}

/*
 * Respond to the INVITE: the last message is its ACK, so use the one before it.
 */
static char invite_text[65536];

static void busy(void *arg)
{
	struct peer *peer = &lab.world.peer;
	(void)arg;

	if (strncmp(peer->in, "INVITE ", 7) == 0)
		memcpy(invite_text, peer->in, sizeof(invite_text));
	memcpy(peer->in, invite_text, sizeof(peer->in));
	answer(486, NULL);
}

static void test_a_and_b_invite_without_answer(void **state)
{
	(void)state;
	lab_open(false);
	world_dial(&lab.world);
	lab_run(NULL, 0, 100000);
	lab_assert_times("INVITE", 0, doubling);
	lab_assert_ms(lab.closed_ms, 32000);
	lab_assert_ms(lab.none_ms, 32000);
	assert_int_equal(lab.world.closed.end, SIP_END_FAILED);
	assert_non_null(strstr(lab.world.closed_reason, "within 32 s"));
	lab_close();
}

static void answer_another(void *arg)
{
	struct peer *peer = &lab.world.peer;
	char *callid = strstr(peer->in, "Call-ID: ");
	(void)arg;

	callid[sizeof("Call-ID: ") - 1] ^= 1;
	answer(486, NULL);
}

/* The time-out names the response that arrived but was discarded. */
static void test_b_says_what_was_discarded(void **state)
{
	static const struct simulated_step steps[] = {{100, answer_another}};
	(void)state;

	lab_open(false);
	world_dial(&lab.world);
	lab_run(steps, 1, 40000);
	lab_assert_times("INVITE", 0, doubling);
	lab_assert_ms(lab.closed_ms, 32000);
	assert_non_null(strstr(lab.world.closed_reason,
			       "over UDP within 32 s: a response was "
			       "discarded, its Call-ID, From tag or CSeq is "
			       "not the request's"));
	lab_close();
}

static void test_b_alone_over_tcp(void **state)
{
	(void)state;
	lab_open(true);
	world_dial(&lab.world);
	lab_run(NULL, 0, 100000);
	lab_assert_times("INVITE", 0, "0");
	lab_assert_ms(lab.closed_ms, 32000);
	lab_close();
}

static void test_a_ends_with_a_provisional_response(void **state)
{
	static const struct simulated_step steps[] = {{1600, ring}};
	(void)state;

	lab_open(false);
	world_dial(&lab.world);
	lab_run(steps, 1, 170000);
	lab_assert_times("INVITE", 0, "0 500 1500");
	assert_int_equal(lab.closed_ms, -1); /* timer B does not run either */
	lab_close();
}

/*
 * Timer C belongs to proxies. The equivalent of a user agent is the ring
 * timeout: 180 s, then a CANCEL, with timers E and F. The INVITE transaction
 * waits 64*T1 for the 487 (RFC 3261 9.1).
 */
static void test_c_is_the_ring_timeout(void **state)
{
	static const struct simulated_step steps[] = {{100, ring},
						      {170000, ring}};
	(void)state;

	lab_open(false);
	world_dial(&lab.world);
	lab_run(steps, 2, 300000);
	lab_assert_times("INVITE", 0, "0");
	lab_assert_times("CANCEL", 180000, capped);
	lab_assert_ms(lab.closed_ms, 185000); /* reported before: END_WAIT_MS */
	lab_assert_ms(lab.none_ms, 212000);
	lab_close();
}

static void test_d_takes_repeated_refusals(void **state)
{
	static const struct simulated_step steps[] = {
		{100, busy}, {600, busy}, {32000, busy}, {32200, busy}};
	(void)state;

	lab_open(false);
	world_dial(&lab.world);
	lab_run(steps, 4, 40000);
	lab_assert_times("INVITE", 0, "0");
	lab_assert_times("ACK", 0, "100 600 32000");
	lab_assert_ms(lab.none_ms, 32100);
	lab_close();
}

static void test_d_is_zero_over_tcp(void **state)
{
	static const struct simulated_step steps[] = {{100, busy}};
	(void)state;

	lab_open(true);
	world_dial(&lab.world);
	lab_run(steps, 1, 40000);
	lab_assert_times("ACK", 0, "100");
	lab_assert_ms(lab.none_ms, 100);
	lab_close();
}

static void test_e_and_f_register_without_answer(void **state)
{
	(void)state;
	lab_open(false);
	assert_int_equal(sip_account_register(lab.world.account), 0);
	lab_run(NULL, 0, 32500);
	lab_assert_times("REGISTER", 0, capped);
	lab_assert_ms(lab.none_ms, 32000);
	assert_string_equal(lab.world.log, "REGISTERING REGISTER_FAIL");
	assert_non_null(strstr(lab.world.account_reason, "within 32 s"));
	lab_close();
}

static void test_f_alone_over_tcp(void **state)
{
	(void)state;
	lab_open(true);
	assert_int_equal(sip_account_register(lab.world.account), 0);
	lab_run(NULL, 0, 32500);
	lab_assert_times("REGISTER", 0, "0");
	lab_assert_ms(lab.none_ms, 32000);
	assert_string_equal(lab.world.log, "REGISTERING REGISTER_FAIL");
	lab_close();
}

/* RFC 3261 17.1.2.2: E becomes T2; F continues. */
static void test_e_and_f_after_a_provisional_response(void **state)
{
	static const struct simulated_step steps[] = {{600, try}, {30000, try}};
	(void)state;

	lab_open(false);
	assert_int_equal(sip_account_register(lab.world.account), 0);
	lab_run(steps, 2, 32500);
	lab_assert_times("REGISTER", 0,
			 "0 500 1500 5500 9500 13500 17500 21500 25500 29500");
	lab_assert_ms(lab.none_ms, 32000);
	assert_string_equal(lab.world.log, "REGISTERING REGISTER_FAIL");
	lab_close();
}

static void test_k_is_t4(void **state)
{
	static const struct simulated_step steps[] = {{600, ok}, {700, ok}};
	(void)state;

	lab_open(false);
	assert_int_equal(sip_account_register(lab.world.account), 0);
	lab_run(steps, 2, 20000);
	lab_assert_times("REGISTER", 0, "0 500");
	lab_assert_ms(lab.none_ms, 5600);
	lab_close();
}

static void test_k_is_zero_over_tcp(void **state)
{
	static const struct simulated_step steps[] = {{600, ok}};
	(void)state;

	lab_open(true);
	assert_int_equal(sip_account_register(lab.world.account), 0);
	lab_run(steps, 1, 20000);
	lab_assert_ms(lab.none_ms, 600);
	lab_close();
}

/* ---- server transactions ---- */

/* Over TCP, on a connection of the peer's. */
static void peer_tcp_connect(void)
{
	struct sockaddr_in sin = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	sin.sin_port = htons(lab.world.port);
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(connect(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	close(lab.world.peer.fd);
	lab.world.peer.fd = fd;
}

static void request(const char *method, const char *extra)
{
	struct peer *peer = &lab.world.peer;

	peer_aim(peer, lab.world.port);
	if (!peer->target[0]) {
		snprintf(peer->target, sizeof(peer->target),
			 "sip:1001@127.0.0.1:%u", lab.world.port);
		snprintf(peer->remote_to, sizeof(peer->remote_to), "<%s>",
			 peer->target);
	}
	peer_request(peer, method, extra,
		     strcmp(method, "INVITE") == 0 ? peer_sdp : NULL);
}

static void invite(void *arg)
{
	(void)arg;
	request("INVITE", NULL);
}

static void invite_reliably(void *arg)
{
	(void)arg;
	request("INVITE", "Require: 100rel\r\n");
}

/*
 * The ACK of a failure response has the branch of the INVITE (RFC 3261
 * 17.1.1.3).
 */
static void acknowledge(void *arg)
{
	struct peer *peer = &lab.world.peer;
	char text[1024];
	int len;
	(void)arg;

	peer_tag_from_response(peer);
	len = snprintf(text, sizeof(text),
		       "ACK %s SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:%u;"
		       "branch=z9hG4bK%s%u;rport\r\nMax-Forwards: 70\r\n"
		       "From: <sip:peer@127.0.0.1>;tag=%s\r\nTo: %s\r\n"
		       "Call-ID: %s\r\nCSeq: %u ACK\r\n"
		       "Content-Length: 0\r\n\r\n",
		       peer->target, peer->port, peer->tag, peer->cseq,
		       peer->tag, peer->remote_to, peer->callid, peer->cseq);
	peer_aim(peer, lab.world.port);
	peer_send_raw(peer, text, (size_t)len);
}

static void ask_options(void *arg)
{
	(void)arg;
	request("OPTIONS", NULL);
}

static void ask_again(void *arg)
{
	(void)arg;
	lab.world.peer.cseq--;
	request("OPTIONS", NULL);
}

static void refuse(struct world *world, struct sip_call *call)
{
	(void)world;
	assert_int_equal(sip_call_reject(call, 486, NULL), 0);
}

static void take(struct world *world, struct sip_call *call)
{
	assert_int_equal(sip_call_answer(call, &world->media), 0);
}

static void ring_reliably(struct world *world, struct sip_call *call)
{
	(void)world;
	assert_int_equal(sip_call_ring(call), 0);
}

static void test_g_and_h_refusal_without_ack(void **state)
{
	static const struct simulated_step steps[] = {{0, invite}};
	(void)state;

	lab_open(false);
	lab.world.incoming_h = refuse;
	lab_run(steps, 1, 40000);
	lab_assert_times("SIP/2.0 486", 0, capped);
	lab_assert_ms(lab.none_ms, 32000);
	lab_close();
}

static void test_h_alone_over_tcp(void **state)
{
	static const struct simulated_step steps[] = {{0, invite}};
	(void)state;

	lab_open(true);
	peer_tcp_connect();
	lab.world.incoming_h = refuse;
	lab_run(steps, 1, 40000);
	/* the 100 arrived in the same segment */
	lab_assert_times("SIP/2.0 ", 0, "0");
	lab_assert_ms(lab.none_ms, 32000);
	lab_close();
}

static void test_i_takes_repeated_acks(void **state)
{
	static const struct simulated_step steps[] = {
		{0, invite}, {700, acknowledge}, {800, acknowledge}};
	(void)state;

	lab_open(false);
	lab.world.incoming_h = refuse;
	lab_run(steps, 3, 40000);
	lab_assert_times("SIP/2.0 486", 0, "0 500");
	lab_assert_ms(lab.none_ms, 5700);
	lab_close();
}

static void test_i_is_zero_over_tcp(void **state)
{
	static const struct simulated_step steps[] = {{0, invite},
						      {700, acknowledge}};
	(void)state;

	lab_open(true);
	peer_tcp_connect();
	lab.world.incoming_h = refuse;
	lab_run(steps, 2, 40000);
	lab_assert_ms(lab.none_ms, 700);
	lab_close();
}

static void test_j_answers_repetitions(void **state)
{
	static const struct simulated_step steps[] = {
		{0, ask_options}, {500, ask_again}, {31900, ask_again}};
	(void)state;

	lab_open(false);
	lab_run(steps, 3, 40000);
	lab_assert_times("SIP/2.0 200", 0, "0 500 31900");
	lab_assert_ms(lab.none_ms, 32000);
	lab_close();
}

static void test_j_is_zero_over_tcp(void **state)
{
	static const struct simulated_step steps[] = {{100, ask_options}};
	(void)state;

	lab_open(true);
	peer_tcp_connect();
	lab_run(steps, 1, 40000);
	lab_assert_times("SIP/2.0 200", 0, "100");
	assert_false(lab.had_one); /* never a transaction when the loop is
				    * idle */
	lab_close();
}

static void test_2xx_without_ack(void **state)
{
	static const struct simulated_step steps[] = {{0, invite}};

	for (int tcp = 0; tcp < 2; tcp++) {
		lab_open(tcp);
		if (tcp)
			peer_tcp_connect();
		lab.world.incoming_h = take;
		lab_run(steps, 1, 33000);
		lab_assert_times(tcp ? "SIP/2.0 " : "SIP/2.0 200", 0, capped);
		if (!tcp)
			lab_assert_times("BYE", 32000, "0 500");
		lab_close();
	}
	(void)state;
}

/* RFC 3262 section 3: the interval doubles without a ceiling. */
static void test_reliable_provisional_without_prack(void **state)
{
	static const struct simulated_step steps[] = {{0, invite_reliably}};
	const struct sip_call_options options = {.prack = SIP_PRACK_SUPPORTED};
	(void)state;

	lab_open(false);
	lab.world.incoming_h = ring_reliably;
	sip_account_call_options(lab.world.account, &options);
	lab_run(steps, 1, 40000);
	lab_assert_times("SIP/2.0 180", 0, doubling);
	lab_assert_times("SIP/2.0 504", 32000, "0 500 1500 3500 7500");
	lab_assert_ms(lab.closed_ms, 32000);
	lab_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LAB_TEST(test_a_and_b_invite_without_answer),
		LAB_TEST(test_b_says_what_was_discarded),
		LAB_TEST(test_b_alone_over_tcp),
		LAB_TEST(test_a_ends_with_a_provisional_response),
		LAB_TEST(test_c_is_the_ring_timeout),
		LAB_TEST(test_d_takes_repeated_refusals),
		LAB_TEST(test_d_is_zero_over_tcp),
		LAB_TEST(test_e_and_f_register_without_answer),
		LAB_TEST(test_f_alone_over_tcp),
		LAB_TEST(test_e_and_f_after_a_provisional_response),
		LAB_TEST(test_k_is_t4),
		LAB_TEST(test_k_is_zero_over_tcp),
		LAB_TEST(test_g_and_h_refusal_without_ack),
		LAB_TEST(test_h_alone_over_tcp),
		LAB_TEST(test_i_takes_repeated_acks),
		LAB_TEST(test_i_is_zero_over_tcp),
		LAB_TEST(test_j_answers_repetitions),
		LAB_TEST(test_j_is_zero_over_tcp),
		LAB_TEST(test_2xx_without_ack),
		LAB_TEST(test_reliable_provisional_without_prack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
