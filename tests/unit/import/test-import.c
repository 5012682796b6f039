#include "control/import/anonymise.h"
#include "control/import/call_capture.h"
#include "control/import/call_summary.h"
#include "control/import/test_code.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/str.h"

#define SDP                                                                \
	"v=0\r\no=- 1 1 IN IP4 192.0.2.7\r\ns=-\r\nc=IN IP4 192.0.2.7\r\n" \
	"t=0 0\r\nm=audio 4000 RTP/AVP 8 18 96\r\n"                        \
	"a=rtpmap:96 telephone-event/8000\r\na=ptime:30\r\n"
#define INVITE_TO(to, more, body)                                       \
	"INVITE sip:bob@example.test SIP/2.0\r\n"                       \
	"Via: SIP/2.0/UDP 192.0.2.7;branch=z9hG4bK1\r\n"                \
	"From: \"Alice Liddell\" <sip:+4930123@example.test>;tag=a\r\n" \
	"To: <sip:bob@example.test>" to "\r\nCall-ID: c1\r\n" more "\r\n" body
#define REQUEST(method, cseq, more)                                             \
	method " sip:bob@192.0.2.9 SIP/2.0\r\nFrom: <sip:+4930123@h>;tag=a\r\n" \
	       "To: <sip:bob@h>;tag=b\r\nCall-ID: c1\r\nCSeq: " cseq            \
	       " " method "\r\n" more "\r\n"
#define RESPONSE(status, cseq, body)                          \
	"SIP/2.0 " status "\r\nf: <sip:+4930123@h>;tag=a\r\n" \
	"t: <sip:bob@h>;tag=b\r\ni: c1\r\nCSeq: " cseq "\r\n\r\n" body
/* Through a proxy, with its own Via field or without. */
#define PROXY "Via: SIP/2.0/UDP 192.0.2.8;branch=z9hG4bK2\r\n"
#define OF_CALLER(via, start, cseq, body)                                 \
	start "\r\n" via "Via: SIP/2.0/UDP 192.0.2.7;branch=z9hG4bK1\r\n" \
	      "From: <sip:+4930123@h>;tag=a\r\nTo: <sip:bob@h>;tag=b\r\n" \
	      "Call-ID: c1\r\nCSeq: " cseq "\r\n\r\n" body
#define BYE_OF_CALLEE                                        \
	"BYE sip:a@h SIP/2.0\r\nFrom: <sip:bob@h>;tag=b\r\n" \
	"To: <sip:+4930123@h>;tag=a\r\nCall-ID: c1\r\nCSeq: 1 BYE\r\n\r\n"

static void give(struct dialogs *d, int64_t ms, const char *text)
{
	const struct dialogs_input in = {
		.ns = (INT64_C(1000) + ms) * NS_PER_MS,
		.data = text,
		.bytes = strlen(text),
	};

	dialogs_take(d, &in);
}

static struct dialogs *fresh(void)
{
	struct dialogs *d;

	assert_int_equal(dialogs_new(&d), 0);
	return d;
}

/* A call that is answered after 400 ms, with the messages of each test. */
static struct dialogs *established(void)
{
	struct dialogs *d = fresh();

	give(d, 0, INVITE_TO("", "CSeq: 1 INVITE\r\nX-A: b\r\n", SDP));
	give(d, 100, RESPONSE("180 Ringing", "1 INVITE", ""));
	give(d, 400, RESPONSE("200 OK", "1 INVITE", SDP));
	give(d, 410, REQUEST("ACK", "1", ""));
	return d;
}

static const struct dialogs_call *first_call(struct dialogs *d)
{
	const struct dialogs_call *call = dialogs_call(d, 0);

	assert_non_null(call);
	return call;
}

static struct test_code_options options = {.agent_pool = "lab"};

/* @return what was made, as one JSON text; free() */
static char *made(struct dialogs *d, char **ret_notes)
{
	json_t *document, *notes;
	char *text;

	assert_int_equal(dialogs_call_count(d), 1);
	assert_int_equal(
		test_code_make(d, first_call(d), &options, &document, &notes),
		0);
	text = json_dumps(document, JSON_COMPACT);
	*ret_notes = json_dumps(notes, JSON_COMPACT);
	json_decref(document);
	json_decref(notes);
	return text;
}

