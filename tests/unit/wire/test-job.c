#include "control/wire/job.h"
#include "control/wire/job_decode.h"
#include "control/wire/sipp_options.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ID     "\"session_id\":\"0a1b2c3d-0000-4000-8000-000000000001\""
#define HEAD   "{" ID ",\"role\":\"caller\","
#define TARGET "\"target\":{\"hosts\":[{\"host\":\"127.0.0.1\"}]}"
#define CALL   "\"type\":\"call\",\"dial_destination\":\"1002\"," TARGET
#define STREAM(to) \
	HEAD "\"steps\":[[{\"type\":\"stream\",\"dial_destination\":\"" to "\""

static int decode(struct wire_job **ret, const char *text, char *reason)
{
	json_t *spec = json_loads(text, 0, NULL);
	int err;

	assert_non_null(spec);
	err = wire_job_decode(ret, spec, reason);
	json_decref(spec);
	return err;
}

static void refused(const char *text, const char *expected)
{
	char reason[WIRE_REASON_BYTES];
	struct wire_job *job = NULL;

	assert_int_equal(decode(&job, text, reason), -EINVAL);
	assert_null(job);
	if (!strstr(reason, expected)) {
		print_error("spec: %s\n", text);
		assert_string_equal(reason, expected);
	}
}

#define REGISTER                                                                \
	"{\"type\":\"register\",\"credentials\":[{\"username\":\"a\"}]," TARGET \
	"}"

static void test_job_call_inherits_target(void **state)
{
	char reason[WIRE_REASON_BYTES];
	const struct wire_action *call;
	struct wire_job *job;

	(void)state;
	assert_int_equal(decode(&job,
				HEAD "\"steps\":[[" REGISTER
				     "],[{\"type\":\"call\","
				     "\"dial_destination\":\"1\"}]]}",
				reason),
			 0);
	call = &job->steps[1].actions[0];
	assert_int_equal(call->host_count, 1);
	assert_string_equal(call->hosts[0].host, "127.0.0.1");
	wire_job_free(job);
}

