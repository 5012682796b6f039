/* What single messages of a captured call become in its test. */
#include "control/import/call_capture.h"
#include "control/import/test_code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/str.h"

#define SESSION "v=0\r\no=- 1 1 IN IP4 192.0.2.7\r\ns=-\r\n"
#define MEDIA   "t=0 0\r\nm=audio 4000 RTP/AVP 8\r\n"
#define SDP     SESSION "c=IN IP4 192.0.2.7\r\n" MEDIA
#define INFO(type, body)                                                  \
	{                                                                 \
		"INFO", "Content-Type: application/" type "\r\n\r\n" body \
	}
#define REINVITE(sdp)                                                 \
	{                                                             \
		"INVITE", "Content-Type: application/sdp\r\n\r\n" sdp \
	}

static unsigned cseq;

static void give(struct dialogs *d, int64_t ms, const char *text)
{
	const struct dialogs_input in = {
		.ns = (INT64_C(1000) + ms) * NS_PER_MS,
		.data = text,
		.bytes = strlen(text),
	};

	dialogs_take(d, &in);
}

static void request(struct dialogs *d, int64_t ms, const char *method,
		    const char *more)
{
	char text[4096];

	str_print(text, sizeof(text),
		  "%s sip:bob@192.0.2.9 SIP/2.0\r\n"
		  "From: <sip:alice@h>;tag=a\r\nTo: <sip:bob@h>%s\r\n"
		  "Call-ID: c1\r\nCSeq: %u %s\r\n%s",
		  method, cseq ? ";tag=b" : "", cseq + 1, method, more);
	cseq++;
	give(d, ms, text);
}

static void response(struct dialogs *d, int64_t ms, const char *line,
		     const char *method, const char *body)
{
	char text[4096];

	str_print(text, sizeof(text),
		  "SIP/2.0 %s\r\nFrom: <sip:alice@h>;tag=a\r\n"
		  "To: <sip:bob@h>;tag=b\r\nCall-ID: c1\r\n"
		  "CSeq: %u %s\r\n\r\n%s",
		  line, cseq, method, body);
	give(d, ms, text);
}

static struct dialogs *invited(const char *headers_and_sdp)
{
	struct dialogs *d;

	cseq = 0;
	assert_int_equal(dialogs_new(&d), 0);
	request(d, 0, "INVITE", headers_and_sdp);
	return d;
}

/* @return the test and the notes as one JSON text; free(). d is released */
static char *made(struct dialogs *d, bool expect_failure)
{
	const struct test_code_options options = {
		.agent_pool = "lab", .expect_failure = expect_failure};
	json_t *document, *notes, *both;
	char *text;

	assert_int_equal(dialogs_call_count(d), 1);
	assert_int_equal(test_code_make(d, dialogs_call(d, 0), &options,
					&document, &notes),
			 0);
	both = json_pack("[o, o]", document, notes);
	text = json_dumps(both, JSON_COMPACT);
	json_decref(both);
	dialogs_free(d);
	return text;
}

static void assert_made(struct dialogs *d, const char *part, bool there)
{
	char *text = made(d, false);

	if (!strstr(text, part) == there)
		fail_msg("%s is %sin %s", part, there ? "not " : "", text);
	free(text);
}

struct within {
	const char *method, *more;
};

/* What a request within an answered call becomes. */
static void assert_becomes(const struct within *w, const char *part, bool there)
{
	struct dialogs *d = invited("\r\n" SDP);

	response(d, 400, "200 OK", "INVITE", SDP);
	request(d, 1400, w->method, w->more);
	response(d, 1410, "200 OK", w->method, "");
	assert_made(d, part, there);
}

/* As the agent reads them (sip/body/dtmf_info.h). */
static void test_digits_of_info(void **state)
{
	static const struct {
		struct within info;
		const char *part;
	} cases[] = {
		{INFO("dtmf-relay", "Signal=10\r\nDuration=160\r\n"),
		 "[\"dtmf\",\"*"},
		{INFO("dtmf-relay", "Signal= 11\r\n"), "[\"dtmf\",\"#"},
		{INFO("dtmf-relay", "Signal = 5\r\n"), "[\"dtmf\",\"5"},
		{INFO("dtmf-relay", "Signal=a\r\n"), "[\"dtmf\",\"A"},
		{INFO("dtmf-relay; x=y", "Signal=1\r\n"), "[\"dtmf\",\"1"},
		{INFO("dtmf-relay", "Signal=16\r\n"), "it has no digit"},
		{INFO("dtmf", "11"), "[\"dtmf\",\"#"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_becomes(&cases[i].info, cases[i].part, true);
}

/* What media say of themselves replaces what the session says (RFC 8866 section 5). */
static void test_what_is_a_hold(void **state)
{
	static const struct {
		struct within reinvite;
		bool hold;
	} cases[] = {
		{REINVITE(SDP "a=sendonly\r\n"), true},
		{REINVITE(SESSION "c=IN IP4 0.0.0.0\r\n" MEDIA), true},
		{REINVITE(SESSION "c=IN IP4 0.0.0.0\r\n" MEDIA
				  "c=IN IP4 192.0.2.7\r\n"),
		 false},
		{REINVITE(SESSION "c=IN IP4 192.0.2.7\r\na=inactive\r\n" MEDIA
				  "a=sendrecv\r\n"),
		 false},
		{REINVITE(SESSION "c=IN IP4 192.0.2.7\r\na=inactive\r\n" MEDIA),
		 true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_becomes(&cases[i].reinvite, "[\"hold\",", cases[i].hold);
}

static void test_a_fingerprint_of_the_session(void **state)
{
	static const char *const offers[] = {
		"\r\n" SESSION "a=fingerprint:sha-256 AA:BB\r\n"
		"c=IN IP4 192.0.2.7\r\nt=0 0\r\n"
		"m=audio 9 UDP/TLS/RTP/SAVPF 8\r\n",
		"\r\n" SESSION "a=fingerprint:sha-256 AA:BB\r\n"
		"c=IN IP4 192.0.2.7\r\nt=0 0\r\n"
		"m=audio 9 RTP/SAVP 8\r\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(offers) / sizeof(*offers); i++) {
		struct dialogs *d = invited(offers[i]);

		response(d, 10, "488 Not Acceptable Here", "INVITE", "");
		assert_made(d, "\"media_encryption\":\"dtls\"", true);
	}
}

/* Each of these made a test that the controller refuses. */
static void test_what_a_test_cannot_have(void **state)
{
	static const struct within empty = {"MESSAGE", "\r\n"};
	static const struct within tab = {
		"MESSAGE", "Content-Type: text/plain\r\n\r\na\tb"};
	char *text;

	(void)state;
	assert_becomes(&empty, "[\"message\"", false);
	assert_becomes(&tab, "[\"message\"", false);
	assert_made(invited("X-A: a\tb\r\n\r\n" SDP),
		    "[\"X-A\",\"a b\",\"invites\"]", true);
	assert_made(invited("\r\n" SESSION "c=IN IP4 192.0.2.7\r\nt=0 0\r\n"
			    "m=audio 4000 RTP/AVP 10 11\r\n"),
		    "\"audio_codecs\":[\"L16/44100\"]", true);
	text = made(invited("\r\n" SDP), true);
	assert_non_null(strstr(text, "\"conditions\":[]"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_digits_of_info),
		cmocka_unit_test(test_what_is_a_hold),
		cmocka_unit_test(test_a_fingerprint_of_the_session),
		cmocka_unit_test(test_what_a_test_cannot_have),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
