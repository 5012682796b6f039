#include "control/server/request/body.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FORM  "application/x-www-form-urlencoded"
#define MULTI "multipart/form-data; boundary=\"b d\""

/* Parse an exact copy, so that the sanitizer detects every read beyond it. */
static int parse(struct body *b, const char *type, const char *data, size_t len)
{
	char *copy = malloc(len + 1);
	int err;

	memcpy(copy, data, len);
	copy[len] = '\0';
	err = body_parse(b, type, copy, len, BODY_DEPTH);
	free(copy);
	return err;
}

static void expect(const char *type, const char *data, size_t len,
		   const char *json)
{
	json_t *wanted = json_loads(json, 0, NULL);
	struct body b;

	assert_int_equal(parse(&b, type, data, len), 0);
	assert_true(json_equal(b.object, wanted));
	json_decref(b.object);
	json_decref(wanted);
}

static void refuse(const char *type, const char *data, int err)
{
	struct body b;

	assert_int_equal(parse(&b, type, data, strlen(data)), err);
	assert_null(b.object);
	if (err == -EBADMSG)
		assert_true(strlen(b.reason) > 0);
}

#define EXPECT(type, data, json) expect(type, data, strlen(data), json)

static void test_json(void **state)
{
	(void)state;
	EXPECT("application/json", "{\"a\": 1, \"b\": [true]}",
	       "{\"a\": 1, \"b\": [true]}");
	EXPECT("Application/JSON; charset=utf-8", "{}", "{}");
	refuse("application/json", "{\"a\": 1", -EBADMSG);
	refuse("application/json", "{} {}", -EBADMSG);
	refuse("application/json", "[1]", -EBADMSG);
	refuse("application/json", "{\"a\": 1, \"a\": 2}", -EBADMSG);
	refuse("application/json", "{\"a\": \"\\u0000\"}", -EBADMSG);
	refuse("application/json", "{\"a\": \"\xff\"}", -EBADMSG);
}

static void test_json_depth(void **state)
{
	char text[256];
	struct body b;

	(void)state;
	for (int depth = BODY_DEPTH; depth <= BODY_DEPTH + 1; depth++) {
		size_t inner = (size_t)depth - 1;
		size_t len = 0;

		len += (size_t)sprintf(text, "{\"a\":");
		memset(text + len, '[', inner);
		memset(text + len + inner, ']', inner);
		strcpy(text + len + 2 * inner, "}");
		assert_int_equal(
			parse(&b, "application/json", text, strlen(text)),
			depth > BODY_DEPTH ? -EBADMSG : 0);
		json_decref(b.object);
	}
	/* brackets within text do not count */
	memset(text, '[', 100);
	memcpy(text, "{\"a\":\"\\\"", 8);
	strcpy(text + 100, "\"}");
	assert_int_equal(parse(&b, "application/json", text, strlen(text)), 0);
	json_decref(b.object);
}

static void test_urlencoded(void **state)
{
	(void)state;
	EXPECT(FORM, "a=1&b=x+y%21&c=&d&&%C3%A9=%3D",
	       "{\"a\": \"1\", \"b\": \"x y!\", \"c\": \"\", \"d\": \"\", "
	       "\"\u00e9\": \"=\"}");
	EXPECT(FORM, "a=b=c", "{\"a\": \"b=c\"}");
	EXPECT(FORM, "", "{}");
	refuse(FORM, "a=1&a=2", -EBADMSG);
	refuse(FORM, "a=%f", -EBADMSG);
	refuse(FORM, "%00=1", -EBADMSG);
	refuse(FORM, "a=%ff", -EBADMSG);
}

static void test_form_ceiling(void **state)
{
	char *text = calloc(BODY_MEMBERS_MAX + 1, 8);
	struct body b;
	size_t len = 0;

	(void)state;
	for (int i = 0; i < BODY_MEMBERS_MAX; i++)
		len += (size_t)sprintf(text + len, "x%d&", i);
	assert_int_equal(parse(&b, FORM, text, len), 0);
	json_decref(b.object);
	strcpy(text + len, "y");
	refuse(FORM, text, -EBADMSG);
	free(text);
}

