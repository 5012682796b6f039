/* ICE in SDP: RFC 8839. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sip/sdp/sdp.h"

#define PWD "asd88fgpdd777uzjYhagZg"
#define HEAD                                                               \
	"v=0\r\no=- 1 1 IN IP4 192.0.2.2\r\ns=-\r\nc=IN IP4 192.0.2.2\r\n" \
	"t=0 0\r\n"
#define AUDIO "m=audio 6000 RTP/AVP 0\r\n"
#define WHO   "a=ice-ufrag:8hhY\r\na=ice-pwd:" PWD "\r\n"
#define HOST  "a=candidate:1 1 UDP 2130706431 192.0.2.2 6000 typ host\r\n"

static struct media_addr addr(const char *host, uint16_t port)
{
	struct media_addr a;
	struct sockaddr_in *in = (struct sockaddr_in *)&a.ss;

	memset(&a, 0, sizeof(a));
	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	assert_int_equal(inet_pton(AF_INET, host, &in->sin_addr), 1);
	a.len = sizeof(*in);
	return a;
}

static struct media_local local_make(void)
{
	struct media_local local;
	struct media_ice *ice = &local.ice;

	memset(&local, 0, sizeof(local));
	local.rtp = addr("192.0.2.1", 5000);
	local.rtcp = addr("192.0.2.1", 5001);
	local.codecs[0] = (struct media_codec){"PCMU", 0, 1, 8000, ""};
	local.codec_count = 1;
	local.ptime_ms = 20;
	local.has_ice = true;
	strcpy(ice->ufrag, "ours");
	strcpy(ice->pwd, "0123456789abcdefghijkl");
	ice->candidates[0] = (struct media_candidate){
		.component = 1, .priority = 2130706431, .addr = local.rtp};
	ice->candidates[1] = (struct media_candidate){
		.component = 2, .priority = 2130706430, .addr = local.rtcp};
	ice->candidates[2] = (struct media_candidate){
		.type = MEDIA_CANDIDATE_SRFLX,
		.component = 1,
		.priority = 1694498815,
		.addr = addr("198.51.100.1", 7000),
		.related = local.rtp,
	};
	ice->candidate_count = 3;
	return local;
}

static void parse(struct sdp *sdp, const char *text)
{
	const char *reason = "";

	if (sdp_parse(sdp, text, strlen(text), &reason))
		fail_msg("%s", reason);
}

static void test_candidate_lines(void **state)
{
	static const struct {
		const char *line;
		int type; /* -1: ignored */
	} cases[] = {
		{"1 1 UDP 2130706431 192.0.2.2 6000 typ host", 0},
		{"abc+/9 2 udp 1 198.51.100.7 1 typ srflx raddr 10.0.0.1 rport "
		 "5",
		 1},
		{"1 1 UDP 5 192.0.2.2 6000 typ prflx generation 0", 2},
		{"1 1 UDP 5 2001:db8::1 6000 typ relay", 3},
		{"1 1 TCP 5 192.0.2.2 6000 typ host tcptype passive", -1},
		{"1 0 UDP 5 192.0.2.2 6000 typ host", -1},
		{"1 3 UDP 5 192.0.2.2 6000 typ host", -1},
		{"1 1 UDP 2147483648 192.0.2.2 6000 typ host", -1},
		{"1 1 UDP 5 b2f9a1.local 6000 typ host", -1},
		{"1 1 UDP 5 0.0.0.0 6000 typ host", -1},
		{"1 1 UDP 5 192.0.2.2 0 typ host", -1},
		{"1 1 UDP 5 192.0.2.2 65536 typ host", -1},
		{"1 1 UDP 5 192.0.2.2 6000 typ", -1},
		{"1 1 UDP 5 192.0.2.2 6000 host", -1},
		{"1 1 UDP 5 192.0.2.2 6000 typ other", -1},
		{"", -1},
	};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[512];
		struct sdp sdp;

		strcpy(text, HEAD AUDIO WHO "a=candidate:");
		strcat(text, cases[i].line);
		strcat(text, "\r\n");
		parse(&sdp, text);
		assert_int_equal(sdp.ice.candidate_count, cases[i].type >= 0);
		if (cases[i].type >= 0)
			assert_int_equal(sdp.ice.candidates[0].type,
					 cases[i].type);
	}
}