static void test_job_complete(void **state)
{
	char reason[WIRE_REASON_BYTES];
	struct wire_job *job;
	const struct wire_action *a;

	(void)state;
	assert_int_equal(
		decode(&job,
		       HEAD
		       "\"attempt\":2,\"interval_s\":5,\"max_duration_s\":90,"
		       "\"record\":\"sip\",\"future\":{\"x\":1},"
		       "\"peers\":{\"callee\":[\"1002\",\"1003\"]},\"steps\":[[],"
		       "[{\"type\":\"register\",\"index\":3,\"regexpire\":\"60\","
		       "\"credentials\":[{\"username\":\"1001\",\"auth_username\":"
		       "\"a b\",\"password\":\"p:\\u00e4\",\"domain\":\"x.test\"}],"
		       "\"target\":{\"hosts\":[{\"host\":\"b\",\"priority\":2},"
		       "{\"host\":\"a\",\"port\":5070,\"transport\":\"tcp\",\"priority\":1,"
		       "\"weight\":7},{\"host\":\"c\",\"priority\":2}],"
		       "\"domain\":\"d.test\",\"outbound_proxy\":\"sip:p;lr\","
		       "\"tls\":{\"verify\":0,\"server_name\":\"s.test\",\"ca\":"
		       "\"-----BEGIN CERTIFICATE-----\"}}},"
		       "{" CALL ",\"call_duration\":\"normal:20,2.5\","
		       "\"audio_codecs\":[\"pcma\",\"PCMU\"],\"ptime\":30,"
		       "\"max_total_calls\":12,\"max_concurrent_calls\":3,"
		       "\"calls_per_second\":0.5,\"ramp_up\":\"90\",\"media_encryption\":\"sdes\","
		       "\"srtp_suites\":[\"aead_aes_256_gcm\","
		       "\"AES_256_CM_HMAC_SHA1_80\"],"
		       "\"sipclient_actions\":[[\"assert_established\",\"\"],"
		       "[\"wait\",250],[\"hold\"]],"
		       "\"custom_headers\":\"[[\\\"X-A\\\",\\\"b\\\",\\\"invites\\\"],"
		       "[\\\"X-B\\\",\\\"c\\\"]]\"},"
		       "{\"type\":\"answer\",\"answer_delay\":1500,\"answer_code\":486},"
		       "{\"type\":\"answer\",\"ring_only\":1},{\"type\":\"wait\",\"wait_ms\":30,\"wait_calls\":2},"
		       "{\"type\":\"unregister\"}]]}",
		       reason),
		0);
	assert_string_equal(job->role, "caller");
	assert_int_equal(job->attempt, 2);
	assert_int_equal(job->interval_s, 5);
	assert_int_equal(job->max_duration_s, 90);
	assert_true(job->record_sip);
	assert_int_equal(job->peer_count, 1);
	assert_string_equal(job->peers[0].usernames[1], "1003");
	assert_int_equal(job->step_count, 2);
	assert_int_equal(job->steps[0].action_count, 0);
	assert_int_equal(job->steps[1].action_count, 6);

	a = &job->steps[1].actions[0];
	assert_int_equal(a->type, WIRE_ACTION_REGISTER);
	assert_int_equal(a->index, 3);
	assert_int_equal(a->regexpire_s, 60);
	assert_string_equal(a->credentials[0].auth_username, "a b");
	assert_string_equal(a->credentials[0].password, "p:\xc3\xa4");
	assert_null(a->credentials[0].display_name);
	assert_int_equal(a->host_count, 3);
	assert_string_equal(a->hosts[0].host, "a");
	assert_int_equal(a->hosts[0].port, 5070);
	assert_int_equal(a->hosts[0].transport, WIRE_TCP);
	assert_string_equal(a->hosts[1].host, "b"); /* equal entries keep
						     * their order */
	assert_string_equal(a->hosts[2].host, "c");
	assert_string_equal(a->outbound_proxy, "sip:p;lr");
	assert_false(a->tls.verify);
	assert_string_equal(a->tls.server_name, "s.test");
	assert_non_null(a->tls.ca);

	a = &job->steps[1].actions[1];
	assert_int_equal(a->type, WIRE_ACTION_CALL);
	assert_int_equal(a->index, 1);
	assert_int_equal(a->duration.kind, WIRE_DURATION_NORMAL);
	assert_true(a->duration.a_s == 20 && a->duration.b_s == 2.5);
	assert_string_equal(a->codecs[0], "PCMA");
	assert_int_equal(a->codec_count, 2);
	assert_int_equal(a->encryption, WIRE_ENCRYPTION_SDES);
	assert_int_equal(a->srtp_suite_count, 2);
	assert_string_equal(a->srtp_suites[0], "AEAD_AES_256_GCM");
	assert_int_equal(a->ptime_ms, 30);
	assert_int_equal(a->max_total_calls, 12);
	assert_true(a->calls_per_second == 0.5);
	assert_int_equal(a->ramp_up_s, 90);
	assert_int_equal(a->client_action_count, 3);
	assert_string_equal(a->client_actions[1].argument, "250");
	assert_string_equal(a->client_actions[2].argument, "");
	assert_string_equal(a->headers[0].message_type, "invites");
	assert_string_equal(a->headers[1].message_type, "any");

	a = &job->steps[1].actions[2];
	assert_int_equal(a->answer_delay_ms, 1500);
	assert_int_equal(a->answer_code, 486);
	assert_false(a->ring_only);
	assert_int_equal(a->max_total_calls, 0);
	assert_true(a->duration.a_s == 0);
	assert_true(job->steps[1].actions[3].ring_only);
	assert_int_equal(job->steps[1].actions[4].wait_ms, 30);
	assert_int_equal(job->steps[1].actions[4].wait_calls, 2);
	wire_job_free(job);
}

static void test_job_defaults(void **state)
{
	char reason[WIRE_REASON_BYTES];
	struct wire_job *job;
	const struct wire_action *a;

	(void)state;
	assert_int_equal(decode(&job, HEAD "\"steps\":[[{" CALL "}]]}", reason),
			 0);
	a = &job->steps[0].actions[0];
	assert_int_equal(job->interval_s, 10);
	assert_int_equal(job->max_duration_s, 3600);
	assert_false(job->record_sip);
	assert_int_equal(a->regexpire_s, 3600);
	assert_int_equal(a->ptime_ms, 20);
	assert_int_equal(a->encryption, WIRE_ENCRYPTION_NONE);
	assert_int_equal(a->srtp_suite_count, 0);
	assert_int_equal(a->answer_code, 200);
	assert_int_equal(a->max_total_calls, 1);
	assert_int_equal(a->max_concurrent_calls, 1);
	assert_true(a->calls_per_second == 1);
	assert_int_equal(a->ramp_up_s, 0);
	assert_int_equal(a->duration.kind, WIRE_DURATION_FIXED);
	assert_true(a->duration.a_s == 10);
	assert_int_equal(a->hosts[0].transport, WIRE_UDP);
	assert_int_equal(a->hosts[0].port, 0);
	wire_job_free(job);
}

