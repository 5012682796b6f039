#include "agent/link/http_client.h"
#include "agent/spool/spool.h"
#include "tests/unit/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
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

static int make_dir(void **state)
{
	(void)state;
	temp_make(&temp);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	temp_remove(&temp);
	return 0;
}

static void expect_record(struct spool *s, uint64_t seq, enum record_kind kind,
			  const char *text)
{
	struct record r;

	assert_int_equal(spool_read(s, seq, &r), 0);
	assert_int_equal(r.seq, seq);
	assert_int_equal(r.kind, kind);
	assert_string_equal(r.text, text);
	assert_int_equal(r.len, strlen(text));
	free(r.text);
}

static void segment_path(char *path, size_t size, const char *lease)
{
	snprintf(path, size, "%s/%s/00000001.seg", temp.dir, lease);
}

static int append(struct spool *s, enum record_kind kind, const char *text)
{
	return spool_append(s, kind, text, strlen(text));
}

/* Five records of different length. The text of each contains its number. */
static void fill(struct spool *s, unsigned count)
{
	char text[300];

	for (unsigned i = 1; i <= count; i++) {
		memset(text, 'a' + (int)(i % 26), sizeof(text));
		snprintf(text, sizeof(text), "%u", i);
		text[strlen(text)] = ' ';
		text[10 + i * 17 % 200] = '\0';
		assert_int_equal(append(s, RECORD_EVENTS, text), 0);
	}
}

static void expect_filled(struct spool *s, uint64_t from, uint64_t to)
{
	for (uint64_t seq = from; seq <= to; seq++) {
		struct record r;

		assert_int_equal(spool_read(s, seq, &r), 0);
		assert_int_equal(strtoull(r.text, NULL, 10), seq);
		assert_int_equal(r.len, 10 + seq * 17 % 200);
		free(r.text);
	}
}

static void test_spool_crc_check_value(void **state)
{
	(void)state;
	assert_int_equal(segment_crc("123456789", 9), 0xcbf43926);
	assert_int_equal(segment_crc("", 0), 0);
}

static void test_spool_name(void **state)
{
	(void)state;
	assert_true(spool_name_valid("a-1"));
	assert_false(spool_name_valid(""));
	assert_false(spool_name_valid(".."));
	assert_false(spool_name_valid("a/b"));
	assert_false(spool_name_valid("0123456789012345678901234567890123456789"
				      "0123456789012345678901234"));
}

static void test_spool_survives_reopening(void **state)
{
	struct spool_space space = {.limit = 1 << 20};
	struct spool *s = NULL;

	(void)state;
	assert_int_equal(
		spool_create(&s, temp.dir, "re-open", &space, "{\"m\":1}"), 0);
	assert_int_equal(spool_last_seq(s), 0);
	assert_int_equal(append(s, RECORD_STATS, "[1]"), 0);
	assert_int_equal(append(s, RECORD_EVENTS, "[2]"), 0);
	assert_int_equal(append(s, RECORD_SIP, "[]"), 0);
	assert_int_equal(spool_synced_seq(s), 0);
	assert_null(spool_finish(s));
	assert_int_equal(spool_append_finish(s, "{\"f\":1}"), 0);
	assert_int_equal(spool_synced_seq(s), 3);
	spool_free(s);
	assert_int_equal(space.used, 0);
	assert_int_equal(spool_open(&s, temp.dir, "re-open", &space), 0);
	assert_string_equal(spool_meta(s), "{\"m\":1}");
	assert_string_equal(spool_finish(s), "{\"f\":1}");
	assert_int_equal(spool_first_seq(s), 1);
	assert_int_equal(spool_last_seq(s), 3);
	expect_record(s, 3, RECORD_SIP, "[]");
	expect_record(s, 1, RECORD_STATS, "[1]");
	expect_record(s, 2, RECORD_EVENTS, "[2]");
	expect_record(s, 1, RECORD_STATS, "[1]");
	assert_int_equal(append(s, RECORD_EVENTS, "[4]"), 0);
	expect_record(s, 4, RECORD_EVENTS, "[4]");
	spool_remove(s);
	assert_int_equal(space.used, 0);
	assert_int_equal(spool_open(&s, temp.dir, "re-open", &space), -ENOENT);
}

