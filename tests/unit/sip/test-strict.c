/*
 * Messages that RFC 3261 requires to be discarded or refused. A response that
 * is not ours changes nothing, and the next good one is taken. A request gets a
 * 400 or 505.
 */
#include <errno.h>

#include "sip/transport/frame.h"
#include "world.h"

static const struct world_options plain = {.password = "secret",
					   .domain = "example.net"};

/* A response or request with one part that is invalid. */
struct odd {
	const char *start;  /* start line; NULL: "SIP/2.0 603 No" */
	const char *sentby; /* NULL: ours */
	const char *via;    /* an additional Via */
	const char *tag;    /* in From */
	const char *callid;
	const char *cseq;
	const char *length; /* Content-Length lines; NULL: "Content-Length:
			     * 0" */
	const char *body;
};

static const struct odd bad_responses[] = {
	/* RFC 3261 8.2.6.2 */
	{.callid = "another"},
	{.tag = "another"},
	{.cseq = "77 INVITE"},
	{.cseq = "1 BYE"},
	/* RFC 3261 7.1, 7.2 */
	{.start = "SIP/3.0 603 No"},
	{.start = "SIP/1.0 603 No"},
	{.start = "SIP/2.00 603 No"},
	{.start = "HTTP/1.1 603 No"},
	{.start = "SIP/2.0 700 No"},
	{.start = "SIP/2.0 799 No"},
	{.start = "SIP/2.0 999 No"},
	{.start = "SIP/2.0 099 No"},
	{.start = "SIP/2.0 60 No"},
	{.start = "SIP/2.0 0603 No"},
	{.start = "SIP/2.0 6030 No"},
	{.start = "SIP/2.0 603x No"},
	{.start = "SIP/2.0 66139 No"}, /* 603 + 2^16 */
	{.start = "SIP/2.0 -603 No"},
	/* RFC 3261 8.1.3.3, 18.1.2 */
	{.via = "Via: SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bKx\r\n"},
	{.sentby = "192.0.2.1:5060"},
	{.sentby = "127.0.0.1:9"},
	{.sentby = "example.net"},
	/* RFC 3261 18.3 */
	{.length = "Content-Length: 1\r\n"},
	{.length = "Content-Length: 400\r\n", .body = "v=0\r\n"},
	{.length = "l: 4294967296\r\n"},
	{.length = "Content-Length: 18446744073709551616\r\n"},
	{.length = "Content-Length: -1\r\n"},
	{.length = "Content-Length: x\r\n"},
	{.length = "Content-Length:\r\n"},
	{.length = "Content-Length: 0\r\nl: 5\r\n", .body = "v=0\r\n"},
};

/* RFC 3261 8.1.3.2: an unknown code counts as the x00 of its class */
static const struct odd good_responses[] = {
	{.start = "SIP/2.0 603 No"},
	{.start = "sip/2.0 603 No"},
	{.start = "SIP/2.0 699 Unheard Of"},
	{.start = "SIP/2.0 499 Unheard Of"},
	{.start = "SIP/2.0 603 "},
	{.length = ""},
	{.length = "Content-Length: 0005\r\n", .body = "v=0\r\nmore"},
	{.length = "Content-Length: 5\r\nl: 5\r\n", .body = "v=0\r\n"},
};