static void assert_has(const char *text, const char *part)
{
	if (!text || !strstr(text, part))
		fail_msg("%s is not in %s", part, text ? text : "nothing");
}

static void assert_made(struct dialogs *d, const char *part, const char *note)
{
	char *notes, *text = made(d, &notes);

	assert_has(text, part);
	assert_has(notes, note);
	free(text);
	free(notes);
	dialogs_free(d);
}

static void test_a_call_is_summarised(void **state)
{
	struct dialogs *d = established();
	struct call_summary s;

	(void)state;
	give(d, 2400, REQUEST("BYE", "2", ""));
	give(d, 2410, RESPONSE("200 OK", "2 BYE", ""));
	assert_int_equal(call_summary_make(first_call(d), &s), 0);
	assert_string_equal(s.from.user, "+4930123");
	assert_string_equal(s.from.display, "Alice Liddell");
	assert_string_equal(s.to.user, "bob");
	assert_int_equal(s.code, 200);
	assert_int_equal(s.ringing_ns - s.invite_ns, 100 * NS_PER_MS);
	assert_int_equal(s.established_ns - s.invite_ns, 400 * NS_PER_MS);
	assert_int_equal(s.end_ns - s.established_ns, 2000 * NS_PER_MS);
	assert_true(s.ended && s.by_caller && !s.challenged);
	dialogs_free(d);
}

static void test_hops_and_retransmissions_count_once(void **state)
{
	struct dialogs *d = established();

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		give(d, 500,
		     REQUEST("ACK", "1", "Record-Route: <sip:p;lr>\r\n"));
		give(d, 500, RESPONSE("200 OK", "1 INVITE", SDP));
	}
	assert_int_equal(first_call(d)->messages, 4);
	dialogs_free(d);
}

/* The caller is told the first code of a fork, and by the last copy of the 200
 * another codec than the callee chose. */
static void test_a_response_is_as_the_caller_received_it(void **state)
{
	struct dialogs *d = fresh();
	struct call_summary s;

	(void)state;
	give(d, 0, INVITE_TO("", "CSeq: 1 INVITE\r\n", SDP));
	give(d, 100, OF_CALLER(PROXY, "SIP/2.0 480 Gone", "1 INVITE", ""));
	give(d, 200, OF_CALLER(PROXY, "SIP/2.0 486 Busy", "1 INVITE", ""));
	give(d, 300, OF_CALLER("", "SIP/2.0 480 Gone", "1 INVITE", ""));
	assert_int_equal(call_summary_make(first_call(d), &s), 0);
	assert_int_equal(s.code, 480);
	assert_int_equal(first_call(d)->messages, 2);
	dialogs_free(d);
	d = fresh();
	give(d, 0, INVITE_TO("", "CSeq: 1 INVITE\r\n", SDP));
	give(d, 100,
	     OF_CALLER(PROXY, "SIP/2.0 200 OK", "1 INVITE",
		       "v=0\r\nm=audio 6000 RTP/SAVP 0\r\n"));
	give(d, 200,
	     OF_CALLER("", "SIP/2.0 200 OK", "1 INVITE",
		       "v=0\r\nm=audio 7000 RTP/AVP 8\r\n"));
	assert_int_equal(call_summary_make(first_call(d), &s), 0);
	assert_int_equal(s.established_ns - s.invite_ns, 200 * NS_PER_MS);
	assert_made(d, "\"value\":\"AVP 8\"", "does not register");
}

static void test_a_cancel_of_a_proxy_is_not_the_callers(void **state)
{
	struct dialogs *d = fresh();
	struct call_summary s;

	(void)state;
	give(d, 0, INVITE_TO("", "CSeq: 1 INVITE\r\n", SDP));
	give(d, 900,
	     OF_CALLER(PROXY, "CANCEL sip:bob@h SIP/2.0", "1 CANCEL", ""));
	give(d, 900, OF_CALLER(PROXY, "SIP/2.0 200 OK", "1 CANCEL", ""));
	give(d, 950, OF_CALLER("", "SIP/2.0 408 Timeout", "1 INVITE", ""));
	assert_int_equal(call_summary_make(first_call(d), &s), 0);
	assert_false(s.ended);
	assert_int_equal(s.code, 408);
	dialogs_free(d);
}