static size_t read_file(const char *path, char *data, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, data, size);

	assert_true(n > 0);
	close(fd);
	return (size_t)n;
}

static void write_file(const char *path, const char *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, data, len), (ssize_t)len);
	close(fd);
}

/* Create a lease's directory with one segment of the given bytes. */
static void plant(const char *lease, const char *data, size_t len)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", temp.dir, lease);
	mkdir(path, 0700);
	segment_path(path, sizeof(path), lease);
	write_file(path, data, len);
}

static size_t make_sample(char *data, size_t size, uint64_t ends[], unsigned n)
{
	struct spool_space space = {.limit = 1 << 20};
	struct spool *s = NULL;
	char path[128];
	size_t len;
	uint64_t at = 0;
	int fd;

	assert_int_equal(spool_create(&s, temp.dir, "sample", &space, "{}"), 0);
	fill(s, n);
	assert_int_equal(spool_sync(s), 0);
	segment_path(path, sizeof(path), "sample");
	len = read_file(path, data, size);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	for (unsigned i = 0; i <= n; i++) { /* [0]: meta */
		struct record r;

		assert_int_equal(segment_read(fd, at, &r, &at), 1);
		free(r.text);
		ends[i] = at;
	}
	close(fd);
	assert_int_equal(at, len);
	spool_remove(s);
	return len;
}

static void test_spool_cut_at_every_byte(void **state)
{
	char data[4096];
	uint64_t ends[8];
	size_t len = make_sample(data, sizeof(data), ends, 5);

	(void)state;
	for (size_t cut = 0; cut <= len; cut++) {
		struct spool_space space = {.limit = 1 << 20};
		struct spool *s = NULL;
		uint64_t whole = 0;

		while (whole < 5 && cut >= ends[whole + 1])
			whole++;
		plant("torn", data, cut);
		assert_int_equal(spool_open(&s, temp.dir, "torn", &space), 0);
		assert_int_equal(spool_last_seq(s), whole);
		expect_filled(s, 1, whole);
		/* appending continues where the segment was cut */
		assert_int_equal(append(s, RECORD_STATS, "[\"new\"]"), 0);
		spool_free(s);
		assert_int_equal(spool_open(&s, temp.dir, "torn", &space), 0);
		assert_int_equal(spool_last_seq(s), whole + 1);
		expect_filled(s, 1, whole);
		expect_record(s, whole + 1, RECORD_STATS, "[\"new\"]");
		spool_remove(s);
		assert_int_equal(space.used, 0);
	}
}

static void test_spool_every_bit_flipped(void **state)
{
	char data[4096];
	uint64_t ends[8];
	size_t len = make_sample(data, sizeof(data), ends, 5);

	(void)state;
	for (size_t bit = 0; bit < len * 8; bit++) {
		struct spool_space space = {.limit = 1 << 20};
		struct spool *s = NULL;
		size_t at = bit / 8;
		uint64_t whole = 0;

		while (whole < 5 && at >= ends[whole])
			whole++;
		/*
		 * byte `at` is in record `whole` (0: meta): all records before
		 * it hold
		 */
		data[at] = (char)(data[at] ^ (1 << (bit % 8)));
		plant("flip", data, len);
		assert_int_equal(spool_open(&s, temp.dir, "flip", &space), 0);
		assert_int_equal(spool_last_seq(s), whole ? whole - 1 : 0);
		expect_filled(s, 1, spool_last_seq(s));
		spool_remove(s);
		data[at] = (char)(data[at] ^ (1 << (bit % 8)));
	}
}

static void test_spool_damage_while_open(void **state)
{
	struct spool_space space = {.limit = 1 << 20};
	struct spool *s = NULL;
	struct record r;
	char path[128];
	int fd;

	(void)state;
	assert_int_equal(spool_create(&s, temp.dir, "damage", &space, "{}"), 0);
	fill(s, 3);
	segment_path(path, sizeof(path), "damage");
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "\xff", 1, 60), 1);
	close(fd);
	assert_int_equal(spool_read(s, 1, &r), -EBADMSG);
	assert_int_equal(spool_read(s, 9, &r), -ENOENT);
	spool_remove(s);
}

/*
 * A peer that floods us cannot fill the disk: the job ends and its outcome is
 * kept.
 */
