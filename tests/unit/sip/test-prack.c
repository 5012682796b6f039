#include <stdlib.h>

#include "world.h"

static const struct world_options plain = {.password = "secret",
					   .domain = "example.net"};
static uint16_t ua_port;

#define RELIABLE(rseq) "Require: 100rel\r\nRSeq: " #rseq "\r\n"

/* ---- we call ---- */

static void hangup_when_up(struct world *world, struct sip_call *call,
			   enum sip_call_event event,
			   const struct sip_call_info *info)
{
	(void)world;
	(void)info;
	if (event == SIP_CALL_ESTABLISHED)
		sip_call_hangup(call);
}

static void bye(struct peer *peer)
{
	peer_expect(peer, "BYE ");
	peer_reply(peer, 200, "OK", NULL, NULL);
}

/* The INVITE, which is answered when the last message is a PRACK. */
static char invite_text[65536];

static void keep_invite(struct peer *peer)
{
	memcpy(invite_text, peer->in, sizeof(invite_text));
}

static void answer_invite(struct peer *peer, int code, const char *extra,
			  const char *body)
{
	char *now = malloc(sizeof(peer->in));

	memcpy(now, peer->in, sizeof(peer->in));
	memcpy(peer->in, invite_text, sizeof(peer->in));
	peer_reply(peer, code, "Whatever", extra, body);
	memcpy(peer->in, now, sizeof(peer->in));
	free(now);
}

static unsigned cseq_of(struct peer *peer)
{
	char text[64];

	peer_header(peer, "CSeq", text, sizeof(text));
	return (unsigned)strtoul(text, NULL, 10);
}

static void expect_cseq(struct peer *peer, unsigned cseq, const char *what)
{
	if (cseq_of(peer) != cseq)
		snprintf(peer->fail, sizeof(peer->fail), "%s", what);
}

static void expect_rack(struct peer *peer, unsigned rseq, unsigned cseq)
{
	char text[64];

	snprintf(text, sizeof(text), "\r\nRAck: %u %u INVITE\r\n", rseq, cseq);
	peer_has(peer, text);
}

static void script_caller(struct peer *peer)
{
	unsigned cseq;

	peer_expect(peer, "INVITE ");
	peer_has(peer, "100rel");
	peer_has_not(peer, "Require:");
	keep_invite(peer);
	cseq = cseq_of(peer);
	answer_invite(peer, 180, RELIABLE(5), NULL);
	peer_expect(peer, "PRACK sip:peer@127.0.0.1:");
	expect_rack(peer, 5, cseq);
	expect_cseq(peer, cseq + 1, "CSeq of PRACK");
	/* challenged: sent again with credentials */
	peer_reply(peer, 401, "Unauthorized",
		   "WWW-Authenticate: Digest realm=\"r\", nonce=\"n\"\r\n",
		   NULL);
	peer_expect(peer, "PRACK ");
	peer_has(peer, "Authorization: Digest");
	expect_rack(peer, 5, cseq);
	peer_reply(peer, 200, "OK", NULL, NULL);
	/* a retransmission, and one that skips an RSeq */
	answer_invite(peer, 180, RELIABLE(5), NULL);
	answer_invite(peer, 183, RELIABLE(7), peer_sdp);
	peer_silence(peer, "PRACK", 300);
	answer_invite(peer, 183, RELIABLE(6), peer_sdp);
	peer_expect(peer, "PRACK ");
	expect_rack(peer, 6, cseq);
	peer_has(peer, "Content-Length: 0\r\n");
	peer_reply(peer, 200, "OK", NULL, NULL);
	answer_invite(peer, 200, NULL, NULL);
	peer_expect(peer, "ACK ");
	bye(peer);
	expect_cseq(peer, cseq + 4, "CSeq of BYE");
}

static void test_caller_acknowledges(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	world.options.prack = SIP_PRACK_SUPPORTED;
	world.script = script_caller;
	world.call_h = hangup_when_up;
	world_dial(&world);
	world_run(&world);
	assert_string_equal(world.log,
			    "OUTGOING LOCAL_SDP RINGING REMOTE_SDP PROGRESS "
			    "ANSWERED ESTABLISHED CLOSED");
	assert_int_equal(world.closed.end, SIP_END_LOCAL);
	assert_int_equal(world.negotiated_count, 1);
	world_close(&world);
}

