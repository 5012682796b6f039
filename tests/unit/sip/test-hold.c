/*
 * All forms of hold (RFC 3264 section 8.4), by us, by the peer, and by both at
 * once. The peer sends a digit to tell us what to do: 1 hold, 2 resume.
 */
#include "world.h"

static const struct world_options plain = {.domain = "example.net"};

static const struct {
	char digit;         /* we send the offer; 0: the peer does */
	const char *offer;  /* direction in the offer */
	const char *answer; /* direction in the answer */
	const char *hold;   /* the event that follows */
} steps[] = {
	{'1', "sendonly", "recvonly", "HELD local"},
	{0, "sendonly", "inactive", "HELD remote"},
	{'2', "sendrecv", "sendonly", "RESUMED local"},
	{'1', "inactive", "inactive", "HELD local"},
	{0, "sendrecv", "sendonly", "RESUMED remote"},
	{'2', "sendrecv", "sendrecv", "RESUMED local"},
	{0, "inactive", "inactive", "HELD remote"},
	{0, "recvonly", "sendonly", "RESUMED remote"},
	{0, "0.0.0.0", "recvonly", "HELD remote"},
	{'1', "inactive", "inactive", "HELD local"},
	{0, "recvonly", "sendonly", "RESUMED remote"},
	{'2', "sendrecv", "recvonly", "RESUMED local"},
};

#define STEPS (sizeof(steps) / sizeof(steps[0]))

static void sdp_make(char *dst, size_t size, const char *direction)
{
	if (strcmp(direction, "0.0.0.0") == 0)
		snprintf(dst, size,
			 "v=0\r\no=peer 1 9 IN IP4 127.0.0.1\r\ns=-\r\n"
			 "c=IN IP4 0.0.0.0\r\nt=0 0\r\n"
			 "m=audio 40000 RTP/AVP 0\r\n");
	else
		snprintf(dst, size, "%sa=%s\r\n", peer_sdp, direction);
}

static void we_offer(struct peer *peer, size_t i)
{
	char digit[64], line[64], sdp[512];

	snprintf(digit, sizeof(digit),
		 "Content-Type: application/dtmf\r\n"
		 "Content-Length: 1\r\n\r\n%c",
		 steps[i].digit);
	peer_request(peer, "INFO", digit, NULL);
	peer_expect(peer, "INVITE sip:peer@");
	snprintf(line, sizeof(line), "a=%s\r\n", steps[i].offer);
	peer_has(peer, line);
	sdp_make(sdp, sizeof(sdp), steps[i].answer);
	peer_reply(peer, 200, "OK", NULL, sdp);
	peer_expect(peer, "ACK ");
}

static void peer_offers(struct peer *peer, size_t i)
{
	char line[64], sdp[512];

	sdp_make(sdp, sizeof(sdp), steps[i].offer);
	peer_request(peer, "INVITE", NULL, sdp);
	peer_expect(peer, "SIP/2.0 200 ");
	snprintf(line, sizeof(line), "a=%s\r\n", steps[i].answer);
	peer_has(peer, line);
	peer_request(peer, "ACK", NULL, NULL);
}

