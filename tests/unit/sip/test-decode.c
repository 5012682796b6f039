#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "tests/unit/sip/decode_same.h"

#define MUTATIONS      20000
#define MUTATION_BYTES 1024

#define START "INVITE sip:1001@192.0.2.1:5070;transport=udp SIP/2.0\r\n"
#define VIA   "Via: SIP/2.0/UDP 192.0.2.2:5060;rport;branch=z9hG4bK1\r\n"
#define REST                                                              \
	"From: \"Bob B\" <sip:bob@example.com>;tag=a1\r\n"                \
	"To: <sip:1001@[2001:db8::1]:5060;lr?x=y>\r\nCall-ID: c@host\r\n" \
	"CSeq: 7 INVITE\r\nMax-Forwards: 70\r\nContent-Length: 0\r\n"

/* Messages of the usual form: decode_message() must decode them itself. */
static const char *const usual[] = {
	START VIA REST "\r\n",
	START VIA REST "Contact: <sip:bob@192.0.2.2>\r\n\r\nv=0\r\nbody",
	START "v:SIP/2.0/TLS [2001:db8::2];branch=z9hG4bK2\r\n"
	      "f:sip:bob@example.com;tag=1\r\nt:sip:x@y\r\ni:1\r\n"
	      "CSeq: 1  INVITE\r\nc:application/sdp;charset=utf-8\r\n"
	      "l: 0\r\nX-Own: \xc3\xa4 \"quoted, text\"\r\n\r\n",
	"SIP/2.0 180 Ringing\r\n" VIA REST "\r\n",
	"SIP/2.0 200 \r\n" VIA VIA REST
	"Allow: INVITE, ACK ,BYE\r\nSupported: 100rel,timer\r\n"
	"Record-Route: <sip:a;lr>, <sip:b;lr>\r\nRoute: <sip:c>,<sip:d>\r\n"
	"Content-Type: application/sdp\r\nExpires: 60\r\n\r\nv=0\r\n",
	"SIP/2.0 407 Proxy Authentication Required\r\n" VIA REST
	"Proxy-Authenticate: Digest realm=\"a, b\", nonce=\"c\"\r\n\r\n",
	"BYE tel:+4930 SIP/2.0\r\n" VIA REST "\r\n",
};

/* These are left to libre, or are malformed. */
static const char *const unusual[] = {
	"",
	"\r\n",
	"INVITE\r\n\r\n",
	START,
	START "\r\n",
	START VIA REST,
	"INVITE sip:x SIP/2.0\nVia: SIP/2.0/UDP a;branch=1\nTo: <sip:a>\n\n",
	" " START VIA REST "\r\n",
	"INVITE  sip:x SIP/2.0\r\n" VIA REST "\r\n",
	"INVITE\tsip:x SIP/2.0\r\n" VIA REST "\r\n",
	"INVITE nonsense SIP/2.0\r\n" VIA REST "\r\n",
	"SIP/2.0 000 Zero\r\n" VIA REST "\r\n",
	"SIP/2.0 2x0 Letters\r\n" VIA REST "\r\n",
	"SIP/2.0 65736 Wraps\r\n" VIA REST "\r\n",
	START VIA REST "Subject: folded\r\n here\r\n\r\n",
	START VIA REST "Subject:\r\n\r\n",
	START VIA REST "Subject : x\r\n\r\n",
	START VIA REST "No colon\r\n\r\n",
	START VIA REST ": no name\r\n\r\n",
	START VIA REST "Allow: INVITE,\r\n\r\n",
	START VIA REST "Allow: ,INVITE\r\n\r\n",
	START VIA REST "Contact: \"a, b\" <sip:c>, <sip:d>\r\n\r\n",
	START VIA REST "CSeq: x INVITE\r\n\r\n",
	START VIA REST "CSeq: 99999999999 INVITE\r\n\r\n",
	START VIA REST "From: <sip:no end\r\n\r\n",
	START VIA REST "From: Bob Builder <sip:b@c>;tag=\"q;x\"\r\n\r\n",
	START VIA REST "From: \"B\\\"ob\" <sip:b@c>;tag=1\r\n\r\n",
	START VIA REST "From: <>\r\n\r\n",
	START VIA REST "From: nobody\r\n\r\n",
	START VIA REST "From: <sip:a:b:c@:5060>;Tag = 5 ;x\r\n\r\n",
	START VIA REST "Content-Type: application\r\n\r\n",
	START VIA REST "Content-Type: application / sdp\r\n\r\n",
	START VIA REST "Subject: a\rb\r\n\r\n",
	START "Via: SIP/2.0/UDP 192.0.2.2\r\n" REST "\r\n",
	START "Via: SIP / 2.0 / UDP 192.0.2.2;branch=1\r\n" REST "\r\n",
	START "Via: SIP/2.0/UDP a;branch=1, SIP/2.0/TCP b\r\n" REST "\r\n",
	START "Via: SIP/2.0/UDP :5060;branch=1\r\n" REST "\r\n",
	START "Via: sip/2.0/udp a:99999;x=\"y;branch=3\";branch=2\r\n" REST
	      "\r\n",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void same(const char *text, size_t len, bool *taken)
{
	const char *differs = decode_same((const uint8_t *)text, len, taken);

	if (differs)
		fail_msg("%s differs in:\n%.*s", differs, (int)len, text);
}

static void test_usual_messages_are_read_as_libre_reads_them(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(usual); i++) {
		bool taken = false;

		same(usual[i], strlen(usual[i]), &taken);
		if (!taken)
			fail_msg("was given to libre:\n%s", usual[i]);
	}
}

