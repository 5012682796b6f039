/* RFC 5621: a session description among other body parts. */
#include <errno.h>

#include "sip/body/multipart.h"
#include "world.h"

#define MIXED      "multipart/mixed;boundary=b"
#define SDP        "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\n"
#define SDP_PART   "--b\r\nContent-Type: application/sdp\r\n\r\n" SDP "\r\n"
#define OTHER_PART "--b\r\nContent-Type: application/isup\r\n"
#define OPTIONAL   "Content-Disposition: signal; handling=optional\r\n\r\nx\r\n"
#define REQUIRED   "Content-Disposition: signal;handling=required\r\n\r\nx\r\n"
#define END        "--b--\r\n"

static const struct {
	const char *type;
	const char *disposition;
	const char *text;
	int err; /* 0: the SDP is found */
} cases[] = {
	{"application/sdp", NULL, SDP, 0},
	{"Application/SDP; charset=utf-8", "session", SDP, 0},
	{"application/sdp", NULL, "", 1},
	{"text/plain", NULL, "x", -EPROTONOSUPPORT},
	{"text/plain", "render; handling=optional", "x", 1},
	{"application/sdp", "early-session", SDP, -EPROTONOSUPPORT},
	{NULL, NULL, "x", -EPROTONOSUPPORT},
	{MIXED, NULL, SDP_PART END, 0},
	{MIXED, NULL, "preamble\r\n" SDP_PART END "epilogue", 0},
	{MIXED, NULL, OTHER_PART OPTIONAL SDP_PART END, 0},
	{MIXED, NULL, SDP_PART OTHER_PART OPTIONAL END, 0},
	{MIXED, NULL, SDP_PART OTHER_PART REQUIRED END, -EPROTONOSUPPORT},
	/* handling=required is the default (RFC 3261 20.11) */
	{MIXED, NULL, SDP_PART OTHER_PART "\r\nx\r\n" END, -EPROTONOSUPPORT},
	{MIXED, "session;handling=optional", OTHER_PART "\r\nx\r\n" END, 1},
	{MIXED, NULL, OTHER_PART OPTIONAL END, 1},
	{MIXED, NULL, SDP_PART SDP_PART END, 0},
	/* quoted, folded, padded, compact, in another case */
	{"multipart/mixed; a=\"x;y\"; BOUNDARY=\"b\"", NULL, SDP_PART END, 0},
	{MIXED, NULL,
	 "--b \t\r\nCONTENT-TYPE:\r\n application/sdp\r\n\r\n" SDP "\r\n--b--",
	 0},
	{MIXED, NULL, "--b\r\nc: application/sdp\r\n\r\n" SDP "\r\n" END, 0},
	/*
	 * a line that only begins like the delimiter is not one, nor is a
	 * delimiter within a line
	 */
	{MIXED, NULL,
	 "--b\r\nContent-Type: text/plain\r\nContent-Disposition: "
	 "render;handling=optional\r\n\r\n--bb\r\nx--b\r\n\r\n" SDP_PART END,
	 0},
	{MIXED, NULL,
	 "--b\r\nContent-Type: application/sdp\r\n"
	 "Content-Transfer-Encoding: base64\r\n\r\ndj0w\r\n" END,
	 -EPROTONOSUPPORT},
	{MIXED, NULL,
	 "--b\r\nContent-Type: multipart/mixed;boundary=c\r\n\r\n"
	 "--c\r\nContent-Type: application/sdp\r\n\r\n" SDP "\r\n--c--\r\n"
	 "\r\n" END,
	 0},
	{"multipart/alternative;boundary=b", NULL,
	 "--b\r\n\r\nas text\r\n" SDP_PART OTHER_PART REQUIRED END, 0},
	{"multipart/alternative;boundary=b", NULL, OTHER_PART REQUIRED END,
	 -EPROTONOSUPPORT},
	{"multipart/unheard-of;boundary=b", NULL, SDP_PART END, 0},
	/* malformed */
	{"multipart/mixed", NULL, SDP_PART END, -EBADMSG},
	{"multipart/mixed;boundary=", NULL, SDP_PART END, -EBADMSG},
	{"multipart/mixed;boundary=\"\"", NULL, SDP_PART END, -EBADMSG},
	{"multipart/mixed;boundary=other", NULL, SDP_PART END, -EBADMSG},
	{MIXED, NULL, SDP_PART, -EBADMSG},
	{MIXED, NULL, "--b", -EBADMSG},
	{MIXED, NULL, "--b--", 1},
};

static struct multipart_text text_of(const char *text)
{
	return (struct multipart_text){text, text ? strlen(text) : 0};
}

static void test_descriptions_that_are_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct multipart_body body = {
			.type = text_of(cases[i].type),
			.disposition = text_of(cases[i].disposition),
			.text = text_of(cases[i].text),
		};
		struct multipart_text found = {NULL, 0};
		int err = multipart_sdp(&found, &body);

		if (err != cases[i].err)
			fail_msg("case %zu: %d, not %d", i, err, cases[i].err);
		if (err == 0 && (found.len < strlen(SDP) - 2 ||
				 memcmp(found.p, SDP, strlen(SDP) - 2) != 0 ||
				 found.len > strlen(SDP)))
			fail_msg("case %zu: '%.*s'", i, (int)found.len,
				 found.p);
	}
}

/* A response or an ACK cannot be refused because of its body. */
static void test_nothing_of_a_response_has_to_be_understood(void **state)
{
	struct multipart_body body = {
		.type = text_of(MIXED),
		.text = text_of(OTHER_PART REQUIRED SDP_PART END),
		.optional = true,
	};
	struct multipart_text found;
	(void)state;

	assert_int_equal(multipart_sdp(&found, &body), 0);
	body.text = text_of(OTHER_PART REQUIRED END);
	assert_int_equal(multipart_sdp(&found, &body), 1);
	body.type = text_of("text/plain");
	assert_int_equal(multipart_sdp(&found, &body), 1);
}

static void test_encodings(void **state)
{
	struct multipart_body body = {
		.type = text_of("application/sdp"),
		.encoding = text_of("identity"),
		.text = text_of(SDP),
	};
	struct multipart_text found;
	(void)state;

	assert_int_equal(multipart_sdp(&found, &body), 0);
	body.encoding = text_of("gzip");
	assert_int_equal(multipart_sdp(&found, &body), -EPROTONOSUPPORT);
}

static void test_depth_and_count_are_bounded(void **state)
{
	char text[8192] = "";
	struct multipart_body body = {.type = text_of(MIXED)};
	struct multipart_text found;
	(void)state;

	for (int i = 0; i <= MULTIPART_PARTS_MAX; i++)
		strcat(text, OTHER_PART OPTIONAL);
	strcat(text, SDP_PART END);
	body.text = text_of(text);
	assert_int_equal(multipart_sdp(&found, &body), -EBADMSG);
	text[0] = '\0';
	for (int i = 0; i < MULTIPART_DEPTH_MAX; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "--%.*s\r\nContent-Type: multipart/mixed;"
			 "boundary=%.*s\r\n\r\n",
			 i + 1, "bcdefg", i + 2, "bcdefg");
	body.text = text_of(text);
	assert_int_not_equal(multipart_sdp(&found, &body), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_descriptions_that_are_found),
		cmocka_unit_test(
			test_nothing_of_a_response_has_to_be_understood),
		cmocka_unit_test(test_encodings),
		cmocka_unit_test(test_depth_and_count_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
