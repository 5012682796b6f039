#include <arpa/inet.h>

#include "tests/unit/times.h"
#include "world.h"

static const struct world_options plain = {.password = "secret",
					   .domain = "example.net"};

static void hangup_when_up(struct world *world, struct sip_call *call,
			   enum sip_call_event event,
			   const struct sip_call_info *info)
{
	(void)world;
	(void)info;
	if (event == SIP_CALL_ESTABLISHED)
		sip_call_hangup(call);
}

static void script_answer(struct peer *peer)
{
	peer_expect(peer, "INVITE sip:1002@example.net SIP/2.0\r\n");
	peer_has_not(peer, "Route:");
	peer_has(peer, "m=audio 30000 RTP/AVP 0 8\r\n");
	peer_has(peer, "a=rtcp:30001 IN IP4 127.0.0.1\r\n");
	peer_has(peer, "a=ptime:20\r\n");
	peer_has(peer, "a=sendrecv\r\n");
	peer_has_not(peer, "telephone-event");
	peer_reply(peer, 407, "Proxy Authentication Required",
		   "Proxy-Authenticate: Digest realm=\"r\", nonce=\"n\"\r\n",
		   NULL);
	peer_expect(peer, "ACK ");
	peer_expect(peer, "INVITE ");
	peer_has(peer, "Proxy-Authorization: Digest username=\"1001\"");
	peer_reply(peer, 100, "Trying", NULL, NULL);
	peer_reply(peer, 180, "Ringing", NULL, NULL);
	peer_reply(peer, 183, "Session Progress", NULL, peer_sdp);
	peer_reply(peer, 200, "OK", NULL, peer_sdp);
	peer_expect(peer, "ACK sip:peer@127.0.0.1:");
	peer_expect(peer, "BYE sip:peer@127.0.0.1:");
	peer_has(peer, "X-Call: yes");
	peer_reply(peer, 407, "Proxy Authentication Required",
		   "Proxy-Authenticate: Digest realm=\"r\", nonce=\"m\"\r\n",
		   NULL);
	peer_expect(peer, "BYE ");
	peer_has(peer, "nonce=\"m\"");
	peer_reply(peer, 200, "OK", NULL, NULL);
}

static void test_call_answered_and_hung_up_by_us(void **state)
{
	const struct sip_custom_header header = {"X-Call", "yes",
						 SIP_SCOPE_CALLS};
	const struct sockaddr_in *rtp;
	static struct world world;
	(void)state;

	world_open(&world, &(struct world_options){.password = "secret",
						   .domain = "example.net",
						   .headers = &header,
						   .header_count = 1});
	world.script = script_answer;
	world.call_h = hangup_when_up;
	world_dial(&world);
	assert_string_equal(sip_call_peer(world.call), "sip:1002@example.net");
	world_run(&world);
	assert_string_equal(world.log,
			    "OUTGOING LOCAL_SDP RINGING REMOTE_SDP PROGRESS "
			    "REMOTE_SDP ANSWERED ESTABLISHED CLOSED");
	assert_int_equal(world.closed.end, SIP_END_LOCAL);
	assert_true(world.closed.local);
	/* the second session description changed nothing */
	assert_int_equal(world.negotiated_count, 1);
	rtp = (const void *)&world.negotiated.rtp.ss;
	assert_int_equal(ntohs(rtp->sin_port), 40000);
	rtp = (const void *)&world.negotiated.rtcp.ss;
	assert_int_equal(ntohs(rtp->sin_port), 40001);
	assert_string_equal(world.negotiated.codec.name, "PCMA");
	assert_int_equal(world.negotiated.codec.pt, 8);
	assert_int_equal(world.negotiated.ptime_ms, 30);
	assert_int_equal(world.negotiated.accepted_count, 2);
	assert_int_equal(world.negotiated.direction, MEDIA_SENDRECV);
	assert_true(world.times[SIP_CALL_OUTGOING] > 0);
	assert_not_before(world.times[SIP_CALL_RINGING],
			  world.times[SIP_CALL_OUTGOING]);
	assert_true(world.times[SIP_CALL_ANSWERED] <=
		    world.times[SIP_CALL_ESTABLISHED]);
	assert_not_before(world.times[SIP_CALL_CLOSED],
			  world.times[SIP_CALL_ESTABLISHED]);
	assert_not_before(world.closed.bye_ok_ns, world.times[SIP_CALL_CLOSED]);
	assert_true(world.closed.bye_ok_ns > 0);
	world_close(&world);
}

