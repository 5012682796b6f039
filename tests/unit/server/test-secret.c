#include "control/server/store/store_secret.h"

#include "tests/unit/temp.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
	struct temp temp;
	struct secrets *secrets;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	temp_make(&f->temp);
	*state = f;
	return secrets_load(&f->secrets, temp_path(&f->temp, "key"));
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	secrets_free(f->secrets);
	temp_remove(&f->temp);
	free(f);
	return 0;
}

static void test_key_file_is_made_once(void **state)
{
	struct fixture *f = *state;
	struct secrets *again;
	uint8_t hash[SECRET_HASH_BYTES];
	struct stat st;

	assert_int_equal(stat(temp_path(&f->temp, "key"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(st.st_size, 65);
	secret_hash(f->secrets, "token", hash);
	assert_int_equal(secrets_load(&again, temp_path(&f->temp, "key")), 0);
	assert_true(secret_matches(again, "token", hash));
	secrets_free(again);
}

static void test_key_file_is_refused(void **state)
{
	struct fixture *f = *state;
	struct secrets *s = NULL;
	FILE *file;

	chmod(temp_path(&f->temp, "key"), 0640);
	assert_int_equal(secrets_load(&s, temp_path(&f->temp, "key")), -EPERM);
	chmod(temp_path(&f->temp, "key"), 0600);
	file = fopen(temp_path(&f->temp, "key"), "w");
	fputs("0123", file);
	fclose(file);
	assert_int_equal(secrets_load(&s, temp_path(&f->temp, "key")), -EINVAL);
	assert_int_equal(secrets_load(&s, temp_path(&f->temp, "no/key")),
			 -ENOENT);
	assert_null(s);
}

static void test_key_file_of_a_credential_may_have_a_list(void **state)
{
	struct fixture *f = *state;
	struct secrets *s = NULL;
	const char *path = temp_path(&f->temp, "key");

	chmod(path, 0440);
	setenv("CREDENTIALS_DIRECTORY", f->temp.dir, 1);
	assert_int_equal(secrets_load(&s, temp_path(&f->temp, "key")), 0);
	secrets_free(s);
	chmod(temp_path(&f->temp, "key"), 0444);
	assert_int_equal(secrets_load(&s, temp_path(&f->temp, "key")), -EPERM);
	setenv("CREDENTIALS_DIRECTORY", "/run/credentials/other", 1);
	chmod(temp_path(&f->temp, "key"), 0440);
	assert_int_equal(secrets_load(&s, temp_path(&f->temp, "key")), -EPERM);
	unsetenv("CREDENTIALS_DIRECTORY");
}

static void test_hash_matches_its_token_only(void **state)
{
	struct fixture *f = *state;
	char token[SECRET_TOKEN_BYTES], other[SECRET_TOKEN_BYTES];
	uint8_t hash[SECRET_HASH_BYTES];
	const uint8_t zeros[SECRET_HASH_BYTES] = {0};

	secret_token(token);
	secret_token(other);
	assert_int_equal(strlen(token), SECRET_TOKEN_BYTES - 1);
	assert_string_not_equal(token, other);
	secret_hash(f->secrets, token, hash);
	assert_true(secret_matches(f->secrets, token, hash));
	assert_false(secret_matches(f->secrets, other, hash));
	assert_false(secret_matches(f->secrets, "", hash));
	assert_false(secret_matches(f->secrets, token, zeros));
}

static void test_hash_depends_on_the_key(void **state)
{
	struct fixture *f = *state;
	struct secrets *other;
	uint8_t hash[SECRET_HASH_BYTES];

	assert_int_equal(secrets_load(&other, temp_path(&f->temp, "key2")), 0);
	secret_hash(f->secrets, "token", hash);
	assert_false(secret_matches(other, "token", hash));
	secrets_free(other);
}

static void test_box_opens(void **state)
{
	static const char *const texts[] = {"", "p", "pass word \xc3\xa9"};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		size_t len = strlen(texts[i]), box_len, plain_len;
		uint8_t *box, *second;
		char *plain;

		assert_int_equal(secret_seal(f->secrets, "t", texts[i], len,
					     &box, &box_len),
				 0);
		assert_int_equal(box_len, 24 + len + 16);
		assert_int_equal(secret_seal(f->secrets, "t", texts[i], len,
					     &second, &box_len),
				 0);
		assert_memory_not_equal(box, second, box_len);
		assert_int_equal(secret_open(f->secrets, "t", box, box_len,
					     &plain, &plain_len),
				 0);
		assert_int_equal(plain_len, len);
		assert_string_equal(plain, texts[i]);
		assert_null(secret_wipe_free(plain, plain_len));
		free(box);
		free(second);
	}
}

static void test_box_stays_shut(void **state)
{
	struct fixture *f = *state;
	struct secrets *other;
	size_t box_len, plain_len;
	uint8_t *box;
	char *plain = NULL;

	assert_int_equal(secrets_load(&other, temp_path(&f->temp, "key2")), 0);
	assert_int_equal(
		secret_seal(f->secrets, "a", "text", 4, &box, &box_len), 0);
	assert_int_equal(
		secret_open(f->secrets, "b", box, box_len, &plain, &plain_len),
		-EBADMSG);
	assert_int_equal(
		secret_open(other, "a", box, box_len, &plain, &plain_len),
		-EBADMSG);
	for (size_t i = 0; i < box_len; i++) {
		box[i] ^= 1;
		assert_int_equal(secret_open(f->secrets, "a", box, box_len,
					     &plain, &plain_len),
				 -EBADMSG);
		box[i] ^= 1;
		assert_int_equal(secret_open(f->secrets, "a", box, i, &plain,
					     &plain_len),
				 -EBADMSG);
	}
	assert_null(plain);
	free(box);
	secrets_free(other);
}

static void test_next_key_keeps_hashes_only(void **state)
{
	struct fixture *f = *state;
	const char *file = temp_path(&f->temp, "next");
	char check[SECRETS_CHECK_BYTES], other[SECRETS_CHECK_BYTES];
	uint8_t hash[SECRET_HASH_BYTES];
	struct secrets *next;
	struct stat st;
	uint8_t *box;
	char *plain;
	size_t len;

	assert_int_equal(secrets_make_next(f->secrets, file), 0);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(secrets_load(&next, file), 0);
	secret_hash(f->secrets, "token", hash);
	assert_true(secret_matches(next, "token", hash));
	secrets_check(f->secrets, check);
	secrets_check(next, other);
	assert_string_not_equal(check, other);
	assert_int_equal(
		secret_seal(f->secrets, "purpose", "text", 4, &box, &len), 0);
	assert_int_equal(secret_open(next, "purpose", box, len, &plain, &len),
			 -EBADMSG);
	free(box);
	secrets_free(next);
	/* a second line that is cut */
	assert_int_equal(truncate(file, 129), 0);
	assert_int_equal(secrets_load(&next, file), 0);
	secrets_free(next);
	assert_int_equal(truncate(file, 100), 0);
	assert_int_equal(secrets_load(&next, file), -EINVAL);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_key_file_is_made_once),
		CASE(test_key_file_is_refused),
		CASE(test_key_file_of_a_credential_may_have_a_list),
		CASE(test_hash_matches_its_token_only),
		CASE(test_hash_depends_on_the_key),
		CASE(test_box_opens),
		CASE(test_box_stays_shut),
		CASE(test_next_key_keeps_hashes_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