static void test_candidates_ceiling(void **state)
{
	char text[4096] = HEAD AUDIO WHO;
	struct sdp sdp;
	(void)state;

	for (int i = 0; i < MEDIA_CANDIDATES_MAX + 5; i++)
		strcat(text, HOST);
	parse(&sdp, text);
	assert_int_equal(sdp.ice.candidate_count, MEDIA_CANDIDATES_MAX);
}

static void test_secrets(void **state)
{
	struct sdp sdp;
	(void)state;

	parse(&sdp, HEAD "a=ice-lite\r\n" WHO AUDIO HOST);
	assert_string_equal(sdp.ice.ufrag, "8hhY");
	assert_string_equal(sdp.ice.pwd, PWD);
	assert_true(sdp.ice.lite);
	/* media-level attributes take precedence */
	parse(&sdp,
	      HEAD WHO AUDIO "a=ice-ufrag:mine\r\na=ice-pwd:" PWD "9\r\n");
	assert_string_equal(sdp.ice.ufrag, "mine");
	assert_string_equal(sdp.ice.pwd, PWD "9");
	assert_false(sdp.ice.lite);
	/* too short, and a character that is not an ice-char */
	parse(&sdp, HEAD AUDIO "a=ice-ufrag:abc\r\na=ice-pwd:short\r\n");
	assert_string_equal(sdp.ice.ufrag, "");
	assert_string_equal(sdp.ice.pwd, "");
	parse(&sdp, HEAD AUDIO "a=ice-ufrag:ab:cd\r\n");
	assert_string_equal(sdp.ice.ufrag, "");
	/* belongs to another m= line */
	parse(&sdp, HEAD AUDIO "m=video 7000 RTP/AVP 31\r\n" WHO HOST);
	assert_string_equal(sdp.ice.ufrag, "");
	assert_int_equal(sdp.ice.candidate_count, 0);
}

static void test_settle(void **state)
{
	static const struct {
		const char *text;
		bool ice, mismatch;
	} cases[] = {
		{HEAD AUDIO WHO HOST, true, false},
		{HEAD AUDIO, false, false},
		{HEAD AUDIO "a=ice-ufrag:8hhY\r\n" HOST, false, false},
		/* a device without ICE changed the address */
		{"v=0\r\nc=IN IP4 203.0.113.5\r\n" AUDIO WHO HOST, false, true},
		/* hold as in RFC 2543 */
		{"v=0\r\nc=IN IP4 0.0.0.0\r\n" AUDIO WHO HOST, true, false},
	};
	struct media_local local = local_make();
	struct media_local without = local;
	(void)state;

	without.has_ice = false;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct media_negotiated deal;
		struct sdp sdp;

		parse(&sdp, cases[i].text);
		assert_int_equal(
			sdp_answer(&deal, &sdp, &local, MEDIA_SENDRECV), 0);
		assert_int_equal(deal.ice, cases[i].ice);
		assert_int_equal(deal.ice_mismatch, cases[i].mismatch);
		assert_false(deal.ice_controlling);
		assert_int_equal(
			sdp_accept(&deal, &sdp, &local, MEDIA_SENDRECV), 0);
		assert_int_equal(deal.ice, cases[i].ice);
		assert_int_equal(deal.ice_controlling, cases[i].ice);
		assert_int_equal(
			sdp_answer(&deal, &sdp, &without, MEDIA_SENDRECV), 0);
		assert_false(deal.ice || deal.ice_mismatch);
	}
}

