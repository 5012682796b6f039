/* Calls between engine processes with encrypted media. */
#include "pair.h"

#include "control/wire/text.h"

#include <stdio.h>
#include <string.h>

/* Packets and bytes that one side sent equal those that the other received. */
static void check_exact(json_t *from, json_t *to, const char *suite)
{
	static const char *const equal[] = {"packets", "bytes"};
	static const char *const zero[] = {"lost", "duplicates",
					   "srtp_auth_failed", "srtp_replayed"};
	json_t *out = stream(from, "out");
	json_t *in = stream(to, "in");

	assert_string_equal(text_of(out, "srtp_suite"), suite);
	assert_string_equal(text_of(in, "srtp_suite"), suite);
	assert_true(number(in, "packets") > 0);
	for (size_t i = 0; i < sizeof(equal) / sizeof(equal[0]); i++)
		assert_int_equal(number(in, equal[i]), number(out, equal[i]));
	for (size_t i = 0; i < sizeof(zero) / sizeof(zero[0]); i++)
		assert_int_equal(number(in, zero[i]), 0);
}

/*
 * The SDES key is in the SDP that is sent, and in nothing that an engine
 * reports.
 */
static void check_redacted(const struct process *p, bool keyed)
{
	static const char start[] = "inline:";
	size_t keys = 0;
	json_t *m;
	size_t i;

	json_array_foreach(p->messages, i, m)
	{
		const char *at = text_of(m, "data");

		while ((at = strstr(at, start))) {
			at += strlen(start);
			assert_true(strspn(at, "*") >= 40);
			at += strspn(at, "*");
			assert_true(*at == '\r' || *at == '|');
			keys++;
		}
	}
	assert_int_equal(keys > 0, keyed);
}

static void check_call(struct pair *pair, const char *suite, bool keyed)
{
	json_t *caller = event(&pair->caller, "call", NULL, 0);
	json_t *callee = event(&pair->callee, "call", NULL, 0);

	assert_true(json_is_true(json_object_get(caller, "established")));
	check_exact(caller, callee, suite);
	check_exact(callee, caller, suite);
	assert_string_equal(
		text_of(event(&pair->caller, "state", "CALL_MENC", 0), "text"),
		suite);
	assert_string_equal(
		text_of(event(&pair->callee, "state", "CALL_MENC", 0), "text"),
		suite);
	assert_null(event(&pair->caller, "state", "CALL_MENC", 1));
	check_redacted(&pair->caller, keyed);
	check_redacted(&pair->callee, keyed);
	/* one sample per second and stream */
	assert_true(samples(&pair->caller, "in", "srtp_auth_failed") > 0);
	assert_int_equal(samples(&pair->caller, "out", "srtp_auth_failed"), 0);
}

static void test_secure_suites(void **state)
{
	static const char *const suites[] = {
		"AES_CM_128_HMAC_SHA1_80", "AES_CM_128_HMAC_SHA1_32",
		"AES_256_CM_HMAC_SHA1_80", "AES_256_CM_HMAC_SHA1_32",
		"AEAD_AES_128_GCM",        "AEAD_AES_256_GCM",
	};
	(void)state;

	for (size_t i = 0; i < sizeof(suites) / sizeof(suites[0]); i++) {
		struct pair pair;
		char call[256];

		snprintf(call, sizeof(call),
			 ",\"call_duration\":1,\"media_encryption\":"
			 "\"sdes-mandatory\",\"srtp_suites\":[\"%s\"]",
			 suites[i]);
		pair_start(&pair, ",\"media_encryption\":\"sdes\"", call);
		pair_end(&pair);
		check_call(&pair, suites[i], true);
		pair_release(&pair);
	}
}

