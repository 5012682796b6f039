#include "control/server/report/error_page.h"

#include "control/server/request/request_data.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *page_of(int status, const char *title, const char *detail)
{
	json_t *problem =
		json_pack("{s:i, s:s, s:s, s:s, s:s}", "status", status,
			  "title", title, "detail", detail, "instance",
			  "/runs?test=<b>", "request_id", "7b1c");
	struct reply rep = {.status = 0};

	assert_non_null(problem);
	assert_int_equal(error_page(problem, &rep), 0);
	json_decref(problem);
	assert_string_equal(rep.content_type, "text/html; charset=utf-8");
	assert_non_null(
		json_object_get(rep.headers, "Content-Security-Policy"));
	json_decref(rep.headers);
	return rep.text;
}

/* What makes the controller answer 500, memory that ran out, cannot be provoked
 * from outside: the page is made here of the problem that is answered then. */
static void test_an_error_of_the_controller(void **state)
{
	char *page = page_of(500, "Internal Server Error", "out of memory");

	(void)state;
	assert_non_null(strstr(page, "The controller made an error"));
	assert_non_null(strstr(page, "<p>Out of memory.</p>"));
	assert_non_null(strstr(page, "500 Internal Server Error"));
	assert_non_null(strstr(page, ">7b1c<"));
	assert_non_null(strstr(page, "href=\"\">Try again"));
	assert_non_null(strstr(page, "/runs?test=&lt;b&gt;"));
	assert_null(strstr(page, "<b>"));
	assert_null(strchr(page, '@'));
	free(page);
}

static void test_a_status_without_a_page_of_its_own(void **state)
{
	char *page = page_of(418, "Teapot", "it is one");

	(void)state;
	assert_non_null(strstr(page, "This request cannot be answered"));
	assert_non_null(strstr(page, "418 Teapot"));
	free(page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_error_of_the_controller),
		cmocka_unit_test(test_a_status_without_a_page_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