static void test_unusual_messages_are_judged_by_libre(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(unusual); i++)
		same(unusual[i], strlen(unusual[i]), NULL);
}

/* A header field of each kind: with a comma-separated list, and without. */
static void test_every_list_is_divided_as_libre_does(void **state)
{
	static const char *const names[] = {
		"Accept",
		"Accept-Contact",
		"Accept-Encoding",
		"Accept-Language",
		"Accept-Resource-Priority",
		"Alert-Info",
		"Allow",
		"Allow-Events",
		"Authentication-Info",
		"Authorization",
		"Call-Info",
		"Contact",
		"Content-Disposition",
		"Content-Encoding",
		"Content-Language",
		"Date",
		"Error-Info",
		"Event",
		"Flow-Timer",
		"Geolocation",
		"History-Info",
		"Identity",
		"In-Reply-To",
		"Min-Expires",
		"Min-SE",
		"P-Asserted-Identity",
		"P-Associated-URI",
		"P-Early-Media",
		"P-Media-Authorization",
		"P-Preferred-Identity",
		"P-Refused-URI-List",
		"P-Visited-Network-ID",
		"Path",
		"Permission-Missing",
		"Privacy",
		"Proxy-Authenticate",
		"Proxy-Authorization",
		"Proxy-Require",
		"RAck",
		"Reason",
		"Record-Route",
		"Refer-To",
		"Referred-By",
		"Reject-Contact",
		"Replaces",
		"Reply-To",
		"Request-Disposition",
		"Require",
		"Resource-Priority",
		"Retry-After",
		"Route",
		"RSeq",
		"Security-Client",
		"Security-Server",
		"Security-Verify",
		"Server",
		"Service-Route",
		"Session-Expires",
		"SIP-ETag",
		"SIP-If-Match",
		"Subject",
		"Subscription-State",
		"Supported",
		"Target-Dialog",
		"Timestamp",
		"Trigger-Consent",
		"Unsupported",
		"User-Agent",
		"Warning",
		"WWW-Authenticate",
		"X-Own",
		"Xown",
		"X",
		"a",
		"b",
		"d",
		"e",
		"g",
		"j",
		"k",
		"m",
		"n",
		"o",
		"r",
		"s",
		"u",
		"x",
		"y",
		"z",
		"ALLOW",
		"1",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		char text[1024];
		int len = snprintf(text, sizeof(text),
				   START VIA REST "%s: one , two,three\r\n\r\n",
				   names[i]);
		bool taken = false;

		same(text, (size_t)len, &taken);
		assert_true(taken);
	}
}