static void test_a_challenged_invite_is_one_call(void **state)
{
	struct dialogs *d = fresh();
	struct call_summary s;

	(void)state;
	give(d, 0, INVITE_TO("", "CSeq: 1 INVITE\r\n", SDP));
	give(d, 10,
	     RESPONSE("407 Proxy Authentication Required", "1 INVITE", ""));
	give(d, 20,
	     INVITE_TO(
		     "",
		     "CSeq: 2 INVITE\r\nProxy-Authorization: Digest username=\"x\"\r\n",
		     SDP));
	give(d, 30, RESPONSE("200 OK", "2 INVITE", SDP));
	assert_int_equal(call_summary_make(first_call(d), &s), 0);
	assert_true(s.challenged);
	assert_int_equal(s.code, 200);
	assert_int_equal(s.established_ns - s.invite_ns, 30 * NS_PER_MS);
	assert_made(
		d,
		"\"auth_username\":\"x\",\"password\":{\"env\":\"CALLER__4930123\"}",
		"does not register");
}

static void test_a_registration_is_carried_over(void **state)
{
	struct dialogs *d = fresh();

	(void)state;
	give(d, 0,
	     "REGISTER sip:h SIP/2.0\r\nFrom: <sip:+4930123@h>;tag=r\r\n"
	     "To: <sip:+4930123@h>\r\nCall-ID: r\r\nCSeq: 1 REGISTER\r\n\r\n");
	give(d, 10, INVITE_TO("", "CSeq: 1 INVITE\r\n", SDP));
	give(d, 20, RESPONSE("200 OK", "1 INVITE", SDP));
	assert_made(d, "[{\"type\":\"register\",\"role\":\"caller\"",
		    "ends before the call does");
}

static void test_the_script_has_the_times(void **state)
{
	struct dialogs *d = established();

	(void)state;
	give(d, 1400,
	     REQUEST("INVITE", "2",
		     "Content-Type: application/sdp\r\n\r\n" SDP
		     "a=sendonly\r\n"));
	give(d, 1500, RESPONSE("200 OK", "2 INVITE", SDP));
	give(d, 2000, REQUEST("INVITE", "3", "\r\n" SDP));
	give(d, 2000, RESPONSE("200 OK", "3 INVITE", SDP));
	give(d, 2500,
	     REQUEST("INFO", "4",
		     "Content-Type: application/dtmf-relay\r\n\r\nSignal=5\r\nDuration=160\r\n"));
	give(d, 3000,
	     REQUEST("REFER", "5", "Refer-To: <sip:carol@example.test>\r\n"));
	give(d, 3000, RESPONSE("202 Accepted", "5 REFER", ""));
	give(d, 4000, REQUEST("BYE", "6", ""));
	assert_made(
		d,
		"[\"assert_established\",\"10800\"],[\"wait\",\"1000\"],[\"hold\",\"\"],"
		"[\"wait\",\"500\"],[\"resume\",\"\"],[\"wait\",\"500\"],[\"dtmf\",\"5 100 100\"],"
		"[\"wait\",\"500\"],[\"transfer\",\"sip:carol@example.test\"],[\"wait\",\"1000\"],[\"hangup\",\"\"]",
		"Codec G729 was offered");
}

static void test_telephone_events_are_digits(void **state)
{
	struct dialogs *d = established();
	struct dialogs_rtp rtp = {.sport = 4000, .dport = 6000, .pt = 96};
	uint8_t event[4] = {1, 0x0a, 0, 160};
	const uint8_t caller[4] = {192, 0, 2, 7};

	(void)state;
	address_set_ipv4(&rtp.src, caller);
	rtp.data = event;
	rtp.bytes = sizeof(event);
	for (unsigned i = 0; i < 6; i++) { /* two digits of three packets */
		rtp.ns = (INT64_C(2400) + i * 100) * NS_PER_MS;
		rtp.rtp_ticks = i < 3 ? 1000 : 3400;
		event[0] = i < 3 ? 1 : 11;
		event[2] = 6; /* 1696 ticks: 212 ms */
		dialogs_take_rtp(d, &rtp);
	}
	give(d, 3000, BYE_OF_CALLEE);
	assert_made(d, "[\"wait\",\"1000\"],[\"dtmf\",\"1# 212 88\"]]",
		    "does not register");
}

#define KEY         "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:x\r\n"
#define FINGERPRINT "a=fingerprint:sha-256 00\r\n"

