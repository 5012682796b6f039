#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sip/message/headers.h"

static const char *const scope_names[] = {
	[SIP_SCOPE_ANY] = "any",
	[SIP_SCOPE_NOT_REGISTERS] = "not-registers",
	[SIP_SCOPE_REGISTERS] = "registers",
	[SIP_SCOPE_CALLS] = "calls",
	[SIP_SCOPE_PRESENCE] = "presence",
	[SIP_SCOPE_INVITES] = "invites",
	[SIP_SCOPE_UPDATES] = "updates",
	[SIP_SCOPE_REFERS] = "refers",
};

#define SCOPES (sizeof(scope_names) / sizeof(scope_names[0]))

static void test_scopes_of_every_request(void **state)
{
	static const struct {
		const char *method;
		bool in_dialog;
		const char *lines;
		const char *scopes;
	} table[] = {
		{"REGISTER", false, NULL, "any registers "},
		{"INVITE", false, NULL, "any not-registers calls invites "},
		{"INVITE", true, NULL, "any not-registers calls invites "},
		{"ACK", true, NULL, "any not-registers calls "},
		{"BYE", true, NULL, "any not-registers calls "},
		{"CANCEL", false, NULL, "any not-registers calls "},
		{"PRACK", true, NULL, "any not-registers calls "},
		{"UPDATE", true, NULL, "any not-registers calls updates "},
		{"REFER", true, NULL, "any not-registers calls refers "},
		{"REFER", false, NULL, "any not-registers refers "},
		{"INFO", true, NULL, "any not-registers calls "},
		{"MESSAGE", false, NULL, "any not-registers "},
		{"OPTIONS", false, NULL, "any not-registers "},
		{"SUBSCRIBE", false, NULL, "any not-registers presence "},
		{"PUBLISH", false, NULL, "any not-registers presence "},
		{"NOTIFY", true, "Event: presence\r\n",
		 "any not-registers presence "},
		{"NOTIFY", true, "Event: refer;id=3\r\n",
		 "any not-registers calls "},
	};
	(void)state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		unsigned scopes = headers_scopes(
			table[i].method, table[i].in_dialog, table[i].lines);
		char text[256] = "";

		for (size_t k = 0; k < SCOPES; k++) {
			if (scopes & 1u << k) {
				strcat(text, scope_names[k]);
				strcat(text, " ");
			}
		}
		assert_string_equal(text, table[i].scopes);
	}
}

static void print(char *dst, size_t size, const struct header_list *list,
		  unsigned scopes, const char *own)
{
	struct mbuf *mb = mbuf_alloc(64);

	assert_non_null(mb);
	assert_int_equal(headers_write_own(mb, list, scopes, own), 0);
	assert_int_equal(headers_write(mb, list, scopes), 0);
	assert_true(mb->end < size);
	memcpy(dst, mb->buf, mb->end);
	dst[mb->end] = '\0';
	mem_deref(mb);
}

static void test_header_replaces_our_own(void **state)
{
	static const struct sip_custom_header headers[] = {
		{"max-forwards", "3", SIP_SCOPE_INVITES},
		{"k", "replaces", SIP_SCOPE_ANY},
		{"X-New", "a, b", SIP_SCOPE_CALLS},
		{"From", "<sip:a@b>", SIP_SCOPE_REGISTERS},
	};
	static const char own[] = "Max-Forwards: 70\r\nSupported: timer\r\n"
				  "Allow: INVITE\r\n";
	struct header_list *list = NULL;
	char text[256];
	(void)state;

	assert_int_equal(headers_new(&list, headers, 4), 0);
	print(text, sizeof(text), list, headers_scopes("INVITE", false, NULL),
	      own);
	assert_string_equal(text, "Allow: INVITE\r\nmax-forwards: 3\r\n"
				  "k: replaces\r\nX-New: a, b\r\n");
	print(text, sizeof(text), list, headers_scopes("REGISTER", false, NULL),
	      own);
	assert_string_equal(text, "Max-Forwards: 70\r\nAllow: INVITE\r\n"
				  "k: replaces\r\n");
	assert_string_equal(
		headers_find(list, headers_scopes("REGISTER", false, NULL),
			     "f"),
		"<sip:a@b>");
	assert_null(
		headers_find(list, headers_scopes("BYE", true, NULL), "From"));
	mem_deref(list);
}

static void test_header_that_would_break_the_message_is_refused(void **state)
{
	static const struct sip_custom_header bad[] = {
		{"Via", "x", SIP_SCOPE_ANY},
		{"i", "x", SIP_SCOPE_ANY},
		{"L", "4", SIP_SCOPE_ANY},
		{"From", "<sip:a@b>;tag=1", SIP_SCOPE_ANY},
		{"X", "a\r\nVia: b", SIP_SCOPE_ANY},
		{"X", "a\nb", SIP_SCOPE_ANY},
		{"X Y", "a", SIP_SCOPE_ANY},
		{"X:", "a", SIP_SCOPE_ANY},
		{"", "a", SIP_SCOPE_ANY},
	};
	struct header_list *list = NULL;
	(void)state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(headers_new(&list, &bad[i], 1), -EINVAL);
		assert_null(list);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scopes_of_every_request),
		cmocka_unit_test(test_header_replaces_our_own),
		cmocka_unit_test(
			test_header_that_would_break_the_message_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
