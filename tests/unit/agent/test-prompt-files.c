#include "agent/link/prompt_files.h"
#include "tests/unit/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define HASH_BYTES (2 * crypto_hash_sha256_BYTES + 1)

static void hash_of(char hex[static HASH_BYTES], const char *text)
{
	unsigned char hash[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(hash, (const unsigned char *)text, strlen(text));
	sodium_bin2hex(hex, HASH_BYTES, hash, sizeof(hash));
}

/* A file with holes only, last used so many seconds ago. */
static void make(struct temp *t, char digit, uint64_t bytes, time_t ago)
{
	const struct timespec used = {.tv_sec = time(NULL) - ago};
	const struct timespec times[] = {used, used};
	char name[HASH_BYTES];
	int fd;

	memset(name, digit, sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	fd = open(temp_path(t, name), O_WRONLY | O_CREAT, 0600);
	assert_return_code(fd, errno);
	assert_return_code(ftruncate(fd, (off_t)bytes), errno);
	assert_return_code(futimens(fd, times), errno);
	close(fd);
}

static bool is_there(struct temp *t, char digit)
{
	char name[HASH_BYTES];

	memset(name, digit, sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	return access(temp_path(t, name), F_OK) == 0;
}

static void test_cache_has_a_ceiling(void **state)
{
	const uint64_t third = PROMPTS_BYTES / 3;
	char first[HASH_BYTES], second[HASH_BYTES];
	struct temp t;

	(void)state;
	temp_make(&t);
	hash_of(first, "1");
	hash_of(second, "22");
	make(&t, 'a', third, 10);
	make(&t, 'b', third, 30);
	make(&t, 'c', PROMPTS_BYTES - 2 * third - 1, 20);
	/* exactly at the ceiling nothing goes */
	assert_int_equal(prompt_files_keep(t.dir, first, "1", 1), 0);
	assert_true(is_there(&t, 'a') && is_there(&t, 'b') &&
		    is_there(&t, 'c'));
	/* above it the one that was not used for longest */
	assert_int_equal(prompt_files_keep(t.dir, second, "22", 2), 0);
	assert_true(is_there(&t, 'a') && is_there(&t, 'c'));
	assert_false(is_there(&t, 'b'));
	assert_int_equal(access(temp_path(&t, first), F_OK), 0);
	assert_int_equal(access(temp_path(&t, second), F_OK), 0);
	temp_remove(&t);
}

static void test_file_with_another_hash_is_refused(void **state)
{
	char hash[HASH_BYTES];
	struct temp t;

	(void)state;
	temp_make(&t);
	hash_of(hash, "1");
	assert_int_equal(prompt_files_keep(t.dir, hash, "2", 1), -EBADMSG);
	assert_int_not_equal(access(temp_path(&t, hash), F_OK), 0);
	temp_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cache_has_a_ceiling),
		cmocka_unit_test(test_file_with_another_hash_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
