#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sip/sdp/sdp.h"

static int parse(struct sdp *sdp, const char *text)
{
	const char *reason = NULL;
	int err = sdp_parse(sdp, text, strlen(text), &reason);

	if (err)
		assert_non_null(reason);
	return err;
}

static uint16_t port_of(const struct media_addr *addr)
{
	return ntohs(((const struct sockaddr_in *)(const void *)&addr->ss)
			     ->sin_port);
}

/* The example of RFC 4566 section 5, with its own line ends. */
static void test_sdp_rfc4566_example(void **state)
{
	struct sdp sdp;
	(void)state;

	assert_int_equal(
		parse(&sdp, "v=0\n"
			    "o=jdoe 2890844526 2890842807 IN IP4 10.47.16.5\n"
			    "s=SDP Seminar\n"
			    "i=A Seminar on the session description protocol\n"
			    "u=http://www.example.com/seminars/sdp.pdf\n"
			    "e=j.doe@example.com (Jane Doe)\n"
			    "c=IN IP4 224.2.17.12/127\n"
			    "t=2873397496 2873404696\n"
			    "a=recvonly\n"
			    "m=audio 49170 RTP/AVP 0\n"
			    "m=video 51372 RTP/AVP 99\n"
			    "a=rtpmap:99 h263-1998/90000\n"),
		0);
	assert_true(sdp.has_audio);
	assert_int_equal(sdp.line_count, 2);
	assert_int_equal(sdp.audio, 0);
	assert_int_equal(sdp.direction, MEDIA_RECVONLY);
	assert_int_equal(sdp.codec_count, 1);
	assert_string_equal(sdp.codecs[0].name, "PCMU");
	assert_int_equal(port_of(&sdp.rtp), 49170);
	assert_int_equal(port_of(&sdp.rtcp), 49171);
}

static void test_sdp_media_level_wins(void **state)
{
	struct sdp sdp;
	(void)state;

	assert_int_equal(parse(&sdp, "v=0\r\nc=IN IP4 192.0.2.1\r\n"
				     "a=inactive\r\n"
				     "m=audio 1000/2 RTP/AVP 0 8 200 x 8 97\r\n"
				     "c=IN IP6 2001:db8::1\r\n"
				     "a=sendonly\r\na=ptime:40\r\n"
				     "a=rtpmap:97 opus/48000/2\r\n"
				     "a=rtcp:1007 IN IP4 192.0.2.9\r\n"),
			 0);
	assert_int_equal(sdp.rtp.ss.ss_family, AF_INET6);
	assert_int_equal(sdp.rtcp.ss.ss_family, AF_INET);
	assert_int_equal(port_of(&sdp.rtcp), 1007);
	assert_int_equal(sdp.direction, MEDIA_SENDONLY);
	assert_int_equal(sdp.ptime_ms, 40);
	assert_int_equal(sdp.codec_count, 3);
	assert_int_equal(sdp.codecs[2].channels, 2);
	assert_int_equal(sdp.codecs[2].clock_hz, 48000);
}

static void test_sdp_broken_texts(void **state)
{
	static const char *const texts[] = {
		"",
		"v=",
		"v=1",
		"hello",
		"v=0\r\nx",
		"v=0\r\nm=audio\r\n",
		"v=0\r\nm=audio 70000 RTP/AVP 0\r\n",
		"v=0\r\nm=audio 1 RTP/AVP\r\n",
		"v=0\r\nm=audio 1 RTP/AVP 0\r\n",
	};
	static const char *const addresses[] = {
		"v=0\r\nc=IN IP4 a.example\r\nm=audio 1 RTP/AVP 0\r\n",
		"v=0\r\nc=IN IP4\r\nm=audio 1 RTP/AVP 0\r\n",
	};
	struct sdp sdp = {.line_count = 77};
	(void)state;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(parse(&sdp, texts[i]), -EBADMSG);
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
		assert_int_equal(parse(&sdp, addresses[i]), -EAFNOSUPPORT);
	assert_int_equal(sdp.line_count, 77);
}

/* RTCP's port would be 65536: the call has no RTCP. */
static void test_sdp_last_port(void **state)
{
	struct sdp sdp;
	(void)state;

	assert_int_equal(parse(&sdp, "v=0\r\nc=IN IP4 192.0.2.1\r\n"
				     "m=audio 65535 RTP/AVP 0\r\n"),
			 0);
	assert_true(sdp.rtp.len > 0);
	assert_int_equal(sdp.rtcp.len, 0);
}