static void test_spool_full_keeps_the_outcome(void **state)
{
	struct spool_space space = {.limit = 2000};
	struct spool *s = NULL;
	char text[101];
	int err = 0;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(spool_create(&s, temp.dir, "full", &space, "{}"), 0);
	for (int i = 0; i < 1000 && !err; i++)
		err = append(s, i % 2 ? RECORD_EVENTS : RECORD_SIP, text);
	assert_int_equal(err, -ENOBUFS);
	assert_in_range(space.used, 4 * 2000 - 200, 4 * 2000 + 4);
	assert_int_equal(spool_append_finish(s, "{\"f\":1}"), 0);
	assert_string_equal(spool_finish(s), "{\"f\":1}");
	/* the same after the spool is opened again */
	spool_free(s);
	assert_int_equal(space.used, 0);
	assert_int_equal(spool_open(&s, temp.dir, "full", &space), 0);
	assert_string_equal(spool_finish(s), "{\"f\":1}");
	assert_int_equal(append(s, RECORD_EVENTS, text), -ENOBUFS);
	spool_remove(s);
	assert_int_equal(space.used, 0);
}

static void test_spool_overflow_drops_statistics_only(void **state)
{
	struct spool_space space = {.limit = 2000};
	struct spool *s = NULL, *other = NULL;
	char text[500];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(spool_create(&s, temp.dir, "full", &space, "{}"), 0);
	assert_int_equal(spool_create(&other, temp.dir, "full-2", &space, "{}"),
			 0);
	assert_int_equal(append(s, RECORD_STATS, text), 0);
	assert_int_equal(append(other, RECORD_STATS, text), 0);
	assert_int_equal(append(s, RECORD_STATS, text), 0);
	assert_int_equal(append(s, RECORD_STATS, text), -EDQUOT);
	assert_int_equal(append(other, RECORD_STATS, text), -EDQUOT);
	assert_int_equal(spool_last_seq(s), 2); /* the refused record used no
						 * number */
	assert_int_equal(append(s, RECORD_EVENTS, text), 0);
	assert_int_equal(append(s, RECORD_SIP, text), 0);
	assert_int_equal(spool_append_finish(s, text), 0);
	assert_true(space.used > space.limit);
	spool_remove(s);
	assert_int_equal(append(other, RECORD_STATS, text), 0);
	spool_remove(other);
	assert_int_equal(space.used, 0);
}