static bool odd_reply(struct peer *peer, const struct odd *odd)
{
	char via[512], from[512], to[512], callid[256], cseq[64];
	char text[4096];
	const char *params;
	int len;

	if (!peer_header(peer, "Via", via, sizeof(via)) ||
	    !peer_header(peer, "From", from, sizeof(from)) ||
	    !peer_header(peer, "To", to, sizeof(to)) ||
	    !peer_header(peer, "Call-ID", callid, sizeof(callid)) ||
	    !peer_header(peer, "CSeq", cseq, sizeof(cseq)))
		return false;
	params = strchr(via, ';');
	if (odd->tag)
		*strstr(from, ";tag=") = '\0';
	len = snprintf(text, sizeof(text),
		       "%s\r\nVia: SIP/2.0/UDP %.*s%s\r\n%sFrom: %s%s%s\r\n"
		       "To: %s;tag=odd\r\nCall-ID: %s\r\nCSeq: %s\r\n%s\r\n%s",
		       odd->start ? odd->start : "SIP/2.0 603 No",
		       odd->sentby ? (int)strlen(odd->sentby)
				   : (int)(params - via - 12),
		       odd->sentby ? odd->sentby : via + 12, params,
		       odd->via ? odd->via : "", from, odd->tag ? ";tag=" : "",
		       odd->tag ? odd->tag : "", to,
		       odd->callid ? odd->callid : callid,
		       odd->cseq ? odd->cseq : cseq,
		       odd->length ? odd->length : "Content-Length: 0\r\n",
		       odd->body ? odd->body : "");
	return peer_send_raw(peer, text, (size_t)len);
}

static void script_bad_responses(struct peer *peer)
{
	peer_expect(peer, "INVITE ");
	for (size_t i = 0; i < sizeof(bad_responses) / sizeof(struct odd); i++)
		odd_reply(peer, &bad_responses[i]);
	peer_dialog_from_request(peer);
	peer_reply(peer, 200, "OK", NULL, peer_sdp);
	peer_expect(peer, "ACK ");
	peer_request(peer, "BYE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
}

static void test_responses_that_are_discarded(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	world.script = script_bad_responses;
	world_dial(&world);
	world_run(&world);
	assert_string_equal(world.log, "OUTGOING LOCAL_SDP REMOTE_SDP ANSWERED "
				       "ESTABLISHED CLOSED");
	assert_int_equal(world.closed.end, SIP_END_REMOTE);
	/* they are traced nevertheless */
	assert_int_equal(world.received,
			 sizeof(bad_responses) / sizeof(struct odd) + 2);
	world_close(&world);
}

static const struct odd *reply_now;

static void script_good_response(struct peer *peer)
{
	peer_expect(peer, "INVITE ");
	odd_reply(peer, reply_now);
	peer_expect(peer, "ACK ");
}

static void test_responses_that_are_taken(void **state)
{
	static struct world world;
	(void)state;

	for (size_t i = 0; i < sizeof(good_responses) / sizeof(struct odd);
	     i++) {
		world_open(&world, &plain);
		reply_now = &good_responses[i];
		world.script = script_good_response;
		world_dial(&world);
		world_run(&world);
		assert_int_equal(world.closed.end, SIP_END_REJECTED);
		world_close(&world);
	}
}

/* ---- requests ---- */

static uint16_t ua_port;
static unsigned branch;

static void odd_request(struct peer *peer, const char *method,
			const struct odd *odd)
{
	char text[4096];
	int len;

	peer_aim(peer, ua_port);
	branch++;
	len = snprintf(text, sizeof(text),
		       "%s sip:1001@127.0.0.1:%u %s\r\n"
		       "Via: SIP/2.0/UDP 127.0.0.1:%u;branch=z9hG4bKs%u\r\n"
		       "From: <sip:a@b>;tag=a\r\nTo: <sip:1001@b>\r\n"
		       "Call-ID: strict-%u\r\nCSeq: 1 %s\r\n"
		       "Contact: <sip:a@127.0.0.1:%u>\r\n%s\r\n%s",
		       method, ua_port, odd->start ? odd->start : "SIP/2.0",
		       peer->port, branch, branch, method, peer->port,
		       odd->length ? odd->length : "Content-Length: 0\r\n",
		       odd->body ? odd->body : "");
	peer_send_raw(peer, text, (size_t)len);
}

static void script_requests(struct peer *peer)
{
	static const struct {
		struct odd odd;
		const char *answer;
	} cases[] = {
		{{.length = "Content-Length: 1\r\n"},
		 "SIP/2.0 400 Content-Length Exceeds The Message\r\n"},
		{{.length = "Content-Length: 400\r\n", .body = "v=0\r\n"},
		 "SIP/2.0 400 Content-Length Exceeds The Message\r\n"},
		{{.length = "l: 4294967296\r\n"},
		 "SIP/2.0 400 Content-Length Exceeds The Message\r\n"},
		{{.length = "Content-Length: -1\r\n"},
		 "SIP/2.0 400 Bad Content-Length\r\n"},
		{{.length = "Content-Length:\r\n"},
		 "SIP/2.0 400 Bad Content-Length\r\n"},
		{{.length = "Content-Length: 0\r\nl: 5\r\n", .body = "v=0\r\n"},
		 "SIP/2.0 400 Contradictory Content-Length\r\n"},
		{{.start = "SIP/3.0"}, "SIP/2.0 505 Version Not Supported\r\n"},
		{{.start = "SIP/2.1"}, "SIP/2.0 505 Version Not Supported\r\n"},
		{{.start = "SIP/22.0"},
		 "SIP/2.0 505 Version Not Supported\r\n"},
		{{.start = "SIP/1.0"}, "SIP/2.0 505 Version Not Supported\r\n"},
		/* RFC 3261 7.1: case-insensitive */
		{{.start = "sip/2.0"}, "SIP/2.0 200 OK\r\n"},
		{{.start = "Sip/2.0"}, "SIP/2.0 200 OK\r\n"},
		{{.length = "Content-Length: 2\r\n", .body = "abcdef"},
		 "SIP/2.0 200 OK\r\n"},
		{{.length = "", .body = "abcdef"}, "SIP/2.0 200 OK\r\n"},
	};
	static const struct odd exceeds = {.length = "Content-Length: 9\r\n"};
	static const struct odd other = {.start = "SIP/3.0"};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		odd_request(peer, "OPTIONS", &cases[i].odd);
		peer_expect(peer, "SIP/2.0 ");
		peer_has(peer, cases[i].answer);
	}
	odd_request(peer, "INVITE", &exceeds);
	peer_expect(peer, "SIP/2.0 400 ");
	odd_request(peer, "INVITE", &other);
	peer_expect(peer, "SIP/2.0 505 ");
	/* no response to an ACK, nor to what is not SIP */
	odd_request(peer, "ACK", &exceeds);
	odd_request(peer, "ACK", &other);
	odd_request(peer, "OPTIONS", &(struct odd){.start = "HTTP/1.1"});
	odd_request(peer, "OPTIONS", &(struct odd){.start = "SIP/2"});
	odd_request(peer, "OPTIONS", &(struct odd){.start = "SIP/x.0"});
	peer_silence(peer, "", 300);
}

