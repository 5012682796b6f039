#include "control/cli/call/options.h"

#include <errno.h>
#include <getopt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ARGUMENTS_MAX 16

/*
 * Parse a copy of the arguments: getopt_long() may reorder them, and a password
 * is overwritten in them.
 */
static int read_line(struct cli_options *ret, const char *line)
{
	static char copy[512];
	char *argv[ARGUMENTS_MAX] = {copy};
	int argc = 0;
	char *save = NULL;

	strcpy(copy, line);
	for (char *word = strtok_r(copy, " ", &save); word;
	     word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	optind = 0; /* restart the scan (getopt(3)) */
	return cli_options_read(ret, argc, argv);
}

static void test_call(void **state)
{
	struct cli_options o;

	(void)state;
	assert_int_equal(
		read_line(&o,
			  "offhook call sip:1002@pbx.test:5070;transport=tcp"),
		0);
	assert_int_equal(o.command, CLI_CALL);
	assert_string_equal(o.host, "pbx.test");
	assert_int_equal(o.port, 5070);
	assert_string_equal(o.transport, "tcp");
	assert_false(o.registers);
	assert_int_equal(o.rtp_min, 20000);
}

static void test_target_before_uri(void **state)
{
	struct cli_options o;

	(void)state;
	assert_int_equal(read_line(&o, "offhook call 1002 --target [::1]:5080 "
				       "--user 1001 --rtp-ports 4000-4100 "
				       "--codec PCMA --codec PCMU --json"),
			 0);
	assert_string_equal(o.uri, "1002");
	assert_string_equal(o.host, "::1");
	assert_int_equal(o.port, 5080);
	assert_string_equal(o.transport, "udp");
	assert_int_equal(o.codec_count, 2);
	assert_int_equal(o.rtp_max, 4100);
	assert_true(o.json);
}

static void test_password_is_overwritten(void **state)
{
	char program[] = "offhook";
	char command[] = "call";
	char uri[] = "sip:a@b";
	char option[] = "--password";
	char password[] = "s3cret";
	char user[] = "--user=a";
	char *argv[] = {program, command, uri, option, password, user, NULL};
	struct cli_options o;

	(void)state;
	optind = 0;
	assert_int_equal(cli_options_read(&o, 6, argv), 0);
	assert_string_equal(o.password, "s3cret");
	assert_string_equal(password, "******");
}

static void test_password_of_the_environment(void **state)
{
	struct cli_options o;

	(void)state;
	setenv("OFFHOOK_PASSWORD", "from-env", 1);
	assert_int_equal(read_line(&o, "offhook call sip:a@b"), 0);
	assert_string_equal(o.password, "from-env");
	unsetenv("OFFHOOK_PASSWORD");
}

static void test_answer(void **state)
{
	struct cli_options o;

	(void)state;
	assert_int_equal(read_line(&o, "offhook answer --registrar h --user 1 "
				       "--calls 3"),
			 0);
	assert_true(o.registers);
	assert_int_equal(o.calls, 3);
	assert_int_equal(o.sip_port, 0);
	assert_int_equal(read_line(&o, "offhook answer --bind 127.0.0.1"), 0);
	assert_false(o.registers);
	assert_int_equal(o.sip_port, 5060);
	assert_int_equal(read_line(&o, "offhook answer --bind ::1 "
				       "--transport tls --tls-cert x"),
			 0);
	assert_int_equal(o.sip_port, 5061);
}

static void test_wrong_usage(void **state)
{
	static const char *const lines[] = {
		"offhook",
		"offhook dance",
		"offhook call",
		"offhook call 1002",
		"offhook call sip:a@b sip:c@d",
		"offhook call sip:a@b --no-such-option",
		"offhook call sip:a@b --transport sctp",
		"offhook call sip:a@b --sip-port 70000",
		"offhook call sip:a@b --rtp-ports 5",
		"offhook call sip:a@b --rtp-ports 20-10",
		"offhook call sip:a@b --register",
		"offhook call sip:a@b:x",
		"offhook call sip:a@",
		"offhook call sip:@b",
		"offhook call sips:a@b",
		"offhook answer --bind ::1 --transport tls",
		"offhook call sip:a@b --nat turn --turn-server s --turn-user u",
		"offhook answer",
		"offhook answer x --bind 127.0.0.1",
		"offhook answer --bind 127.0.0.1 --calls 0",
		"offhook answer --bind example",
		"offhook call sip:a@b --100rel yes",
		"offhook call sip:a@b --100rel=",
		"offhook call sip:a@b --session-timer 1",
		"offhook call sip:a@b --session-timer 86401",
		"offhook call sip:a@b --session-timer soon",
		("offhook call sip:a@b --session-timer 90 "
		 "--session-refresher me"),
		"offhook call sip:a@b --rtp-ports 20001-20002",
	};
	struct cli_options o;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_int_equal(read_line(&o, lines[i]), -EINVAL);
}

/* An option that would have no effect is refused. */
static void test_without_effect(void **state)
{
	static const char *const lines[] = {
		"offhook call sip:a@b --password x",
		"offhook call sip:a@b --caller-id x",
		"offhook call sip:a@b --auth-user x",
		"offhook call sip:a@b --domain x",
		"offhook call sip:a@b --user a --expires 60",
		"offhook call sip:a@b --tls-ca x",
		"offhook call sip:a@b --tls-verify no",
		"offhook call sip:a@b --transport tls --tls-key x",
		"offhook call sip:a@b --calls 2",
		"offhook register --registrar b --user a --codec PCMU",
		"offhook register --registrar b --user a --nat stun",
		"offhook register --registrar b --user a --media-path shared",
		"offhook call sip:a@b --srtp-suite AEAD_AES_128_GCM",
		"offhook call sip:a@b --srtp-library libsrtp2",
		"offhook call sip:a@b --encryption sdes --srtp-library openssl",
		"offhook call sip:a@b --encryption none --srtp-suite x",
		"offhook call sip:a@b --session-refresher uac",
		"offhook register --registrar b --user a --100rel supported",
		"offhook register --registrar b --user a --session-timer 90",
		"offhook call sip:a@b --rtcp-mux --no-rtcp-mux",
		"offhook call sip:a@b --stun-server s",
		"offhook call sip:a@b --nat turn --stun-server s",
		"offhook call sip:a@b --nat stun --turn-server s",
		"offhook call sip:a@b --nat stun --ice-lite",
		"offhook call sip:a@b --nat ice --ice-lite --stun-server s",
		"offhook call sip:a@b --nat ice --turn-transport tcp",
		"offhook call sip:a@b --nat turn --turn-server s "
		"--turn-insecure",
		"offhook call sip:a@b --nat turn --turn-server s "
		"--turn-password x",
	};
	static const char *const good[] = {
		"offhook call sip:a@b;transport=tls --tls-verify no",
		"offhook call sip:a@b --user a --register --expires 60",
		"offhook answer --registrar b --user a --expires 60",
		"offhook call sip:a@b --100rel required --session-timer 2 "
		"--session-refresher uas",
		"offhook answer --bind ::1 --100rel none --session-timer 86400",
		"offhook call sip:a@b --encryption dtls --no-rtcp-mux",
		"offhook call sip:a@b --encryption dtls --srtp-suite "
		"AEAD_AES_128_GCM",
		"offhook call sip:a@b --encryption sdes --srtp-library "
		"libsrtp2",
		"offhook call sip:a@b --nat ice --turn-server s --turn-user u "
		"--turn-password x --turn-transport tls --turn-insecure",
	};
	struct cli_options o;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_int_equal(read_line(&o, lines[i]), -EINVAL);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(read_line(&o, good[i]), 0);
	/*
	 * the environment is shared with other commands, so it is not refused
	 */
	setenv("OFFHOOK_PASSWORD", "from-env", 1);
	setenv("OFFHOOK_TURN_PASSWORD", "from-env", 1);
	assert_int_equal(read_line(&o, "offhook call sip:a@b"), 0);
	unsetenv("OFFHOOK_PASSWORD");
	unsetenv("OFFHOOK_TURN_PASSWORD");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_call),
		cmocka_unit_test(test_target_before_uri),
		cmocka_unit_test(test_password_is_overwritten),
		cmocka_unit_test(test_password_of_the_environment),
		cmocka_unit_test(test_answer),
		cmocka_unit_test(test_wrong_usage),
		cmocka_unit_test(test_without_effect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