/* With ICE the RTP may flow at an address that the m= line does not have. */
static void test_candidates_are_addresses_of_the_caller(void **state)
{
	struct dialogs *d = fresh();
	struct dialogs_rtp rtp = {.sport = 5004, .dport = 6000, .pt = 96};
	const uint8_t event[4] = {9, 0x0a, 3, 0};
	const uint8_t host[4] = {192, 0, 2, 44};

	(void)state;
	give(d, 0,
	     INVITE_TO(
		     "", "CSeq: 1 INVITE\r\n",
		     SDP
		     "a=ice-ufrag:x\r\n"
		     "a=candidate:1 2 UDP 1 192.0.2.44 5005 typ host\r\n"
		     "a=candidate:1 1 TCP 1 192.0.2.44 9 typ host\r\n"
		     "a=candidate:1 1 UDP 1 2001:db8::9 70000 typ host\r\n"
		     "a=candidate:1 1 udp 2130706431 192.0.2.44 5004 typ host\r\n"));
	give(d, 400, RESPONSE("200 OK", "1 INVITE", SDP));
	assert_int_equal(first_call(d)->ports, 2);
	address_set_ipv4(&rtp.src, host);
	rtp.ns = INT64_C(2400) * NS_PER_MS;
	rtp.data = event;
	rtp.bytes = sizeof(event);
	dialogs_take_rtp(d, &rtp);
	give(d, 3000, BYE_OF_CALLEE);
	assert_made(d, "[\"dtmf\",\"9 96 100\"]", "does not register");
}

/* Of encrypted events only the number is known. */
static void test_encrypted_digits_are_counted(void **state)
{
	static const char sdp[] = "v=0\r\nc=IN IP4 192.0.2.7\r\n"
				  "m=audio 4000 RTP/SAVP 8 96\r\n"
				  "a=rtpmap:96 telephone-event/8000\r\n" KEY;
	struct dialogs *d = fresh();
	struct dialogs_rtp rtp = {.sport = 4000, .dport = 6000, .pt = 96};
	uint8_t event[4] = {1, 0x0a, 0xff, 0xff};
	const uint8_t caller[4] = {192, 0, 2, 7};
	char text[1024];

	(void)state;
	str_print(text, sizeof(text), INVITE_TO("", "CSeq: 1 INVITE\r\n", "%s"),
		  sdp);
	give(d, 0, text);
	str_print(text, sizeof(text), RESPONSE("200 OK", "1 INVITE", "%s"),
		  sdp);
	give(d, 400, text);
	address_set_ipv4(&rtp.src, caller);
	rtp.data = event;
	rtp.bytes = sizeof(event);
	for (unsigned i = 0; i < 6; i++) {
		rtp.ns = (INT64_C(2400) + i * 100) * NS_PER_MS;
		rtp.rtp_ticks = i < 3 ? 1000 : 3400;
		event[0] = (uint8_t)(i * 50);
		dialogs_take_rtp(d, &rtp);
	}
	give(d, 3000, BYE_OF_CALLEE);
	assert_made(
		d, "\"sipclient_actions\":[[\"assert_established\",\"10800\"]]",
		"The caller sent 2 digits in encrypted RTP, the first at 1.4 s");
}

/* The answer says which of the offered ways was used. */
static void test_the_answer_chooses_the_encryption(void **state)
{
	static const struct {
		const char *offer, *answer, *part, *note;
	} cases[] = {
		{FINGERPRINT KEY, KEY, "\"media_encryption\":\"sdes\"", ""},
		{FINGERPRINT KEY, FINGERPRINT, "\"media_encryption\":\"dtls\"",
		 ""},
		{KEY, "", "\"media_encryption\":\"sdes\"", ""},
		{FINGERPRINT, "", "\"audio_codecs\":[\"PCMA\"]",
		 "answered without"},
	};
	char text[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dialogs *d = fresh();

		str_print(text, sizeof(text),
			  INVITE_TO("", "CSeq: 1 INVITE\r\n", "%s%s"), SDP,
			  cases[i].offer);
		give(d, 0, text);
		str_print(text, sizeof(text),
			  RESPONSE("200 OK", "1 INVITE", "%s%s"), SDP,
			  cases[i].answer);
		give(d, 400, text);
		assert_made(d, cases[i].part, cases[i].note);
	}
}

