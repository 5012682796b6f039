#include <stdlib.h>

#include "world.h"

static const struct world_options plain = {.password = "secret",
					   .domain = "example.net"};
static uint16_t ua_port;

static const char sdp_hold[] = "v=0\r\no=peer 1 2 IN IP4 127.0.0.1\r\ns=-\r\n"
			       "c=IN IP4 127.0.0.1\r\nt=0 0\r\n"
			       "m=audio 40000 RTP/AVP 8 0\r\na=sendonly\r\n";

static void called(struct peer *peer, const char *extra)
{
	peer_expect(peer, "INVITE ");
	peer_dialog_from_request(peer);
	peer_reply(peer, 200, "OK", extra, peer_sdp);
	peer_expect(peer, "ACK ");
}

static void invite(struct peer *peer, const char *extra, const char *body)
{
	peer_aim(peer, ua_port);
	snprintf(peer->target, sizeof(peer->target), "sip:1001@127.0.0.1:%u",
		 ua_port);
	snprintf(peer->remote_to, sizeof(peer->remote_to), "<%s>",
		 peer->target);
	peer_request(peer, "INVITE", extra, body);
}

static void prack(struct peer *peer)
{
	char rseq[32], rack[96];

	if (!peer_header(peer, "RSeq", rseq, sizeof(rseq)) ||
	    !peer_dialog_from_response(peer))
		return;
	snprintf(rack, sizeof(rack), "RAck: %s %u INVITE\r\n", rseq,
		 peer->invite_branch);
	peer_request(peer, "PRACK", rack, NULL);
}

static void peer_ends(struct peer *peer)
{
	peer_request(peer, "BYE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
}

/* ---- sent by us, in an established call ---- */

static void script_accepts(struct peer *peer)
{
	called(peer, NULL);
	peer_expect(peer, "UPDATE sip:peer@127.0.0.1:");
	peer_has(peer, "m=audio 30000 RTP/AVP 0 8\r\n");
	peer_has(peer, "\r\nContact: <sip:");
	peer_reply(peer, 401, "Unauthorized",
		   "WWW-Authenticate: Digest realm=\"r\", nonce=\"n\"\r\n",
		   NULL);
	peer_expect(peer, "UPDATE ");
	peer_has(peer, "Authorization: Digest");
	peer_reply(peer, 500, "Server Internal Error", "Retry-After: 0\r\n",
		   NULL);
	peer_expect(peer, "UPDATE ");
	peer_reply(peer, 200, "OK", NULL, sdp_hold);
	peer_ends(peer);
}

static void script_glare(struct peer *peer)
{
	called(peer, NULL);
	peer_expect(peer, "UPDATE ");
	/* the peer's UPDATE at the same time */
	peer_request(peer, "UPDATE", NULL, peer_sdp);
	peer_expect(peer, "SIP/2.0 491 ");
	peer_ends(peer);
}

static void script_491(struct peer *peer)
{
	called(peer, NULL);
	peer_expect(peer, "UPDATE ");
	peer_reply(peer, 491, "Request Pending", NULL, NULL);
	peer_expect(peer, "UPDATE ");
	peer_reply(peer, 491, "Request Pending", NULL, NULL);
	peer_ends(peer);
}

static void script_488(struct peer *peer)
{
	called(peer, NULL);
	peer_expect(peer, "UPDATE ");
	peer_reply(peer, 488, "Not Acceptable Here", NULL, NULL);
	peer_ends(peer);
}

static void script_481(struct peer *peer)
{
	called(peer, NULL);
	peer_expect(peer, "UPDATE ");
	peer_reply(peer, 481, "Gone", NULL, NULL);
	peer_expect(peer, "BYE ");
	peer_reply(peer, 200, "OK", NULL, NULL);
}

static void script_no_answer(struct peer *peer)
{
	called(peer, NULL);
	peer_expect(peer, "UPDATE ");
	peer_reply(peer, 200, "OK", NULL, NULL);
	peer_expect(peer, "BYE ");
	peer_reply(peer, 200, "OK", NULL, NULL);
}

static char outcome[128];

static void update_when_up(struct world *world, struct sip_call *call,
			   enum sip_call_event event,
			   const struct sip_call_info *info)
{
	(void)world;
	if (event == SIP_CALL_ESTABLISHED) {
		assert_int_equal(sip_call_update(call), 0);
		assert_int_equal(sip_call_update(call), -EBUSY);
		assert_int_equal(sip_call_hold(call), -EBUSY);
	}
	if (event != SIP_CALL_ANSWER_TO)
		return;
	assert_string_equal(info->method, "UPDATE");
	snprintf(outcome, sizeof(outcome), "%u %s", info->code, info->reason);
}

static void test_update_by_us(void **state)
{
	static const struct {
		world_script_h *script;
		const char *outcome;
		enum sip_call_end end;
		const char *reason;
	} cases[] = {
		{script_accepts, "200 OK", SIP_END_REMOTE,
		 "hung up by the peer"},
		{script_glare, "", SIP_END_REMOTE, "hung up by the peer"},
		{script_491, "491 Request Pending", SIP_END_REMOTE,
		 "hung up by the peer"},
		{script_488, "488 Not Acceptable Here", SIP_END_REMOTE,
		 "hung up by the peer"},
		{script_481, "481 Gone", SIP_END_FAILED, "481 to our UPDATE"},
		{script_no_answer, "0 the answer to our UPDATE has no SDP",
		 SIP_END_FAILED, "the answer to our UPDATE has no SDP"},
	};
	static struct world world;
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		outcome[0] = '\0';
		world_open(&world, &plain);
		world.script = cases[i].script;
		world.call_h = update_when_up;
		world_dial(&world);
		world_run(&world);
		assert_string_equal(outcome, cases[i].outcome);
		assert_int_equal(world.closed.end, cases[i].end);
		assert_string_equal(world.closed_reason, cases[i].reason);
		world_close(&world);
	}
}

