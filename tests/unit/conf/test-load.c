#include "conf/load.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct settings {
	uint16_t port;
	uint32_t wait_s;
	uint64_t limit;
	bool flag;
	enum log_level level;
	char address[16];
	char free_text[8];
};

#define AT(m) .name = #m, .offset = offsetof(struct settings, m)

static const struct conf_key keys[] = {
	{AT(port), .type = CONF_U16, .min = 1, .max = 65535, .fallback = "80"},
	{AT(wait_s), .type = CONF_U32, .min = 5, .max = 50, .fallback = "7"},
	{AT(limit), .type = CONF_BYTES, .min = 1024, .max = 1 << 30,
	 .fallback = "2K"},
	{AT(flag), .type = CONF_FLAG, .fallback = "true"},
	{AT(level), .type = CONF_LEVEL, .fallback = "warning"},
	{AT(address), .type = CONF_TEXT, .max = 16, .fallback = "::1",
	 .check = conf_check_address, .allowed = "an address"},
	{AT(free_text), .type = CONF_TEXT, .max = 8, .fallback = ""},
};

static const char *check(const void *settings, const char **ret_key)
{
	const struct settings *s = settings;

	*ret_key = "wait_s";
	return s->wait_s > s->port ? "longer than port" : NULL;
}

static const struct conf_schema schema = {
	.keys = keys,
	.key_count = sizeof(keys) / sizeof(*keys),
	.check = check,
};

static char file[64];

