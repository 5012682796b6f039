#include "control/wire/job.h"
#include "control/wire/job_decode.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HEAD                                                        \
	"{\"session_id\":\"0a1b2c3d-0000-4000-8000-000000000001\"," \
	"\"role\":\"caller\","
#define TARGET  "\"target\":{\"hosts\":[{\"host\":\"127.0.0.1\"}]}"
#define CALL    "\"type\":\"call\",\"dial_destination\":\"1002\"," TARGET
#define ANSWER  "\"type\":\"answer\""
#define USERS   "\"challenge_credentials\":[{\"username\":\"u\"}]"
#define SUITES  "\"srtp_suites\":[\"AES_CM_128_HMAC_SHA1_80\"]"
#define SDES    ",\"media_encryption\":\"sdes\","
#define NAT(x)  ",\"media_nat\":\"" x "\","
#define OF_TURN "\"turn_credentials\":[{\"username\":\"u\"}]"

static int decode(struct wire_job **ret, const char *text, char *reason)
{
	json_t *spec = json_loads(text, 0, NULL);
	int err;

	assert_non_null(spec);
	err = wire_job_decode(ret, spec, reason);
	json_decref(spec);
	return err;
}

/*
 * Each option is refused together with one that disables it, and accepted with
 * what it needs.
 */
static void test_what_does_nothing_is_refused(void **state)
{
	static const struct {
		const char *member;
		const char *idle; /* the other members of the action, before
				   * it */
		const char *works;
		const char *remedy;
	} cases[] = {
		{SUITES, CALL ",", CALL SDES,
		 "srtp_suites: does nothing without media_encryption"},
		{SUITES, CALL ",\"media_encryption\":\"none\",", CALL SDES,
		 "set that to sdes, sdes-mandatory or dtls"},
		{"\"ice_lite\":true", CALL ",", CALL NAT("ice"),
		 "ice_lite: does nothing without ICE: set media_nat to ice"},
		{"\"media_path\":\"shared\"", CALL NAT("ice"), CALL ",",
		 "media_path: shared sockets are for calls without media_nat"},
		{"\"media_path\":\"shared\"",
		 CALL ",\"media_encryption\":\"dtls\",", CALL SDES,
		 "media_path: shared sockets are for calls without dtls"},
		{"\"stun_server\":\"s\"", CALL ",", CALL NAT("stun"),
		 "stun_server: does nothing without media_nat: set that to stun"},
		{"\"turn_server\":\"t\"", CALL ",", CALL NAT("turn"),
		 "turn_server: does nothing without media_nat: set that to turn"},
		{"\"stun_server\":\"s\"", CALL NAT("ice") "\"ice_lite\":true,",
		 CALL NAT("ice") "\"ice_lite\":false,",
		 "stun_server: does nothing with ice_lite"},
		{"\"turn_server\":\"t\"", CALL NAT("ice") "\"ice_lite\":true,",
		 CALL NAT("ice"), "turn_server: does nothing with ice_lite"},
		{"\"turn_transport\":\"tcp\"", CALL NAT("ice"),
		 CALL NAT("ice") "\"turn_server\":\"t\",",
		 "turn_transport: does nothing without turn_server"},
		{OF_TURN, CALL NAT("ice"),
		 CALL NAT("ice") "\"turn_server\":\"t\",",
		 "turn_credentials: does nothing without turn_server"},
		{"\"turn_verify\":false",
		 CALL NAT("ice") "\"turn_server\":\"t\",",
		 CALL NAT("ice") "\"turn_server\":\"t\","
				 "\"turn_transport\":\"tls\",",
		 "turn_verify: does nothing unless turn_transport is tls"},
		{"\"opus_fmtp\":\"usedtx=1\"", CALL ",",
		 CALL ",\"audio_codecs\":[\"PCMU\",\"opus\"],",
		 "opus_fmtp: does nothing without Opus"},
		{"\"opus_fmtp\":\"usedtx=1\"",
		 CALL ",\"audio_codecs\":[\"G722\"],",
		 CALL ",\"audio_codecs\":[\"OPUS\"],", "name opus in"},
		{"\"prompt\":\"p.wav\"", CALL ",\"audio_marker\":true,",
		 CALL ",\"audio_marker\":false,",
		 "prompt: does nothing with audio_marker"},
		{"\"session_refresher\":\"uac\"", CALL ",",
		 CALL ",\"session_timer\":90,",
		 "session_refresher: does nothing without session_timer"},
		{"\"answer_code\":486", ANSWER ",\"ring_only\":true,",
		 ANSWER ",", "answer_code: does nothing with ring_only"},
		{"\"answer_delay\":10", ANSWER ",\"ring_only\":true,",
		 ANSWER ",", "answer_delay: does nothing with ring_only"},
		{USERS, ANSWER ",", ANSWER ",\"challenge\":401,",
		 "challenge_credentials: does nothing without challenge"},
		{"\"challenge_algorithm\":\"SHA-256\"", ANSWER ",",
		 ANSWER ",\"challenge\":401," USERS ",",
		 "challenge_algorithm: does nothing without challenge"},
		{"\"challenge_requests\":\"all\"", ANSWER ",",
		 ANSWER ",\"challenge\":401," USERS ",",
		 "challenge_requests: does nothing without challenge"},
		{"\"challenge_nonce_uses\":2", ANSWER ",",
		 ANSWER ",\"challenge\":401," USERS ",",
		 "challenge_nonce_uses: does nothing without challenge"},
		{"\"challenge_stale\":2", ANSWER ",",
		 ANSWER ",\"challenge\":401," USERS ",",
		 "challenge_stale: does nothing without challenge"},
	};
	char spec[1024], reason[WIRE_REASON_BYTES];
	struct wire_job *job = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(spec, sizeof(spec), HEAD "\"steps\":[[{%s%s}]]}",
			 cases[i].idle, cases[i].member);
		assert_int_equal(decode(&job, spec, reason), -EINVAL);
		if (!strstr(reason, cases[i].remedy))
			print_error("%s\n%s\n", spec, reason);
		assert_non_null(strstr(reason, cases[i].remedy));
		snprintf(spec, sizeof(spec), HEAD "\"steps\":[[{%s%s}]]}",
			 cases[i].works, cases[i].member);
		if (decode(&job, spec, reason))
			print_error("%s\n%s\n", spec, reason);
		assert_non_null(job);
		job = wire_job_free(job);
	}
}

