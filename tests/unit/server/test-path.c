#include "control/server/request/route.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_decode_escapes(void **state)
{
	static const struct {
		const char *in, *out;
		bool plus;
	} good[] = {
		{"", "", false},
		{"a%20b", "a b", false},
		{"a+b", "a+b", false},
		{"a+b%2B", "a b+", true},
		{"%c3%A9", "\xc3\xa9", false},
		{"%F0%9F%93%9E", "\xf0\x9f\x93\x9e", false},
		{"%25%32%35", "%25", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		char text[64];

		strcpy(text, good[i].in);
		assert_int_equal(percent_decode(text, good[i].plus),
				 strlen(good[i].out));
		assert_string_equal(text, good[i].out);
	}
}

static void test_decode_refuses(void **state)
{
	static const char *const bad[] = {
		"%",
		"%2",
		"%zz",
		"%0",
		"%00",
		"a%00b",
		"%ff",
		"%c3",
		"%c0%80",
		"%80",
		"%ed%a0%80",
		"%e0%80%80",
		"%f4%90%80%80",
		"%f8%88%80%80%80",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		char text[64];

		strcpy(text, bad[i]);
		assert_int_equal(percent_decode(text, false), -EILSEQ);
	}
}

static void test_split(void **state)
{
	struct path p;
	char deep[64] = "";
	char text[PATH_BYTES + 8];

	(void)state;
	assert_int_equal(path_split(&p, ""), 0);
	assert_int_equal(p.count, 0);
	assert_int_equal(path_split(&p, "/"), 0);
	assert_int_equal(p.count, 0);
	assert_int_equal(path_split(&p, "/runs/a%2Fb/"), 0);
	assert_int_equal(p.count, 2);
	assert_string_equal(p.elements[0], "runs");
	assert_string_equal(p.elements[1], "a/b");
	assert_int_equal(path_split(&p, "/runs//x"), -ENAMETOOLONG);
	for (int i = 0; i <= PATH_ELEMENTS_MAX; i++)
		strcat(deep, "/x");
	assert_int_equal(path_split(&p, deep), -ENAMETOOLONG);
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(path_split(&p, text), -ENAMETOOLONG);
}

static void first(struct request *req, struct reply *rep)
{
	(void)req;
	(void)rep;
}

static const struct route routes[] = {
	{"GET", "/", "root", RIGHT_NONE, first, NULL},
	{"GET", "/runs", "runs", RIGHT_NONE, first, NULL},
	{"GET", "/runs/:id", "run", RIGHT_NONE, first, NULL},
	{"DELETE", "/runs/:id", "run", RIGHT_NONE, first, NULL},
	{"POST", "/runs/last", "last", RIGHT_NONE, first, NULL},
	{"GET", "/runs/last", "last", RIGHT_NONE, first, NULL},
	{"GET", "/a/:x/b/:y", "two", RIGHT_NONE, first, NULL},
};

static const struct route_table table = {
	.routes = routes, .count = sizeof(routes) / sizeof(*routes)};

static struct route_match find(const char *method, const char *raw)
{
	static struct path p;
	struct route_match m;

	assert_int_equal(path_split(&p, raw), 0);
	route_find(&table, &p, method, &m);
	return m;
}

static void test_find_route(void **state)
{
	struct route_match m;

	(void)state;
	assert_ptr_equal(find("GET", "/").route, &routes[0]);
	assert_ptr_equal(find("HEAD", "/runs").route, &routes[1]);
	m = find("DELETE", "/runs/17");
	assert_ptr_equal(m.route, &routes[3]);
	assert_string_equal(m.params[0], "17");
	m = find("GET", "/a/1/b/2");
	assert_string_equal(m.params[0], "1");
	assert_string_equal(m.params[1], "2");
	/* a literal element takes precedence over a parameter */
	assert_ptr_equal(find("GET", "/runs/last").route, &routes[5]);
}

static void test_find_nothing(void **state)
{
	struct route_match m;

	(void)state;
	m = find("PUT", "/runs/17");
	assert_null(m.route);
	assert_string_equal(m.allow, "GET, HEAD, DELETE");
	m = find("GET", "/run");
	assert_null(m.route);
	assert_string_equal(m.allow, "");
	assert_null(find("GET", "/runs/1/2").route);
	assert_null(find("GET", "/a/1/b").route);
	assert_null(find("get", "/runs").route);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decode_escapes),
		cmocka_unit_test(test_decode_refuses),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_find_route),
		cmocka_unit_test(test_find_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