/* ---- sent by the peer ---- */

static void script_update(struct peer *peer)
{
	called(peer, NULL);
	peer_request(peer, "UPDATE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_has(peer, "\r\nContact: <sip:");
	peer_has(peer, "Content-Length: 0\r\n");
	peer_request(peer, "UPDATE", NULL, sdp_hold);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_has(peer, "a=recvonly\r\n");
	peer_request(peer, "UPDATE", NULL, peer_sdp_g729);
	peer_expect(peer, "SIP/2.0 488 ");
	peer_has(peer, "\r\nWarning: 305 offhook \"");
	peer_request(peer, "UPDATE", NULL, "no SDP");
	peer_expect(peer, "SIP/2.0 488 ");
	peer_has(peer, "\r\nWarning: 399 offhook \"");
	peer_request(peer, "UPDATE", NULL, peer_sdp);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_has(peer, "a=sendrecv\r\n");
	peer_ends(peer);
	peer_request(peer, "UPDATE", NULL, peer_sdp);
	peer_expect(peer, "SIP/2.0 481 ");
}

static void test_update_by_the_peer(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	world.script = script_update;
	world.linger = true;
	world_dial(&world);
	world_run(&world);
	assert_string_equal(world.log, "OUTGOING LOCAL_SDP REMOTE_SDP ANSWERED "
				       "ESTABLISHED REMOTE_SDP LOCAL_SDP HELD "
				       "REMOTE_SDP LOCAL_SDP RESUMED CLOSED");
	world_close(&world);
}

/* ---- before the call is established ---- */

static void script_early_callee(struct peer *peer)
{
	invite(peer, "Supported: 100rel\r\n", peer_sdp);
	peer_expect(peer, "SIP/2.0 180 ");
	prack(peer);
	peer_expect(peer, "SIP/2.0 200 ");
	/* the peer's first offer has no answer yet */
	peer_request(peer, "UPDATE", NULL, sdp_hold);
	peer_expect(peer, "SIP/2.0 500 ");
	peer_has(peer, "\r\nRetry-After: ");
	peer_request(peer, "UPDATE", "X-Go: on\r\n", NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_expect(peer, "SIP/2.0 183 ");
	prack(peer);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_request(peer, "UPDATE", NULL, sdp_hold);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_has(peer, "a=recvonly\r\n");
	/* our UPDATE */
	peer_expect(peer, "UPDATE ");
	peer_has(peer, "m=audio 30000 RTP/AVP 0 8\r\n");
	peer_reply(peer, 200, "OK", NULL, peer_sdp);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_has(peer, " INVITE\r\n");
	peer_has(peer, "Content-Length: 0\r\n");
	peer_request(peer, "ACK", NULL, NULL);
	peer_ends(peer);
}

static struct tmr step;
static struct world *stepping;

static void early_step(void *arg)
{
	struct sip_call *call = arg;

	(void)sip_call_progress(call, 183, &stepping->media);
}

static void early_incoming(struct world *world, struct sip_call *call)
{
	assert_int_equal(sip_call_update(call), -ENOTCONN);
	assert_int_equal(sip_call_ring(call), 0);
	stepping = world;
	tmr_start(&step, 500, early_step, call);
}

static void early_events(struct world *world, struct sip_call *call,
			 enum sip_call_event event,
			 const struct sip_call_info *info)
{
	(void)info;
	/* the peer's description arrived */
	if (event == SIP_CALL_REMOTE_SDP && world->times[SIP_CALL_PROGRESS] &&
	    !world->times[SIP_CALL_HELD]++)
		assert_int_equal(sip_call_update(call), 0);
	if (event == SIP_CALL_ANSWER_TO)
		assert_int_equal(sip_call_answer(call, &world->media), 0);
}

static void test_update_before_we_answer(void **state)
{
	const struct sip_call_options options = {.prack = SIP_PRACK_SUPPORTED};
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	sip_account_call_options(world.account, &options);
	ua_port = world.port;
	world.script = script_early_callee;
	world.incoming_h = early_incoming;
	world.call_h = early_events;
	world_run(&world);
	assert_string_equal(
		world.log,
		"REMOTE_SDP RINGING LOCAL_SDP PROGRESS REMOTE_SDP LOCAL_SDP "
		"LOCAL_SDP REMOTE_SDP ANSWER_TO ANSWERED ESTABLISHED CLOSED");
	world_close(&world);
}

static char kept[65536];

static void script_early_caller(struct peer *peer)
{
	peer_expect(peer, "INVITE ");
	peer_dialog_from_request(peer);
	memcpy(kept, peer->in, sizeof(kept));
	peer_reply(peer, 183, "Session Progress",
		   "Require: 100rel\r\nRSeq: 1\r\n", peer_sdp);
	peer_expect(peer, "PRACK ");
	peer_reply(peer, 200, "OK", NULL, NULL);
	peer_expect(peer, "UPDATE ");
	peer_has(peer, "m=audio 30000 RTP/AVP 0 8\r\n");
	peer_reply(peer, 200, "OK", NULL, peer_sdp);
	peer_request(peer, "UPDATE", NULL, sdp_hold);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_has(peer, "a=recvonly\r\n");
	memcpy(peer->in, kept, sizeof(kept));
	/*
	 * the SDP of the 200 repeats the earlier answer and no longer describes
	 * the session
	 */
	peer_reply(peer, 200, "OK", NULL, peer_sdp);
	peer_expect(peer, "ACK ");
	peer_ends(peer);
}

static void update_in_progress(struct world *world, struct sip_call *call,
			       enum sip_call_event event,
			       const struct sip_call_info *info)
{
	(void)world;
	(void)info;
	if (event == SIP_CALL_PROGRESS)
		assert_int_equal(sip_call_update(call), 0);
}

static void test_update_before_the_peer_answers(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	world.options.prack = SIP_PRACK_SUPPORTED;
	world.script = script_early_caller;
	world.call_h = update_in_progress;
	world_dial(&world);
	assert_int_equal(sip_call_update(world.call), -ENOTCONN);
	world_run(&world);
	assert_string_equal(
		world.log,
		"OUTGOING LOCAL_SDP REMOTE_SDP PROGRESS LOCAL_SDP REMOTE_SDP "
		"ANSWER_TO REMOTE_SDP LOCAL_SDP ANSWERED ESTABLISHED HELD "
		"CLOSED");
	assert_int_equal(world.negotiated.direction, MEDIA_RECVONLY);
	world_close(&world);
}

static void answer_invite(struct peer *peer, const char *tag, int code,
			  const char *extra, const char *body)
{
	static char now[sizeof(peer->in)];

	memcpy(now, peer->in, sizeof(now));
	memcpy(peer->in, kept, sizeof(kept));
	snprintf(peer->tag, sizeof(peer->tag), "%s", tag);
	peer_reply(peer, code, "Whatever", extra, body);
	memcpy(peer->in, now, sizeof(now));
}

static void expect_invite(struct peer *peer)
{
	peer_expect(peer, "INVITE ");
	peer_dialog_from_request(peer);
	memcpy(kept, peer->in, sizeof(kept));
}

/* An UPDATE without an offer settles nothing. */
static void script_without_offer(struct peer *peer)
{
	expect_invite(peer);
	answer_invite(peer, "a", 180, NULL, NULL);
	peer_expect(peer, "UPDATE ");
	peer_has(peer, "Content-Length: 0\r\n");
	peer_reply(peer, 200, "OK", NULL, NULL);
	answer_invite(peer, "a", 200, NULL, peer_sdp);
	peer_expect(peer, "ACK ");
	peer_ends(peer);
}

static void script_without_offer_forked(struct peer *peer)
{
	expect_invite(peer);
	answer_invite(peer, "a", 180, NULL, NULL);
	peer_expect(peer, "UPDATE ");
	peer_reply(peer, 200, "OK", NULL, NULL);
	answer_invite(peer, "b", 183, NULL, sdp_hold);
	answer_invite(peer, "a", 200, NULL, peer_sdp);
	peer_expect(peer, "ACK ");
	peer_has(peer, ";tag=a\r\n");
	peer_ends(peer);
}

static void update_when_ringing(struct world *world, struct sip_call *call,
				enum sip_call_event event,
				const struct sip_call_info *info)
{
	(void)world;
	(void)info;
	if (event == SIP_CALL_RINGING)
		assert_int_equal(sip_call_update(call), 0);
}

static void test_early_update_without_offer(void **state)
{
	static const struct {
		world_script_h *script;
		const char *log;
	} cases[] = {
		{script_without_offer,
		 "OUTGOING LOCAL_SDP RINGING ANSWER_TO REMOTE_SDP ANSWERED "
		 "ESTABLISHED CLOSED"},
		{script_without_offer_forked,
		 "OUTGOING LOCAL_SDP RINGING ANSWER_TO REMOTE_SDP PROGRESS "
		 "REMOTE_SDP ANSWERED ESTABLISHED CLOSED"},
	};
	static struct world world;
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		world_open(&world, &plain);
		world.script = cases[i].script;
		world.call_h = update_when_ringing;
		world_dial(&world);
		world_run(&world);
		assert_string_equal(world.log, cases[i].log);
		assert_int_equal(world.negotiated.direction, MEDIA_SENDRECV);
		assert_int_equal(world.closed.end, SIP_END_REMOTE);
		world_close(&world);
	}
}

/* ---- an UPDATE under way when a branch answers the INVITE ---- */

static void answer_update(struct peer *peer, const char *update, int code,
			  const char *body)
{
	memcpy(peer->in, update, sizeof(peer->in));
	peer_reply(peer, code, "Whatever", NULL, body);
	snprintf(peer->tag, sizeof(peer->tag), "a");
}

/* The branch that has the UPDATE is not the one that answers. */
static void script_lost(struct peer *peer)
{
	static char update[sizeof(peer->in)];

	expect_invite(peer);
	answer_invite(peer, "a", 180, NULL, NULL);
	answer_invite(peer, "b", 183, NULL, NULL);
	peer_expect(peer, "UPDATE ");
	peer_has(peer, ";tag=b\r\n");
	memcpy(update, peer->in, sizeof(update));
	answer_invite(peer, "a", 200, NULL, peer_sdp);
	peer_expect(peer, "ACK ");
	answer_update(peer, update, 481, NULL);
	peer_ends(peer);
}

static void script_lost_with_offer(struct peer *peer)
{
	static char update[sizeof(peer->in)];

	expect_invite(peer);
	answer_invite(peer, "a", 180, NULL, NULL);
	answer_invite(peer, "b", 183, "Require: 100rel\r\nRSeq: 1\r\n",
		      peer_sdp);
	peer_expect(peer, "PRACK ");
	peer_reply(peer, 200, "OK", NULL, NULL);
	peer_expect(peer, "UPDATE ");
	peer_has(peer, ";tag=b\r\n");
	peer_has(peer, "m=audio 30000 RTP/AVP 0 8\r\n");
	memcpy(update, peer->in, sizeof(update));
	answer_invite(peer, "a", 200, NULL, peer_sdp);
	peer_expect(peer, "ACK ");
	answer_update(peer, update, 200, sdp_hold);
	peer_ends(peer);
}

/* The INVITE that made the branch got a 302. */
static void script_redirected(struct peer *peer)
{
	static char update[sizeof(peer->in)];
	char contact[64];

	snprintf(contact, sizeof(contact),
		 "Contact: <sip:other@127.0.0.1:%u>\r\n", peer->port);
	expect_invite(peer);
	answer_invite(peer, "b", 183, NULL, NULL);
	peer_expect(peer, "UPDATE ");
	memcpy(update, peer->in, sizeof(update));
	answer_invite(peer, "b", 302, contact, NULL);
	peer_expect(peer, "ACK ");
	peer_expect(peer, "INVITE sip:other@");
	memcpy(kept, peer->in, sizeof(kept));
	answer_update(peer, update, 481, NULL);
	answer_invite(peer, "a", 200, NULL, peer_sdp);
	peer_expect(peer, "ACK ");
	peer_ends(peer);
}

static unsigned cseq_of(struct peer *peer)
{
	char text[64];

	peer_header(peer, "CSeq", text, sizeof(text));
	return (unsigned)strtoul(text, NULL, 10);
}

/* It is the one: the UPDATE goes on in its dialog. */
static void script_confirmed(struct peer *peer)
{
	static char update[sizeof(peer->in)];
	unsigned cseq;

	expect_invite(peer);
	cseq = cseq_of(peer);
	answer_invite(peer, "b", 180, NULL, NULL);
	answer_invite(peer, "a", 183, NULL, NULL);
	peer_expect(peer, "UPDATE ");
	memcpy(update, peer->in, sizeof(update));
	answer_invite(peer, "a", 200, NULL, peer_sdp);
	peer_expect(peer, "ACK ");
	memcpy(peer->in, update, sizeof(update));
	peer_reply(peer, 401, "Unauthorized",
		   "WWW-Authenticate: Digest realm=\"r\", nonce=\"n\"\r\n",
		   NULL);
	do /* the first one may have come again */
		peer_expect(peer, "UPDATE ");
	while (!peer->fail[0] && cseq_of(peer) == cseq + 1);
	peer_has(peer, "Authorization: Digest");
	if (cseq_of(peer) != cseq + 2)
		snprintf(peer->fail, sizeof(peer->fail), "CSeq of UPDATE");
	peer_reply(peer, 200, "OK", NULL, NULL);
	peer_expect(peer, "BYE ");
	if (cseq_of(peer) != cseq + 3)
		snprintf(peer->fail, sizeof(peer->fail), "CSeq of BYE");
	peer_reply(peer, 200, "OK", NULL, NULL);
}

static void update_last_branch(struct world *world, struct sip_call *call,
			       enum sip_call_event event,
			       const struct sip_call_info *info)
{
	if (event == SIP_CALL_PROGRESS)
		assert_int_equal(sip_call_update(call), 0);
	if (event != SIP_CALL_ANSWER_TO)
		return;
	snprintf(outcome, sizeof(outcome), "%u %s", info->code, info->reason);
	if (world->script == script_confirmed)
		sip_call_hangup(call);
}

static void test_early_update_and_the_branch_that_answers(void **state)
{
	static const struct {
		world_script_h *script;
		const char *outcome;
		enum sip_call_end end;
	} cases[] = {
		{script_lost, "0 another branch answered the INVITE",
		 SIP_END_REMOTE},
		{script_lost_with_offer, "0 another branch answered the INVITE",
		 SIP_END_REMOTE},
		{script_redirected, "0 the INVITE was redirected",
		 SIP_END_REMOTE},
		{script_confirmed, "200 OK", SIP_END_LOCAL},
	};
	static struct world world;
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		outcome[0] = '\0';
		world_open(&world, &plain);
		world.options.prack = SIP_PRACK_SUPPORTED;
		world.options.redirects_max = 1;
		world.script = cases[i].script;
		world.call_h = update_last_branch;
		world_dial(&world);
		world_run(&world);
		assert_string_equal(outcome, cases[i].outcome);
		assert_int_equal(world.closed.end, cases[i].end);
		assert_int_equal(world.negotiated.direction, MEDIA_SENDRECV);
		world_close(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_update_by_us),
		cmocka_unit_test(test_update_by_the_peer),
		cmocka_unit_test(test_update_before_we_answer),
		cmocka_unit_test(test_update_before_the_peer_answers),
		cmocka_unit_test(test_early_update_without_offer),
		cmocka_unit_test(test_early_update_and_the_branch_that_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