static void test_the_end_by_the_callee_is_a_condition(void **state)
{
	struct dialogs *d = established();

	(void)state;
	give(d, 5400, BYE_OF_CALLEE);
	/* one record of a type, with the codec's condition */
	assert_made(d,
		    "\"value\":\"AVP 8\"},{\"direction\":\"received\","
		    "\"cseq\":\"BYE\",\"method\":\"BYE\",\"field\":\"message\"",
		    "no condition on MOS");
}

static void test_a_failed_call_expects_success_unless_told(void **state)
{
	struct dialogs *d = fresh();
	char *notes, *text;

	(void)state;
	give(d, 0, INVITE_TO("", "CSeq: 1 INVITE\r\n", SDP));
	give(d, 10, RESPONSE("486 Busy Here", "1 INVITE", ""));
	text = made(d, &notes);
	assert_has(text, "\"conditions\":[]");
	assert_has(notes, "failed with 486");
	free(text);
	free(notes);
	options.expect_failure = true;
	text = made(d, &notes);
	assert_has(
		text,
		"\"method\":\"486\",\"field\":\"message\",\"type\":\"startswith\",\"value\":\"SIP/2.0 486\"");
	free(text);
	free(notes);
	options.expect_failure = false;
	dialogs_free(d);
}

static void test_a_cancelled_call_is_cancelled_again(void **state)
{
	struct dialogs *d = fresh();

	(void)state;
	give(d, 0, INVITE_TO("", "CSeq: 1 INVITE\r\n", SDP));
	give(d, 100, RESPONSE("180 Ringing", "1 INVITE", ""));
	give(d, 1500,
	     "CANCEL sip:bob@h SIP/2.0\r\nFrom: <sip:x@h>;tag=a\r\nTo: <sip:bob@h>\r\n"
	     "Call-ID: c1\r\nCSeq: 1 CANCEL\r\n\r\n");
	give(d, 1510, RESPONSE("487 Request Terminated", "1 INVITE", ""));
	assert_made(
		d,
		"\"sipclient_actions\":[[\"wait\",\"1500\"],[\"hangup\",\"\"]]",
		"failed with 487");
}

static void test_anonymised_texts_are_consistent(void **state)
{
	struct dialogs *d = fresh();
	char *notes, *text;

	(void)state;
	give(d, 0,
	     INVITE_TO(
		     "",
		     "CSeq: 1 INVITE\r\nX-Who: Liddell;q=+4930123;user=phone\r\n"
		     "P-Asserted-Identity: <sip:+4930123@example.test>\r\nX-B: user-1 word-2\r\n",
		     SDP));
	give(d, 10, RESPONSE("200 OK", "1 INVITE", SDP));
	give(d, 900,
	     REQUEST("REFER", "2", "Refer-To: <sip:+4930123@other.test>\r\n"));
	give(d, 2000, BYE_OF_CALLEE);
	options.anonymise = true;
	text = made(d, &notes);
	options.anonymise = false;
	for (const char *const *word =
		     (const char *const[]){"4930123", "Alice", "Liddell", "bob",
					   "example.test", "other.test",
					   "user-1", "word-2", NULL};
	     *word; word++)
		if (strcasestr(text, *word) || strcasestr(notes, *word))
			fail_msg("%s is in %s", *word, text);
	/* the caller in From, in two headers and in Refer-To */
	assert_has(text, "\"username\":\"+15550002\"");
	assert_has(text, "q=+15550002;user=phone");
	assert_has(text, "<sip:+15550002@");
	assert_has(text, "\"transfer\",\"sip:+15550002@host-");
	free(text);
	free(notes);
	dialogs_free(d);
}

/* The originals look like replacements; ports and parameters stay valid. */
static void test_replacements_contain_no_original(void **state)
{
	static const char *const words[] = {"5550",     "2001", "198",
					    "10.1.2.3", "Name", "5071",
					    "fe80::1",  NULL};
	struct dialogs *d = fresh();
	char *notes, *text;

	(void)state;
	give(d, 0,
	     "INVITE sip:user@198 SIP/2.0\r\nVia: SIP/2.0/UDP h\r\n"
	     "From: \"Name\" <sip:5550@2001>;tag=a\r\nTo: <sip:user@198>\r\n"
	     "Call-ID: c1\r\nCSeq: 1 INVITE\r\n"
	     "X-A: <sip:5550@10.1.2.3:5071;lr>;index=1.1;cause=302, <sip:[fe80::1]:5071>\r\n\r\n");
	give(d, 10, RESPONSE("404 Not Found", "1 INVITE", ""));
	options.anonymise = true;
	text = made(d, &notes);
	options.anonymise = false;
	for (size_t i = 0; words[i]; i++)
		if (strstr(text, words[i]) || strstr(notes, words[i]))
			fail_msg("%s is in %s", words[i], text);
	assert_has(text, "<sip:777");
	assert_has(text, ":5060;lr>;index=1.1;cause=302, <sip:[fd00:db8::");
	assert_has(text, "]:5060>\"");
	free(text);
	free(notes);
	dialogs_free(d);
}