/* The encryption policy of each side, and the outcome of the call. */
static void test_secure_wishes(void **state)
{
	static const struct {
		const char *callee;
		const char *caller;
		bool established;
		bool encrypted;
		const char *reason; /* the callee's reason */
	} cases[] = {
		{"none", "sdes", true, false, ""},
		{"sdes", "none", true, false, ""},
		{"sdes", "sdes", true, true, ""},
		{"sdes-mandatory", "sdes", true, true, ""},
		{"none", "dtls", false, false,
		 "the peer's SDP asks for DTLS-SRTP, media_encryption is not "
		 "dtls"},
		{"dtls", "sdes-mandatory", false, false,
		 "DTLS-SRTP is mandatory, the peer's SDP has no a=fingerprint "
		 "of a hash we know"},
		{"none", "sdes-mandatory", false, false,
		 "the peer's SDP asks for SRTP, media_encryption is none"},
		{"sdes-mandatory", "none", false, false,
		 "SRTP is mandatory, the peer's SDP has no a=crypto line"},
	};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pair pair;
		char answer[128];
		char call[128], warning[128];
		json_t *caller;
		json_t *callee;

		snprintf(answer, sizeof(answer), ",\"media_encryption\":\"%s\"",
			 cases[i].callee);
		snprintf(call, sizeof(call),
			 ",\"call_duration\":1,\"media_encryption\":\"%s\"",
			 cases[i].caller);
		pair_start(&pair, answer, call);
		pair_end(&pair);
		caller = event(&pair.caller, "call", NULL, 0);
		callee = event(&pair.callee, "call", NULL, 0);
		assert_int_equal(
			json_is_true(json_object_get(caller, "established")),
			cases[i].established);
		assert_int_equal(has_state(&pair.caller, "CALL_MENC"),
				 cases[i].encrypted);
		assert_int_equal(has_state(&pair.callee, "CALL_MENC"),
				 cases[i].encrypted);
		if (!cases[i].established) {
			assert_int_equal(number(caller, "code"), 488);
			assert_string_equal(text_of(callee, "reason"),
					    cases[i].reason);
			snprintf(warning, sizeof(warning), "306 %s",
				 cases[i].reason);
			assert_string_equal(text_of(caller, "warning"),
					    warning);
		} else if (!cases[i].encrypted) {
			assert_null(json_object_get(stream(caller, "in"),
						    "srtp_suite"));
			assert_int_equal(
				number(stream(callee, "in"), "packets"),
				number(stream(caller, "out"), "packets"));
		}
		pair_release(&pair);
	}
}

/* Number of versions of our session (o= line) that were sent. */
static unsigned versions_sent(const struct process *p)
{
	unsigned long last = 0;
	unsigned count = 0;
	json_t *m;
	size_t i;

	json_array_foreach(p->messages, i, m)
	{
		const char *at = strstr(text_of(m, "data"), "o=- ");
		unsigned long id, version;

		if (!at || strcmp(text_of(m, "dir"), "sent") != 0)
			continue;
		assert_int_equal(sscanf(at, "o=- %lu %lu", &id, &version), 2);
		if (count == 0 || version > last)
			count++;
		last = version;
	}
	return count;
}

/*
 * Each re-INVITE carries new keys, and no packet is lost. The o= version shows
 * that they are new: a re-INVITE without changes keeps the version.
 */
static void test_secure_rekey(void **state)
{
	struct pair pair;
	(void)state;

	pair_start(&pair, ",\"media_encryption\":\"sdes\"",
		   ",\"call_duration\":20,\"media_encryption\":"
		   "\"sdes-mandatory\",\"sipclient_actions\":["
		   "[\"assert_established\",\"\"],[\"wait\",\"500\"],"
		   "[\"reinvite\",\"\"],[\"wait\",\"500\"],[\"hold\",\"\"],"
		   "[\"resume\",\"\"],[\"reinvite\",\"\"],[\"wait\",\"500\"],"
		   "[\"hangup\",\"\"]]");
	pair_end(&pair);
	assert_null(event(&pair.caller, "assert", NULL, 0));
	check_call(&pair, "AES_CM_128_HMAC_SHA1_80", true);
	assert_true(has_state(&pair.caller, "CALL_RESUME"));
	assert_int_equal(versions_sent(&pair.caller), 5);
	pair_release(&pair);
}

/* DTLS-SRTP: equally exact, after a silence as long as the handshake. */
static void test_secure_dtls(void **state)
{
	static const char *const suites[] = {"AES_CM_128_HMAC_SHA1_80",
					     "AEAD_AES_256_GCM"};
	(void)state;

	for (size_t i = 0; i < sizeof(suites) / sizeof(suites[0]); i++) {
		struct pair pair;
		char call[320];

		snprintf(call, sizeof(call),
			 ",\"call_duration\":20,\"media_encryption\":\"dtls\","
			 "\"srtp_suites\":[\"%s\"],\"sipclient_actions\":["
			 "[\"assert_state\",\"CALL_MENC\"],"
			 "[\"wait\",\"700\"],[\"hold\",\"\"],[\"resume\",\"\"],"
			 "[\"reinvite\",\"\"],[\"wait\",\"500\"],"
			 "[\"hangup\",\"\"]]",
			 suites[i]);
		pair_start(&pair, ",\"media_encryption\":\"dtls\"", call);
		pair_end(&pair);
		assert_null(event(&pair.caller, "assert", NULL, 0));
		assert_null(event(&pair.callee, "assert", NULL, 0));
		check_call(&pair, suites[i], false);
		assert_int_equal(
			number(event(&pair.caller, "evidence", NULL, 0),
			       "send_errors"),
			0);
		pair_release(&pair);
	}
}