static void script_peer_bye(struct peer *peer)
{
	peer_expect(peer, "INVITE ");
	peer_dialog_from_request(peer);
	peer_reply(peer, 200, "OK", NULL, peer_sdp);
	/* as if the ACK was lost: a retransmitted 200 is acknowledged again */
	peer_reply(peer, 200, "OK", NULL, peer_sdp);
	peer_expect(peer, "ACK ");
	peer_expect(peer, "ACK ");
	peer_request(peer, "NOSUCH", NULL, NULL);
	peer_expect(peer, "SIP/2.0 501 ");
	peer_request(peer, "SUBSCRIBE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 405 ");
	peer_has(peer, "Allow: INVITE, ACK, BYE, CANCEL, OPTIONS, INFO, "
		       "MESSAGE, REFER, NOTIFY, PRACK, UPDATE\r\n");
	peer_request(peer, "BYE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_request(peer, "BYE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 481 ");
}

static void test_call_hung_up_by_the_peer(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	world.script = script_peer_bye;
	world_dial(&world);
	world.linger = true;
	world_run(&world);
	assert_string_equal(world.log, "OUTGOING LOCAL_SDP REMOTE_SDP ANSWERED "
				       "ESTABLISHED CLOSED");
	assert_int_equal(world.closed.end, SIP_END_REMOTE);
	assert_int_equal(world.closed.bye_ok_ns, 0);
	world_close(&world);
}

static void script_forked(struct peer *peer)
{
	char tag[16];

	peer_expect(peer, "INVITE ");
	peer_dialog_from_request(peer);
	memcpy(tag, peer->tag, sizeof(tag));
	peer_reply(peer, 200, "OK", NULL, peer_sdp);
	snprintf(peer->tag, sizeof(peer->tag), "other");
	peer_reply(peer, 200, "OK", NULL, peer_sdp);
	peer_reply(peer, 200, "OK", NULL, peer_sdp);
	peer_expect(peer, "ACK ");
	peer_has(peer, tag);
	peer_expect(peer, "ACK ");
	peer_has(peer, ";tag=other\r\n");
	peer_expect(peer, "BYE ");
	peer_has(peer, ";tag=other\r\n");
	peer_reply(peer, 200, "OK", NULL, NULL);
	peer_expect(peer, "ACK ");
	peer_has(peer, ";tag=other\r\n");
	/* the call of the first fork continues */
	memcpy(peer->tag, tag, sizeof(tag));
	peer_request(peer, "OPTIONS", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_request(peer, "BYE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
}

static void test_call_answered_by_two_branches(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	world.script = script_forked;
	world_dial(&world);
	world_run(&world);
	assert_string_equal(world.log, "OUTGOING LOCAL_SDP REMOTE_SDP ANSWERED "
				       "ESTABLISHED CLOSED");
	assert_int_equal(world.closed.end, SIP_END_REMOTE);
	world_close(&world);
}

#define CALL_FORKS_MAX 16 /* sip/call/fork.c */

/* The 2xx of one further branch gets neither ACK nor BYE. */
static void script_many_forks(struct peer *peer)
{
	static char invite[sizeof(peer->in)];
	char tag[16];

	peer_expect(peer, "INVITE ");
	peer_dialog_from_request(peer);
	memcpy(invite, peer->in, sizeof(invite));
	memcpy(tag, peer->tag, sizeof(tag));
	peer_reply(peer, 200, "OK", NULL, peer_sdp);
	peer_expect(peer, "ACK ");
	for (unsigned i = 0; i < CALL_FORKS_MAX; i++) {
		memcpy(peer->in, invite, sizeof(invite));
		snprintf(peer->tag, sizeof(peer->tag), "fork%u", i);
		peer_reply(peer, 200, "OK", NULL, peer_sdp);
		peer_expect(peer, "ACK ");
		peer_expect(peer, "BYE ");
		peer_reply(peer, 200, "OK", NULL, NULL);
	}
	memcpy(peer->in, invite, sizeof(invite));
	snprintf(peer->tag, sizeof(peer->tag), "beyond");
	peer_reply(peer, 200, "OK", NULL, peer_sdp);
	memcpy(peer->tag, tag, sizeof(tag));
	peer_request(peer, "OPTIONS", NULL, NULL);
	do {
		peer_expect(peer, "");
		peer_has_not(peer, ";tag=beyond");
	} while (!peer->fail[0] && strncmp(peer->in, "SIP/2.0 200", 11) != 0);
	peer_request(peer, "BYE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
}

static void test_call_answered_by_too_many_branches(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	world.script = script_many_forks;
	world_dial(&world);
	world_run(&world);
	assert_int_equal(world.closed.end, SIP_END_REMOTE);
	world_close(&world);
}

/* The route set of a response, and the lines of our requests that follow from it. Of
 * "%u" is made the peer's port. */
struct routing {
	const char *record_route;
	const char *uri;
	const char *route;
};

static const struct routing *routing;

static void has_routing(struct peer *peer, const char *before_uri,
			const char *after_uri)
{
	char uri[128], text[256];

	re_snprintf(uri, sizeof(uri), routing->uri, peer->port);
	snprintf(text, sizeof(text), "%s%s%s", before_uri, uri, after_uri);
	peer_has(peer, text);
	re_snprintf(text, sizeof(text), routing->route, peer->port);
	peer_has(peer, text);
}

static void script_routed(struct peer *peer)
{
	char record_route[256];

	peer_expect(peer, "INVITE ");
	re_snprintf(record_route, sizeof(record_route), routing->record_route,
		    peer->port);
	peer_reply(peer, 200, "OK", record_route, peer_sdp);
	peer_expect(peer, "ACK ");
	has_routing(peer, "ACK ", " SIP/2.0\r\n");
	peer_expect(peer, "BYE ");
	has_routing(peer, "BYE ", " SIP/2.0\r\n");
	peer_reply(peer, 407, "Proxy Authentication Required",
		   "Proxy-Authenticate: Digest realm=\"r\", nonce=\"n\"\r\n",
		   NULL);
	do {
		peer_expect(peer, "BYE ");
	} while (!peer->fail[0] && !strstr(peer->in, "Proxy-Authorization:"));
	has_routing(peer, "BYE ", " SIP/2.0\r\n");
	has_routing(peer, "uri=\"", "\", response=");
	peer_reply(peer, 200, "OK", NULL, NULL);
}

/* RFC 3261 12.2.1.1: the URI of a first router without lr is the request URI. */
static void test_call_over_routers(void **state)
{
	static const struct routing routings[] = {
		{"Record-Route: <sip:127.0.0.2;lr>\r\n"
		 "Record-Route: <sip:p@127.0.0.1:%u;x=y;lr=on>\r\n",
		 "sip:peer@127.0.0.1:%u",
		 "\r\nMax-Forwards: 70\r\n"
		 "Route: <sip:p@127.0.0.1:%u;x=y;lr=on>\r\n"
		 "Route: <sip:127.0.0.2;lr>\r\nFrom: "},
		{"Record-Route: <sip:127.0.0.2;lr>\r\n"
		 "Record-Route: "
		 "<sip:p@127.0.0.1:%u;lrx;method=BYE;x=y?To=a>;lr\r\n",
		 "sip:p@127.0.0.1:%u;lrx;x=y",
		 "\r\nMax-Forwards: 70\r\nRoute: <sip:127.0.0.2;lr>\r\n"
		 "Route: <sip:peer@127.0.0.1:%u>\r\nFrom: "},
		{"Record-Route: <sip:127.0.0.1:%u>\r\n", "sip:127.0.0.1:%u",
		 "\r\nMax-Forwards: 70\r\n"
		 "Route: <sip:peer@127.0.0.1:%u>\r\nFrom: "},
	};
	static struct world world;
	(void)state;

	for (size_t i = 0; i < sizeof(routings) / sizeof(routings[0]); i++) {
		routing = &routings[i];
		world_open(&world, &plain);
		world.script = script_routed;
		world.call_h = hangup_when_up;
		world_dial(&world);
		world_run(&world);
		assert_int_equal(world.closed.end, SIP_END_LOCAL);
		world_close(&world);
	}
}

static void script_busy(struct peer *peer)
{
	peer_expect(peer, "INVITE ");
	peer_reply(peer, 486, "Busy Here", NULL, NULL);
	peer_expect(peer, "ACK ");
}

static void test_call_rejected_with_486(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	world.script = script_busy;
	world_dial(&world);
	world_run(&world);
	assert_string_equal(world.log, "OUTGOING LOCAL_SDP CLOSED");
	assert_int_equal(world.closed.end, SIP_END_REJECTED);
	assert_int_equal(world.closed.code, 486);
	assert_string_equal(world.closed_reason, "Busy Here");
	world_close(&world);
}

static void script_wrong_password(struct peer *peer)
{
	for (int i = 0; i < 2; i++) {
		peer_expect(peer, "INVITE ");
		peer_reply(peer, 407, "Proxy Authentication Required",
			   "Proxy-Authenticate: Digest realm=\"r\", "
			   "nonce=\"n\"\r\n",
			   NULL);
		peer_expect(peer, "ACK ");
	}
	peer_silence(peer, "INVITE ", 300);
}

static void test_call_with_wrong_password(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	world.script = script_wrong_password;
	world_dial(&world);
	world_run(&world);
	assert_string_equal(world.log, "OUTGOING LOCAL_SDP CLOSED");
	assert_int_equal(world.closed.end, SIP_END_REJECTED);
	assert_int_equal(world.closed.code, 407);
	assert_string_equal(world.closed_reason,
			    "Proxy Authentication Required after credentials "
			    "were sent");
	world_close(&world);
}

static void script_redirect(struct peer *peer)
{
	peer_expect(peer, "INVITE ");
	peer_reply(peer, 302, "Moved Temporarily", NULL, NULL);
	peer_expect(peer, "ACK ");
	peer_silence(peer, "INVITE ", 300);
}

static void test_call_redirected_ends_with_302(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	world.script = script_redirect;
	world_dial(&world);
	world_run(&world);
	assert_int_equal(world.closed.end, SIP_END_REJECTED);
	assert_int_equal(world.closed.code, 302);
	world_close(&world);
}

static void hangup_when_ringing(struct world *world, struct sip_call *call,
				enum sip_call_event event,
				const struct sip_call_info *info)
{
	(void)world;
	(void)info;
	if (event == SIP_CALL_RINGING)
		sip_call_hangup(call);
}

static void script_cancelled(struct peer *peer)
{
	static char invite[65536];

	peer_expect(peer, "INVITE ");
	memcpy(invite, peer->in, sizeof(invite));
	peer_reply(peer, 180, "Ringing", NULL, NULL);
	peer_expect(peer, "CANCEL ");
	peer_reply(peer, 200, "OK", NULL, NULL);
	memcpy(peer->in, invite, sizeof(invite));
	peer_reply(peer, 487, "Request Terminated", NULL, NULL);
	peer_expect(peer, "ACK ");
}

static void test_call_cancelled_by_us(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	world.script = script_cancelled;
	world.call_h = hangup_when_ringing;
	world_dial(&world);
	world_run(&world);
	assert_string_equal(world.log, "OUTGOING LOCAL_SDP RINGING CLOSED");
	assert_int_equal(world.closed.end, SIP_END_CANCELLED);
	assert_int_equal(world.closed.code, 487);
	assert_true(world.closed.local);
	world_close(&world);
}

static void script_answer_crosses_cancel(struct peer *peer)
{
	static char invite[65536];

	peer_expect(peer, "INVITE ");
	memcpy(invite, peer->in, sizeof(invite));
	peer_reply(peer, 180, "Ringing", NULL, NULL);
	peer_expect(peer, "CANCEL ");
	memcpy(peer->in, invite, sizeof(invite));
	peer_reply(peer, 200, "OK", NULL, peer_sdp);
	peer_expect(peer, "ACK ");
	peer_expect(peer, "BYE ");
	peer_reply(peer, 200, "OK", NULL, NULL);
}

static void test_call_answer_crosses_cancel(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	world.script = script_answer_crosses_cancel;
	world.call_h = hangup_when_ringing;
	world_dial(&world);
	world_run(&world);
	assert_string_equal(world.log, "OUTGOING LOCAL_SDP RINGING CLOSED");
	assert_int_equal(world.closed.end, SIP_END_CANCELLED);
	world_close(&world);
}

static const char *unusable; /* body of the 200 */

static void script_unusable(struct peer *peer)
{
	peer_expect(peer, "INVITE ");
	peer_reply(peer, 200, "OK", NULL, unusable);
	peer_expect(peer, "ACK ");
	peer_expect(peer, "BYE ");
	peer_reply(peer, 200, "OK", NULL, NULL);
}

/* @param reason  the expected reason; ending in *: how it begins */
static void check_unusable(const char *body, const char *reason)
{
	static struct world world;

	world_open(&world, &plain);
	unusable = body;
	world.script = script_unusable;
	world_dial(&world);
	world_run(&world);
	assert_string_equal(world.log, "OUTGOING LOCAL_SDP ANSWERED CLOSED");
	assert_int_equal(world.closed.end, SIP_END_FAILED);
	assert_int_equal(world.negotiated_count, 0);
	if (reason[strlen(reason) - 1] == '*')
		assert_memory_equal(world.closed_reason, reason,
				    strlen(reason) - 1);
	else
		assert_string_equal(world.closed_reason, reason);
	world_close(&world);
}

static void test_call_unusable_answers(void **state)
{
	(void)state;
	check_unusable(NULL, "the answer has no SDP");
	check_unusable(peer_sdp_g729,
		       "no common codec, the peer's SDP has G729");
	check_unusable("v=0\r\nc=IN IP4 127.0.0.1\r\nm=audio 0 RTP/AVP 0\r\n",
		       "the peer's SDP refuses the audio (port 0)");
	check_unusable("v=0\r\nc=IN IP4 127.0.0.1\r\nm=video 9 RTP/AVP 31\r\n",
		       "the peer's SDP has no audio over RTP");
	check_unusable("v=0\r\nm=audio 9 RTP/AVP 0\r\n",
		       "the SDP has no c= line for its audio");
	check_unusable("v=0\r\nm=audio 9 TCP/RTP/AVP 0\r\n",
		       "the peer's SDP has audio over TCP/RTP/AVP, which is no "
		       "profile of RTP");
	check_unusable("hello", "the SDP does not begin with v=0");
}

static void test_call_unusable_addresses(void **state)
{
	(void)state;
	check_unusable("v=0\r\nc=IN IP4 phone.test\r\nm=audio 9 RTP/AVP 0\r\n",
		       "the SDP names no IP address for its audio");
	check_unusable("v=0\r\nc=IN IP6 2001:db8::1\r\nm=audio 9 RTP/AVP 0\r\n",
		       "the peer's SDP names 2001:db8::1 for its audio: IPv6, "
		       "our media is bound to IPv4 (127.0.0.1)");
	check_unusable("v=0\r\nc=IN IP4 224.1.2.3\r\nm=audio 9 RTP/AVP 0\r\n",
		       "the peer's SDP names 224.1.2.3 for its audio, which is "
		       "no unicast address");
	check_unusable("v=0\r\nc=IN IP4 0.1.2.3\r\nm=audio 9 RTP/AVP 0\r\n",
		       "the peer's SDP names 0.1.2.3 for its audio, which is "
		       "no unicast address");
	check_unusable("v=0\r\nc=IN IP4 127.0.0.1\r\nm=audio 9 RTP/AVP 0\r\n"
		       "a=rtcp:10 IN IP6 ::1\r\n",
		       "the peer's SDP names ::1 for its RTCP: IPv6, our media "
		       "is bound to IPv4 (127.0.0.1)");
	/*
	 * Invalid argument or Network is unreachable, depending on the routes.
	 */
	check_unusable("v=0\r\nc=IN IP4 192.0.2.1\r\nm=audio 9 RTP/AVP 0\r\n",
		       "the peer's SDP names 192.0.2.1 for its audio, no route "
		       "of this host leads there from 127.0.0.1 (*");
}

static void hold_and_resume(struct world *world, struct sip_call *call,
			    enum sip_call_event event,
			    const struct sip_call_info *info)
{
	(void)world;
	if (event == SIP_CALL_ESTABLISHED) {
		assert_int_equal(sip_call_resume(call), -EALREADY);
		assert_int_equal(sip_call_hold(call), 0);
		assert_int_equal(sip_call_hold(call), -EBUSY);
	} else if (event == SIP_CALL_HELD) {
		assert_true(info->local);
		assert_int_equal(sip_call_resume(call), 0);
	} else if (event == SIP_CALL_RESUMED) {
		assert_true(info->local);
		assert_int_equal(sip_call_hold(call), 0);
	} else if (event == SIP_CALL_REINVITE_FAIL) {
		assert_int_equal(info->code, 488);
		sip_call_hangup(call);
	}
}

static void with_direction(char *dst, size_t size, const char *direction)
{
	snprintf(dst, size, "%sa=%s\r\n", peer_sdp, direction);
}

static unsigned origin_version(struct peer *peer)
{
	const char *o = strstr(peer->in, "\r\no=- ");
	unsigned version = 0;

	if (o)
		sscanf(o, "\r\no=- %*u %u", &version);
	return version;
}

static void script_hold(struct peer *peer)
{
	unsigned first;
	char sdp[512];

	peer_expect(peer, "INVITE ");
	first = origin_version(peer);
	peer_reply(peer, 200, "OK", NULL, peer_sdp);
	peer_expect(peer, "ACK ");
	peer_expect(peer, "INVITE sip:peer@");
	peer_has(peer, "a=sendonly\r\n");
	if (origin_version(peer) != first + 1)
		snprintf(peer->fail, sizeof(peer->fail), "o= version");
	/* glare (RFC 3261 14.1), then a retry */
	peer_reply(peer, 491, "Request Pending", NULL, NULL);
	peer_expect(peer, "ACK ");
	peer_expect(peer, "INVITE sip:peer@");
	peer_has(peer, "a=sendonly\r\n");
	if (origin_version(peer) != first + 1)
		snprintf(peer->fail, sizeof(peer->fail), "o= version again");
	with_direction(sdp, sizeof(sdp), "recvonly");
	peer_reply(peer, 200, "OK", NULL, sdp);
	peer_expect(peer, "ACK ");
	peer_expect(peer, "INVITE sip:peer@");
	peer_has(peer, "a=sendrecv\r\n");
	peer_reply(peer, 200, "OK", NULL, peer_sdp);
	peer_expect(peer, "ACK ");
	peer_expect(peer, "INVITE sip:peer@");
	peer_reply(peer, 488, "Not Acceptable Here", NULL, NULL);
	peer_expect(peer, "ACK ");
	peer_expect(peer, "BYE ");
	peer_reply(peer, 200, "OK", NULL, NULL);
}

static void test_call_hold_resume_glare_and_refusal(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	world.script = script_hold;
	world.call_h = hold_and_resume;
	world_dial(&world);
	world_run(&world);
	assert_string_equal(
		world.log,
		"OUTGOING LOCAL_SDP REMOTE_SDP ANSWERED ESTABLISHED "
		"LOCAL_SDP LOCAL_SDP REMOTE_SDP HELD LOCAL_SDP REMOTE_SDP "
		"RESUMED LOCAL_SDP REINVITE_FAIL CLOSED");
	assert_int_equal(world.negotiated_count, 3);
	assert_int_equal(world.negotiated.direction, MEDIA_SENDRECV);
	world_close(&world);
}

static void test_call_no_answer(void **state)
{
	static struct world world;
	char expected[128];
	(void)state;

	world_open(&world, &plain);
	world_dial(&world);
	world_run(&world);
	assert_string_equal(world.log, "OUTGOING LOCAL_SDP CLOSED");
	assert_int_equal(world.closed.end, SIP_END_FAILED);
	snprintf(expected, sizeof(expected),
		 "no answer from 127.0.0.1:%u over UDP within 32 s",
		 world.peer.port);
	assert_string_equal(world.closed_reason, expected);
	world_close(&world);
}

static void hangup_later(void *arg)
{
	sip_call_hangup(arg);
}

/*
 * Nobody answers the INVITE, so no CANCEL may be sent: the call ends
 * nevertheless.
 */
static void test_call_hung_up_in_silence(void **state)
{
	static struct world world;
	struct tmr tmr;
	(void)state;

	tmr_init(&tmr);
	world_open(&world, &plain);
	world_dial(&world);
	tmr_start(&tmr, 50, hangup_later, world.call);
	world_run(&world);
	assert_string_equal(world.log, "OUTGOING LOCAL_SDP CLOSED");
	assert_int_equal(world.closed.end, SIP_END_CANCELLED);
	assert_int_equal(world.closed.code, 0);
	world_close(&world);
}

static void test_call_released_while_it_rings(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	world_dial(&world);
	world.call = sip_call_free(world.call);
	world_close(&world);
}

static void test_call_refuses_bad_uris(void **state)
{
	static const char *const uris[] = {
		"", "a b", "sip:", "sip:a@", "a\r\nb", "<sip:a@b>"};
	struct sip_call_params params = {.uri = NULL};
	struct sip_call *call = NULL;
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	params.media = &world.media;
	for (size_t i = 0; i < sizeof(uris) / sizeof(uris[0]); i++) {
		params.uri = uris[i];
		assert_int_equal(sip_call_dial(&call, world.account, &params),
				 -EINVAL);
	}
	assert_null(call);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_call_answered_and_hung_up_by_us),
		cmocka_unit_test(test_call_hung_up_by_the_peer),
		cmocka_unit_test(test_call_answered_by_two_branches),
		cmocka_unit_test(test_call_answered_by_too_many_branches),
		cmocka_unit_test(test_call_over_routers),
		cmocka_unit_test(test_call_rejected_with_486),
		cmocka_unit_test(test_call_with_wrong_password),
		cmocka_unit_test(test_call_redirected_ends_with_302),
		cmocka_unit_test(test_call_cancelled_by_us),
		cmocka_unit_test(test_call_answer_crosses_cancel),
		cmocka_unit_test(test_call_unusable_answers),
		cmocka_unit_test(test_call_unusable_addresses),
		cmocka_unit_test(test_call_hold_resume_glare_and_refusal),
		cmocka_unit_test(test_call_hung_up_in_silence),
		cmocka_unit_test(test_call_released_while_it_rings),
		cmocka_unit_test(test_call_refuses_bad_uris),
		cmocka_unit_test(test_call_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