static void test_sdp_ceilings(void **state)
{
	static char text[2 * SDP_TEXT_MAX];
	const char *reason = NULL;
	struct sdp sdp;
	struct buf b;
	(void)state;

	memset(text, 'a', sizeof(text));
	memcpy(text, "v=0\r\na=", 7);
	assert_int_equal(sdp_parse(&sdp, text, SDP_TEXT_MAX + 1, &reason),
			 -EMSGSIZE);
	assert_int_equal(sdp_parse(&sdp, text, SDP_TEXT_MAX, &reason), 0);
	buf_init(&b, SDP_TEXT_MAX);
	assert_int_equal(buf_print(&b, "v=0\n"), 0);
	for (int i = 0; i <= SDP_LINES_MAX; i++)
		assert_int_equal(buf_print(&b, "m=text 0 x 0\n"), 0);
	assert_int_equal(parse(&sdp, b.data), -EMSGSIZE);
	buf_consume(&b, b.used);
	assert_int_equal(buf_print(&b, "v=0\nc=IN IP4 127.0.0.1\n"
				       "m=audio 9 RTP/AVP"),
			 0);
	for (int i = 0; i < 128; i++)
		assert_int_equal(buf_print(&b, " %d", i), 0);
	assert_int_equal(parse(&sdp, b.data), 0);
	buf_release(&b);
	assert_true(sdp.codec_count <= SDP_FORMATS_MAX);
}

static struct media_local local_make(void)
{
	struct media_local local;
	struct sockaddr_in *in = (struct sockaddr_in *)&local.rtp.ss;

	memset(&local, 0, sizeof(local));
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(0xc0000201);
	in->sin_port = htons(5000);
	local.rtp.len = sizeof(*in);
	local.rtcp = local.rtp;
	local.codecs[0] = (struct media_codec){"PCMU", 0, 1, 8000, ""};
	local.codecs[1] =
		(struct media_codec){"telephone-event", 101, 1, 8000, ""};
	local.codec_count = 2;
	local.ptime_ms = 20;
	return local;
}

static void test_offer_direction_table(void **state)
{
	/* RFC 3264 6.1: [what the peer offers][what we want] */
	static const enum media_direction expected[4][4] = {
		{MEDIA_SENDRECV, MEDIA_SENDONLY, MEDIA_RECVONLY,
		 MEDIA_INACTIVE},
		{MEDIA_RECVONLY, MEDIA_INACTIVE, MEDIA_RECVONLY,
		 MEDIA_INACTIVE},
		{MEDIA_SENDONLY, MEDIA_SENDONLY, MEDIA_INACTIVE,
		 MEDIA_INACTIVE},
		{MEDIA_INACTIVE, MEDIA_INACTIVE, MEDIA_INACTIVE,
		 MEDIA_INACTIVE},
	};
	struct media_local local = local_make();
	struct media_negotiated deal;
	struct sdp sdp;
	(void)state;

	assert_int_equal(parse(&sdp, "v=0\nc=IN IP4 192.0.2.2\n"
				     "m=audio 6000 RTP/AVP 0\n"),
			 0);
	for (int offer = 0; offer < 4; offer++) {
		for (int want = 0; want < 4; want++) {
			sdp.direction = (enum media_direction)offer;
			assert_int_equal(sdp_answer(&deal, &sdp, &local,
						    (enum media_direction)want),
					 0);
			assert_int_equal(deal.direction, expected[offer][want]);
		}
	}
}

static void test_offer_payload_types(void **state)
{
	struct media_local local = local_make();
	struct media_negotiated deal;
	struct sdp sdp;
	(void)state;

	assert_int_equal(parse(&sdp, "v=0\nc=IN IP4 192.0.2.2\n"
				     "m=audio 6000 RTP/AVP 98 97\n"
				     "a=rtpmap:98 TELEPHONE-EVENT/8000\n"
				     "a=rtpmap:97 pcmu/8000\n"),
			 0);
	/* as the answerer: the offerer's payload types both ways */
	assert_int_equal(sdp_answer(&deal, &sdp, &local, MEDIA_SENDRECV), 0);
	assert_int_equal(deal.codec.pt, 97);
	assert_string_equal(deal.codec.name, "PCMU");
	assert_int_equal(deal.accepted[1].pt, 97);
	assert_true(deal.has_event_pt);
	assert_int_equal(deal.event_pt, 98);
	/*
	 * as the offerer: send with the answer's payload types, receive with
	 * ours
	 */
	assert_int_equal(sdp_accept(&deal, &sdp, &local, MEDIA_SENDRECV), 0);
	assert_int_equal(deal.codec.pt, 97);
	assert_int_equal(deal.accepted[0].pt, 101);
	assert_int_equal(deal.accepted[1].pt, 0);
	assert_int_equal(deal.event_pt, 98);
	/* telephone-event alone is not an audio codec */
	local.codecs[0].clock_hz = 16000;
	assert_int_equal(sdp_answer(&deal, &sdp, &local, MEDIA_SENDRECV),
			 -ENOENT);
}

