#include <arpa/inet.h>

#include "tests/unit/times.h"
#include "world.h"

static uint16_t ua_port; /* set before the script's thread starts */

static void invite(struct peer *peer, const char *body)
{
	peer_aim(peer, ua_port);
	snprintf(peer->target, sizeof(peer->target), "sip:1001@127.0.0.1:%u",
		 ua_port);
	snprintf(peer->remote_to, sizeof(peer->remote_to), "<%s>",
		 peer->target);
	peer_request(peer, "INVITE", NULL, body);
}

static void open_callee(struct world *world)
{
	world_open(world, &(struct world_options){.password = "x"});
	ua_port = world->port;
}

static void ring_and_answer(struct world *world, struct sip_call *call)
{
	assert_int_equal(sip_call_ring(call), 0);
	assert_int_equal(sip_call_answer(call, &world->media), 0);
	assert_int_equal(sip_call_answer(call, &world->media), -EINVAL);
	assert_string_equal(sip_call_peer(call), "sip:peer@127.0.0.1");
}

static void answer_only(struct world *world, struct sip_call *call)
{
	assert_int_equal(sip_call_answer(call, &world->media), 0);
}

static void hangup_when_up(struct world *world, struct sip_call *call,
			   enum sip_call_event event,
			   const struct sip_call_info *info)
{
	(void)world;
	(void)info;
	if (event == SIP_CALL_ESTABLISHED)
		sip_call_hangup(call);
}

/* Two m= lines: the answer must reject the second (RFC 3264 section 6). */
static const char offer_two[] =
	"v=0\r\no=peer 1 1 IN IP4 127.0.0.1\r\ns=-\r\n"
	"c=IN IP4 127.0.0.1\r\nt=0 0\r\na=sendonly\r\n"
	"m=video 40010 RTP/AVP 31\r\n"
	"m=audio 40000 RTP/AVP 18 96 8\r\na=rtpmap:96 PCMU/8000\r\n"
	"a=rtcp:40007\r\n";

static void script_call_and_be_hung_up(struct peer *peer)
{
	invite(peer, offer_two);
	peer_expect(peer, "SIP/2.0 100 ");
	peer_expect(peer, "SIP/2.0 180 ");
	peer_expect(peer, "SIP/2.0 200 ");
	peer_has(peer, "m=video 0 RTP/AVP 31\r\nm=audio 30000 RTP/AVP 96 8\r\n"
		       "a=rtpmap:96 PCMU/8000\r\na=rtpmap:8 PCMA/8000\r\n");
	peer_has(peer, "a=recvonly\r\n");
	peer_dialog_from_response(peer);
	/* the 200 is retransmitted until the ACK */
	peer_expect(peer, "SIP/2.0 200 ");
	peer_request(peer, "ACK", NULL, NULL);
	peer_expect(peer, "BYE sip:peer@127.0.0.1:");
	peer_reply(peer, 200, "OK", NULL, NULL);
}

static void test_incoming_answered_and_hung_up_by_us(void **state)
{
	const struct sockaddr_in *rtcp;
	static struct world world;
	(void)state;

	open_callee(&world);
	world.script = script_call_and_be_hung_up;
	world.incoming_h = ring_and_answer;
	world.call_h = hangup_when_up;
	world_run(&world);
	assert_string_equal(world.log, "REMOTE_SDP RINGING LOCAL_SDP ANSWERED "
				       "ESTABLISHED HELD CLOSED");
	assert_int_equal(world.closed.end, SIP_END_LOCAL);
	assert_int_equal(world.negotiated_count, 1);
	assert_string_equal(world.negotiated.codec.name, "PCMU");
	assert_int_equal(world.negotiated.codec.pt, 96);
	assert_int_equal(world.negotiated.direction, MEDIA_RECVONLY);
	rtcp = (const void *)&world.negotiated.rtcp.ss;
	assert_int_equal(ntohs(rtcp->sin_port), 40007);
	assert_not_before(world.times[SIP_CALL_ESTABLISHED],
			  world.times[SIP_CALL_ANSWERED]);
	world_close(&world);
}