static void test_is_read_back(void **state)
{
	struct media_local local = local_make();
	struct media_negotiated deal = {.ice = true, .rtcp_mux = true};
	struct sdp_draft draft = {
		.local = &local,
		.codecs = local.codecs,
		.codec_count = local.codec_count,
	};
	struct sdp sdp;
	struct buf b;
	(void)state;

	local.ice.lite = true;
	buf_init(&b, SDP_TEXT_MAX);
	assert_int_equal(sdp_write(&b, &draft), 0);
	assert_non_null(strstr(b.data, "a=candidate:2 1 UDP 1694498815 "
				       "198.51.100.1 7000 typ srflx raddr "
				       "192.0.2.1 rport 5000\r\n"));
	/* a session-level line */
	assert_true(strstr(b.data, "a=ice-lite\r\n") < strstr(b.data, "m="));
	parse(&sdp, b.data);
	assert_true(sdp.ice.lite);
	assert_string_equal(sdp.ice.pwd, local.ice.pwd);
	assert_int_equal(sdp.ice.candidate_count, 3);
	/* RTCP has no port of its own, so it has no candidates */
	buf_consume(&b, b.used);
	draft.answer = &deal;
	assert_int_equal(sdp_write(&b, &draft), 0);
	parse(&sdp, b.data);
	assert_int_equal(sdp.ice.candidate_count, 2);
	/* the offer had no ICE */
	buf_consume(&b, b.used);
	deal.ice = false;
	assert_int_equal(sdp_write(&b, &draft), 0);
	assert_null(strstr(b.data, "ice"));
	buf_consume(&b, b.used);
	deal.ice_mismatch = true;
	assert_int_equal(sdp_write(&b, &draft), 0);
	assert_non_null(strstr(b.data, "a=ice-mismatch\r\n"));
	assert_null(strstr(b.data, "candidate"));
	buf_release(&b);
}

/* @return what was written, to be freed */
static char *answer_text(const struct media_local *local,
			 const struct media_negotiated *deal)
{
	const struct sdp_draft draft = {
		.local = local,
		.codecs = deal->accepted,
		.codec_count = deal->accepted_count,
		.direction = deal->direction,
		.answer = deal,
	};
	struct buf b;
	char *text;

	buf_init(&b, SDP_TEXT_MAX);
	assert_int_equal(sdp_write(&b, &draft), 0);
	text = strdup(b.data);
	assert_non_null(text);
	buf_release(&b);
	return text;
}

/* An object of the bytes in use gives the same answer as a whole one. */
static void kept_is_whole(const struct media_local *local)
{
	struct media_local *kept = malloc(media_local_bytes(local));
	struct media_negotiated deal, of_kept;
	struct media_negotiated *kept_deal;
	char *want, *got;
	struct sdp sdp;

	assert_non_null(kept);
	memcpy(kept, local, media_local_bytes(local));
	parse(&sdp, HEAD AUDIO WHO HOST);
	assert_int_equal(sdp_answer(&deal, &sdp, local, MEDIA_SENDRECV), 0);
	assert_int_equal(sdp_answer(&of_kept, &sdp, kept, MEDIA_SENDRECV), 0);
	assert_int_equal(deal.ice, local->has_ice);
	kept_deal = malloc(media_negotiated_bytes(&of_kept));
	assert_non_null(kept_deal);
	media_negotiated_copy(kept_deal, &of_kept);
	assert_true(sdp_ice_same(kept_deal, &deal));
	want = answer_text(local, &deal);
	got = answer_text(kept, kept_deal);
	assert_string_equal(got, want);
	assert_int_equal(strstr(got, "a=candidate") != NULL, local->has_ice);
	free(want);
	free(got);
	sdp_local_wipe(kept);
	sdp_negotiated_wipe(kept_deal);
	free(kept);
	free(kept_deal);
}

static void test_kept_without_room(void **state)
{
	struct media_local local = local_make();

	(void)state;
	kept_is_whole(&local);
	local.has_ice = false;
	kept_is_whole(&local);
	assert_true(media_local_bytes(&local) < 1024);
	local.codec_count = MEDIA_CODECS_MAX;
	for (size_t i = 1; i < MEDIA_CODECS_MAX; i++)
		local.codecs[i] = local.codecs[0];
	kept_is_whole(&local);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_candidate_lines),
		cmocka_unit_test(test_candidates_ceiling),
		cmocka_unit_test(test_secrets),
		cmocka_unit_test(test_settle),
		cmocka_unit_test(test_is_read_back),
		cmocka_unit_test(test_kept_without_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