static void refuse_all(struct world *world, struct sip_call *call)
{
	(void)call;
	snprintf(world->log, sizeof(world->log), "INVITE was taken");
}

static void test_requests_that_are_refused(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	ua_port = world.port;
	world.script = script_requests;
	world.incoming_h = refuse_all;
	world.linger = true;
	world_run(&world);
	assert_string_equal(world.log, "");
	world_close(&world);
}

/*
 * Two lengths in a stream: a parser that took the other one would find another
 * message after it.
 */
static void test_frames_with_two_lengths(void **state)
{
	static const struct {
		const char *text;
		int err;
		size_t len;
	} cases[] = {
		{"A a SIP/2.0\r\nl: 3\r\nContent-Length: 3\r\n\r\nabcde", 0,
		 43},
		{"A a SIP/2.0\r\nl: 3\r\nContent-Length: 5\r\n\r\nabcde",
		 -EBADMSG, 0},
		{"A a SIP/2.0\r\nl: 3\r\nContent-Length: x\r\n\r\nabcde",
		 -EBADMSG, 0},
	};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *text = cases[i].text;
		size_t len = 0;

		assert_int_equal(
			frame_find((const uint8_t *)text, strlen(text), &len),
			cases[i].err);
		assert_int_equal(len, cases[i].len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_responses_that_are_discarded),
		cmocka_unit_test(test_responses_that_are_taken),
		cmocka_unit_test(test_requests_that_are_refused),
		cmocka_unit_test(test_frames_with_two_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