static int make_file(void **state)
{
	int fd;

	(void)state;
	strcpy(file, "/tmp/offhook-conf-XXXXXX");
	fd = mkstemp(file);
	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

static int remove_file(void **state)
{
	(void)state;
	unlink(file);
	return 0;
}

static void write_file(const void *data, size_t len)
{
	FILE *f = fopen(file, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static int load_bytes(const void *data, size_t len, struct settings *ret,
		      struct conf_error *error)
{
	write_file(data, len);
	return conf_load(ret, file, &schema, error);
}

static int load(const char *text, struct settings *ret,
		struct conf_error *error)
{
	return load_bytes(text, strlen(text), ret, error);
}

/*
 * Expect the message FILE + expected; if `expected` ends in "*", a message that
 * begins so.
 */
static void expect_error(const char *text, const char *expected)
{
	struct settings s;
	struct conf_error error;
	char whole[1536];
	size_t len;

	assert_int_equal(load(text, &s, &error), -EINVAL);
	snprintf(whole, sizeof(whole), "%s%s", file, expected);
	len = strlen(whole);
	if (whole[len - 1] == '*') {
		whole[len - 1] = '\0';
		error.text[len - 1] = '\0';
	}
	assert_string_equal(error.text, whole);
}

static void test_load_empty_gives_defaults(void **state)
{
	struct settings s;
	struct conf_error error;

	(void)state;
	memset(&s, 0x55, sizeof(s));
	assert_int_equal(load("", &s, &error), 0);
	assert_int_equal(s.port, 80);
	assert_int_equal(s.wait_s, 7);
	assert_int_equal(s.limit, 2048);
	assert_true(s.flag);
	assert_int_equal(s.level, LOG_LEVEL_WARNING);
	assert_string_equal(s.address, "::1");
	assert_string_equal(s.free_text, "");
}

static void test_load_reads_every_type(void **state)
{
	struct settings s;
	struct conf_error error;

	(void)state;
	assert_int_equal(load("# comment\nport = 5060\nwait_s=50\r\n"
			      "limit = 3M // more\nflag = false\n"
			      "level = debug\naddress = \"10.0.0.1\"\n"
			      "free_text = 'a # b'\n",
			      &s, &error),
			 0);
	assert_int_equal(s.port, 5060);
	assert_int_equal(s.wait_s, 50);
	assert_int_equal(s.limit, 3 << 20);
	assert_false(s.flag);
	assert_int_equal(s.level, LOG_LEVEL_DEBUG);
	assert_string_equal(s.address, "10.0.0.1");
	assert_string_equal(s.free_text, "a # b");
}

static void test_load_unknown_key_is_refused(void **state)
{
	(void)state;
	expect_error("port = 1000\n\n# x\nprot = 1\n",
		     ":4: unknown key 'prot'; allowed are port, wait_s, limit, "
		     "flag, level, address, free_text");
	expect_error("\nport { }\n", ":2: *");
	expect_error("include(\"/etc/passwd\")\n", ":1: unknown key*");
}

static void test_load_repeated_key_is_refused(void **state)
{
	(void)state;
	expect_error("port = 1\nport = 2\n",
		     ":2: port: given twice, first in line 1; allowed is once");
}

static void test_load_wrong_values(void **state)
{
	(void)state;
	expect_error("\nport = http\n",
		     ":2: port: \"http\" is not a whole number; allowed are 1 "
		     "to 65535");
	expect_error("port = 0", ":1: port: \"0\" is out of range; allowed are "
				 "1 to 65535");
	expect_error("port = 65536", ":1: port: \"65536\" is out of range*");
	expect_error("port = -1", ":1: port: \"-1\" is not a whole number*");
	expect_error("port = 99999999999999999999",
		     ":1: port: \"99999999999999999999\" is out of range*");
	expect_error("port = \"\"", ":1: port: \"\" is not a whole number*");
	expect_error("limit = 99999999999999999G", ":1: limit: *");
	expect_error("limit = 3T", ":1: limit: \"3T\" is not a whole number*");
	expect_error("limit = K", ":1: limit: \"K\" is not a whole number*");
	expect_error("limit = 1", ":1: limit: \"1\" is out of range*");
	expect_error("flag = maybe", ":1: flag: \"maybe\" is no switch; "
				     "allowed are true and false");
	expect_error("level = loud", ":1: level: \"loud\" is no level*");
	expect_error("address = localhost",
		     ":1: address: \"localhost\" is no IPv4 or IPv6 address; "
		     "allowed is an address");
	expect_error("free_text = \"12345678\"",
		     ":1: free_text: too long; allowed are 7 bytes");
}

static void test_load_first_of_several_errors(void **state)
{
	(void)state;
	expect_error("flag = maybe\nport = 0\n", ":2: port: *");
}

static void test_load_cross_check_names_the_line(void **state)
{
	(void)state;
	expect_error("port = 10\nwait_s = 20\n",
		     ":2: wait_s: longer than port");
	expect_error("port = 6\n", ": wait_s: longer than port");
}

static void test_load_broken_syntax(void **state)
{
	static const char *const broken[] = {
		"port",      "port =",       "port = 1 2",   "= 1",
		"port += 1", "port = {1,2}", "port = \"1",   "port = 1\n}",
		"/* open",   "\"",           "port = \"\\x", "port(1)",
		"a|b = 1",   "port = (",
	};
	struct settings s;
	struct conf_error error;
	char start[80];

	(void)state;
	snprintf(start, sizeof(start), "%s:", file);
	for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
		if (load(broken[i], &s, &error) != -EINVAL)
			fail_msg("accepted: %s", broken[i]);
		assert_memory_equal(error.text, start, strlen(start));
		assert_null(strchr(error.text, '\n'));
	}
}

static void test_load_binary_garbage(void **state)
{
	struct settings s;
	struct conf_error error;
	unsigned char data[4096];
	unsigned seed = 1;

	(void)state;
	assert_int_equal(load_bytes("port = 1\nx\0y", 12, &s, &error), -EINVAL);
	assert_non_null(strstr(error.text, ":2: control character 0x00"));
	for (int round = 0; round < 300; round++) {
		for (size_t i = 0; i < sizeof(data); i++) {
			seed = seed * 1103515245 + 12345;
			/* later rounds pass the check for control characters */
			data[i] = (unsigned char)(seed >> 16);
			if (round > 10 && data[i] < 0x20)
				data[i] = '\n';
			if (round > 10 && data[i] == 0x7f)
				data[i] = '"';
		}
		assert_int_equal(load_bytes(data, sizeof(data), &s, &error),
				 -EINVAL);
		assert_memory_equal(error.text, file, strlen(file));
	}
}

static void test_load_environment(void **state)
{
	struct settings s;
	struct conf_error error;
	char list[64], cut[16];

	(void)state;
	setenv("OFFHOOK_PORT", "2000", 1);
	setenv("OFFHOOK_FREE_TEXT", "here", 1);
	setenv("OFFHOOK_ADDRESS", "", 1);
	setenv("OFFHOOK_PORTS", "no key", 1);
	assert_int_equal(conf_environment_list(&schema, list, sizeof(list)), 2);
	assert_string_equal(list, "OFFHOOK_PORT, OFFHOOK_FREE_TEXT");
	assert_int_equal(conf_environment_list(&schema, cut, sizeof(cut)), 2);
	assert_int_equal(load("port = 1000\n", &s, &error), 0);
	assert_int_equal(s.port, 2000);
	assert_string_equal(s.free_text, "here");
	assert_string_equal(cut, "OFFHOOK_PORT");
	assert_string_equal(s.address, "::1");
	/* taken once: children do not inherit them */
	assert_null(getenv("OFFHOOK_PORT"));
	assert_non_null(getenv("OFFHOOK_PORTS"));
	assert_int_equal(conf_environment_list(&schema, list, sizeof(list)), 0);
	assert_string_equal(list, "");
	assert_int_equal(load("port = 1000\n", &s, &error), 0);
	assert_int_equal(s.port, 1000);
	unsetenv("OFFHOOK_PORTS");
}

static int load_again(const char *text, const struct settings *started,
		      const struct conf_environment *environment,
		      struct settings *ret, struct conf_error *error)
{
	write_file(text, strlen(text));
	return conf_load_again(ret, file, &schema, started, environment, error);
}

/* At a reload the variables are gone; what they gave still holds, and is checked
 * together with what the file says now. */
static void test_load_again_keeps_the_environment(void **state)
{
	const char *pair = "port = 10\nwait_s = 20\n";
	struct settings started, s;
	struct conf_environment environment;
	struct conf_error error;

	(void)state;
	setenv("OFFHOOK_PORT", "30", 1);
	setenv("OFFHOOK_FREE_TEXT", "here", 1);
	environment = conf_environment_read(&schema);
	assert_int_equal(load(pair, &started, &error), 0);
	assert_int_equal(load(pair, &s, &error), -EINVAL);
	assert_int_equal(load_again(pair, &started, &environment, &s, &error),
			 0);
	assert_int_equal(s.port, 30);
	assert_int_equal(s.wait_s, 20);
	assert_string_equal(s.free_text, "here");
	assert_int_equal(load_again("port = 3000\naddress = 127.0.0.1\n",
				    &started, &environment, &s, &error),
			 0);
	assert_int_equal(s.port, 30);
	assert_int_equal(s.wait_s, 7);
	assert_string_equal(s.address, "127.0.0.1");
	assert_int_equal(
		load_again("wait_s = 40\n", &started, &environment, &s, &error),
		-EINVAL);
	assert_non_null(strstr(error.text, ":1: wait_s: longer than port"));
}

static void test_load_environment_that_is_wrong(void **state)
{
	struct settings s;
	struct conf_error error;

	(void)state;
	setenv("OFFHOOK_PORT", "many", 1);
	assert_int_equal(load("port = 1000\n", &s, &error), -EINVAL);
	assert_memory_equal(error.text, "environment: OFFHOOK_PORT: ", 27);
	setenv("OFFHOOK_WAIT_S", "40", 1);
	assert_int_equal(load("port = 10\n", &s, &error), -EINVAL);
	assert_string_equal(error.text,
			    "environment: OFFHOOK_WAIT_S: longer than port");
	setenv("OFFHOOK_FREE_TEXT", "two\nlines", 1);
	assert_int_equal(load("", &s, &error), -EINVAL);
	assert_string_equal(error.text,
			    "environment: OFFHOOK_FREE_TEXT: control character "
			    "0x0a; allowed is plain text");
}

static void test_load_not_a_readable_file(void **state)
{
	struct settings s;
	struct conf_error error;
	char expected[160];

	(void)state;
	assert_int_equal(conf_load(&s, "/nonexistent/x.conf", &schema, &error),
			 -ENOENT);
	assert_string_equal(error.text, "/nonexistent/x.conf: cannot be read: "
					"No such file or directory");
	assert_int_equal(conf_load(&s, "/tmp", &schema, &error), -EINVAL);
	assert_string_equal(error.text,
			    "/tmp: is a directory; allowed is a regular file");
	unlink(file);
	assert_int_equal(mkfifo(file, 0600), 0);
	assert_int_equal(conf_load(&s, file, &schema, &error), -EINVAL);
	unlink(file);
	assert_int_equal(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0) < 0, 0);
	if (geteuid() != 0) {
		assert_int_equal(conf_load(&s, file, &schema, &error), -EACCES);
		snprintf(expected, sizeof(expected),
			 "%s: cannot be read: Permission denied", file);
		assert_string_equal(error.text, expected);
	}
}

static void test_load_unreadable_as_nobody(void **state)
{
	struct settings s;
	struct conf_error error;
	int err;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(load("", &s, &error), 0); /* owner root, mode 0600 */
	assert_int_equal(seteuid(65534), 0);
	err = conf_load(&s, file, &schema, &error);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(err, -EACCES);
	assert_non_null(strstr(error.text, "Permission denied"));
}

static void test_load_too_large(void **state)
{
	size_t len = 10u << 20;
	char *data = malloc(len);
	struct settings s;
	struct conf_error error;

	(void)state;
	assert_non_null(data);
	memset(data, '#', len);
	assert_int_equal(load_bytes(data, len, &s, &error), -EINVAL);
	assert_non_null(strstr(error.text, "too large"));
	assert_int_equal(load_bytes(data, CONF_FILE_BYTES, &s, &error), 0);
	assert_int_equal(load_bytes(data, CONF_FILE_BYTES + 1, &s, &error),
			 -EINVAL);
	free(data);
}

static void test_check_url(void **state)
{
	(void)state;
	assert_null(conf_check_url("http://127.0.0.1:8080"));
	assert_null(conf_check_url("https://[::1]/base"));
	assert_null(conf_check_url_or_empty(""));
	assert_non_null(conf_check_url(""));
	assert_non_null(conf_check_url("ftp://x"));
	assert_non_null(conf_check_url("http://"));
	assert_non_null(conf_check_url("http://:80"));
	assert_non_null(conf_check_url("http://user:pw@host"));
	assert_non_null(conf_check_url("http://host/?a=1"));
	assert_non_null(conf_check_url("http://ho st"));
}

static void test_path(void **state)
{
	char path[16];

	(void)state;
	assert_int_equal(conf_path(path, sizeof(path), "/var/x", "y"), 8);
	assert_string_equal(path, "/var/x/y");
	assert_int_equal(conf_path(path, sizeof(path), "/var/x", "/y"), 2);
	assert_string_equal(path, "/y");
	assert_int_equal(conf_path(path, sizeof(path), "/var/xxxxxx", "yyyyyy"),
			 -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_load_empty_gives_defaults),
		cmocka_unit_test(test_load_reads_every_type),
		cmocka_unit_test(test_load_unknown_key_is_refused),
		cmocka_unit_test(test_load_repeated_key_is_refused),
		cmocka_unit_test(test_load_wrong_values),
		cmocka_unit_test(test_load_first_of_several_errors),
		cmocka_unit_test(test_load_cross_check_names_the_line),
		cmocka_unit_test(test_load_broken_syntax),
		cmocka_unit_test(test_load_binary_garbage),
		cmocka_unit_test(test_load_environment),
		cmocka_unit_test(test_load_again_keeps_the_environment),
		cmocka_unit_test(test_load_environment_that_is_wrong),
		cmocka_unit_test(test_load_not_a_readable_file),
		cmocka_unit_test(test_load_unreadable_as_nobody),
		cmocka_unit_test(test_load_too_large),
		cmocka_unit_test(test_check_url),
		cmocka_unit_test(test_path),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