static void script_forked(struct peer *peer)
{
	unsigned cseq;

	peer_expect(peer, "INVITE ");
	keep_invite(peer);
	cseq = cseq_of(peer);
	for (int i = 0; i < 2; i++) {
		snprintf(peer->tag, sizeof(peer->tag), "branch%d", i);
		answer_invite(peer, 180, RELIABLE(9), NULL);
		peer_expect(peer, "PRACK ");
		peer_has(peer, i ? ";tag=branch1\r\n" : ";tag=branch0\r\n");
		expect_rack(peer, 9, cseq);
		if (cseq_of(peer) != cseq + 1)
			snprintf(peer->fail, sizeof(peer->fail), "CSeq of %d",
				 i);
		peer_reply(peer, 200, "OK", NULL, NULL);
	}
	answer_invite(peer, 200, NULL, peer_sdp);
	peer_expect(peer, "ACK ");
	peer_has(peer, ";tag=branch1\r\n");
	bye(peer);
}

#define CALL_EARLY_MAX 16 /* sip/call/fork.c */

/* A provisional response of one further branch gets no PRACK. */
static void script_many_branches(struct peer *peer)
{
	peer_expect(peer, "INVITE ");
	keep_invite(peer);
	for (unsigned i = 0; i < CALL_EARLY_MAX; i++) {
		snprintf(peer->tag, sizeof(peer->tag), "branch%u", i);
		answer_invite(peer, 180, RELIABLE(9), NULL);
		peer_expect(peer, "PRACK ");
		peer_has(peer, peer->tag);
		peer_reply(peer, 200, "OK", NULL, NULL);
	}
	snprintf(peer->tag, sizeof(peer->tag), "beyond");
	answer_invite(peer, 180, RELIABLE(9), NULL);
	snprintf(peer->tag, sizeof(peer->tag), "branch0");
	answer_invite(peer, 180, RELIABLE(10), NULL);
	peer_expect(peer, "PRACK ");
	peer_has(peer, ";tag=branch0\r\n");
	peer_reply(peer, 200, "OK", NULL, NULL);
	answer_invite(peer, 200, NULL, peer_sdp);
	peer_expect(peer, "ACK ");
	bye(peer);
}

static void test_caller_with_too_many_branches(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	world.options.prack = SIP_PRACK_SUPPORTED;
	world.script = script_many_branches;
	world.call_h = hangup_when_up;
	world_dial(&world);
	world_run(&world);
	assert_int_equal(world.closed.end, SIP_END_LOCAL);
	world_close(&world);
}

static void test_caller_counts_each_branch(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	world.options.prack = SIP_PRACK_SUPPORTED;
	world.script = script_forked;
	world.call_h = hangup_when_up;
	world_dial(&world);
	world_run(&world);
	assert_int_equal(world.closed.end, SIP_END_LOCAL);
	world_close(&world);
}

/* Our CANCEL crosses the 200: the BYE counts on from the PRACKs. */
static void script_crossed(struct peer *peer)
{
	unsigned cseq;

	peer_expect(peer, "INVITE ");
	keep_invite(peer);
	cseq = cseq_of(peer);
	answer_invite(peer, 180, RELIABLE(1), NULL);
	peer_expect(peer, "PRACK ");
	peer_reply(peer, 200, "OK", NULL, NULL);
	answer_invite(peer, 183, RELIABLE(2), NULL);
	peer_expect(peer, "PRACK ");
	peer_reply(peer, 200, "OK", NULL, NULL);
	peer_expect(peer, "CANCEL ");
	peer_reply(peer, 200, "OK", NULL, NULL);
	answer_invite(peer, 200, NULL, peer_sdp);
	peer_expect(peer, "ACK ");
	expect_cseq(peer, cseq, "CSeq of ACK");
	bye(peer);
	expect_cseq(peer, cseq + 3, "CSeq of BYE");
}

