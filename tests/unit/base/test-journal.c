/* What the journal gets of a line. */
#include "base/journal.h"
#include "base/log.h"
#include "tests/unit/temp.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

static void assert_fields(const char *line, const char *fields)
{
	char entry[512], expected[512];
	size_t bytes =
		journal_entry(entry, sizeof(entry), 4, "offhook-agent", line);

	snprintf(expected, sizeof(expected),
		 "PRIORITY=4\nSYSLOG_IDENTIFIER=offhook-agent\nMESSAGE=%s\n%s",
		 line, fields);
	assert_int_equal(bytes, strlen(expected));
	assert_string_equal(entry, expected);
}

static void words_at_the_beginning_are_fields(void **state)
{
	(void)state;
	assert_fields(
		"run=7 role=caller lease=a-b: lost (x=1)",
		"OFFHOOK_RUN=7\nOFFHOOK_ROLE=caller\nOFFHOOK_LEASE=a-b\n");
	assert_fields("schedule=3 project_run=9",
		      "OFFHOOK_SCHEDULE=3\nOFFHOOK_PROJECT_RUN=9\n");
	assert_fields("run=7 the job begins, seed=5", "OFFHOOK_RUN=7\n");
}

static void other_lines_have_none(void **state)
{
	(void)state;
	assert_fields("", "");
	assert_fields("the controller does not answer", "");
	assert_fields("=7", "");
	assert_fields("Run=7", "");
	assert_fields("a_name_that_is_too_long_for_a_field=7", "");
}

static void a_value_may_be_empty(void **state)
{
	(void)state;
	assert_fields("run= role=:", "OFFHOOK_RUN=\nOFFHOOK_ROLE=\n");
}

static void an_entry_that_does_not_fit_is_none(void **state)
{
	char entry[64];

	(void)state;
	for (size_t size = 1; size < sizeof(entry); size++)
		assert_int_equal(journal_entry(entry, size, 4, "offhook",
					       "run=7 a line of a run"),
				 0);
}

static void an_entry_is_one_datagram(void **state)
{
	struct temp temp;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char got[64];
	int reader = socket(AF_UNIX, SOCK_DGRAM, 0), fd = journal_open();
	const char *path;

	(void)state;
	temp_make(&temp);
	path = temp_path(&temp, "socket");
	assert_true(reader >= 0 && fd >= 0);
	assert_int_equal(journal_send(fd, path, "MESSAGE=a\n", 10), -ENOENT);
	assert_true(strlen(path) < sizeof(address.sun_path));
	memcpy(address.sun_path, path, strlen(path));
	assert_int_equal(
		bind(reader, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(journal_send(fd, path, "MESSAGE=a\n", 10), 0);
	assert_int_equal(recv(reader, got, sizeof(got), 0), 10);
	assert_memory_equal(got, "MESSAGE=a\n", 10);
	/* as when journald was restarted */
	close(reader);
	assert_int_equal(journal_send(fd, path, "MESSAGE=a\n", 10),
			 -ECONNREFUSED);
	unlink(path);
	reader = socket(AF_UNIX, SOCK_DGRAM, 0);
	assert_int_equal(
		bind(reader, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(journal_send(fd, path, "MESSAGE=b\n", 10), 0);
	close(reader);
	close(fd);
	temp_remove(&temp);
}

/* Of an inherited variable only a matching one counts. */
static void standard_error_is_compared(void **state)
{
	char stream[64];
	struct stat st;

	(void)state;
	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	unsetenv("JOURNAL_STREAM");
	assert_false(journal_is_stderr());
	snprintf(stream, sizeof(stream), "%llu:%llu",
		 (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	assert_true(journal_is_stderr());
	snprintf(stream, sizeof(stream), "%llu:%llu",
		 (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino + 1);
	setenv("JOURNAL_STREAM", stream, 1);
	assert_false(journal_is_stderr());
	setenv("JOURNAL_STREAM", "9", 1);
	assert_false(journal_is_stderr());
	unsetenv("JOURNAL_STREAM");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_at_the_beginning_are_fields),
		cmocka_unit_test(other_lines_have_none),
		cmocka_unit_test(a_value_may_be_empty),
		cmocka_unit_test(an_entry_that_does_not_fit_is_none),
		cmocka_unit_test(an_entry_is_one_datagram),
		cmocka_unit_test(standard_error_is_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