/* A list of servers remains valid when the NAT traversal method changes. */
static void test_servers_serve_each_way(void **state)
{
	static const char *const ways[] = {"stun", "turn", "ice"};
	char spec[1024], reason[WIRE_REASON_BYTES];
	struct wire_job *job = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		snprintf(spec, sizeof(spec),
			 HEAD "\"steps\":[[{" CALL
			      ",\"media_nat\":\"%s\",\"stun_server\":\"s\","
			      "\"turn_server\":\"t\"}]]}",
			 ways[i]);
		assert_int_equal(decode(&job, spec, reason), 0);
		job = wire_job_free(job);
	}
}

/* A default that has no effect in an action is not an error. */
static void test_defaults_are_not_refused(void **state)
{
	static const char spec[] = HEAD
		"\"steps\":[[{" CALL
		",\"srtp_suites\":[],\"ice_lite\":false,\"turn_transport\":\"udp\","
		"\"turn_verify\":true,\"silence_suppression\":false,"
		"\"session_refresher\":\"any\",\"turn_credentials\":[],"
		"\"opus_fmtp\":null},{" ANSWER
		",\"challenge\":0,\"challenge_algorithm\":\"MD5\","
		"\"challenge_requests\":\"initial\",\"challenge_stale\":0,"
		"\"ring_only\":true,\"answer_delay\":0}]]}";
	char reason[WIRE_REASON_BYTES];
	struct wire_job *job = NULL;

	(void)state;
	assert_int_equal(decode(&job, spec, reason), 0);
	wire_job_free(job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_does_nothing_is_refused),
		cmocka_unit_test(test_servers_serve_each_way),
		cmocka_unit_test(test_defaults_are_not_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