static void test_multipart(void **state)
{
	(void)state;
	EXPECT(MULTI,
	       "preamble\r\n--b d\r\n"
	       "Content-Disposition: form-data; name=\"a\"\r\n\r\n"
	       "line 1\r\nline 2 --b d\r\n--b d  \r\n"
	       "Content-Type: text/plain\r\n"
	       "content-disposition: form-data; filename=\"x;name=y\"; "
	       "name=\"b \\\" c\"\r\n\r\n"
	       "\r\n--b d--\r\nepilogue",
	       "{\"a\": \"line 1\\r\\nline 2 --b d\", "
	       "\"b \\\" c\": \"\"}");
	EXPECT("multipart/form-data; boundary=x",
	       "--x\r\nContent-Disposition: form-data; name=n\r\n\r\nv\r\n--x--",
	       "{\"n\": \"v\"}");
	/* an empty part without even the line break before its delimiter */
	EXPECT("multipart/form-data; boundary=x",
	       "--x\r\nContent-Disposition: form-data; name=n\r\n\r\n--x--",
	       "{\"n\": \"\"}");
	EXPECT("multipart/form-data; boundary=x", "--x--", "{}");
	EXPECT("multipart/form-data; charset=utf-8; BOUNDARY=x",
	       "--x\r\nContent-Disposition: form-data; name=n\r\n\r\nv\r\n--x--",
	       "{\"n\": \"v\"}");
}

static void test_multipart_broken(void **state)
{
	static const char type[] = "multipart/form-data; boundary=x";
	static const char *const bad[] = {
		"",
		"--y\r\n",
		"--x",
		"--x\r\n",
		"--xgarbage",
		/* not a delimiter, but nothing may begin like one either */
		"--x\r\nContent-Disposition: form-data; name=n\r\n\r\n"
		"\r\n--xy\r\n--x--",
		"--x\r\nContent-Disposition: form-data\r\n\r\nv\r\n--x--",
		"--x\r\nContent-Disposition: form-data; name=n",
		"--x\r\nContent-Disposition: form-data; name=n\r\n\r\nv",
		"--x\r\nContent-Disposition: form-data; name=n\r\n\r\nv\r\n--x",
		"--x\r\n\r\nv\r\n--x--",
		"--x\r\nContent-Disposition: form-data; name=n\r\n\r\n\xff\r\n"
		"--x--",
		"--x\r\nContent-Disposition: form-data; name=\"\xff\"\r\n\r\n"
		"\r\n--x--",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		refuse(type, bad[i], -EBADMSG);
	refuse("multipart/form-data", "--x--", -EBADMSG);
	refuse("multipart/form-data; boundary=", "----", -EBADMSG);
	refuse("multipart/form-data; boundary="
	       "0123456789012345678901234567890123456789"
	       "0123456789012345678901234567890",
	       "x", -EBADMSG);
}

static void test_other_types(void **state)
{
	(void)state;
	refuse(NULL, "{}", -EMEDIUMTYPE);
	refuse("", "{}", -EMEDIUMTYPE);
	refuse("text/plain", "{}", -EMEDIUMTYPE);
	refuse("application/jsonx", "{}", -EMEDIUMTYPE);
	refuse("application/json-patch+json", "{}", -EMEDIUMTYPE);
}

/* RFC 8259 section 6: JSON numbers have no integer type. */
static void test_whole_numbers(void **state)
{
	static const struct {
		const char *given, *read;
	} cases[] = {
		{"[1.0, -2.0, 1e3, 0.0, -0.0, 9007199254740992.0]",
		 "[1,-2,1000,0,0,9007199254740992]"},
		{"[1.5, 1e300, 9007199254740994.0]",
		 "[1.5,1e300,9007199254740994.0]"},
		{"{\"a\": {\"b\": [[2.0], {\"c\": 3.0}]}}",
		 "{\"a\":{\"b\":[[2],{\"c\":3}]}}"},
		{"{\"a\": \"1.0\"}", "{\"a\":\"1.0\"}"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		json_t *document = body_json_text(cases[i].given);
		json_t *wanted = json_loads(cases[i].read, 0, NULL);

		assert_true(json_equal(document, wanted));
		json_decref(document);
		json_decref(wanted);
	}
	body_whole_numbers(NULL);
	assert_null(body_json_text("[1.0"));
}

static void test_json_in_a_text_has_a_depth(void **state)
{
	char text[2 * BODY_DEPTH + 3];

	(void)state;
	for (int depth = BODY_DEPTH; depth <= BODY_DEPTH + 1; depth++) {
		json_t *value;

		memset(text, '[', (size_t)depth);
		memset(text + depth, ']', (size_t)depth);
		text[2 * depth] = '\0';
		value = body_json_text(text);
		assert_int_equal(!value, depth > BODY_DEPTH);
		json_decref(value);
	}
	assert_null(body_json_text("1"));
	assert_null(body_json_text("[1] 2"));
	assert_null(body_json_text("{\"a\": 1, \"a\": 2}"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_json_depth),
		cmocka_unit_test(test_urlencoded),
		cmocka_unit_test(test_form_ceiling),
		cmocka_unit_test(test_multipart),
		cmocka_unit_test(test_multipart_broken),
		cmocka_unit_test(test_other_types),
		cmocka_unit_test(test_json_in_a_text_has_a_depth),
		cmocka_unit_test(test_whole_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
