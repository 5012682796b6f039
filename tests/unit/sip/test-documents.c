/* PIDF and message-summary documents, parsed and written. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sip/body/mwi.h"
#include "sip/body/presence.h"

#define NS "urn:ietf:params:xml:ns:pidf"

static void test_presence_read(void **state)
{
	static const struct {
		const char *text;
		bool has_basic, open;
		unsigned tuples;
		const char *note;
	} cases[] = {
		/* RFC 3863 section 4.3 */
		{"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		 "<impp:presence xmlns:impp=\"" NS "\"\n"
		 "    entity=\"pres:someone@example.com\">\n"
		 "  <impp:tuple id=\"sg89ae\">\n    <impp:status>\n"
		 "      <impp:basic>open</impp:basic>\n    </impp:status>\n"
		 "    <impp:contact priority=\"0.8\">tel:+09012345678"
		 "</impp:contact>\n  </impp:tuple>\n</impp:presence>\n",
		 true, true, 1, ""},
		{"<presence xmlns='" NS "' entity='pres:a@b'/>", false, false,
		 0, ""},
		/*
		 * any tuple that is open; elements of other namespaces are
		 * ignored
		 */
		{"<presence xmlns='" NS "' xmlns:r='urn:x'>"
		 "<tuple id='1'><status><basic> closed </basic></status>"
		 "<note xml:lang='en'>away &lt;now&gt; &#246;</note></tuple>"
		 "<!-- <tuple> --><r:person><r:note>no</r:note></r:person>"
		 "<tuple id='2'><status><basic>open</basic><r:basic>x"
		 "</r:basic></status><r:x a='>'/></tuple>"
		 "<note>two</note></presence> <!-- end -->",
		 true, true, 2, "away <now> ?"},
		{"<presence xmlns='" NS "'><basic>open</basic>"
		 "<tuple><basic>open</basic><status><basic>busy</basic>"
		 "</status></tuple></presence>",
		 false, false, 1, ""},
		{"\xef\xbb\xbf<presence xmlns='" NS
		 "'><note><![CDATA[<x>]]></note></presence>",
		 false, false, 0, ""},
	};
	struct sip_presence p;
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(presence_parse(&p, cases[i].text,
						strlen(cases[i].text)),
				 0);
		assert_int_equal(p.has_basic, cases[i].has_basic);
		assert_int_equal(p.open, cases[i].open);
		assert_int_equal(p.tuples, cases[i].tuples);
		assert_string_equal(p.note, cases[i].note);
	}
	assert_int_equal(
		presence_parse(&p, cases[0].text, strlen(cases[0].text)), 0);
	assert_string_equal(p.entity, "pres:someone@example.com");
}

static void test_presence_refused(void **state)
{
	static const char *const texts[] = {
		"",
		" ",
		"x",
		"<presence/>",
		"<presence xmlns='urn:x'/>",
		"<p:presence xmlns='" NS "'/>",
		"<PRESENCE xmlns='" NS "'/>",
		"<tuple xmlns='" NS "'/>",
		"<presence xmlns='" NS "'>",
		"<presence xmlns='" NS "'></tuple>",
		"<presence xmlns='" NS "'/><presence xmlns='" NS "'/>",
		"<presence xmlns='" NS "'/>x",
		"<presence xmlns='" NS "' a>",
		"<presence xmlns='" NS "' =''/>",
		"<presence xmlns='" NS,
		"<!DOCTYPE x [<!ENTITY e 'x'>]><presence xmlns='" NS "'/>",
		"<presence xmlns='" NS "'><!-- </presence>",
		"<presence xmlns='" NS "'><></></presence>",
		"<presence xmlns='" NS "'><a><a><a><a><a><a><a><a><a><a><a>"
		"<a><a><a><a><a></presence>",
	};
	struct sip_presence p = {.tuples = 7};
	(void)state;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(presence_parse(&p, texts[i], strlen(texts[i])),
				 -EBADMSG);
	assert_int_equal(p.tuples, 7);
}

/* @param levels  of elements, the root among them */
static int presence_of_levels(unsigned levels)
{
	char text[512] = "<presence xmlns='" NS "'>";
	struct sip_presence p;

	for (unsigned i = 1; i < levels; i++)
		strcat(text, "<a>");
	for (unsigned i = 1; i < levels; i++)
		strcat(text, "</a>");
	strcat(text, "</presence>");
	return presence_parse(&p, text, strlen(text));
}

static void test_presence_levels(void **state)
{
	(void)state;
	assert_int_equal(presence_of_levels(16), 0);
	assert_int_equal(presence_of_levels(17), -EBADMSG);
}

static void test_presence_written_is_read(void **state)
{
	const struct sip_presence out = {.open = true,
					 .note = "a <b> & \"c\" \xc3\xb6"};
	char text[SIP_PRESENCE_BODY_BYTES];
	struct sip_presence in;
	int n = presence_print(text, sizeof(text), &out, "sip:a&b@x.net");
	(void)state;

	assert_true(n > 0);
	assert_int_equal(presence_parse(&in, text, (size_t)n), 0);
	assert_true(in.has_basic && in.open);
	assert_int_equal(in.tuples, 1);
	assert_string_equal(in.note, out.note);
	assert_string_equal(in.entity, "pres:a&b@x.net");
	for (size_t size = 1; size <= (size_t)n; size += 7)
		assert_int_equal(
			presence_print(text, size, &out, "sip:a&b@x.net"),
			-ENAMETOOLONG);
}