static void test_offer_fmtp_and_maxptime(void **state)
{
	struct media_local local = local_make();
	struct media_negotiated deal;
	struct buf b;
	struct sdp_draft draft = {.local = &local};
	struct sdp sdp;
	(void)state;

	buf_init(&b, SDP_TEXT_MAX);

	local.codecs[0] =
		(struct media_codec){"opus", 96, 2, 48000, "useinbandfec=1"};
	assert_int_equal(parse(&sdp,
			       "v=0\nc=IN IP4 192.0.2.2\n"
			       "m=audio 6000 RTP/AVP 107\n"
			       "a=fmtp:107 maxplaybackrate=16000;usedtx=1\n"
			       "a=rtpmap:107 OPUS/48000/2\n"
			       "a=fmtp:99 x=1\na=fmtp:107\x01 y=2\n"
			       "a=maxptime:20\na=ptime:60\n"),
			 0);
	assert_int_equal(sdp_answer(&deal, &sdp, &local, MEDIA_SENDRECV), 0);
	/*
	 * sent as the peer's fmtp asks and with its payload type, received as
	 * ours asks
	 */
	assert_string_equal(deal.codec.fmtp, "maxplaybackrate=16000;usedtx=1");
	assert_int_equal(deal.codec.pt, 107);
	assert_int_equal(deal.ptime_ms, 20);
	assert_string_equal(deal.accepted[0].fmtp, "useinbandfec=1");
	draft.codecs = deal.accepted;
	draft.codec_count = deal.accepted_count;
	local.ptime_ms = 20;
	assert_int_equal(sdp_write(&b, &draft), 0);
	assert_non_null(strstr(b.data, "a=rtpmap:107 opus/48000/2\r\n"
				       "a=fmtp:107 useinbandfec=1\r\n"));
	buf_release(&b);
	/*
	 * the answer to our offer: receive with our payload type, send with the
	 * peer's
	 */
	assert_int_equal(sdp_accept(&deal, &sdp, &local, MEDIA_SENDRECV), 0);
	assert_int_equal(deal.accepted[0].pt, 96);
	assert_int_equal(deal.codec.pt, 107);
}

static void test_offer_is_read_back(void **state)
{
	struct media_local local = local_make();
	const struct sdp_draft draft = {.local = &local,
					.codecs = local.codecs,
					.codec_count = local.codec_count,
					.direction = MEDIA_INACTIVE,
					.session_id = 1,
					.version = 2};
	struct media_local nowhere = local;
	struct sdp_draft bad = draft;
	struct sdp sdp;
	struct buf b;
	(void)state;

	buf_init(&b, SDP_TEXT_MAX);
	assert_int_equal(sdp_write(&b, &draft), 0);
	assert_int_equal(parse(&sdp, b.data), 0);
	assert_int_equal(sdp.direction, MEDIA_INACTIVE);
	assert_int_equal(sdp.codec_count, 2);
	assert_int_equal(sdp.ptime_ms, 20);
	assert_int_equal(port_of(&sdp.rtp), 5000);
	buf_release(&b);
	nowhere.rtp.len = 0;
	bad.local = &nowhere;
	assert_int_equal(sdp_write(&b, &bad), -EINVAL);
	buf_release(&b);
}

static unsigned xr_of(const char *session, const char *media)
{
	char text[512];
	struct sdp sdp;

	snprintf(text, sizeof(text),
		 "v=0\r\nc=IN IP4 192.0.2.1\r\n%sm=audio 4 RTP/AVP 0\r\n%s",
		 session, media);
	assert_int_equal(parse(&sdp, text), 0);
	return sdp.xr;
}