/*
 * With DTLS, rtcp-mux is offered if it is not set; false differs from not set.
 */
static void test_job_rtcp_mux(void **state)
{
	static const struct {
		const char *text;
		enum wire_mux mux;
	} cases[] = {
		{"", WIRE_MUX_TAKE},
		{",\"rtcp_mux\":null", WIRE_MUX_TAKE},
		{",\"rtcp_mux\":true", WIRE_MUX_OFFER},
		{",\"rtcp_mux\":\"0\"", WIRE_MUX_REFUSE},
		{",\"media_encryption\":\"dtls\"", WIRE_MUX_OFFER},
		{",\"rtcp_mux\":null,\"media_encryption\":\"dtls\"",
		 WIRE_MUX_OFFER},
		{",\"rtcp_mux\":false,\"media_encryption\":\"dtls\"",
		 WIRE_MUX_REFUSE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char reason[WIRE_REASON_BYTES];
		struct wire_job *job;
		char text[1024];

		snprintf(text, sizeof(text), HEAD "\"steps\":[[{" CALL "%s}]]}",
			 cases[i].text);
		assert_int_equal(decode(&job, text, reason), 0);
		assert_int_equal(job->steps[0].actions[0].rtcp_mux,
				 cases[i].mux);
		wire_job_free(job);
	}
}

static void test_job_stream(void **state)
{
	char reason[WIRE_REASON_BYTES];
	struct wire_job *job;
	const struct wire_action *a;

	(void)state;
	assert_int_equal(decode(&job,
				STREAM("192.0.2.1:4000") ",\"call_duration\":3,"
							 "\"local_port\":"
							 "\"5000\"}]]}",
				reason),
			 0);
	a = &job->steps[0].actions[0];
	assert_int_equal(a->type, WIRE_ACTION_STREAM);
	assert_string_equal(a->stream.host, "192.0.2.1");
	assert_int_equal(a->stream.port, 4000);
	assert_int_equal(a->stream.local_port, 5000);
	wire_job_free(job);
	assert_int_equal(decode(&job, STREAM("[2001:db8::1]:4") "}]]}", reason),
			 0);
	a = &job->steps[0].actions[0];
	assert_string_equal(a->stream.host, "2001:db8::1");
	assert_int_equal(a->stream.port, 4);
	assert_int_equal(a->stream.local_port, 0);
	wire_job_free(job);
}

static void test_job_refusals(void **state)
{
	static const struct {
		const char *spec;
		const char *reason;
	} cases[] = {
		{"[]", "a job must be an object"},
		{HEAD "\"steps\":[[{\"type\":\"stream\"}]]}",
		 "/dial_destination: must be an address with a port"},
		{STREAM("host:4000") "}]]}", "must be an address with a port"},
		{STREAM("192.0.2.1") "}]]}", "must be an address with a port"},
		{STREAM("192.0.2.1:0") "}]]}",
		 "must be an address with a port"},
		{STREAM("192.0.2.1:65535") "}]]}", "must be an address"},
		{STREAM("2001:db8::1:4000") "}]]}", "must be an address"},
		{STREAM("[2001:db8::1]") "}]]}", "must be an address"},
		{STREAM("[192.0.2.1]:4000") "}]]}", "must be an address"},
		{STREAM("192.0.2.1:4000") ",\"local_port\":4001}]]}",
		 "/local_port: must be even"},
		{STREAM("192.0.2.1:4000") ",\"local_port\":4000,"
					  "\"max_concurrent_calls\":2}]]}",
		 "max_concurrent_calls must be 1"},
		{STREAM("192.0.2.1:4000") ",\"media_encryption\":\"sdes\"}]]}",
		 "/media_encryption: keys are agreed on in SIP"},
		{STREAM("192.0.2.1:4000") ",\"media_nat\":\"ice\"}]]}",
		 "/media_nat: addresses are agreed on in SIP"},
		{STREAM("192.0.2.1:4000") ",\"sipclient_actions\":[[\"hold\","
					  "\"\"]]}]]}",
		 "/sipclient_actions: are those of a call"},
		{"{}", "/session_id: must be a UUID"},
		{"{\"session_id\":\"x\"}", "/session_id: must be a UUID"},
		{"{" ID "}", "/role: is missing"},
		{HEAD "\"interval_s\":0}", "/interval_s: must be a whole"},
		{HEAD "\"record\":\"video\"}",
		 "/record: must be none, sip or media"},
		{HEAD "\"peers\":[]}", "/peers: must be an object"},
		{HEAD "\"peers\":{\"B\":[1]}}", "/peers/B: entry 0"},
		{HEAD "\"steps\":[]}", "/steps: is missing or empty"},
		{HEAD "\"steps\":[3]}", "/steps/0: must be an array"},
		{HEAD "\"steps\":[[3]]}", "/steps/0/0: must be an object"},
		{HEAD "\"steps\":[[{}]]}", "/steps/0/0/type: is missing"},
		{HEAD "\"steps\":[[{\"type\":\"dance\"}]]}",
		 "/steps/0/0/type: there is no action type \"dance\", but register, "
		 "answer, call, unregister, wait, message, options, subscribe, "
		 "publish, notify and stream"},
		{HEAD "\"steps\":[[{\"type\":\"options\"}]]}",
		 "/steps/0/0/target: is missing"},
		{HEAD "\"steps\":[[{\"type\":\"message\"," TARGET "}]]}",
		 "/steps/0/0/message: is missing"},
		{HEAD "\"steps\":[[{\"type\":\"answer\","
		      "\"answer_contact\":\"1003\"}]]}",
		 "/steps/0/0/answer_contact: goes with"},
		{HEAD "\"steps\":[[],[{\"type\":\"register\"}]]}",
		 "/steps/1/0/credentials: is missing"},
		{HEAD
		 "\"steps\":[[{\"type\":\"register\",\"credentials\":[{}]}]]}",
		 "/steps/0/0/credentials/0/username: is missing"},
		{HEAD "\"steps\":[[{\"type\":\"register\",\"credentials\":"
		      "[{\"username\":\"a\\r\\nb\"}]}]]}",
		 "/steps/0/0/credentials/0/username: holds a character"},
		{HEAD "\"steps\":[[{\"type\":\"register\",\"credentials\":"
		      "[{\"username\":\"a\"}]}]]}",
		 "/steps/0/0/target: is missing"},
		{HEAD "\"steps\":[[{\"type\":\"call\","
		      "\"dial_destination\":\"1\"}],[" REGISTER "]]}",
		 "/steps/0/0/target: is missing"},
		{HEAD "\"steps\":[[{\"type\":\"call\"," TARGET "}]]}",
		 "/steps/0/0/dial_destination: is missing"},
		{HEAD "\"steps\":[[{\"type\":\"call\",\"dial_destination\":"
		      "\"{{B.username}}\"," TARGET "}]]}",
		 "/steps/0/0/dial_destination: has a placeholder"},
		{HEAD "\"steps\":[[{\"type\":\"wait\",\"wait_ms\":-1}]]}",
		 "/steps/0/0/wait_ms: must be"},
		{HEAD "\"steps\":[[{\"type\":\"wait\",\"wait_ms\":1.5}]]}",
		 "/steps/0/0/wait_ms: must be"},
		{HEAD "\"steps\":[[{\"type\":\"wait\",\"wait_calls\":0}]]}",
		 "/steps/0/0/wait_calls: must be"},
		{HEAD "\"steps\":[[{" CALL ",\"audio_codecs\":[\"G729\"]}]]}",
		 "/steps/0/0/audio_codecs: there is no codec \"G729\", but PCMU, PCMA, "
		 "G722, opus, GSM, L16/8000, L16/16000 and L16/44100"},
		{HEAD "\"steps\":[[{" CALL ",\"transport\":\"sctp\"}]]}",
		 "transport: must be udp, tcp or tls"},
		{HEAD "\"steps\":[[{" CALL ",\"media_encryption\":\"zrtp\"}]]}",
		 "/steps/0/0/media_encryption: must be none, sdes"},
		{HEAD "\"steps\":[[{" CALL ",\"media_encryption\":1}]]}",
		 "/steps/0/0/media_encryption: must be none, sdes"},
		{HEAD "\"steps\":[[{" CALL ",\"srtp_suites\":\"x\"}]]}",
		 "/steps/0/0/srtp_suites: must be"},
		{HEAD "\"steps\":[[{" CALL ",\"srtp_suites\":[\"DES\"]}]]}",
		 "/steps/0/0/srtp_suites: there is no SRTP crypto suite"},
		{HEAD "\"steps\":[[{" CALL ",\"srtp_suites\":["
		      "\"AEAD_AES_128_GCM\",\"aead_aes_128_gcm\"]}]]}",
		 "/steps/0/0/srtp_suites: names AEAD_AES_128_GCM twice"},
		{HEAD "\"steps\":[[{" CALL
		      ",\"call_duration\":\"uniform:3\"}]]}",
		 "/steps/0/0/call_duration: must be seconds"},
		{HEAD "\"steps\":[[{" CALL ",\"prompt\":\"../etc/x\"}]]}",
		 "/steps/0/0/prompt: must be a plain file name"},
		{HEAD "\"steps\":[[{" CALL ",\"ptime\":9}]]}",
		 "/steps/0/0/ptime: must be a whole number from 10 to 120"},
		{HEAD "\"steps\":[[{" CALL
		      ",\"ptime\":70,\"audio_marker\":true}]]}",
		 "/steps/0/0/ptime: must divide 2400 ms"},
		{HEAD "\"steps\":[[{" CALL
		      ",\"sipclient_actions\":[[\"assert_audio\","
		      "\"prompt 500\"]]}]]}",
		 "/steps/0/0/expect_prompt: is missing"},
		{HEAD "\"steps\":[[{" CALL
		      ",\"audio_codecs\":[\"PCMU\",\"pcmu\"]}]]}",
		 "/steps/0/0/audio_codecs: names PCMU twice"},
		{HEAD "\"steps\":[[{" CALL
		      ",\"audio_codecs\":[\"L16\",\"L16/16000\"]}]]}",
		 "/steps/0/0/audio_codecs: names L16/16000 twice"},
		{HEAD "\"steps\":[[{" CALL
		      ",\"media_encryption\":\"dtls\",\"srtp_suites\":"
		      "[\"AES_256_CM_HMAC_SHA1_80\"]}]]}",
		 "/steps/0/0/srtp_suites: DTLS-SRTP has no profile"},
		{HEAD "\"steps\":[[{" CALL ",\"turn_server\":\"x:99999\"}]]}",
		 "/steps/0/0/turn_server: must be host, host:port"},
		{HEAD "\"steps\":[[{" CALL ",\"stun_server\":\":3478\"}]]}",
		 "/steps/0/0/stun_server: must be host, host:port"},
		{HEAD "\"steps\":[[{" CALL ",\"stun_server\":\"[::1\"}]]}",
		 "/steps/0/0/stun_server: must be host, host:port"},
		{HEAD "\"steps\":[[{" CALL ",\"stun_server\":\"[::1]x\"}]]}",
		 "/steps/0/0/stun_server: must be host, host:port"},
		{HEAD
		 "\"steps\":[[{\"type\":\"answer\",\"answer_code\":302}]]}",
		 "/steps/0/0/answer_contact: is missing"},
		{HEAD
		 "\"steps\":[[{\"type\":\"answer\",\"answer_code\":202}]]}",
		 "/steps/0/0/answer_code: must be 200"},
		{HEAD
		 "\"steps\":[[{" CALL
		 ",\"sipclient_actions\":[[\"wait\",\"1\"],[\"fly\",\"\"]]}]]}",
		 "/steps/0/0/sipclient_actions/1/0: there is no action \"fly\""},
		{HEAD "\"steps\":[[{" CALL
		      ",\"sipclient_actions\":[[\"wait\",\"1\"],[\"message\","
		      "\"to {{B.username}}\"]]}]]}",
		 "/steps/0/0/sipclient_actions/1/1: has a placeholder that is unknown"},
		{HEAD "\"peers\":{\"B\":[]},\"steps\":[[{" CALL
		      ",\"sipclient_actions\":[[\"transfer\","
		      "\"{{B.username}}\"]]}]]}",
		 "/steps/0/0/sipclient_actions/0/1: has a placeholder that is unknown"},
		{HEAD "\"steps\":[[{" CALL
		      ",\"sipclient_actions\":[[\"message\",\"{{n\"]]}]]}",
		 "/steps/0/0/sipclient_actions/0/1: has a placeholder that is unknown"},
		/* the second call's digits are invalid */
		{HEAD "\"peers\":{\"B\":[\"12\",\"bob\"]},\"steps\":[[{" CALL
		      ",\"max_total_calls\":2,\"credentials\":[{\"username\":"
		      "\"1\"}],\"sipclient_actions\":[[\"dtmf\","
		      "\"{{B.username}}\"]]}]]}",
		 "/steps/0/0/sipclient_actions/0/1: dtmf needs digits"},
		{HEAD "\"steps\":[[{" CALL
		      ",\"custom_headers\":[[\"X\",\"a\\nB: c\"]]}]]}",
		 "/steps/0/0/custom_headers/0/1: holds a control"},
		{HEAD "\"steps\":[[{" CALL
		      ",\"custom_headers\":[[\"X\",\"{{B.username}}\"]]}]]}",
		 "/steps/0/0/custom_headers/0/1: the value of X has a placeholder"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		refused(cases[i].spec, cases[i].reason);
}

#define ANSWER    "\"type\":\"answer\""
#define SUBSCRIBE "\"type\":\"subscribe\"," TARGET
#define PUBLISH   "\"type\":\"publish\"," TARGET
#define USERS     "\"challenge_credentials\":[{\"username\":\"u\"}]"

static void test_event_refusals(void **state)
{
	static const struct {
		const char *action;
		const char *reason;
	} cases[] = {
		{"\"type\":\"subscribe\"", "target: is missing"},
		{SUBSCRIBE ",\"event\":\"dialog\"", "event: must be presence"},
		{SUBSCRIBE ",\"expires\":86401", "expires: must be"},
		{PUBLISH, "event: presence needs presence"},
		{PUBLISH ",\"mwi\":\"1/2\"", "event: presence needs"},
		{PUBLISH ",\"event\":\"message-summary\"",
		 "event: message-summary needs mwi"},
		{PUBLISH ",\"presence\":\"busy\"", "presence: must be open"},
		{PUBLISH ",\"expires\":0,\"presence_note\":\"x\"",
		 "presence_note: goes with presence only"},
		{"\"type\":\"notify\"", "presence: is missing, and so is mwi"},
		{ANSWER ",\"mwi\":\"2\"", "mwi: must be new/old"},
		{ANSWER ",\"mwi\":\"2/8 (1\"", "mwi: must be new/old"},
		{ANSWER ",\"mwi\":\"2/8 (1/2) \"", "mwi: must be new/old"},
		{ANSWER ",\"mwi\":\"2/99999999999\"", "mwi: must be new/old"},
		{ANSWER ",\"challenge\":403", "challenge: must be 401, 407"},
		{ANSWER ",\"challenge\":401",
		 "challenge_credentials: is missing or empty"},
		{ANSWER
		 ",\"challenge\":401,\"challenge_algorithm\":\"MD4\"," USERS,
		 "challenge_algorithm: must be MD5, SHA-256 or SHA-512-256"},
		{ANSWER ",\"challenge_requests\":\"some\"",
		 "challenge_requests: must be initial or all"},
		{ANSWER ",\"challenge\":401,\"challenge_credentials\":[{}]",
		 "challenge_credentials/0/username: is missing"},
	};
	char spec[1024], reason[256];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(spec, sizeof(spec), HEAD "\"steps\":[[{%s}]]}",
			 cases[i].action);
		snprintf(reason, sizeof(reason), "/steps/0/0/%s",
			 cases[i].reason);
		refused(spec, reason);
	}
}

static void test_event_actions(void **state)
{
	char reason[WIRE_REASON_BYTES];
	const struct wire_action *a;
	struct wire_job *job;

	(void)state;
	assert_int_equal(
		decode(&job,
		       HEAD "\"steps\":[[{" ANSWER
			    ",\"presence\":\"closed\",\"mwi\":\"2/8  (0/2)\","
			    "\"challenge\":\"407\",\"challenge_algorithm\":"
			    "\"sha-512-256\",\"challenge_requests\":\"all\","
			    "\"challenge_stale\":1," USERS "},{" SUBSCRIBE
			    ",\"event\":\"message-summary\"},{" PUBLISH
			    ",\"expires\":0}]]}",
		       reason),
		0);
	a = job->steps[0].actions;
	assert_true(a[0].presence.given && !a[0].presence.open);
	assert_true(a[0].mwi.given && a[0].mwi.has_urgent);
	assert_int_equal(a[0].mwi.fresh, 2);
	assert_int_equal(a[0].mwi.old, 8);
	assert_int_equal(a[0].mwi.urgent_fresh, 0);
	assert_int_equal(a[0].mwi.urgent_old, 2);
	assert_int_equal(a[0].challenge.code, 407);
	assert_int_equal(a[0].challenge.algorithm, WIRE_DIGEST_SHA512_256);
	assert_true(a[0].challenge.all);
	assert_int_equal(a[0].challenge.stale, 1);
	assert_int_equal(a[0].challenge.nonce_uses, 0);
	assert_string_equal(a[0].challenge.credentials[0].username, "u");
	assert_int_equal(a[1].type, WIRE_ACTION_SUBSCRIBE);
	assert_int_equal(a[1].package, WIRE_MESSAGE_SUMMARY);
	assert_int_equal(a[1].expires_s, 3600);
	assert_false(a[1].presence.given);
	assert_int_equal(a[2].expires_s, 0);
	wire_job_free(job);
}

static void test_job_too_many_steps(void **state)
{
	char text[1024] = HEAD "\"steps\":[[]";

	(void)state;
	for (int i = 0; i < WIRE_STEPS_MAX; i++)
		strcat(text, ",[]");
	strcat(text, "]}");
	refused(text, "/steps: has more than 32 entries");
}

/* ENTRY as often as is allowed, and once more. */
static void test_job_lists_have_ceilings(void **state)
{
	static const struct {
		const char *before; /* the list's first entries */
		const char *entry;
		const char *after;
		unsigned max;
		const char *reason;
	} lists[] = {
		{HEAD "\"steps\":[[", REGISTER, "]]}", WIRE_ACTIONS_MAX,
		 "/steps/0: has more than 32 actions"},
		{HEAD "\"steps\":[[{\"type\":\"register\"," TARGET
		      ",\"credentials\":[",
		 "{\"username\":\"a\"}", "]}]]}", WIRE_CREDENTIALS_MAX,
		 "/steps/0/0/credentials: has more than 10000 entries"},
		{HEAD "\"steps\":[[{\"type\":\"register\",\"credentials\":"
		      "[{\"username\":\"a\"}],\"target\":{\"hosts\":[",
		 "{\"host\":\"127.0.0.1\"}", "]}}]]}", WIRE_HOSTS_MAX,
		 "hosts: has more than 16 entries"},
		{HEAD
		 "\"steps\":[[{\"type\":\"register\",\"client\":\"baresip\"," TARGET
		 ",\"credentials\":[",
		 "{\"username\":\"a\"}", "]}]]}", 64,
		 "credentials: client baresip takes 64 accounts at most"},
		{HEAD "\"steps\":[[{" CALL ",\"custom_headers\":[",
		 "[\"X-A\",\"b\"]", "]}]]}", WIRE_HEADERS_MAX,
		 "/steps/0/0/custom_headers: has more than 32 entries"},
		{HEAD "\"steps\":[[{" CALL ",\"sipclient_actions\":[",
		 "[\"wait\",\"1\"]", "]}]]}", WIRE_CLIENT_ACTIONS_MAX,
		 "/steps/0/0/sipclient_actions: has more than 200 entries"},
	};
	char reason[WIRE_REASON_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		char *text = malloc(1024 + (lists[i].max +
					    1) * (strlen(lists[i].entry) + 1));
		char *end = stpcpy(text, lists[i].before);
		struct wire_job *job;

		for (unsigned n = 0; n < lists[i].max; n++)
			end = stpcpy(stpcpy(end, n ? "," : ""), lists[i].entry);
		strcpy(end, lists[i].after);
		assert_int_equal(decode(&job, text, reason), 0);
		wire_job_free(job);
		strcpy(stpcpy(stpcpy(end, ","), lists[i].entry),
		       lists[i].after);
		refused(text, lists[i].reason);
		free(text);
	}
}

static void test_job_no_password_in_reason(void **state)
{
	(void)state;
	char reason[WIRE_REASON_BYTES];
	struct wire_job *job;

	assert_int_equal(
		decode(&job,
		       HEAD
		       "\"steps\":[[{\"type\":\"register\",\"credentials\":"
		       "[{\"username\":\"u\",\"password\":[\"s3cret\"]}]}]]}",
		       reason),
		-EINVAL);
	assert_null(strstr(reason, "s3cret"));
	assert_non_null(strstr(reason, "/password: must be a string"));
}

#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define SIPP(members)                                                     \
	HEAD "\"steps\":[[{\"type\":\"call\",\"client\":\"sipp\"," TARGET \
		members "}]]}"
#define UAC ",\"sipp_scenario\":\"uac.xml\""

static void test_job_sipp(void **state)
{
	char reason[WIRE_REASON_BYTES];
	const struct wire_action *a;
	struct wire_job *job;

	(void)state;
	assert_int_equal(
		decode(&job,
		       SIPP(UAC
			    ",\"sipp_scenario_sha256\":\"" HASH "\","
			    "\"sipp_files\":[\"a.csv\",\"b.wav\"],"
			    "\"sipp_files_sha256\":{\"b.wav\":\"" HASH "\"},"
			    "\"sipp_options\":[\"-inf\",\"a.csv\",\"-m\",\"7\","
			    "\"-users\",\"3\"],\"sipp_port\":5080,"
			    "\"max_total_calls\":2"),
		       reason),
		0);
	a = &job->steps[0].actions[0];
	assert_int_equal(a->client, WIRE_CLIENT_SIPP);
	assert_null(a->dial_destination);
	assert_string_equal(a->sipp.scenario.name, "uac.xml");
	assert_string_equal(a->sipp.scenario.sha256, HASH);
	assert_int_equal(a->sipp.file_count, 2);
	assert_null(a->sipp.files[0].sha256);
	assert_string_equal(a->sipp.files[1].sha256, HASH);
	assert_int_equal(a->sipp.option_count, 6);
	assert_int_equal(a->sipp.port, 5080);
	/* the options win */
	assert_int_equal(a->max_total_calls, 7);
	assert_int_equal(a->max_concurrent_calls, 3);
	wire_job_free(job);
}

/* Lists that refuse what is there twice: one that is not too long is refused for that. */
static void test_job_distinct_lists_have_ceilings(void **state)
{
	static const struct {
		const char *before;
		const char *entry;
		const char *after;
		unsigned max;
		const char *twice;
		const char *reason;
	} lists[] = {
		{HEAD "\"steps\":[[{" CALL ",\"audio_codecs\":[", "\"PCMU\"",
		 "]}]]}", WIRE_CODECS_MAX, "/audio_codecs: names PCMU twice",
		 "/audio_codecs: has more than 16 entries"},
		{HEAD
		 "\"steps\":[[{\"type\":\"call\",\"client\":\"sipp\"," TARGET
			 UAC ",\"sipp_files\":[",
		 "\"a\"", "]}]]}", WIRE_SIPP_FILES_MAX,
		 "/sipp_files: names a twice",
		 "/sipp_files: has more than 16 entries"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		char text[2048];
		char *end = stpcpy(text, lists[i].before);

		for (unsigned n = 0; n < lists[i].max; n++)
			end = stpcpy(stpcpy(end, n ? "," : ""), lists[i].entry);
		strcpy(end, lists[i].after);
		refused(text, lists[i].twice);
		strcpy(stpcpy(stpcpy(end, ","), lists[i].entry),
		       lists[i].after);
		refused(text, lists[i].reason);
	}
}

static void test_job_sipp_refused(void **state)
{
	static const char *const rows[][2] = {
		{SIPP(""), "/sipp_scenario: is missing"},
		{SIPP(",\"sipp_scenario\":\"../a\""),
		 "/sipp_scenario: must be a"},
		{SIPP(UAC ",\"sipp_scenario_sha256\":\"12\""),
		 "/sipp_scenario: has no hash"},
		{SIPP(UAC ",\"sipp_files\":[\"a\",\"a\"]"), "names a twice"},
		{SIPP(UAC ",\"sipp_files\":[\"uac.xml\"]"),
		 "the scenario itself"},
		{SIPP(UAC ",\"sipp_files\":[1]"),
		 "/sipp_files: must be a plain"},
		{SIPP(UAC ",\"sipp_options\":[\"-m\",\"1\",\"-bg\"]"),
		 "/steps/0/0/sipp_options/2: -bg: SIPp runs as a child"},
		{SIPP(UAC ",\"sipp_options\":[1]"),
		 "/sipp_options: must be words"},
		{SIPP(UAC ",\"sipp_port\":65536"), "/sipp_port: "},
		{SIPP(UAC ",\"ptime\":20"),
		 "/ptime: client sipp: its scenario"},
		{SIPP(UAC ",\"dial_destination\":\"sip:1@a\""),
		 "/dial_destination: client sipp takes a user part"},
		{SIPP(UAC ",\"transport\":\"tls\""), "client sipp has no TLS"},
		{HEAD "\"steps\":[[{\"type\":\"answer\",\"client\":\"sipp\"" UAC
		      ",\"max_concurrent_calls\":2}]]}",
		 "/max_concurrent_calls: client sipp: it takes every call"},
		{HEAD "\"steps\":[[{" CALL UAC "}]]}",
		 "/sipp_scenario: does nothing without client sipp"},
		{HEAD "\"steps\":[[{\"type\":\"register\",\"client\":\"sipp\","
		      "\"credentials\":[{\"username\":\"a\"}]," TARGET "}]]}",
		 "/client: sipp registers by a scenario of a call action"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		refused(rows[i][0], rows[i][1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_job_call_inherits_target),
		cmocka_unit_test(test_job_complete),
		cmocka_unit_test(test_job_sipp),
		cmocka_unit_test(test_job_sipp_refused),
		cmocka_unit_test(test_job_defaults),
		cmocka_unit_test(test_job_rtcp_mux),
		cmocka_unit_test(test_job_stream),
		cmocka_unit_test(test_job_refusals),
		cmocka_unit_test(test_event_refusals),
		cmocka_unit_test(test_event_actions),
		cmocka_unit_test(test_job_too_many_steps),
		cmocka_unit_test(test_job_lists_have_ceilings),
		cmocka_unit_test(test_job_distinct_lists_have_ceilings),
		cmocka_unit_test(test_job_no_password_in_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