static void test_note_is_cut_between_characters(void **state)
{
	char text[1024] = "<presence xmlns='" NS "'><note>x";
	struct sip_presence p;
	(void)state;

	for (int i = 0; i < 100; i++)
		strcat(text, "\xc3\xb6");
	strcat(text, "</note></presence>");
	assert_int_equal(presence_parse(&p, text, strlen(text)), 0);
	/* x, then complete two-byte characters */
	assert_int_equal(strlen(p.note), SIP_PRESENCE_NOTE_BYTES - 1);
	assert_int_equal((unsigned char)p.note[SIP_PRESENCE_NOTE_BYTES - 2],
			 0xb6);
	memmove(strstr(text, ">x") + 1, strstr(text, ">x") + 2,
		strlen(strstr(text, ">x") + 1));
	assert_int_equal(presence_parse(&p, text, strlen(text)), 0);
	assert_int_equal(strlen(p.note), SIP_PRESENCE_NOTE_BYTES - 2);
}

static void test_summary_read(void **state)
{
	static const struct {
		const char *text;
		const char *said; /* the parsed value; NULL: refused */
	} cases[] = {
		/* RFC 3842 section 5.4 */
		{"Messages-Waiting: yes\r\n"
		 "Message-Account: sip:alice@vmail.example.com\r\n"
		 "Voice-Message: 4/8 (1/2)\r\n"
		 "Video-Message: 0/2\r\n",
		 "yes, voice-message 4/8 (1/2), video-message 0/2"},
		{"Messages-Waiting: yes\r\nVoice-Message: 2/8 (0/2)\r\n\r\n"
		 "To: <alice@atlanta.example.com>\r\nVoice-Message: x\r\n",
		 "yes, voice-message 2/8 (0/2)"},
		{"messages-waiting:NO", "no"},
		{"Messages-Waiting: no\nFax-Message: 0/0\nSmoke-Message: 9",
		 "no, fax-message 0/0"},
		{"Messages-Waiting: yes\r\nvoice-message: 1 / 2 ( 3 / 4 )\r\n",
		 "yes, voice-message 1/2 (3/4)"},
		{"", NULL},
		{"\r\nMessages-Waiting: yes\r\n", NULL},
		{"Messages-Waiting: maybe\r\n", NULL},
		{"Voice-Message: 1/2\r\nMessages-Waiting: yes\r\n", NULL},
		{"Messages-Waiting: yes\r\nVoice-Message: 1\r\n", NULL},
		{"Messages-Waiting: yes\r\nVoice-Message: 1/2 (3\r\n", NULL},
		{"Messages-Waiting: yes\r\nVoice-Message: 1/2 (\r\n", NULL},
		{"Messages-Waiting: yes\r\nVoice-Message: -1/2\r\n", NULL},
		{"Messages-Waiting: yes\r\nVoice-Message: 1/99999999999\r\n",
		 NULL},
		{"Messages-Waiting: yes\r\nMessage-Account: a b\r\n", NULL},
		{"Messages-Waiting: yes\r\n: x\r\n", NULL},
		{"Messages-Waiting: yes\r\nMessage-Account: sip:a@b\r\n"
		 "Message-Account: sip:c@d\r\n",
		 NULL},
	};
	struct sip_mwi mwi;
	char said[256];
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int err = mwi_parse(&mwi, cases[i].text, strlen(cases[i].text));

		assert_int_equal(err, cases[i].said ? 0 : -EBADMSG);
		if (err)
			continue;
		mwi_text(said, sizeof(said), &mwi);
		assert_string_equal(said, cases[i].said);
	}
}

static void test_summary_written_is_read(void **state)
{
	const struct sip_mwi out = {
		.waiting = true,
		.account = "sip:a@b",
		.counts[SIP_MWI_VOICE] = {true, 1, 2, true, 3, 4},
		.counts[SIP_MWI_NONE] = {true, 5, UINT32_MAX, false, 0, 0},
	};
	char text[SIP_MWI_BODY_BYTES], said[128];
	struct sip_mwi in;
	int n = mwi_print(text, sizeof(text), &out);
	(void)state;

	assert_string_equal(text, "Messages-Waiting: yes\r\n"
				  "Message-Account: sip:a@b\r\n"
				  "voice-message: 1/2 (3/4)\r\n"
				  "none: 5/4294967295\r\n");
	assert_int_equal(mwi_parse(&in, text, (size_t)n), 0);
	assert_memory_equal(&in, &out, sizeof(in));
	assert_int_equal(mwi_print(text, 10, &out), -ENAMETOOLONG);
	mwi_text(said, sizeof(said), &out);
	assert_string_equal(said,
			    "yes, voice-message 1/2 (3/4), none 5/4294967295");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_presence_read),
		cmocka_unit_test(test_presence_refused),
		cmocka_unit_test(test_presence_levels),
		cmocka_unit_test(test_presence_written_is_read),
		cmocka_unit_test(test_note_is_cut_between_characters),
		cmocka_unit_test(test_summary_read),
		cmocka_unit_test(test_summary_written_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