/* RFC 3611 section 5.1 */
static void test_sdp_rtcp_xr(void **state)
{
	(void)state;
	assert_int_equal(xr_of("", ""), 0);
	assert_int_equal(xr_of("", "a=rtcp-xr:voip-metrics\r\n"),
			 MEDIA_XR_VOIP);
	assert_int_equal(xr_of("a=rtcp-xr:rcvr-rtt=all:10000\r\n", ""),
			 MEDIA_XR_RTT);
	assert_int_equal(
		xr_of("", "a=rtcp-xr:pkt-loss-rle stat-summary=loss,TTL,jitt "
			  "rcvr-rtt=sender unknown=1\r\n"),
		MEDIA_XR_LOSS | MEDIA_XR_JITTER | MEDIA_XR_RTT);
	assert_int_equal(xr_of("", "a=rtcp-xr:stat-summary\r\n"),
			 MEDIA_XR_SUMMARY);
	/* the media-level line counts, also when it is empty */
	assert_int_equal(xr_of("a=rtcp-xr:voip-metrics\r\n", "a=rtcp-xr:\r\n"),
			 0);
	assert_int_equal(xr_of("a=rtcp-xr\r\n", "a=rtcp-xr:=,= ,\r\n"), 0);
}

static void test_offer_rtcp_xr(void **state)
{
	(void)state;
	for (unsigned xr = 0; xr <= MEDIA_XR_ALL; xr++) {
		struct media_local local = local_make();
		const struct sdp_draft draft = {.local = &local,
						.codecs = local.codecs,
						.codec_count =
							local.codec_count};
		struct media_negotiated deal;
		struct sdp sdp;
		struct buf b;

		local.xr = xr;
		buf_init(&b, SDP_TEXT_MAX);
		assert_int_equal(sdp_write(&b, &draft), 0);
		if (xr == MEDIA_XR_ALL)
			assert_non_null(strstr(b.data,
					       "a=rtcp-xr:rcvr-rtt=all "
					       "stat-summary=loss,dup,jitt "
					       "voip-metrics\r\n"));
		assert_int_equal(parse(&sdp, b.data), 0);
		assert_int_equal(sdp.xr, xr);
		assert_int_equal(
			sdp_answer(&deal, &sdp, &local, MEDIA_SENDRECV), 0);
		assert_int_equal(deal.xr, xr);
		buf_release(&b);
	}
}

#define AUDIO_OF_TWO                                                       \
	"v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\n" \
	"t=0 0\r\na=ssrc:9 cname:session\r\nm=audio 4000 RTP/AVP 0\r\n"

/* Each source once, whatever attributes it has; those of the audio line only. */
static void test_sdp_ssrc(void **state)
{
	static const struct {
		const char *lines;
		size_t count;
		uint32_t first;
		uint32_t last;
	} cases[] = {
		{"", 0, 0, 0},
		{"a=ssrc:1 cname:a\r\na=ssrc:1 msid:b c\r\n", 1, 1, 1},
		{"a=ssrc:4294967295 cname:a\r\na=ssrc:0 cname:b\r\n", 2,
		 UINT32_MAX, 0},
		{"a=ssrc:4294967296 cname:a\r\na=ssrc:-1 cname:a\r\n"
		 "a=ssrc:\r\na=ssrc\r\na=ssrc:0x1 cname:a\r\n"
		 "a=ssrc:1cname:a\r\n",
		 0, 0, 0},
		{"a=ssrc:7\r\n", 1, 7, 7},
		{"a=ssrc-group:FID 1 2\r\n", 0, 0, 0},
		{"a=ssrc:1 a\r\na=ssrc:2 a\r\na=ssrc:3 a\r\na=ssrc:4 a\r\n"
		 "a=ssrc:5 a\r\n",
		 MEDIA_SSRCS_MAX, 1, 4},
		{"m=video 5000 RTP/AVP 99\r\na=ssrc:8 cname:v\r\n", 0, 0, 0},
	};
	char text[512];
	struct sdp sdp;
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), AUDIO_OF_TWO "%s", cases[i].lines);
		assert_int_equal(parse(&sdp, text), 0);
		assert_int_equal(sdp.ssrc_count, cases[i].count);
		if (sdp.ssrc_count == 0)
			continue;
		assert_int_equal(sdp.ssrcs[0], cases[i].first);
		assert_int_equal(sdp.ssrcs[sdp.ssrc_count - 1], cases[i].last);
	}
}