static void test_dialled_digits_become_others(void **state)
{
	struct dialogs *d = established();
	char digits[8], original[8];
	struct anonymise *a;

	(void)state;
	assert_int_equal(anonymise_new(&a, 0), 0);
	anonymise_use(a, first_call(d));
	for (unsigned i = 99; i > 0; i--) {
		str_print(original, sizeof(original), "*%02u#", i);
		str_copy(digits, sizeof(digits), original);
		anonymise_digits(a, digits);
		assert_string_not_equal(digits, original);
		assert_true(digits[0] == '*' && digits[3] == '#' && !digits[4]);
	}
	anonymise_free(a);
	dialogs_free(d);
}

static void test_what_is_no_call_is_ignored(void **state)
{
	struct dialogs *d = fresh();
	struct call_summary s;

	(void)state;
	give(d, 0, "");
	give(d, 0, "INVITE");
	give(d, 0, "SIP/2.0 99 x\r\n\r\n");
	give(d, 0, RESPONSE("200 OK", "1 INVITE", SDP));
	give(d, 0, REQUEST("INVITE", "2", ""));
	give(d, 0, INVITE_TO("", "CSeq: 1 invite\r\n", SDP));
	assert_int_equal(dialogs_call_count(d), 0);
	give(d, 0,
	     "INVITE x SIP/2.0\r\nFrom: <sip:a@h>;tag=a\r\nTo: <sip:b@h>\r\nCall-ID: c\r\nCSeq: 1 INVITE\r\n\r\n");
	assert_int_equal(dialogs_call_count(d), 1);
	assert_int_equal(call_summary_make(first_call(d), &s), -EBADMSG);
	dialogs_free(d);
}

static void test_ceilings_are_counted(void **state)
{
	struct dialogs *d = established();
	char text[400];

	(void)state;
	for (unsigned i = 2; i < 400; i++) {
		str_print(
			text, sizeof(text),
			"OPTIONS sip:b@h SIP/2.0\r\nFrom: <sip:a@h>;tag=a\r\nTo: <sip:b@h>;tag=b\r\n"
			"Call-ID: c1\r\nCSeq: %u OPTIONS\r\n\r\n",
			i);
		give(d, 500, text);
	}
	for (unsigned i = 0; i < DIALOGS_CALLS_MAX + 5; i++) {
		str_print(
			text, sizeof(text),
			"INVITE sip:b@h SIP/2.0\r\nFrom: <sip:a@h>;tag=a\r\nTo: <sip:b@h>\r\n"
			"Call-ID: n%u\r\nCSeq: 1 INVITE\r\n\r\n",
			i);
		give(d, 500, text);
	}
	assert_int_equal(dialogs_call_count(d), DIALOGS_CALLS_MAX);
	assert_int_equal(first_call(d)->messages, DIALOGS_MESSAGES_MAX);
	assert_int_equal(dialogs_left_out(d),
			 398 + 4 - DIALOGS_MESSAGES_MAX + 6);
	dialogs_free(d);
}