static void hangup_in_progress(struct world *world, struct sip_call *call,
			       enum sip_call_event event,
			       const struct sip_call_info *info)
{
	(void)world;
	(void)info;
	if (event == SIP_CALL_PROGRESS)
		sip_call_hangup(call);
}

static void test_caller_cancels_after_pracks(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	world.options.prack = SIP_PRACK_SUPPORTED;
	world.script = script_crossed;
	world.call_h = hangup_in_progress;
	world_dial(&world);
	world_run(&world);
	assert_int_equal(world.closed.end, SIP_END_CANCELLED);
	world_close(&world);
}

/* The 2xx overtakes the challenge of a PRACK: the early dialog is the call's then. */
static void script_challenged_late(struct peer *peer)
{
	unsigned cseq;
	static char prack[sizeof(peer->in)];

	peer_expect(peer, "INVITE ");
	keep_invite(peer);
	cseq = cseq_of(peer);
	answer_invite(peer, 180, RELIABLE(1), NULL);
	peer_expect(peer, "PRACK ");
	memcpy(prack, peer->in, sizeof(prack));
	answer_invite(peer, 200, NULL, peer_sdp);
	peer_expect(peer, "ACK ");
	peer_expect(peer, "BYE ");
	expect_cseq(peer, cseq + 2, "CSeq of BYE");
	keep_invite(peer); /* the BYE, which is answered last */
	memcpy(peer->in, prack, sizeof(peer->in));
	peer_reply(peer, 401, "Unauthorized",
		   "WWW-Authenticate: Digest realm=\"r\", nonce=\"n\"\r\n",
		   NULL);
	peer_expect(peer, "PRACK ");
	expect_cseq(peer, cseq + 3, "CSeq of the second PRACK");
	peer_reply(peer, 200, "OK", NULL, NULL);
	answer_invite(peer, 200, NULL, NULL);
}

static void test_caller_is_challenged_after_the_answer(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	world.options.prack = SIP_PRACK_SUPPORTED;
	world.script = script_challenged_late;
	world.call_h = hangup_when_up;
	world_dial(&world);
	world_run(&world);
	assert_int_equal(world.closed.end, SIP_END_LOCAL);
	world_close(&world);
}

/* Both branches answer: the BYE to the second counts on from its PRACK. A
 * request in the early dialog of the second is not one of the call. */