/* What we announce is read back, and reaches the negotiated media of both sides. */
static void test_offer_ssrc(void **state)
{
	const struct media_codec pcmu = {"PCMU", 0, 1, 8000, ""};
	struct media_local local = {
		.codecs = {pcmu},
		.codec_count = 1,
		.ptime_ms = 20,
		.cname = "0123456789abcdef01234567",
	};
	struct sockaddr_in *in = &local.rtp.ss.in;
	struct media_negotiated deal;
	struct sdp sdp;
	(void)state;

	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	in->sin_port = htons(4000);
	local.rtp.len = sizeof(*in);
	local.rtcp = local.rtp;
	for (int has = 0; has < 2; has++) {
		struct sdp_draft draft = {
			.local = &local,
			.codecs = &pcmu,
			.codec_count = 1,
		};
		struct buf b;

		local.has_ssrc = has;
		local.ssrc = 4000000000;
		buf_init(&b, 4096);
		assert_int_equal(sdp_write(&b, &draft), 0);
		assert_int_equal(strstr(b.data,
					"\r\na=ssrc:4000000000 "
					"cname:0123456789abcdef01234567\r\n") !=
					 NULL,
				 has);
		assert_int_equal(parse(&sdp, b.data), 0);
		assert_int_equal(
			sdp_answer(&deal, &sdp, &local, MEDIA_SENDRECV), 0);
		assert_int_equal(deal.ssrc_count, has);
		if (has)
			assert_int_equal(deal.ssrcs[0], 4000000000);
		assert_int_equal(
			sdp_accept(&deal, &sdp, &local, MEDIA_SENDRECV), 0);
		assert_int_equal(deal.ssrc_count, has);
		buf_release(&b);
	}
}

static void test_observed(void **state)
{
	struct media_negotiated deal;
	struct sdp local, remote;
	(void)state;

	assert_int_equal(parse(&local,
			       "v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\n"
			       "c=IN IP4 192.0.2.1\r\nt=0 0\r\n"
			       "m=audio 4000 RTP/AVP 0 8 101\r\n"
			       "a=rtpmap:101 telephone-event/8000\r\n"
			       "a=ptime:30\r\na=rtcp-mux\r\n"),
			 0);
	assert_int_equal(parse(&remote,
			       "v=0\r\no=- 1 1 IN IP4 192.0.2.2\r\ns=-\r\n"
			       "c=IN IP4 192.0.2.2\r\nt=0 0\r\n"
			       "m=audio 5000 RTP/AVP 9 96 8\r\n"
			       "a=rtpmap:96 telephone-event/8000\r\n"
			       "a=sendonly\r\n"),
			 0);
	assert_true(sdp_observe(&deal, &local, &remote));
	assert_string_equal(deal.codec.name, "PCMA");
	assert_true(deal.has_event_pt);
	assert_int_equal(deal.event_pt, 96); /* what the peer receives */
	assert_int_equal(deal.accepted_count, 2);
	assert_int_equal(deal.accepted[0].pt, 101); /* what the program does */
	assert_int_equal(port_of(&deal.rtp), 5000);
	assert_int_equal(deal.ptime_ms, 30);
	assert_int_equal(deal.direction, MEDIA_RECVONLY);
	assert_false(deal.rtcp_mux);

	assert_int_equal(parse(&remote,
			       "v=0\r\no=- 1 1 IN IP4 192.0.2.2\r\ns=-\r\n"
			       "c=IN IP4 192.0.2.2\r\nt=0 0\r\n"
			       "m=audio 5000 RTP/AVP 9 96\r\n"
			       "a=rtpmap:96 telephone-event/8000\r\n"),
			 0);
	assert_false(sdp_observe(&deal, &local, &remote));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sdp_rfc4566_example),
		cmocka_unit_test(test_sdp_media_level_wins),
		cmocka_unit_test(test_sdp_broken_texts),
		cmocka_unit_test(test_sdp_last_port),
		cmocka_unit_test(test_sdp_ceilings),
		cmocka_unit_test(test_offer_direction_table),
		cmocka_unit_test(test_offer_payload_types),
		cmocka_unit_test(test_offer_fmtp_and_maxptime),
		cmocka_unit_test(test_offer_is_read_back),
		cmocka_unit_test(test_sdp_rtcp_xr),
		cmocka_unit_test(test_offer_rtcp_xr),
		cmocka_unit_test(test_sdp_ssrc),
		cmocka_unit_test(test_offer_ssrc),
		cmocka_unit_test(test_observed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