/* From and request URI; what is dialled at 192.0.2.8. */
static void test_domains_are_kept(void **state)
{
	static const struct {
		const char *from, *to, *part;
	} cases[] = {
		{"a@one.test", "b@one.test", "\"dial_destination\":\"b\""},
		{"a@one.test", "b@one.test", "\"domain\":\"one.test\""},
		{"a@one.test", "b@two.test",
		 "\"dial_destination\":\"sip:b@two.test\""},
		{"a@one.test", "b@two.test", "\"domain\":\"one.test\""},
		{"a@192.0.2.7", "b@two.test", "\"domain\":\"two.test\""},
		{"a@one.test", "b@192.0.2.8:5070",
		 "\"dial_destination\":\"sip:b@192.0.2.8:5070\""},
		{"a@192.0.2.7", "b@192.0.2.8:5070",
		 "\"dial_destination\":\"b\""},
		{"a@192.0.2.7", "b@192.0.2.9:5071",
		 "\"dial_destination\":\"sip:b@192.0.2.9:5071\""},
		{"a@192.0.2.7", "192.0.2.8:5070",
		 "\"dial_destination\":\"sip:192.0.2.8:5070\""},
	};
	const uint8_t proxy[4] = {192, 0, 2, 8};
	char text[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dialogs *d = fresh();
		struct dialogs_input in = {
			.data = text, .has_address = true, .dport = 5070};

		str_print(
			text, sizeof(text),
			"INVITE sip:%s SIP/2.0\r\nFrom: <sip:%s>;tag=a\r\n"
			"To: <sip:%s>\r\nCall-ID: c1\r\nCSeq: 1 INVITE\r\n\r\n",
			cases[i].to, cases[i].from, cases[i].to);
		in.bytes = strlen(text);
		address_set_ipv4(&in.dst, proxy);
		dialogs_take(d, &in);
		give(d, 10, RESPONSE("404 Not Found", "1 INVITE", ""));
		assert_made(d, cases[i].part, "");
	}
}

static void test_a_redirected_call_dials_the_first_uri(void **state)
{
	struct dialogs *d = fresh();

	(void)state;
	give(d, 0, INVITE_TO("", "CSeq: 1 INVITE\r\n", SDP));
	give(d, 10, RESPONSE("302 Moved", "1 INVITE", ""));
	give(d, 20,
	     "INVITE sip:carol@example.test SIP/2.0\r\nFrom: <sip:+4930123@example.test>;tag=a\r\n"
	     "To: <sip:bob@example.test>\r\nCall-ID: c1\r\nCSeq: 2 INVITE\r\n\r\n" SDP);
	give(d, 30, RESPONSE("200 OK", "2 INVITE", SDP));
	assert_made(d, "\"dial_destination\":\"bob\"", "");
}

/* Of two calls of the same parties, one that cannot be read, and one by the
 * replacement that the first one would have. */
static void test_all_calls_make_one_document(void **state)
{
	struct dialogs *d = established();
	json_t *document, *notes;
	char *text;

	(void)state;
	give(d, 3000,
	     "INVITE sip:bob@example.test SIP/2.0\r\nFrom: <sip:+4930123@example.test>;tag=a\r\n"
	     "To: <sip:bob@example.test>\r\nCall-ID: c2\r\nCSeq: 1 INVITE\r\n\r\n");
	give(d, 4000,
	     "INVITE x SIP/2.0\r\nFrom: <sip:a@h>;tag=a\r\nTo: <sip:b@h>\r\nCall-ID: c3\r\nCSeq: 1 INVITE\r\n\r\n");
	give(d, 5000,
	     "INVITE sip:bob@h SIP/2.0\r\nFrom: <sip:+15550002@h>;tag=a\r\n"
	     "To: <sip:bob@h>\r\nCall-ID: c4\r\nCSeq: 1 INVITE\r\n\r\n");
	assert_int_equal(test_code_make_all(d, &options, &document, &notes), 0);
	text = json_dumps(document, JSON_COMPACT);
	assert_non_null(text);
	assert_has(text, "\"name\":\"Call from +4930123 to bob\"");
	assert_has(text, "\"name\":\"Call from +4930123 to bob (2)\"");
	assert_has(text,
		   "\"name\":\"Target of Call from +4930123 to bob (2)\"");
	free(text);
	json_decref(document);
	text = json_dumps(notes, JSON_COMPACT);
	assert_non_null(text);
	assert_has(text, "\"Call 3: The INVITE cannot be read.\"");
	free(text);
	json_decref(notes);
	options.anonymise = true;
	assert_int_equal(test_code_make_all(d, &options, &document, &notes), 0);
	options.anonymise = false;
	text = json_dumps(document, JSON_COMPACT);
	assert_non_null(text);
	assert_null(strstr(text, "15550002"));
	assert_null(strstr(text, "4930123"));
	assert_int_equal(json_array_size(json_object_get(document, "tests")),
			 3);
	free(text);
	json_decref(document);
	json_decref(notes);
	dialogs_free(d);
}