static void script_both_answer(struct peer *peer)
{
	unsigned cseq;

	peer_expect(peer, "INVITE ");
	peer_dialog_from_request(peer);
	keep_invite(peer);
	cseq = cseq_of(peer);
	for (int i = 0; i < 2; i++) {
		snprintf(peer->tag, sizeof(peer->tag), "branch%d", i);
		answer_invite(peer, 180, RELIABLE(9), NULL);
		peer_expect(peer, "PRACK ");
		peer_reply(peer, 200, "OK", NULL, NULL);
	}
	answer_invite(peer, 200, NULL, peer_sdp);
	peer_expect(peer, "ACK ");
	snprintf(peer->tag, sizeof(peer->tag), "branch0");
	peer_request(peer, "OPTIONS", NULL, NULL);
	peer_expect(peer, "SIP/2.0 481 ");
	answer_invite(peer, 200, NULL, peer_sdp);
	peer_expect(peer, "ACK ");
	peer_has(peer, ";tag=branch0\r\n");
	bye(peer);
	peer_has(peer, ";tag=branch0\r\n");
	expect_cseq(peer, cseq + 2, "CSeq of BYE");
	snprintf(peer->tag, sizeof(peer->tag), "branch1");
	peer_request(peer, "BYE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
}

static void test_caller_ends_a_branch_after_its_prack(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	world.options.prack = SIP_PRACK_SUPPORTED;
	world.script = script_both_answer;
	world_dial(&world);
	world_run(&world);
	assert_int_equal(world.closed.end, SIP_END_REMOTE);
	world_close(&world);
}

static void script_refuses(struct peer *peer)
{
	peer_expect(peer, "INVITE ");
	peer_has(peer, "\r\nRequire: 100rel\r\n");
	peer_reply(peer, 420, "Bad Extension", "Unsupported: 100rel\r\n", NULL);
	peer_expect(peer, "ACK ");
}

static void test_caller_requires_in_vain(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	world.options.prack = SIP_PRACK_REQUIRED;
	world.script = script_refuses;
	world_dial(&world);
	world_run(&world);
	assert_int_equal(world.closed.end, SIP_END_REJECTED);
	assert_int_equal(world.closed.code, 420);
	world_close(&world);
}

static void script_unasked(struct peer *peer)
{
	peer_expect(peer, "INVITE ");
	peer_has_not(peer, "100rel");
	keep_invite(peer);
	answer_invite(peer, 180, RELIABLE(5), NULL);
	peer_silence(peer, "PRACK", 300);
	answer_invite(peer, 200, NULL, peer_sdp);
	peer_expect(peer, "ACK ");
	bye(peer);
}

static void test_caller_does_not_know_100rel(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	world.script = script_unasked;
	world.call_h = hangup_when_up;
	world_dial(&world);
	world_run(&world);
	assert_int_equal(world.closed.end, SIP_END_LOCAL);
	world_close(&world);
}

static void script_late_prack(struct peer *peer)
{
	peer_expect(peer, "INVITE ");
	peer_has(peer, "Content-Length: 0\r\n");
	keep_invite(peer);
	/*
	 * an unreliable provisional response may be lost: its SDP is not an
	 * offer
	 */
	answer_invite(peer, 183, NULL, peer_sdp);
	answer_invite(peer, 183, RELIABLE(1), peer_sdp);
	peer_expect(peer, "PRACK ");
	peer_has(peer, "m=audio 30000 RTP/AVP 8 0\r\n");
	peer_reply(peer, 200, "OK", NULL, NULL);
	answer_invite(peer, 200, NULL, NULL);
	peer_expect(peer, "ACK ");
	peer_has(peer, "Content-Length: 0\r\n");
	bye(peer);
}

static void script_late(struct peer *peer)
{
	peer_expect(peer, "INVITE ");
	peer_has(peer, "Content-Length: 0\r\n");
	peer_reply(peer, 200, "OK", NULL, peer_sdp);
	peer_expect(peer, "ACK ");
	peer_has(peer, "m=audio 30000 RTP/AVP 8 0\r\n");
	bye(peer);
}

static void script_late_empty(struct peer *peer)
{
	peer_expect(peer, "INVITE ");
	peer_reply(peer, 200, "OK", NULL, NULL);
	peer_expect(peer, "ACK ");
	bye(peer);
}

static void test_caller_leaves_the_offer_to_the_peer(void **state)
{
	static const struct {
		world_script_h *script;
		enum sip_call_end end;
		const char *reason;
		const char *log;
	} cases[] = {
		{script_late_prack, SIP_END_LOCAL, "hung up by us",
		 "OUTGOING PROGRESS REMOTE_SDP LOCAL_SDP ANSWERED "
		 "ESTABLISHED CLOSED"},
		{script_late, SIP_END_LOCAL, "hung up by us",
		 "OUTGOING ANSWERED REMOTE_SDP LOCAL_SDP ESTABLISHED CLOSED"},
		{script_late_empty, SIP_END_FAILED,
		 "the 2xx has no SDP, which had to be the offer",
		 "OUTGOING ANSWERED CLOSED"},
	};
	static struct world world;
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		world_open(&world, &plain);
		world.options.prack = SIP_PRACK_SUPPORTED;
		world.options.late_offer = true;
		world.script = cases[i].script;
		world.call_h = hangup_when_up;
		world_dial(&world);
		world_run(&world);
		assert_int_equal(world.closed.end, cases[i].end);
		assert_string_equal(world.closed_reason, cases[i].reason);
		assert_string_equal(world.log, cases[i].log);
		world_close(&world);
	}
}

/* ---- we are called ---- */

static void invite(struct peer *peer, const char *extra, const char *body)
{
	peer_aim(peer, ua_port);
	snprintf(peer->target, sizeof(peer->target), "sip:1001@127.0.0.1:%u",
		 ua_port);
	snprintf(peer->remote_to, sizeof(peer->remote_to), "<%s>",
		 peer->target);
	peer_request(peer, "INVITE", extra, body);
}