static void script_hold_us(struct peer *peer)
{
	char sdp[512];

	invite(peer, peer_sdp);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_dialog_from_response(peer);
	peer_request(peer, "ACK", NULL, NULL);
	snprintf(sdp, sizeof(sdp), "%sa=sendonly\r\n", peer_sdp);
	peer_request(peer, "INVITE", NULL, sdp);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_has(peer, "a=recvonly\r\n");
	peer_request(peer, "ACK", NULL, NULL);
	/* another codec and another address, by a late offer */
	peer_request(peer, "INVITE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_has(peer, "a=sendrecv\r\n");
	peer_request(peer, "ACK", NULL,
		     "v=0\r\no=- 1 2 IN IP4 127.0.0.2\r\ns=-\r\n"
		     "c=IN IP4 127.0.0.2\r\nt=0 0\r\n"
		     "m=audio 40002 RTP/AVP 0\r\n");
	/* hold with 0.0.0.0 (RFC 3264 8.4) */
	peer_request(peer, "INVITE", NULL,
		     "v=0\r\no=- 1 3 IN IP4 127.0.0.2\r\ns=-\r\n"
		     "c=IN IP4 0.0.0.0\r\nt=0 0\r\n"
		     "m=audio 40002 RTP/AVP 0\r\n");
	peer_expect(peer, "SIP/2.0 200 ");
	peer_request(peer, "ACK", NULL, NULL);
	/* an unacceptable offer leaves the session unchanged */
	peer_request(peer, "INVITE", NULL, peer_sdp_g729);
	peer_expect(peer, "SIP/2.0 488 ");
	peer_has(peer, "\r\nWarning: 305 offhook \"no common codec, the ");
	peer_request(peer, "ACK", NULL, NULL);
	peer_request(peer, "OPTIONS", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_request(peer, "BYE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
}

static void test_incoming_hold_resume_and_change(void **state)
{
	static struct world world;
	(void)state;

	open_callee(&world);
	world.script = script_hold_us;
	world.incoming_h = answer_only;
	world_run(&world);
	assert_string_equal(
		world.log,
		"REMOTE_SDP LOCAL_SDP ANSWERED ESTABLISHED "
		"REMOTE_SDP LOCAL_SDP HELD LOCAL_SDP REMOTE_SDP RESUMED "
		"REMOTE_SDP LOCAL_SDP HELD CLOSED");
	assert_int_equal(world.closed.end, SIP_END_REMOTE);
	assert_int_equal(world.negotiated_count, 4);
	assert_int_equal(world.negotiated.rtp.len, 0);
	assert_int_equal(world.negotiated.direction, MEDIA_RECVONLY);
	assert_string_equal(world.negotiated.codec.name, "PCMU");
	world_close(&world);
}

static void script_ack_overtaken(struct peer *peer)
{
	char sdp[512];

	invite(peer, peer_sdp);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_dialog_from_response(peer);
	snprintf(sdp, sizeof(sdp), "%sa=sendonly\r\n", peer_sdp);
	peer_request(peer, "INVITE", NULL, sdp);
	peer->invite_branch--;
	peer_request(peer, "ACK", NULL, NULL); /* of the first INVITE */
	peer->invite_branch++;
	peer_expect(peer, "SIP/2.0 200 ");
	peer_request(peer, "ACK", NULL, NULL);
	peer_request(peer, "BYE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
}

static void test_incoming_ack_overtaken_by_reinvite(void **state)
{
	static struct world world;
	(void)state;

	open_callee(&world);
	world.script = script_ack_overtaken;
	world.incoming_h = answer_only;
	world_run(&world);
	assert_string_equal(world.log,
			    "REMOTE_SDP LOCAL_SDP ANSWERED ESTABLISHED "
			    "REMOTE_SDP LOCAL_SDP HELD CLOSED");
	assert_int_equal(world.closed.end, SIP_END_REMOTE);
	world_close(&world);
}

static void script_late_offer(struct peer *peer)
{
	invite(peer, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_has(peer, "m=audio 30000 RTP/AVP 0 8\r\n");
	peer_dialog_from_response(peer);
	peer_request(peer, "ACK", NULL, peer_sdp);
	peer_request(peer, "BYE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
}

static void test_incoming_late_offer(void **state)
{
	static struct world world;
	(void)state;

	open_callee(&world);
	world.script = script_late_offer;
	world.incoming_h = answer_only;
	world_run(&world);
	assert_string_equal(world.log,
			    "LOCAL_SDP ANSWERED REMOTE_SDP ESTABLISHED CLOSED");
	assert_int_equal(world.negotiated_count, 1);
	world_close(&world);
}

static void script_late_offer_unanswered(struct peer *peer)
{
	invite(peer, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_dialog_from_response(peer);
	peer_request(peer, "ACK", NULL, NULL);
	peer_expect(peer, "BYE ");
	peer_reply(peer, 481, "Gone", NULL, NULL);
}

static void test_incoming_late_offer_unanswered(void **state)
{
	static struct world world;
	(void)state;

	open_callee(&world);
	world.script = script_late_offer_unanswered;
	world.incoming_h = answer_only;
	world_run(&world);
	assert_string_equal(world.log, "LOCAL_SDP ANSWERED CLOSED");
	assert_int_equal(world.closed.end, SIP_END_FAILED);
	assert_string_equal(world.closed_reason,
			    "the ACK has no SDP to answer our offer");
	world_close(&world);
}

static const char *unusable; /* the offer */
static const char *refusal;  /* how the response to it begins */
static const char *warning;  /* the response's Warning, NULL: none */

static void script_unusable_offer(struct peer *peer)
{
	invite(peer, unusable);
	peer_expect(peer, "SIP/2.0 ");
	if (strncmp(peer->in, "SIP/2.0 100", 11) == 0)
		peer_expect(peer, "SIP/2.0 ");
	peer_has(peer, refusal);
	if (warning)
		peer_has(peer, warning);
	peer_tag_from_response(peer);
	peer_request(peer, "ACK", NULL, NULL);
}

static void check_unusable(const char *offer, const char *status,
			   const char *warns, const char *reason)
{
	static struct world world;

	open_callee(&world);
	unusable = offer;
	refusal = status;
	warning = warns;
	world.script = script_unusable_offer;
	world.incoming_h = answer_only;
	world_run(&world);
	assert_int_equal(world.closed_count, 1);
	assert_int_equal(world.closed.end, SIP_END_REJECTED);
	assert_true(world.closed.local);
	assert_int_equal(world.negotiated_count, 0);
	assert_string_equal(world.closed_reason, reason);
	world_close(&world);
}

/* The caller gets the reason, and so does whoever waits for the call. */
static void test_incoming_unusable_offers(void **state)
{
	(void)state;
	check_unusable("v=0\r\nc=IN IP6 2001:db8::1\r\nm=audio 9 RTP/AVP 0\r\n",
		       "SIP/2.0 488 ", "\r\nWarning: 301 offhook \"the peer's",
		       "the peer's SDP names 2001:db8::1 for its audio: IPv6, "
		       "our media is bound to IPv4 (127.0.0.1)");
	check_unusable("v=0\r\nc=IN IP4 phone.test\r\nm=audio 9 RTP/AVP 0\r\n",
		       "SIP/2.0 488 ", "\r\nWarning: 301 offhook \"the SDP",
		       "the SDP names no IP address for its audio");
	check_unusable("v=0\r\nc=IN IP4 239.1.2.3\r\nm=audio 9 RTP/AVP 0\r\n",
		       "SIP/2.0 488 ", "\r\nWarning: 330 offhook \"the peer's",
		       "the peer's SDP names 239.1.2.3 for its audio, which is "
		       "no unicast address");
	check_unusable("v=0\r\nc=IN IP4 127.0.0.1\r\nm=audio 9 UDP/TLS/X 0\r\n",
		       "SIP/2.0 488 ", "\r\nWarning: 302 offhook \"the peer's",
		       "the peer's SDP has audio over UDP/TLS/X, which is no "
		       "profile of RTP");
	check_unusable("v=0\r\nc=IN IP4 127.0.0.1\r\nm=video 9 RTP/AVP 31\r\n",
		       "SIP/2.0 488 ", "\r\nWarning: 304 offhook \"the peer's",
		       "the peer's SDP has no audio over RTP");
	check_unusable("hello", "SIP/2.0 400 ", NULL,
		       "the SDP does not begin with v=0");
}

static void script_no_codec(struct peer *peer)
{
	invite(peer, peer_sdp_g729);
	peer_expect(peer, "SIP/2.0 488 ");
	peer_has(peer, "\r\nWarning: 305 offhook \"no common codec, the "
		       "peer's SDP has G729\"\r\n");
}

static void test_incoming_no_common_codec(void **state)
{
	static struct world world;
	(void)state;

	open_callee(&world);
	world.script = script_no_codec;
	world.incoming_h = answer_only;
	world_run(&world);
	assert_string_equal(world.log, "REMOTE_SDP CLOSED");
	assert_int_equal(world.closed.end, SIP_END_REJECTED);
	assert_int_equal(world.closed.code, 488);
	world_close(&world);
}

static void ring_only(struct world *world, struct sip_call *call)
{
	(void)world;
	assert_int_equal(sip_call_ring(call), 0);
}

static void script_cancel(struct peer *peer)
{
	invite(peer, peer_sdp);
	peer_expect(peer, "SIP/2.0 180 ");
	peer_request(peer, "CANCEL", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_has(peer, " CANCEL\r\n");
	peer_expect(peer, "SIP/2.0 487 ");
	peer_tag_from_response(peer);
	peer_request(peer, "ACK", NULL, NULL);
}

static void test_incoming_cancelled(void **state)
{
	static struct world world;
	(void)state;

	open_callee(&world);
	world.script = script_cancel;
	world.incoming_h = ring_only;
	world_run(&world);
	assert_string_equal(world.log, "REMOTE_SDP RINGING CLOSED");
	assert_int_equal(world.closed.end, SIP_END_CANCELLED);
	assert_int_equal(world.closed.code, 487);
	assert_false(world.closed.local);
	world_close(&world);
}

static void reject_busy(struct world *world, struct sip_call *call)
{
	(void)world;
	assert_int_equal(sip_call_reject(call, 200, NULL), -EINVAL);
	assert_int_equal(sip_call_reject(call, 486, "a\r\nb"), -EINVAL);
	assert_int_equal(sip_call_reject(call, 486, "Busy Here"), 0);
	assert_int_equal(sip_call_reject(call, 486, "Busy Here"), -EINVAL);
}

static void script_rejected(struct peer *peer)
{
	invite(peer, peer_sdp);
	peer_expect(peer, "SIP/2.0 486 Busy Here\r\n");
}

static void test_incoming_rejected_by_us(void **state)
{
	static struct world world;
	(void)state;

	open_callee(&world);
	world.script = script_rejected;
	world.incoming_h = reject_busy;
	world_run(&world);
	assert_string_equal(world.log, "REMOTE_SDP CLOSED");
	assert_int_equal(world.closed.end, SIP_END_REJECTED);
	assert_int_equal(world.closed.code, 486);
	assert_true(world.closed.local);
	world_close(&world);
}

static void reject_unadopted(struct sip_account *account, struct sip_call *call,
			     void *arg)
{
	(void)account;
	(void)arg;
	assert_int_equal(sip_call_reject(call, 404, NULL), 0);
}

static void script_unadopted(struct peer *peer)
{
	invite(peer, peer_sdp);
	peer_expect(peer, "SIP/2.0 404 Not Found\r\n");
}

/* The sanitizer detects leaks. */
static void test_incoming_rejected_unadopted(void **state)
{
	const struct sip_account_params params = {
		.username = "1001",
		.target = {"127.0.0.1", 9, SIP_TRANSPORT_UDP},
		.incoming_h = reject_unadopted,
	};
	struct sip_account *account;
	static struct world world;
	(void)state;

	open_callee(&world);
	world.account = sip_account_free(world.account);
	assert_int_equal(sip_account_new(&account, world.ua, &params), 0);
	world.script = script_unadopted;
	world.linger = true;
	world_run(&world);
	sip_account_free(account);
	world_close(&world);
}

static void script_no_ack(struct peer *peer)
{
	invite(peer, peer_sdp);
	peer_expect(peer, "SIP/2.0 200 ");
	for (int i = 0; i < 8; i++) /* 0.5, 1.5, 3.5, 7.5 s ... */
		peer_expect(peer, "SIP/2.0 200 ");
	while (!peer->fail[0] && !strstr(peer->in, "BYE "))
		peer_expect(peer, "");
	peer_reply(peer, 200, "OK", NULL, NULL);
}

static void test_incoming_without_ack(void **state)
{
	static struct world world;
	(void)state;

	open_callee(&world);
	world.script = script_no_ack;
	world.incoming_h = answer_only;
	world_run(&world);
	assert_string_equal(world.log, "REMOTE_SDP LOCAL_SDP ANSWERED CLOSED");
	assert_int_equal(world.closed.end, SIP_END_FAILED);
	assert_string_equal(world.closed_reason,
			    "no ACK for our 200 OK within 32 s");
	world_close(&world);
}

static void send_text(struct peer *peer, const char *text)
{
	peer_send_raw(peer, text, strlen(text));
}

/* Malformed messages are answered or dropped; the next message is served. */
static void script_malformed(struct peer *peer)
{
	static char big[60000];

	peer_aim(peer, ua_port);
	send_text(peer, "\r\n\r\n");
	send_text(peer, "garbage");
	send_text(peer, "INVITE sip:1001 SIP/2.0\r\n\r\n");
	send_text(peer, "INVITE  SIP/2.0\r\nVia: x\r\nCSeq: x\r\n\r\n");
	send_text(peer, "SIP/2.0 200 OK\r\nCSeq: 1 INVITE\r\n\r\n");
	send_text(peer, "BYE sip:1001@h SIP/2.0\r\n"
			"Via: SIP/2.0/UDP 127.0.0.1:9;branch=z9hG4bKq;rport"
			"\r\nFrom: <sip:a@b>\r\nTo: <sip:1001@h>;tag=1\r\n"
			"Call-ID: c\r\nCSeq: 1 BYE\r\n\r\n");
	peer_expect(peer, "SIP/2.0 400 ");
	memset(big, 'a', sizeof(big));
	memcpy(big, "OPTIONS sip:", 12);
	peer_send_raw(peer, big, sizeof(big));
	invite(peer, NULL); /* sets target and To for what follows */
	peer_expect(peer, "SIP/2.0 603 ");
	peer_tag_from_response(peer);
	peer_request(peer, "ACK", NULL, NULL);
	snprintf(peer->remote_to, sizeof(peer->remote_to), "<sip:1001@h>");
	snprintf(peer->callid, sizeof(peer->callid), "other");
	peer_request(peer, "INVITE", "Require: 100rel\r\n", peer_sdp);
	peer_expect(peer, "SIP/2.0 420 ");
	peer_has(peer, "Unsupported: 100rel\r\n");
	peer_request(peer, "OPTIONS", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_has(peer, "Accept: application/sdp, multipart/mixed, "
		       "multipart/alternative\r\n");
	peer_has(peer, "Accept-Encoding: identity\r\n");
	peer_has(peer, "Supported: replaces, norefersub\r\n");
	peer_has(peer, "Allow: INVITE");
	peer_request(peer, "PUBLISH", NULL, NULL);
	peer_expect(peer, "SIP/2.0 405 ");
	peer_request(peer, "FOO", NULL, NULL);
	peer_expect(peer, "SIP/2.0 501 ");
	peer_request(peer, "BYE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 481 ");
	snprintf(peer->target, sizeof(peer->target), "sip:nobody@127.0.0.1:%u",
		 ua_port);
	peer_request(peer, "INVITE", NULL, peer_sdp);
	peer_expect(peer, "SIP/2.0 404 ");
}

static void hangup_at_once(struct world *world, struct sip_call *call)
{
	(void)world;
	sip_call_hangup(call);
}

static void test_incoming_malformed(void **state)
{
	static struct world world;
	(void)state;

	open_callee(&world);
	world.script = script_malformed;
	world.incoming_h = hangup_at_once;
	world.linger = true;
	world_run(&world);
	assert_string_equal(world.log, "CLOSED");
	assert_int_equal(world.closed.code, 603);
	world_close(&world);
}

static void script_refused(struct peer *peer)
{
	invite(peer, peer_sdp);
	peer_expect(peer, "SIP/2.0 480 ");
}

static void test_incoming_not_accepted(void **state)
{
	static struct world world;
	(void)state;

	open_callee(&world);
	sip_account_accept_calls(world.account, false);
	world.script = script_refused;
	world.linger = true;
	world_run(&world);
	assert_string_equal(world.log, "");
	world_close(&world);
}

static void script_without_accounts(struct peer *peer)
{
	script_refused(peer);
	peer_request(peer, "OPTIONS", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
}

/* Its account may come with the next step of the job: 404 would be final. */
static void test_incoming_without_any_account(void **state)
{
	static struct world world;
	(void)state;

	open_callee(&world);
	world.account = sip_account_free(world.account);
	world.script = script_without_accounts;
	world.linger = true;
	world_run(&world);
	assert_string_equal(world.log, "");
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_incoming_answered_and_hung_up_by_us),
		cmocka_unit_test(test_incoming_hold_resume_and_change),
		cmocka_unit_test(test_incoming_ack_overtaken_by_reinvite),
		cmocka_unit_test(test_incoming_late_offer),
		cmocka_unit_test(test_incoming_late_offer_unanswered),
		cmocka_unit_test(test_incoming_unusable_offers),
		cmocka_unit_test(test_incoming_no_common_codec),
		cmocka_unit_test(test_incoming_cancelled),
		cmocka_unit_test(test_incoming_rejected_by_us),
		cmocka_unit_test(test_incoming_rejected_unadopted),
		cmocka_unit_test(test_incoming_malformed),
		cmocka_unit_test(test_incoming_not_accepted),
		cmocka_unit_test(test_incoming_without_any_account),
		cmocka_unit_test(test_incoming_without_ack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