static void test_a_target_must_be_a_uri(void **state)
{
	struct dialogs *d = established();
	json_t *document, *notes;

	(void)state;
	options.target = "nowhere";
	assert_int_equal(
		test_code_make(d, first_call(d), &options, &document, &notes),
		-EINVAL);
	options.target = "sip:[2001:db8::7]:5070;transport=tcp";
	assert_made(
		d,
		"{\"host\":\"2001:db8::7\",\"transport\":\"tcp\",\"port\":5070}",
		"");
	options.target = NULL;
}

/* A capture without frames; the time is over before the first one. */
static void test_reading_ends_at_its_time(void **state)
{
	static const uint8_t pcap[24] = {0xd4, 0xc3, 0xb2, 0xa1,     2,
					 0,    4,    0,    [18] = 4, [20] = 1};
	struct call_capture_limits limits = {.end_ns = 1, .streams_max = 10};
	char reason[CALL_CAPTURE_REASON_BYTES] = "";
	struct dialogs *d = NULL;
	struct source source;

	(void)state;
	source_open_memory(&source, pcap, sizeof(pcap));
	assert_int_equal(call_capture_read(&source, &limits, &d, reason),
			 -ETIME);
	assert_null(d);
	assert_string_equal(reason, "");
	source_close(&source);
	source_open_memory(&source, pcap, sizeof(pcap));
	limits.end_ns = INT64_MAX;
	assert_int_equal(call_capture_read(&source, &limits, &d, reason), 0);
	assert_int_equal(dialogs_call_count(d), 0);
	dialogs_free(d);
	source_close(&source);
}

static void test_making_ends_at_its_time(void **state)
{
	struct dialogs *d = established();
	json_t *document, *notes;

	(void)state;
	options.end_ns = 1;
	for (unsigned i = 0; i < 2; i++) {
		options.anonymise = i == 1;
		assert_int_equal(test_code_make(d, first_call(d), &options,
						&document, &notes),
				 -ETIME);
		assert_int_equal(
			test_code_make_all(d, &options, &document, &notes),
			-ETIME);
	}
	options.end_ns = 0;
	options.anonymise = false;
	dialogs_free(d);
}

static void test_replacing_ends_at_its_time(void **state)
{
	struct dialogs *d = established();
	struct anonymise *a;

	(void)state;
	assert_int_equal(anonymise_new(&a, 1), 0);
	anonymise_use(a, first_call(d));
	assert_false(anonymise_is_late(a));
	assert_string_equal(anonymise_text(a, ANONYMISE_USER, "bob"), "x");
	assert_true(anonymise_is_late(a));
	anonymise_free(a);
	dialogs_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_call_is_summarised),
		cmocka_unit_test(test_hops_and_retransmissions_count_once),
		cmocka_unit_test(test_a_response_is_as_the_caller_received_it),
		cmocka_unit_test(test_a_cancel_of_a_proxy_is_not_the_callers),
		cmocka_unit_test(test_a_challenged_invite_is_one_call),
		cmocka_unit_test(test_a_registration_is_carried_over),
		cmocka_unit_test(test_the_script_has_the_times),
		cmocka_unit_test(test_telephone_events_are_digits),
		cmocka_unit_test(test_candidates_are_addresses_of_the_caller),
		cmocka_unit_test(test_encrypted_digits_are_counted),
		cmocka_unit_test(test_the_answer_chooses_the_encryption),
		cmocka_unit_test(test_the_end_by_the_callee_is_a_condition),
		cmocka_unit_test(
			test_a_failed_call_expects_success_unless_told),
		cmocka_unit_test(test_a_cancelled_call_is_cancelled_again),
		cmocka_unit_test(test_anonymised_texts_are_consistent),
		cmocka_unit_test(test_replacements_contain_no_original),
		cmocka_unit_test(test_dialled_digits_become_others),
		cmocka_unit_test(test_what_is_no_call_is_ignored),
		cmocka_unit_test(test_ceilings_are_counted),
		cmocka_unit_test(test_domains_are_kept),
		cmocka_unit_test(test_a_redirected_call_dials_the_first_uri),
		cmocka_unit_test(test_all_calls_make_one_document),
		cmocka_unit_test(test_a_target_must_be_a_uri),
		cmocka_unit_test(test_reading_ends_at_its_time),
		cmocka_unit_test(test_making_ends_at_its_time),
		cmocka_unit_test(test_replacing_ends_at_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