static void script_hold(struct peer *peer)
{
	peer_expect(peer, "INVITE ");
	peer_dialog_from_request(peer);
	peer_reply(peer, 200, "OK", NULL, peer_sdp);
	peer_expect(peer, "ACK ");
	for (size_t i = 0; i < STEPS; i++) {
		if (steps[i].digit)
			we_offer(peer, i);
		else
			peer_offers(peer, i);
		if (peer->fail[0]) {
			size_t used = strlen(peer->fail);

			snprintf(peer->fail + used, sizeof(peer->fail) - used,
				 " (step %zu)", i);
			return;
		}
	}
	peer_request(peer, "BYE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
}

static char holds[1024];

static void hold_h(struct world *world, struct sip_call *call,
		   enum sip_call_event event, const struct sip_call_info *info)
{
	size_t used = strlen(holds);

	(void)world;
	if (event == SIP_CALL_DTMF)
		assert_int_equal(info->digit == '1' ? sip_call_hold(call)
						    : sip_call_resume(call),
				 0);
	if (event == SIP_CALL_HELD || event == SIP_CALL_RESUMED)
		snprintf(holds + used, sizeof(holds) - used, "%s %s, ",
			 event == SIP_CALL_HELD ? "HELD" : "RESUMED",
			 info->local ? "local" : "remote");
	assert_int_not_equal(event, SIP_CALL_REINVITE_FAIL);
}

static void test_every_form(void **state)
{
	char expected[1024] = "";
	static struct world world;
	(void)state;

	holds[0] = '\0';
	for (size_t i = 0; i < STEPS; i++) {
		strcat(expected, steps[i].hold);
		strcat(expected, ", ");
	}
	world_open(&world, &plain);
	world.script = script_hold;
	world.call_h = hold_h;
	world_dial(&world);
	world_run(&world);
	assert_string_equal(holds, expected);
	assert_int_equal(world.closed.end, SIP_END_REMOTE);
	world_close(&world);
}

/* ---- an offer with a new key ---- */

#define SAVP(key)                                                     \
	"v=0\r\no=peer 1 1 IN IP4 127.0.0.1\r\ns=-\r\n"               \
	"c=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 40000 RTP/SAVP 0\r\n" \
	"a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:" key "\r\n"
#define KEY_1 "WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz"
#define KEY_2 "d0RmdmcwYlNzcGh4R1lXbFJqb0o5QnJYcW1lMk1v"

static void script_new_key(struct peer *peer)
{
	static const char *const offers[] = {SAVP(KEY_1), SAVP(KEY_2)};

	peer_expect(peer, "INVITE ");
	peer_dialog_from_request(peer);
	peer_reply(peer, 200, "OK", NULL, SAVP(KEY_1));
	peer_expect(peer, "ACK ");
	for (size_t i = 0; i < 2; i++) {
		peer_request(peer, "INVITE", NULL, offers[i]);
		peer_expect(peer, "SIP/2.0 200 ");
		peer_request(peer, "ACK", NULL, NULL);
	}
	peer_request(peer, "BYE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
}

static unsigned new_keys;
static unsigned sent_at_new_key;
static unsigned sent_at_answer;

static void new_key_h(struct world *world, struct sip_call *call,
		      enum sip_call_event event,
		      const struct sip_call_info *info)
{
	(void)call;
	(void)info;
	if (event == SIP_CALL_NEW_KEY) {
		new_keys++;
		sent_at_new_key = world->sent;
	} else if (event == SIP_CALL_LOCAL_SDP) {
		sent_at_answer = world->sent;
	}
}

/*
 * The peer uses the new key as soon as it has the answer, so the media engine
 * must know the key before. The same key again is not a new one.
 */
static void test_new_key(void **state)
{
	static struct world world;
	(void)state;

	new_keys = 0;
	world_open(&world, &plain);
	world.script = script_new_key;
	world.call_h = new_key_h;
	world.media.encryption = MEDIA_ENCRYPTION_SDES_MANDATORY;
	world.media.crypto_count = 1;
	world.media.crypto[0] = (struct media_crypto){
		.tag = 1,
		.suite = MEDIA_SRTP_AES_CM_128_HMAC_SHA1_80,
		.key = {1, 2, 3},
	};
	world_dial(&world);
	world_run(&world);
	assert_int_equal(new_keys, 1);
	assert_int_equal(sent_at_answer, sent_at_new_key + 1);
	assert_true(world.negotiated.encrypted);
	assert_int_equal(world.closed.end, SIP_END_REMOTE);
	world_close(&world);
}

/* ---- on hold from the first offer or answer ---- */

static const char *first; /* direction in the peer's first description */
static uint16_t ua_port;  /* set before the script's thread starts */

/* The peer resumes, then hangs up. */
static void resume_and_end(struct peer *peer)
{
	peer_request(peer, "INVITE", NULL, peer_sdp);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_request(peer, "ACK", NULL, NULL);
	peer_request(peer, "BYE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
}

static void script_answer(struct peer *peer)
{
	char sdp[512];

	sdp_make(sdp, sizeof(sdp), first);
	peer_expect(peer, "INVITE ");
	peer_dialog_from_request(peer);
	peer_reply(peer, 200, "OK", NULL, sdp);
	peer_expect(peer, "ACK ");
	resume_and_end(peer);
}

static void script_early_answer(struct peer *peer)
{
	char sdp[512];

	sdp_make(sdp, sizeof(sdp), first);
	peer_expect(peer, "INVITE ");
	peer_dialog_from_request(peer);
	peer_reply(peer, 183, "Session Progress", NULL, sdp);
	peer_reply(peer, 200, "OK", NULL, NULL);
	peer_expect(peer, "ACK ");
	resume_and_end(peer);
}

static void call_us(struct peer *peer, const char *offer, const char *answer)
{
	peer_aim(peer, ua_port);
	snprintf(peer->target, sizeof(peer->target), "sip:1001@127.0.0.1:%u",
		 ua_port);
	snprintf(peer->remote_to, sizeof(peer->remote_to), "<%s>",
		 peer->target);
	peer_request(peer, "INVITE", NULL, offer);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_dialog_from_response(peer);
	peer_request(peer, "ACK", NULL, answer);
	resume_and_end(peer);
}

static void script_offer(struct peer *peer)
{
	char sdp[512];

	sdp_make(sdp, sizeof(sdp), first);
	call_us(peer, sdp, NULL);
}

/* Our offer is in the 200; the peer's answer comes in the ACK. */
static void script_answer_in_ack(struct peer *peer)
{
	char sdp[512];

	sdp_make(sdp, sizeof(sdp), first);
	call_us(peer, NULL, sdp);
}

static void answer_h(struct world *world, struct sip_call *call)
{
	assert_int_equal(sip_call_answer(call, &world->media), 0);
}

static const struct {
	world_script_h *script;
	bool late_offer; /* our INVITE has no SDP */
	bool called;     /* the peer calls */
} ways[] = {
	{script_answer, false, false},       {script_answer, true, false},
	{script_early_answer, false, false}, {script_offer, false, true},
	{script_answer_in_ack, false, true},
};

#define WAYS (sizeof(ways) / sizeof(ways[0]))

static void begin_held(size_t way, enum media_direction ours, bool held)
{
	static struct world world;
	bool found;

	world_open(&world, &plain);
	ua_port = world.port;
	world.media.direction = ours;
	world.options.late_offer = ways[way].late_offer;
	world.script = ways[way].script;
	world.incoming_h = answer_h;
	if (!ways[way].called)
		world_dial(&world);
	world_run(&world);
	found = strstr(world.log, held ? " ESTABLISHED HELD REMOTE_SDP "
				       : " ESTABLISHED REMOTE_SDP ") &&
		held == (strstr(world.log, " RESUMED") != NULL);
	if (!found)
		print_error("%s, way %zu: %s\n", first, way, world.log);
	assert_true(found);
	assert_int_equal(world.closed.end, SIP_END_REMOTE);
	world_close(&world);
}

static void test_from_the_beginning(void **state)
{
	static const struct {
		const char *first;
		enum media_direction ours;
		bool held;
	} cases[] = {
		{"sendonly", MEDIA_SENDRECV, true},
		{"inactive", MEDIA_SENDRECV, true},
		{"0.0.0.0", MEDIA_SENDRECV, true},
		{"sendonly", MEDIA_SENDONLY, true},
		{"recvonly", MEDIA_SENDRECV, false},
		{"sendrecv", MEDIA_SENDRECV, false},
		/* we send no media: there is nothing to hold */
		{"sendonly", MEDIA_RECVONLY, false},
		{"inactive", MEDIA_INACTIVE, false},
	};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		first = cases[i].first;
		for (size_t way = 0; way < WAYS; way++)
			begin_held(way, cases[i].ours, cases[i].held);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_form),
		cmocka_unit_test(test_new_key),
		cmocka_unit_test(test_from_the_beginning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
