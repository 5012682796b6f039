/*
 * Archives: what was written is read again; sizes above ustar's octal digits;
 * every changed byte is found.
 */
#include "control/server/backup/archive.h"

#include "tests/unit/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#define NOW 1700000000

struct fixture {
	struct temp temp;
	int fd;     /* the archive */
	int source; /* a file to add */
	size_t members;
	char names[4][ARCHIVE_NAME_BYTES];
	int64_t sizes[4];
	char why[256];
};

static int open_file(struct fixture *f, const char *name)
{
	int fd = open(temp_path(&f->temp, name), O_RDWR | O_CREAT, 0600);

	assert_true(fd >= 0);
	return fd;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_true(sodium_init() >= 0);
	temp_make(&f->temp);
	f->fd = open_file(f, "archive");
	f->source = open_file(f, "source");
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	close(f->fd);
	close(f->source);
	temp_remove(&f->temp);
	free(f);
	return 0;
}

static int begin(const struct archive_member *m, int *ret_fd, void *arg)
{
	struct fixture *f = arg;

	(void)ret_fd;
	if (f->members == 4)
		return -E2BIG;
	strcpy(f->names[f->members], m->name);
	f->sizes[f->members++] = m->size;
	return 0;
}

static int end(const struct archive_member *m, int fd, void *arg)
{
	(void)arg;
	assert_int_equal(fd, -1);
	assert_int_equal(strlen(m->hash), 64);
	return 0;
}

static bool stop(void *arg)
{
	return *(bool *)arg;
}

static int read_back(struct fixture *f)
{
	const struct archive_reader r = {.begin = begin, .end = end, .arg = f};

	f->members = 0;
	f->why[0] = '\0';
	assert_int_equal(lseek(f->fd, 0, SEEK_SET), 0);
	return archive_read(f->fd, &r, f->why, sizeof(f->why));
}

static void write_small(struct fixture *f)
{
	static const char text[] = "some content";
	struct archive_writer *w;
	char hash[ARCHIVE_HASH_BYTES];

	assert_int_equal(archive_writer_new(&w, f->fd, NOW, NULL, NULL), 0);
	assert_int_equal(archive_add_text(w, "first", "{}", 2), 0);
	assert_int_equal(write(f->source, text, sizeof(text) - 1),
			 (ssize_t)sizeof(text) - 1);
	assert_int_equal(archive_add(w, "folder/file", f->source, hash), 0);
	/* sha256sum of the text */
	assert_string_equal(hash, "290f493c44f5d63d06b374d0a5abd292fae38b92cab2"
				  "fae5efefe1b0e9347f56");
	assert_int_equal(ftruncate(f->source, 0), 0);
	assert_int_equal(archive_add(w, "empty", f->source, hash), 0);
	assert_int_equal(archive_end(w), 0);
	archive_writer_free(w);
}

static void test_members_are_read_as_written(void **state)
{
	struct fixture *f = *state;

	write_small(f);
	assert_int_equal(read_back(f), 0);
	assert_int_equal(f->members, 3);
	assert_string_equal(f->names[0], "first");
	assert_string_equal(f->names[1], "folder/file");
	assert_string_equal(f->names[2], "empty");
	assert_int_equal(f->sizes[0], 2);
	assert_int_equal(f->sizes[1], 12);
	assert_int_equal(f->sizes[2], 0);
}

static void test_every_bit_matters(void **state)
{
	struct fixture *f = *state;
	off_t size;

	write_small(f);
	size = lseek(f->fd, 0, SEEK_END);
	assert_true(size > 0);
	for (off_t at = 0; at < size; at++) {
		uint8_t was, is;

		assert_int_equal(pread(f->fd, &was, 1, at), 1);
		is = was ^ (uint8_t)(1 << (at % 8));
		assert_int_equal(pwrite(f->fd, &is, 1, at), 1);
		assert_int_equal(read_back(f), -EBADMSG);
		assert_true(f->why[0]);
		assert_int_equal(pwrite(f->fd, &was, 1, at), 1);
	}
	assert_int_equal(read_back(f), 0);
}

static void test_every_length_but_its_own_is_refused(void **state)
{
	struct fixture *f = *state;
	off_t size;

	write_small(f);
	size = lseek(f->fd, 0, SEEK_END);
	assert_int_equal(ftruncate(f->fd, size + 1), 0);
	assert_int_equal(read_back(f), -EBADMSG);
	while (size-- > 0) {
		assert_int_equal(ftruncate(f->fd, size), 0);
		assert_int_equal(read_back(f), -EBADMSG);
		assert_true(f->why[0]);
	}
}

/* A sparse file: its header is written and read, its content is not. */
static void test_sizes_above_eight_gigabytes(void **state)
{
	static const int64_t sizes[] = {INT64_C(077777777777),
					INT64_C(077777777777) + 1,
					INT64_C(1) << 42};
	struct fixture *f = *state;
	struct archive_writer *w;
	char hash[ARCHIVE_HASH_BYTES];
	bool stopped = true;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		const struct archive_reader r = {
			.begin = begin, .end = end, .arg = f};

		assert_int_equal(ftruncate(f->fd, 0), 0);
		assert_int_equal(lseek(f->fd, 0, SEEK_SET), 0);
		if (ftruncate(f->source, sizes[i]))
			skip(); /* a file system without files of this size */
		assert_int_equal(
			archive_writer_new(&w, f->fd, NOW, stop, &stopped), 0);
		assert_int_equal(archive_add(w, "large", f->source, hash),
				 -ECANCELED);
		archive_writer_free(w);
		f->members = 0;
		assert_int_equal(lseek(f->fd, 0, SEEK_SET), 0);
		assert_int_equal(
			archive_read(f->fd, &r, f->why, sizeof(f->why)),
			-EBADMSG);
		assert_string_equal(f->why, "it ends within large");
		assert_int_equal(f->members, 1);
		assert_int_equal(f->sizes[0], sizes[i]);
	}
}

static void test_a_name_that_is_too_long(void **state)
{
	struct fixture *f = *state;
	struct archive_writer *w;
	char name[ARCHIVE_NAME_BYTES + 1];

	memset(name, 'x', sizeof(name));
	name[ARCHIVE_NAME_BYTES] = '\0';
	assert_int_equal(archive_writer_new(&w, f->fd, NOW, NULL, NULL), 0);
	assert_int_equal(archive_add_text(w, name, "", 0), -ENAMETOOLONG);
	name[ARCHIVE_NAME_BYTES - 1] = '\0';
	assert_int_equal(archive_add_text(w, name, "", 0), 0);
	assert_int_equal(archive_end(w), 0);
	archive_writer_free(w);
	assert_int_equal(read_back(f), 0);
	assert_string_equal(f->names[0], name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_members_are_read_as_written, setup, teardown),
		cmocka_unit_test_setup_teardown(test_every_bit_matters, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			test_every_length_but_its_own_is_refused, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_sizes_above_eight_gigabytes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_name_that_is_too_long,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
