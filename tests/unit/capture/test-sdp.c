/* The media lines of SDPs in a capture. */
#include "capture/sdp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* "ADDRESS:PORT " of each media line that was announced. */
struct announced {
	char text[512];
};

static void announce(const struct sdp_media *media, void *arg)
{
	struct announced *a = arg;
	size_t used = strlen(a->text);
	char address[ADDRESS_TEXT_BYTES];

	address_text(&media->address, address);
	snprintf(a->text + used, sizeof(a->text) - used, "%s:%u ", address,
		 media->port);
}

static void assert_announced(const char *sdp, const char *expected)
{
	struct announced a = {""};

	assert_int_equal(sdp_scan(sdp, strlen(sdp), false, announce, &a), 1);
	assert_string_equal(a.text, expected);
}

static void test_address_of_the_session(void **state)
{
	(void)state;
	assert_announced("v=0\r\nc=IN IP4 192.0.2.1\r\n"
			 "m=audio 5000 RTP/AVP 0\r\n"
			 "m=audio 6000 RTP/AVP 0\r\nc=IN IP4 192.0.2.2\r\n"
			 "m=audio 7000 RTP/AVP 0\r\n",
			 "192.0.2.1:5000 192.0.2.2:6000 192.0.2.1:7000 ");
}

/* The address of a media line without RTP, which is not read, is not that of the
 * session (RFC 8866 section 5.7). */
static void test_address_of_media_without_rtp(void **state)
{
	(void)state;
	assert_announced("v=0\r\nc=IN IP4 192.0.2.1\r\n"
			 "m=image 6000 udptl t38\r\nc=IN IP4 192.0.2.2\r\n"
			 "m=audio 5000 RTP/AVP 111\r\n",
			 "192.0.2.1:5000 ");
	assert_announced("v=0\r\n"
			 "m=image 6000 udptl t38\r\nc=IN IP4 192.0.2.2\r\n"
			 "m=audio 5000 RTP/AVP 111\r\n",
			 "");
}

/* Two SDPs in one text have each an address of its own. */
static void test_next_sdp_begins_anew(void **state)
{
	static const char sdp[] =
		"v=0\r\nc=IN IP4 192.0.2.1\r\nm=audio 5000 RTP/AVP 0\r\n"
		"v=0\r\nc=IN IP4 192.0.2.2\r\nm=audio 6000 RTP/AVP 0\r\n";
	struct announced a = {""};

	(void)state;
	assert_int_equal(sdp_scan(sdp, strlen(sdp), false, announce, &a), 2);
	assert_string_equal(a.text, "192.0.2.1:5000 192.0.2.2:6000 ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_address_of_the_session),
		cmocka_unit_test(test_address_of_media_without_rtp),
		cmocka_unit_test(test_next_sdp_begins_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