/* What a segment begins with is written later, if the disk was full then. */
static void test_spool_disk_full_at_a_segment(void **state)
{
	struct spool_space space = {.limit = 64u << 20};
	struct rlimit before, none;
	struct spool *s = NULL;
	char *text = calloc(1, SEGMENT_TEXT_BYTES);

	(void)state;
	assert_non_null(text);
	memset(text, 'x', SEGMENT_TEXT_BYTES - 1);
	assert_int_equal(
		spool_create(&s, temp.dir, "disk", &space, "{\"m\":1}"), 0);
	assert_int_equal(append(s, RECORD_SIP, text), 0);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	none = (struct rlimit){.rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	assert_int_equal(append(s, RECORD_SIP, "1"), -EFBIG);
	assert_int_equal(append(s, RECORD_SIP, "2"), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(append(s, RECORD_SIP, "3"), 0);
	spool_release(s, 1);
	spool_free(s);
	assert_int_equal(space.used, 0);
	assert_int_equal(spool_open(&s, temp.dir, "disk", &space), 0);
	assert_string_equal(spool_meta(s), "{\"m\":1}");
	assert_int_equal(spool_first_seq(s), 2);
	expect_record(s, 2, RECORD_SIP, "3");
	spool_remove(s);
	free(text);
}

static void test_spool_too_long(void **state)
{
	struct spool_space space = {.limit = 64u << 20};
	struct spool *s = NULL;
	char *text = malloc(SEGMENT_TEXT_BYTES + 2);

	(void)state;
	assert_non_null(text);
	memset(text, 'x', SEGMENT_TEXT_BYTES + 1);
	text[SEGMENT_TEXT_BYTES + 1] = '\0';
	assert_int_equal(spool_create(&s, temp.dir, "long", &space, "{}"), 0);
	assert_int_equal(append(s, RECORD_SIP, text), -EMSGSIZE);
	text[SEGMENT_TEXT_BYTES] = '\0';
	assert_int_equal(append(s, RECORD_SIP, text), 0);
	expect_record(s, 1, RECORD_SIP, text);
	spool_remove(s);
	free(text);
}

static void test_spool_gives_segments_back(void **state)
{
	struct spool_space space = {.limit = 64u << 20};
	struct spool *s = NULL;
	struct record r;
	char *text = malloc(300001);
	uint64_t used;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', 300000);
	text[300000] = '\0';
	assert_int_equal(
		spool_create(&s, temp.dir, "many", &space, "{\"m\":2}"), 0);
	for (int i = 0; i < 40; i++)
		assert_int_equal(append(s, RECORD_SIP, text), 0);
	used = space.used;
	assert_true(used > 12000000);
	expect_record(s, 1, RECORD_SIP, text);
	spool_release(s, 3); /* the first segment holds 1 to 4 */
	assert_int_equal(spool_first_seq(s), 1);
	spool_release(s, 21);
	assert_int_equal(spool_first_seq(s), 21);
	assert_true(space.used < used / 2 + 10000);
	assert_int_equal(spool_read(s, 20, &r), -ENOENT);
	expect_record(s, 21, RECORD_SIP, text);
	expect_record(s, 40, RECORD_SIP, text);
	spool_free(s);
	/* the numbers and the session survive, although all was accepted */
	assert_int_equal(spool_open(&s, temp.dir, "many", &space), 0);
	spool_release(s, 40);
	assert_int_equal(append(s, RECORD_SIP, text), 0);
	spool_free(s);
	assert_int_equal(spool_open(&s, temp.dir, "many", &space), 0);
	assert_int_equal(spool_last_seq(s), 41);
	assert_string_equal(spool_meta(s), "{\"m\":2}");
	spool_remove(s);
	assert_int_equal(space.used, 0);
	free(text);
}

static void test_spool_create_replaces_an_old_one(void **state)
{
	struct spool_space space = {.limit = 1 << 20};
	struct spool *s = NULL;

	(void)state;
	assert_int_equal(spool_create(&s, temp.dir, "old", &space, "{}"), 0);
	fill(s, 5);
	spool_free(s);
	assert_int_equal(spool_create(&s, temp.dir, "old", &space, "{}"), 0);
	assert_int_equal(spool_last_seq(s), 0);
	spool_remove(s);
	assert_int_equal(spool_create(&s, temp.dir, "../x", &space, "{}"),
			 -EINVAL);
}

static void test_spool_nothing_usable(void **state)
{
	struct spool_space space = {.limit = 1 << 20};
	struct spool *s = NULL;
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/empty", temp.dir);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(spool_open(&s, temp.dir, "empty", &space), -ENODATA);
	assert_int_equal(access(path, F_OK), -1);
}

static void test_backoff_windows(void **state)
{
	static const int64_t windows[] = {2000,  4000,  8000,  16000,
					  32000, 60000, 60000, 60000};

	(void)state;
	for (unsigned i = 0; i < sizeof(windows) / sizeof(*windows); i++) {
		assert_int_equal(http_client_backoff_ms(i, 0), 1000);
		assert_int_equal(http_client_backoff_ms(i, UINT32_MAX),
				 windows[i]);
		assert_in_range(http_client_backoff_ms(i, UINT32_MAX / 2),
				(1000 + windows[i]) / 2 - 1,
				(1000 + windows[i]) / 2 + 1);
	}
	/* a very long outage */
	assert_int_equal(http_client_backoff_ms(UINT_MAX, UINT32_MAX), 60000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spool_crc_check_value),
		cmocka_unit_test(test_spool_name),
		cmocka_unit_test(test_spool_survives_reopening),
		cmocka_unit_test(test_spool_cut_at_every_byte),
		cmocka_unit_test(test_spool_every_bit_flipped),
		cmocka_unit_test(test_spool_damage_while_open),
		cmocka_unit_test(test_spool_overflow_drops_statistics_only),
		cmocka_unit_test(test_spool_full_keeps_the_outcome),
		cmocka_unit_test(test_spool_disk_full_at_a_segment),
		cmocka_unit_test(test_spool_too_long),
		cmocka_unit_test(test_spool_gives_segments_back),
		cmocka_unit_test(test_spool_create_replaces_an_old_one),
		cmocka_unit_test(test_spool_nothing_usable),
		cmocka_unit_test(test_backoff_windows),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
