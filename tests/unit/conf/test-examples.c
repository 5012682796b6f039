/* The example files contain every key once, with its default. */
#include "conf/agent_conf.h"
#include "conf/controller_conf.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static bool is_key_line(const char *line)
{
	size_t len;

	if (line[0] != '#')
		return false;
	len = strspn(line + 1, "abcdefghijklmnopqrstuvwxyz_");
	return len > 0 && strncmp(line + 1 + len, " = ", 3) == 0;
}

/* Write the example with its keys uncommented, except the key at `skip`. */
static unsigned uncomment(const char *example, const char *path)
{
	FILE *in = fopen(example, "re"), *out = fopen(path, "we");
	char line[256];
	unsigned keys = 0;

	assert_non_null(in);
	assert_non_null(out);
	while (fgets(line, sizeof(line), in)) {
		bool key = is_key_line(line);

		keys += key;
		fputs(key ? line + 1 : line, out);
	}
	fclose(in);
	assert_int_equal(fclose(out), 0);
	return keys;
}

static void check_example(const char *name, const struct conf_schema *schema,
			  size_t size)
{
	char example[512], path[] = "/tmp/offhook-example-XXXXXX";
	struct conf_error error = {""};
	void *expected = calloc(1, size), *got = calloc(1, size);
	struct conf_key keys[64];
	struct conf_schema undefaulted = {.keys = keys,
					  .key_count = schema->key_count};
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	assert_non_null(expected);
	assert_non_null(got);
	snprintf(example, sizeof(example), "%s/%s", EXAMPLES, name);

	/* as shipped: every key is commented out */
	conf_defaults(expected, schema);
	if (conf_load(got, example, schema, &error))
		fail_msg("%s", error.text);
	assert_memory_equal(got, expected, size);

	/*
	 * all keys uncommented, loaded over values that differ from the real
	 * defaults: a key that the file omits or states differently is detected
	 */
	assert_int_equal(uncomment(example, path), schema->key_count);
	for (size_t i = 0; i < schema->key_count; i++) {
		keys[i] = schema->keys[i];
		keys[i].check = NULL;
		if (keys[i].type == CONF_FLAG)
			keys[i].fallback = strcmp(keys[i].fallback, "true")
						   ? "true"
						   : "false";
		else if (keys[i].type == CONF_LEVEL)
			keys[i].fallback = "error";
		else if (keys[i].type == CONF_TEXT)
			keys[i].fallback = "(unset)";
		else if (keys[i].min == strtoull(keys[i].fallback, NULL, 10))
			keys[i].max = UINT64_MAX, keys[i].fallback = "1025";
		else
			keys[i].min = 0, keys[i].fallback = "0";
	}
	memset(got, 0, size);
	if (conf_load(got, path, &undefaulted, &error))
		fail_msg("%s", error.text);
	for (size_t i = 0; i < schema->key_count; i++) {
		const struct conf_key *k = &keys[i];
		const char *a = (char *)got + k->offset;
		const char *b = (char *)expected + k->offset;
		size_t bytes = k->type == CONF_U16     ? 2
			       : k->type == CONF_BYTES ? 8
			       : k->type == CONF_FLAG  ? sizeof(bool)
			       : k->type == CONF_TEXT  ? strlen(b) + 1
						       : 4;

		if (memcmp(a, b, bytes) != 0)
			fail_msg("%s: %s has not the default that is written",
				 name, k->name);
	}
	/* and with all checks enabled */
	if (conf_load(got, path, schema, &error))
		fail_msg("%s", error.text);
	unlink(path);
	free(expected);
	free(got);
}

static void test_example_agent(void **state)
{
	(void)state;
	check_example("offhook-agent.conf", &agent_conf_schema,
		      sizeof(struct agent_conf));
}

static void test_example_controller(void **state)
{
	(void)state;
	check_example("offhook-controller.conf", &controller_conf_schema,
		      sizeof(struct controller_conf));
}

static void expect(const char *text, const struct conf_schema *schema,
		   const char *part)
{
	char path[] = "/tmp/offhook-example-XXXXXX";
	union {
		struct agent_conf agent;
		struct controller_conf controller;
	} *conf = malloc(sizeof(*conf));
	struct conf_error error;
	int fd = mkstemp(path);

	assert_non_null(conf);
	assert_true(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	assert_int_equal(conf_load(conf, path, schema, &error), -EINVAL);
	if (!strstr(error.text, part))
		fail_msg("%s, expected %s", error.text, part);
	unlink(path);
	free(conf);
}

static void test_agent_cross_checks(void **state)
{
	(void)state;
	expect("srtp_library = libre\n", &agent_conf_schema,
	       ": srtp_library: \"libre\" is no such library; allowed is "
	       "builtin or libsrtp2");
	expect("rtp_min = 30000\nrtp_max = 30000\n", &agent_conf_schema,
	       ":2: rtp_max: ");
	expect("rtp_min = 30000\n", &agent_conf_schema, ": rtp_max: ");
	expect("sip_port = 5060\n", &agent_conf_schema, ":1: sip_port: ");
	expect("join_token = a\njoin_token_file = b\n", &agent_conf_schema,
	       ":2: join_token_file: ");
	expect("calibrate = 0d\n", &agent_conf_schema, ":1: calibrate: ");
	expect("calibrate = 5\n", &agent_conf_schema, ":1: calibrate: ");
	expect("calibrate = d\n", &agent_conf_schema, ":1: calibrate: ");
	expect("calibrate = 10000h\n", &agent_conf_schema, ":1: calibrate: ");
	expect("bind = 0.0.0.0\n", &agent_conf_schema, ":1: bind: ");
	expect("bind = host\n", &agent_conf_schema, ":1: bind: ");
	expect("controller = localhost\n", &agent_conf_schema,
	       ":1: controller: ");
	expect("name = \"a b\"\n", &agent_conf_schema, ":1: name: ");
}

static void test_controller_cross_checks(void **state)
{
	(void)state;
	expect("renew_s = 31\n", &controller_conf_schema, ":1: renew_s: ");
	expect("interval_s = 20\nmax_duration_s = 10\n",
	       &controller_conf_schema, ":1: interval_s: ");
	expect("poll_s = 51\n", &controller_conf_schema, ":1: poll_s: ");
	expect("state_dir = \"\"\n", &controller_conf_schema,
	       ":1: state_dir: ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_example_agent),
		cmocka_unit_test(test_example_controller),
		cmocka_unit_test(test_agent_cross_checks),
		cmocka_unit_test(test_controller_cross_checks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