static bool prack(struct peer *peer, unsigned add, const char *body)
{
	char rseq[32], rack[96];

	if (!peer_header(peer, "RSeq", rseq, sizeof(rseq)) ||
	    !peer_dialog_from_response(peer))
		return false;
	snprintf(rack, sizeof(rack), "RAck: %lu %u INVITE\r\n",
		 strtoul(rseq, NULL, 10) + add, peer->invite_branch);
	return peer_request(peer, "PRACK", rack, body);
}

static void script_callee(struct peer *peer)
{
	char text[4096];

	invite(peer, "Supported: 100rel\r\n", peer_sdp);
	peer_expect(peer, "SIP/2.0 180 ");
	peer_has(peer, "\r\nRequire: 100rel\r\n");
	peer_has(peer, "\r\nRSeq: ");
	snprintf(text, sizeof(text), "%.*s", 4095, peer->in);
	prack(peer, 1, NULL);
	peer_expect(peer, "SIP/2.0 481 ");
	peer_expect(peer, "SIP/2.0 180 "); /* retransmitted */
	if (!peer->fail[0] && strcmp(text, peer->in) != 0)
		snprintf(peer->fail, sizeof(peer->fail), "another 180");
	prack(peer, 0, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_has(peer, "Content-Length: 0\r\n");
	peer_expect(peer, "SIP/2.0 183 ");
	peer_has(peer, "m=audio 30000 RTP/AVP 8 0\r\n");
	prack(peer, 0, NULL);
	peer_expect(peer, "SIP/2.0 200 "); /* of the PRACK */
	peer_expect(peer, "SIP/2.0 200 ");
	peer_has(peer, " INVITE\r\n");
	peer_has(peer, "Content-Length: 0\r\n");
	peer_dialog_from_response(peer);
	peer_request(peer, "ACK", NULL, NULL);
	peer_request(peer, "BYE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
}

static void ring_then_answer(struct world *world, struct sip_call *call)
{
	assert_int_equal(sip_call_ring(call), 0);
	assert_int_equal(sip_call_progress(call, 183, &world->media), 0);
	assert_int_equal(sip_call_answer(call, &world->media), 0);
}

static void callee_run(struct world *world, enum sip_prack prack,
		       world_script_h *script,
		       void (*incoming)(struct world *, struct sip_call *))
{
	const struct sip_call_options options = {.prack = prack};

	world_open(world, &plain);
	sip_account_call_options(world->account, &options);
	ua_port = world->port;
	world->script = script;
	world->incoming_h = incoming;
	if (!incoming)
		world->linger = true;
	world_run(world);
}

static void test_callee_waits_for_each_prack(void **state)
{
	static struct world world;
	(void)state;

	callee_run(&world, SIP_PRACK_SUPPORTED, script_callee,
		   ring_then_answer);
	assert_string_equal(world.log,
			    "REMOTE_SDP RINGING LOCAL_SDP PROGRESS ANSWERED "
			    "ESTABLISHED CLOSED");
	assert_int_equal(world.negotiated_count, 1);
	assert_int_equal(world.closed.end, SIP_END_REMOTE);
	world_close(&world);
}

static const char sdp_pcmu[] = "v=0\r\no=peer 1 2 IN IP4 127.0.0.1\r\ns=-\r\n"
			       "c=IN IP4 127.0.0.1\r\nt=0 0\r\n"
			       "m=audio 40002 RTP/AVP 0\r\n";

/* A part with the given handling: required or optional. */
#define ISUP(handling)                                                   \
	"--b\r\nContent-Type: application/isup\r\nContent-Disposition: " \
	"signal;handling=" handling "\r\n\r\nx\r\n"

static bool in_parts; /* the session description is one of two body parts */

static const char *in_body(const char *sdp)
{
	static char text[2048];

	if (!in_parts)
		return sdp;
	snprintf(text, sizeof(text),
		 ISUP("optional") "--b\r\nContent-Type: application/sdp\r\n"
				  "\r\n%s\r\n--b--\r\n",
		 sdp);
	return text;
}

static void script_offer_in_prack(struct peer *peer)
{
	invite(peer, "Require: 100rel\r\n", peer_sdp);
	peer_expect(peer, "SIP/2.0 183 ");
	peer_has(peer, "m=audio 30000 RTP/AVP 8 0\r\n");
	prack(peer, 0, in_body(sdp_pcmu));
	peer_expect(peer, "SIP/2.0 200 ");
	peer_has(peer, " PRACK\r\n");
	peer_has(peer, "m=audio 30000 RTP/AVP 0\r\n");
	peer_expect(peer, "SIP/2.0 200 ");
	peer_has(peer, "Content-Length: 0\r\n");
	peer_request(peer, "ACK", NULL, NULL);
	peer_request(peer, "BYE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
}

static void early_then_answer(struct world *world, struct sip_call *call)
{
	assert_int_equal(sip_call_progress(call, 183, &world->media), 0);
	assert_int_equal(sip_call_answer(call, &world->media), 0);
}

static void test_callee_answers_the_offer_of_a_prack(void **state)
{
	static struct world world;
	(void)state;

	callee_run(&world, SIP_PRACK_SUPPORTED, script_offer_in_prack,
		   early_then_answer);
	assert_int_equal(world.negotiated_count, 2);
	assert_string_equal(world.negotiated.codec.name, "PCMU");
	world_close(&world);
}

static void script_late_callee(struct peer *peer)
{
	invite(peer, "Supported: 100rel\r\n", NULL);
	peer_expect(peer, "SIP/2.0 183 ");
	peer_has(peer, "m=audio 30000 RTP/AVP 0 8\r\n");
	prack(peer, 0, in_body(peer_sdp));
	peer_expect(peer, "SIP/2.0 200 ");
	peer_expect(peer, "SIP/2.0 200 ");
	peer_has(peer, "Content-Length: 0\r\n");
	peer_request(peer, "ACK", NULL, NULL);
	peer_request(peer, "BYE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
}

static void script_late_callee_unknown(struct peer *peer)
{
	invite(peer, "Supported: 100rel\r\n", NULL);
	peer_expect(peer, "SIP/2.0 183 ");
	prack(peer, 0, ISUP("required") "--b--\r\n");
	peer_expect(peer, "SIP/2.0 415 ");
	peer_has(peer, " PRACK\r\n");
	peer_has(peer, "Accept: application/sdp, multipart/mixed, "
		       "multipart/alternative\r\n");
	peer_expect(peer, "SIP/2.0 488 ");
	peer_has(peer, " INVITE\r\n");
}

static void test_callee_reads_a_prack_in_parts(void **state)
{
	static struct world world;

	in_parts = true;
	test_callee_answers_the_offer_of_a_prack(state);
	callee_run(&world, SIP_PRACK_SUPPORTED, script_late_callee,
		   early_then_answer);
	in_parts = false;
	assert_int_equal(world.negotiated_count, 1);
	assert_int_equal(world.closed.end, SIP_END_REMOTE);
	world_close(&world);
	callee_run(&world, SIP_PRACK_SUPPORTED, script_late_callee_unknown,
		   early_then_answer);
	assert_int_equal(world.closed.end, SIP_END_REJECTED);
	world_close(&world);
}

static void script_late_callee_empty(struct peer *peer)
{
	invite(peer, "Supported: 100rel\r\n", NULL);
	peer_expect(peer, "SIP/2.0 183 ");
	prack(peer, 0, NULL);
	peer_expect(peer, "SIP/2.0 488 ");
	peer_expect(peer, "SIP/2.0 488 ");
	peer_has(peer, " INVITE\r\n");
}

static void test_callee_offers_in_a_reliable_response(void **state)
{
	static struct world world;
	(void)state;

	callee_run(&world, SIP_PRACK_SUPPORTED, script_late_callee,
		   early_then_answer);
	assert_string_equal(world.log, "LOCAL_SDP PROGRESS REMOTE_SDP ANSWERED "
				       "ESTABLISHED CLOSED");
	assert_int_equal(world.negotiated_count, 1);
	world_close(&world);
	callee_run(&world, SIP_PRACK_SUPPORTED, script_late_callee_empty,
		   early_then_answer);
	assert_int_equal(world.closed.end, SIP_END_REJECTED);
	assert_string_equal(world.closed_reason,
			    "the PRACK has no SDP to answer our offer");
	world_close(&world);
}

static void script_420(struct peer *peer)
{
	invite(peer, "Require: 100rel, other\r\n", peer_sdp);
	peer_expect(peer, "SIP/2.0 420 ");
	peer_has(peer, "Unsupported: 100rel\r\n");
	peer_has(peer, "Unsupported: other\r\n");
}

static void script_421(struct peer *peer)
{
	invite(peer, NULL, peer_sdp);
	peer_expect(peer, "SIP/2.0 421 ");
	peer_has(peer, "\r\nRequire: 100rel\r\n");
}

static void test_callee_refuses(void **state)
{
	static struct world world;
	(void)state;

	callee_run(&world, SIP_PRACK_NONE, script_420, NULL);
	world_close(&world);
	callee_run(&world, SIP_PRACK_REQUIRED, script_421, NULL);
	world_close(&world);
}

static void script_no_prack(struct peer *peer)
{
	invite(peer, "Supported: 100rel\r\n", peer_sdp);
	peer_expect(peer, "SIP/2.0 180 ");
	peer_expect(peer, "SIP/2.0 180 ");
}

static void ring(struct world *world, struct sip_call *call)
{
	(void)world;
	assert_int_equal(sip_call_ring(call), 0);
}

#define PRACK_QUEUE_MAX 8 /* sip/call/reliable_provisional.c */

static void script_cancels(struct peer *peer)
{
	invite(peer, "Supported: 100rel\r\n", peer_sdp);
	peer_expect(peer, "SIP/2.0 183 ");
	prack(peer, 0, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_expect(peer, "SIP/2.0 183 ");
}

/* One is sent, and so many wait for their turn. */
static void progress_often(struct world *world, struct sip_call *call)
{
	(void)world;
	for (unsigned i = 0; i <= PRACK_QUEUE_MAX; i++)
		assert_int_equal(sip_call_progress(call, 183, NULL), 0);
	assert_int_equal(sip_call_progress(call, 183, NULL), -EBUSY);
}

static void test_callee_with_too_many_responses(void **state)
{
	const struct sip_call_options options = {.prack = SIP_PRACK_SUPPORTED};
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	sip_account_call_options(world.account, &options);
	ua_port = world.port;
	world.script = script_cancels;
	world.incoming_h = progress_often;
	world.linger = true;
	world_run(&world);
	world_close(&world);
}

static void test_callee_without_a_prack(void **state)
{
	static struct world world;
	(void)state;

	callee_run(&world, SIP_PRACK_SUPPORTED, script_no_prack, ring);
	assert_int_equal(world.closed.end, SIP_END_FAILED);
	assert_string_equal(
		world.closed_reason,
		"no PRACK for our provisional response within 32 s");
	/* 100; 180 after 0, .5, 1.5, 3.5, 7.5, 15.5, 31.5 s; 504 */
	assert_int_equal(world.sent, 9);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_caller_acknowledges),
		cmocka_unit_test(test_caller_counts_each_branch),
		cmocka_unit_test(test_caller_with_too_many_branches),
		cmocka_unit_test(test_caller_cancels_after_pracks),
		cmocka_unit_test(test_caller_is_challenged_after_the_answer),
		cmocka_unit_test(test_caller_ends_a_branch_after_its_prack),
		cmocka_unit_test(test_caller_requires_in_vain),
		cmocka_unit_test(test_caller_does_not_know_100rel),
		cmocka_unit_test(test_caller_leaves_the_offer_to_the_peer),
		cmocka_unit_test(test_callee_waits_for_each_prack),
		cmocka_unit_test(test_callee_answers_the_offer_of_a_prack),
		cmocka_unit_test(test_callee_reads_a_prack_in_parts),
		cmocka_unit_test(test_callee_offers_in_a_reliable_response),
		cmocka_unit_test(test_callee_refuses),
		cmocka_unit_test(test_callee_with_too_many_responses),
		cmocka_unit_test(test_callee_without_a_prack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