static void test_parts_are_read_as_libre_reads_them(void **state)
{
	static const char *const parts[] = {
		"sip:a@b",
		"sip:a@b/c/d;e?f",
		"sip:a@/",
		"sip:a:b@c:5060;d?e@f",
		"sip:@b",
		"sip:a@:1",
		"sip:[::1]",
		"sip:[::1]:5061;transport=TCP",
		"sip:a@b:",
		"sip:a@b::7x",
		"sips:192.0.2.1",
		"sip:",
		":",
		"sip",
		"a b@c:d",
		"<sip:a>",
		"\"\" <sip:a>",
		"\"x\"y <sip:a>",
		"\"x\"<sip:a>;t",
		"\"<\" <sip:a@b>;tag=1",
		"x <sip:a>",
		"<sip:a",
		"<>",
		";tag=1",
		";tag=\"1;2\"",
		"; TAG = 1",
		";tag=",
		";tagg=1",
		";stag=1;tag=2",
		";x=\";tag=3\"",
		";tag;tag=4",
		";;tag=5;",
		"1 INVITE",
		"1INVITE",
		"INVITE 1",
		"1 ",
		"1\t\tx y",
		"01 x",
		"a/b",
		"a/b;c",
		"a /b",
		"/b",
		"a/",
		"a;b/c",
		" a/b",
		"SIP/2.0/UDP a;branch=1",
		"SIP/2.0/WSS [::1]:1;branch=2",
		"SIP/2.0/UDPa;branch=1",
		"SIP/2.0/ UDP a;branch=1",
		"SIP/2.0/UDP\ta:5 ; branch=1",
		"SIP/2.0/UDP a",
		"SIP/2.0/U2 a",
		"xSIP/2.0/UDP a;branch=1",
		"SIP/2x0/UDP a;branch=1",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(parts); i++) {
		const char *differs = parse_same(parts[i], strlen(parts[i]));

		if (differs)
			fail_msg("%s differs: %s", differs, parts[i]);
	}
}

/*
 * Replace, remove and repeat bytes, using characters that are significant in
 * SIP.
 */
static size_t mutate(char *text, size_t len)
{
	static const char bytes[] = "\r\n\t :;,@<>\"\\/?=[]aS0\x80";
	unsigned changes = 1 + (unsigned)rand() % 3;

	for (unsigned i = 0; i < changes && len > 1; i++) {
		size_t at = (size_t)rand() % len;
		char byte = bytes[(size_t)rand() % sizeof(bytes)];

		switch (rand() % 3) {
		case 0:
			text[at] = byte;
			break;
		case 1:
			memmove(text + at, text + at + 1, len - at - 1);
			len--;
			break;
		default:
			if (len == MUTATION_BYTES)
				break;
			memmove(text + at + 1, text + at, len - at);
			text[at] = byte;
			len++;
		}
	}
	return len;
}

static void test_changed_messages_are_read_as_libre_reads_them(void **state)
{
	unsigned seed = random_u32();

	(void)state;
	print_message("seed %u\n", seed);
	srand(seed);
	for (int i = 0; i < MUTATIONS; i++) {
		const char *from = usual[(size_t)i % COUNT(usual)];
		char text[MUTATION_BYTES];
		size_t len = strlen(from);

		assert_true(len <= sizeof(text));
		memcpy(text, from, len);
		same(text, mutate(text, len), NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_usual_messages_are_read_as_libre_reads_them),
		cmocka_unit_test(test_unusual_messages_are_judged_by_libre),
		cmocka_unit_test(test_every_list_is_divided_as_libre_does),
		cmocka_unit_test(test_parts_are_read_as_libre_reads_them),
		cmocka_unit_test(
			test_changed_messages_are_read_as_libre_reads_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