/*
 * Both ports reported once that they have keys. Reports arrived, all of them
 * authentic.
 */
static void check_ports(const struct process *side)
{
	unsigned seen = 0;

	for (int i = 0; i < 2; i++) {
		const char *text =
			text_of(event(side, "state", "CALL_MENC", i), "text");

		seen |= strcmp(text, "AES_CM_128_HMAC_SHA1_80, RTP") ? 0 : 1;
		seen |= strcmp(text, "AES_CM_128_HMAC_SHA1_80, RTCP") ? 0 : 2;
	}
	assert_int_equal(seen, 3);
	assert_null(event(side, "state", "CALL_MENC", 2));
	assert_true(has_state(side, "CALL_RTCP"));
	assert_int_equal(
		number(event(side, "evidence", NULL, 0), "srtp_refused"), 0);
}

/*
 * DTLS-SRTP where one side does not offer or accept a=rtcp-mux: a handshake for
 * each port.
 */
static void test_secure_dtls_ports(void **state)
{
	static const char *const refusals[][2] = {{",\"rtcp_mux\":false", ""},
						  {"", ",\"rtcp_mux\":false"}};
	(void)state;

	for (size_t i = 0; i < 2; i++) {
		struct pair pair;
		char answer[80];
		char call[480];

		snprintf(answer, sizeof(answer),
			 ",\"media_encryption\":\"dtls\"%s", refusals[i][0]);
		snprintf(
			call, sizeof(call),
			",\"call_duration\":20,\"media_encryption\":\"dtls\"%s,"
			"\"sipclient_actions\":[[\"assert_state\",\"CALL_RTCP\"],"
			"[\"wait\",\"300\"],[\"hold\",\"\"],[\"resume\",\"\"],"
			"[\"reinvite\",\"\"],[\"wait\",\"500\"],"
			"[\"hangup\",\"\"]]",
			refusals[i][1]);
		pair_start(&pair, answer, call);
		pair_end(&pair);
		assert_null(event(&pair.caller, "assert", NULL, 0));
		assert_null(event(&pair.callee, "assert", NULL, 0));
		check_exact(event(&pair.caller, "call", NULL, 0),
			    event(&pair.callee, "call", NULL, 0),
			    "AES_CM_128_HMAC_SHA1_80");
		check_exact(event(&pair.callee, "call", NULL, 0),
			    event(&pair.caller, "call", NULL, 0),
			    "AES_CM_128_HMAC_SHA1_80");
		check_ports(&pair.caller);
		check_ports(&pair.callee);
		pair_release(&pair);
	}
}

/*
 * RTCP multiplexed on the RTP port: reports arrive, and packet counts stay
 * exact.
 */
static void test_secure_mux(void **state)
{
	struct pair pair;
	json_t *call;
	(void)state;

	pair_start(&pair, "",
		   ",\"call_duration\":20,\"rtcp_mux\":true,"
		   "\"sipclient_actions\":[[\"assert_state\",\"CALL_RTCP\"],"
		   "[\"wait\",\"1500\"],[\"hangup\",\"\"]]");
	pair_end(&pair);
	assert_null(event(&pair.caller, "assert", NULL, 0));
	call = event(&pair.callee, "call", NULL, 0);
	assert_int_equal(
		number(stream(call, "in"), "packets"),
		number(stream(event(&pair.caller, "call", NULL, 0), "out"),
		       "packets"));
	assert_true(has_state(&pair.callee, "CALL_RTCP"));
	assert_non_null(
		strstr(text_of(json_array_get(pair.caller.messages, 0), "data"),
		       "a=rtcp-mux\r\n"));
	pair_release(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_secure_suites),
		cmocka_unit_test(test_secure_wishes),
		cmocka_unit_test(test_secure_rekey),
		cmocka_unit_test(test_secure_dtls),
		cmocka_unit_test(test_secure_dtls_ports),
		cmocka_unit_test(test_secure_mux),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
