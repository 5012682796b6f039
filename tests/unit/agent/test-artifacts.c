#include "agent/spool/artifacts.h"
#include "tests/unit/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct temp temp;
static struct spool_space space;

static int make_dir(void **state)
{
	(void)state;
	space = (struct spool_space){.limit = 2000};
	temp_make(&temp);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	temp_remove(&temp);
	return 0;
}

static void write_part(const char *name, size_t len)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/lease/%s.part", temp.dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	while (len--)
		fputc('x', f);
	fclose(f);
}

static bool is_there(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/lease/%s", temp.dir, name);
	return access(path, F_OK) == 0;
}

static void test_name_valid(void **state)
{
	static const char *const good[] = {"a", "caller-1-in.wav", "0_a.b.c",
					   "a..b", "a.part.wav"};
	static const char *const bad[] = {
		"",    ".part", ".",   "..",       ".a", "-a",     "_a",  "a/b",
		"a b", "a\x7f", "a\n", "\xc3\xa9", "a%", "a.part", "a\\b"};
	char name[WIRE_ARTIFACT_NAME_BYTES + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_true(wire_artifact_name_valid(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(wire_artifact_name_valid(bad[i]));
	memset(name, 'a', sizeof(name));
	name[WIRE_ARTIFACT_NAME_BYTES] = '\0';
	assert_false(wire_artifact_name_valid(name));
	name[WIRE_ARTIFACT_NAME_BYTES - 1] = '\0';
	assert_true(wire_artifact_name_valid(name));
	assert_string_equal(wire_artifact_type("a.wav"), "audio/wav");
	assert_string_equal(wire_artifact_type("awav"),
			    "application/octet-stream");
}

static void test_take_and_drop(void **state)
{
	char name[WIRE_ARTIFACT_NAME_BYTES];
	struct artifacts *a;

	(void)state;
	assert_int_equal(artifacts_open(&a, temp.dir, "lease", &space), 0);
	assert_int_equal(artifacts_next(a, name), 0);
	write_part("one", 10);
	assert_int_equal(artifacts_next(a, name), 0);
	assert_int_equal(artifacts_take(a, "one"), 0);
	assert_int_equal(space.used, 10);
	assert_int_equal(artifacts_next(a, name), 1);
	assert_string_equal(name, "one");
	write_part("one", 30);
	assert_int_equal(artifacts_take(a, "one"), -EEXIST);
	assert_false(is_there("one.part"));
	assert_int_equal(space.used, 10);
	artifacts_drop(a, "one");
	assert_int_equal(space.used, 0);
	assert_int_equal(artifacts_next(a, name), 0);
	assert_false(is_there("one") || is_there("one.part"));
	artifacts_remove(a);
	assert_false(is_there(""));
}

/* What an engine has recorded does not go because its agent can open nothing more. */
static void test_take_without_a_descriptor(void **state)
{
	struct rlimit before, none;
	struct artifacts *a;
	int err;

	(void)state;
	assert_int_equal(artifacts_open(&a, temp.dir, "lease", &space), 0);
	write_part("one", 10);
	getrlimit(RLIMIT_NOFILE, &before);
	none = before;
	none.rlim_cur = 3;
	setrlimit(RLIMIT_NOFILE, &none);
	err = artifacts_take(a, "one");
	setrlimit(RLIMIT_NOFILE, &before);
	assert_int_equal(err, 0);
	assert_true(is_there("one"));
	assert_int_equal(space.used, 10);
	artifacts_remove(a);
}

static void test_take_refused(void **state)
{
	char path[256];
	struct artifacts *a;

	(void)state;
	assert_int_equal(artifacts_open(&a, temp.dir, "lease", &space), 0);
	assert_int_equal(artifacts_take(a, "missing"), -ENOENT);
	assert_int_equal(artifacts_take(a, "../x"), -EINVAL);
	/* half of the limit is reserved for the statistics */
	write_part("large", 1001);
	assert_int_equal(artifacts_take(a, "large"), -EDQUOT);
	assert_false(is_there("large") || is_there("large.part"));
	write_part("fits", 1000);
	assert_int_equal(artifacts_take(a, "fits"), 0);
	write_part("one", 1);
	assert_int_equal(artifacts_take(a, "one"), -EDQUOT);
	/* a link out of the folder is not followed, a device is not read */
	snprintf(path, sizeof(path), "%s/lease/link.part", temp.dir);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(artifacts_take(a, "link"), -ELOOP);
	assert_false(is_there("link.part"));
	snprintf(path, sizeof(path), "%s/lease/pipe.part", temp.dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(artifacts_take(a, "pipe"), -EINVAL);
	assert_int_equal(space.used, 1000);
	artifacts_remove(a);
	assert_int_equal(space.used, 0);
}

static void test_open_again(void **state)
{
	char name[WIRE_ARTIFACT_NAME_BYTES];
	struct artifacts *a;

	(void)state;
	assert_int_equal(artifacts_open(&a, temp.dir, "lease", &space), 0);
	write_part("one", 10);
	assert_int_equal(artifacts_take(a, "one"), 0);
	write_part("torn", 10);
	artifacts_free(a);
	assert_int_equal(space.used, 0);
	assert_int_equal(artifacts_open(&a, temp.dir, "lease", &space), 0);
	assert_int_equal(space.used, 10);
	assert_int_equal(artifacts_next(a, name), 1);
	assert_string_equal(name, "one");
	assert_false(is_there("torn.part"));
	artifacts_remove(a);
}

static void test_as_many_as_can_wait(void **state)
{
	struct artifacts *a;
	char path[256];

	(void)state;
	assert_int_equal(artifacts_open(&a, temp.dir, "lease", &space), 0);
	artifacts_free(a);
	for (unsigned i = 1; i < ARTIFACTS_MAX; i++) {
		snprintf(path, sizeof(path), "%s/lease/%u", temp.dir, i);
		fclose(fopen(path, "w"));
	}
	assert_int_equal(artifacts_open(&a, temp.dir, "lease", &space), 0);
	write_part("last", 1);
	assert_int_equal(artifacts_take(a, "last"), 0);
	write_part("further", 1);
	assert_int_equal(artifacts_take(a, "further"), -EDQUOT);
	assert_true(is_there("last"));
	assert_false(is_there("further"));
	assert_false(is_there("further.part"));
	artifacts_drop(a, "last");
	write_part("further", 1);
	assert_int_equal(artifacts_take(a, "further"), 0);
	artifacts_remove(a);
}

static bool only_kept(const char *lease_id, void *arg)
{
	(void)arg;
	return strcmp(lease_id, "kept") == 0;
}

static void test_sweep(void **state)
{
	struct artifacts *a, *b;
	char path[256];

	(void)state;
	assert_int_equal(artifacts_open(&a, temp.dir, "kept", &space), 0);
	assert_int_equal(artifacts_open(&b, temp.dir, "lease", &space), 0);
	write_part("one", 10);
	assert_int_equal(artifacts_take(b, "one"), 0);
	artifacts_free(b);
	artifacts_sweep(temp.dir, only_kept, NULL);
	assert_false(is_there(""));
	snprintf(path, sizeof(path), "%s/kept", temp.dir);
	assert_int_equal(access(path, F_OK), 0);
	artifacts_remove(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_name_valid),
		cmocka_unit_test_setup_teardown(test_take_and_drop, make_dir,
						remove_dir),
		cmocka_unit_test_setup_teardown(test_take_without_a_descriptor,
						make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_take_refused, make_dir,
						remove_dir),
		cmocka_unit_test_setup_teardown(test_open_again, make_dir,
						remove_dir),
		cmocka_unit_test_setup_teardown(test_as_many_as_can_wait,
						make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_sweep, make_dir,
						remove_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
