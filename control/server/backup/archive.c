#include "control/server/backup/archive.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/str.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_BYTES 512 /* ustar: header and content are padded to it */
#define READ_BYTES  (256 * BLOCK_BYTES)
#define SUMS_NAME   "SHA256SUMS"

/* Ceiling of SHA256SUMS: more than ten million files. */
#define SUMS_BYTES ((size_t)2 << 30)

/* Largest size that the 11 octal digits of ustar hold. */
#define OCTAL_MAX INT64_C(077777777777)

/* The header of a member. The fields are those of POSIX.1-2017. */
struct header {
	char name[100];
	char mode[8];
	char uid[8];
	char gid[8];
	char size[12];
	char mtime[12];
	char checksum[8];
	char typeflag;
	char linkname[100];
	char magic[6];
	char version[2];
	char uname[32];
	char gname[32];
	char devmajor[8];
	char devminor[8];
	char prefix[155];
	char unused[12];
};
_Static_assert(sizeof(struct header) == BLOCK_BYTES, "a header is a block");

static void octal(char *dst, size_t digits, uint64_t value)
{
	dst[digits] = '\0';
	while (digits-- > 0) {
		dst[digits] = (char)('0' + (value & 7));
		value >>= 3;
	}
}

/* A size above the octal digits is a binary number, as GNU tar and pax write
 * it: the first bit is set. */
static void set_size(struct header *h, int64_t size)
{
	if (size <= OCTAL_MAX) {
		octal(h->size, sizeof(h->size) - 1, (uint64_t)size);
		return;
	}
	memset(h->size, 0, sizeof(h->size));
	for (size_t i = 0; i < 8; i++)
		h->size[sizeof(h->size) - 1 - i] = (char)(size >> (8 * i));
	h->size[0] = (char)0x80;
}

static int64_t get_number(const char *field, size_t digits)
{
	int64_t value = 0;

	if (field[0] == (char)0x80) {
		for (size_t i = 4; i <= digits; i++)
			value = (int64_t)(((uint64_t)value << 8) |
					  (uint8_t)field[i]);
		return value;
	}
	for (size_t i = 0; i < digits; i++) {
		if (field[i] < '0' || field[i] > '7')
			return -1;
		value = value * 8 + (field[i] - '0');
	}
	return value;
}

static void make_header(struct header *h, const char *name, int64_t size,
			int64_t mtime)
{
	const uint8_t *bytes = (const uint8_t *)h;
	unsigned sum = 0;

	memset(h, 0, sizeof(*h));
	memcpy(h->name, name, strnlen(name, sizeof(h->name)));
	octal(h->mode, sizeof(h->mode) - 1, 0600);
	octal(h->uid, sizeof(h->uid) - 1, 0);
	octal(h->gid, sizeof(h->gid) - 1, 0);
	set_size(h, size);
	octal(h->mtime, sizeof(h->mtime) - 1, (uint64_t)mtime);
	h->typeflag = '0';
	memcpy(h->magic, "ustar", 6);
	memcpy(h->version, "00", 2);
	/* the sum is computed with blanks in its place */
	memset(h->checksum, ' ', sizeof(h->checksum));
	for (size_t i = 0; i < sizeof(*h); i++)
		sum += bytes[i];
	octal(h->checksum, 6, sum);
}

static size_t padding(int64_t size)
{
	return (size_t)(-size & (BLOCK_BYTES - 1));
}

static void finish_hash(crypto_hash_sha256_state *state,
			char hash[static ARCHIVE_HASH_BYTES])
{
	uint8_t raw[crypto_hash_sha256_BYTES];

	crypto_hash_sha256_final(state, raw);
	sodium_bin2hex(hash, ARCHIVE_HASH_BYTES, raw, sizeof(raw));
}

static int add_sum(struct buf *sums, const char *hash, const char *name)
{
	return buf_texts(sums, hash, "  ", name, "\n", NULL);
}

/* ---- writing ---- */

struct archive_writer {
	int fd;
	int64_t now_s;
	archive_stop_h *stop_h;
	void *arg;
	struct buf sums;
	uint8_t bytes[READ_BYTES];
};

int archive_writer_new(struct archive_writer **ret, int fd, int64_t now_s,
		       archive_stop_h *stop_h, void *arg)
{
	struct archive_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->fd = fd;
	w->now_s = now_s;
	w->stop_h = stop_h;
	w->arg = arg;
	buf_init(&w->sums, SUMS_BYTES);
	*ret = w;
	return 0;
}

struct archive_writer *archive_writer_free(struct archive_writer *w)
{
	if (w)
		buf_release(&w->sums);
	free(w);
	return NULL;
}

static int write_header(struct archive_writer *w, const char *name,
			int64_t size)
{
	struct header h;

	if (strlen(name) >= ARCHIVE_NAME_BYTES)
		return -ENAMETOOLONG;
	make_header(&h, name, size, w->now_s);
	return file_write(w->fd, &h, sizeof(h));
}

static int write_padding(struct archive_writer *w, int64_t size)
{
	static const uint8_t zeros[BLOCK_BYTES];

	return file_write(w->fd, zeros, padding(size));
}

/* @return bytes read, 0 at the end; -errno */
static ssize_t read_some(int fd, void *bytes, size_t size)
{
	ssize_t got;

	do
		got = read(fd, bytes, size);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

static size_t at_most(int64_t left, size_t size)
{
	return left < (int64_t)size ? (size_t)left : size;
}

static int write_content(struct archive_writer *w, int source, int64_t size,
			 crypto_hash_sha256_state *state)
{
	int64_t left = size;
	int err = 0;

	while (left > 0 && err == 0) {
		ssize_t got = read_some(source, w->bytes,
					at_most(left, sizeof(w->bytes)));

		if (got <= 0)
			return got < 0 ? (int)got : -EAGAIN;
		if (w->stop_h && w->stop_h(w->arg))
			return -ECANCELED;
		crypto_hash_sha256_update(state, w->bytes, (size_t)got);
		err = file_write(w->fd, w->bytes, (size_t)got);
		left -= got;
	}
	return err;
}

int archive_add(struct archive_writer *w, const char *name, int source,
		char hash[static ARCHIVE_HASH_BYTES])
{
	crypto_hash_sha256_state state;
	struct stat st;
	int err;

	if (fstat(source, &st) || lseek(source, 0, SEEK_SET))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	crypto_hash_sha256_init(&state);
	err = write_header(w, name, st.st_size);
	if (err == 0)
		err = write_content(w, source, st.st_size, &state);
	if (err == 0)
		err = write_padding(w, st.st_size);
	if (err)
		return err;
	finish_hash(&state, hash);
	return add_sum(&w->sums, hash, name);
}

static int write_text(struct archive_writer *w, const char *name,
		      const char *text, size_t len)
{
	int err = write_header(w, name, (int64_t)len);

	if (err == 0)
		err = file_write(w->fd, text, len);
	return err ? err : write_padding(w, (int64_t)len);
}

int archive_add_text(struct archive_writer *w, const char *name,
		     const char *text, size_t len)
{
	char hash[ARCHIVE_HASH_BYTES];
	crypto_hash_sha256_state state;
	int err = write_text(w, name, text, len);

	if (err)
		return err;
	crypto_hash_sha256_init(&state);
	crypto_hash_sha256_update(&state, (const uint8_t *)text, len);
	finish_hash(&state, hash);
	return add_sum(&w->sums, hash, name);
}

int archive_end(struct archive_writer *w)
{
	/* two blocks of zeros end an archive */
	static const uint8_t end[2 * BLOCK_BYTES];
	int err = write_text(w, SUMS_NAME, w->sums.data, w->sums.used);

	return err ? err : file_write(w->fd, end, sizeof(end));
}

/* ---- reading ---- */

struct reading {
	int fd;
	const struct archive_reader *r;
	char *why;
	size_t why_size;
	struct buf sums;
	uint8_t bytes[READ_BYTES];
};

static int damaged(struct reading *g, const char *before, const char *name,
		   const char *behind)
{
	str_join(g->why, g->why_size, before, name, behind, NULL);
	return -EBADMSG;
}

/* @return bytes read: fewer than asked for only at the end; -errno */
static ssize_t read_full(int fd, void *bytes, size_t size)
{
	size_t used = 0;

	while (used < size) {
		ssize_t got =
			read_some(fd, (uint8_t *)bytes + used, size - used);

		if (got < 0)
			return got;
		if (got == 0)
			break;
		used += (size_t)got;
	}
	return (ssize_t)used;
}

static bool all_zero(const void *bytes, size_t len)
{
	return sodium_is_zero(bytes, len) == 1;
}

static int read_header(struct reading *g, struct archive_member *m)
{
	struct header h, own;
	ssize_t got = read_full(g->fd, &h, sizeof(h));
	int64_t mtime;

	if (got < 0)
		return (int)got;
	if (got < (ssize_t)sizeof(h))
		return damaged(g, "it ends before its list of hashes, ",
			       SUMS_NAME, "");
	m->size = get_number(h.size, sizeof(h.size) - 1);
	mtime = get_number(h.mtime, sizeof(h.mtime) - 1);
	if (m->size < 0 || mtime < 0 || h.name[0] == '\0' ||
	    memchr(h.name, '\0', sizeof(h.name)) == NULL)
		return damaged(g, "",
			       "it is no backup, or a header in it is "
			       "damaged",
			       "");
	memcpy(m->name, h.name, sizeof(m->name));
	make_header(&own, m->name, m->size, mtime);
	if (memcmp(&h, &own, sizeof(h)) != 0)
		return damaged(g, "",
			       "it is no backup, or a header in it is "
			       "damaged",
			       "");
	return 0;
}

static int read_padding(struct reading *g, const struct archive_member *m)
{
	uint8_t zeros[BLOCK_BYTES];
	const size_t len = padding(m->size);
	ssize_t got = read_full(g->fd, zeros, len);

	if (got < 0)
		return (int)got;
	if (got < (ssize_t)len)
		return damaged(g, "it ends within ", m->name, "");
	return all_zero(zeros, len)
		       ? 0
		       : damaged(g, "it is damaged behind ", m->name, "");
}

static int read_content(struct reading *g, struct archive_member *m, int out)
{
	crypto_hash_sha256_state state;
	int64_t left = m->size;
	int err = 0;

	crypto_hash_sha256_init(&state);
	while (left > 0 && err == 0) {
		ssize_t got = read_some(g->fd, g->bytes,
					at_most(left, sizeof(g->bytes)));

		if (got < 0)
			return (int)got;
		if (got == 0)
			return damaged(g, "it ends within ", m->name, "");
		if (g->r->stop_h && g->r->stop_h(g->r->arg))
			return -ECANCELED;
		crypto_hash_sha256_update(&state, g->bytes, (size_t)got);
		if (out >= 0)
			err = file_write(out, g->bytes, (size_t)got);
		left -= got;
	}
	if (err)
		return err;
	finish_hash(&state, m->hash);
	return read_padding(g, m);
}

static int read_member(struct reading *g, struct archive_member *m)
{
	int out = -1;
	int err = g->r->begin(m, &out, g->r->arg);

	if (err == 0)
		err = read_content(g, m, out);
	if (err == 0)
		err = add_sum(&g->sums, m->hash, m->name);
	if (err == 0)
		err = g->r->end(m, out, g->r->arg);
	return err;
}

/* Name the first member whose line is another one than computed. */
static int compare_sums(struct reading *g, const char *stored)
{
	char name[ARCHIVE_NAME_BYTES] = SUMS_NAME;
	size_t at = 0, line = 0, len;

	if (memcmp(stored, g->sums.data, g->sums.used) == 0)
		return 0;
	for (; stored[at] == g->sums.data[at]; at++)
		if (stored[at] == '\n')
			line = at + 1;
	line += ARCHIVE_HASH_BYTES - 1 + 2; /* "HASH  " */
	len = strcspn(&g->sums.data[line], "\n");
	if (len < sizeof(name)) {
		memcpy(name, &g->sums.data[line], len);
		name[len] = '\0';
	}
	return damaged(g, "the content of ", name,
		       " is not what its hash says");
}

/* The list of hashes and the end, which nothing may follow. */
static int read_end(struct reading *g, const struct archive_member *m)
{
	uint8_t end[2 * BLOCK_BYTES + 1];
	char *stored;
	ssize_t got;
	int err;

	if ((size_t)m->size != g->sums.used || m->size == 0)
		return damaged(g,
			       "members are missing or too many: ", SUMS_NAME,
			       " has another length");
	stored = malloc(g->sums.used);
	if (!stored)
		return -ENOMEM;
	got = read_full(g->fd, stored, g->sums.used);
	if (got < 0)
		err = (int)got;
	else if ((size_t)got < g->sums.used)
		err = damaged(g, "it ends within ", SUMS_NAME, "");
	else
		err = compare_sums(g, stored);
	free(stored);
	if (err == 0)
		err = read_padding(g, m);
	if (err)
		return err;
	got = read_full(g->fd, end, sizeof(end));
	if (got < 0)
		return (int)got;
	if (got != sizeof(end) - 1 || !all_zero(end, sizeof(end) - 1))
		return damaged(g, "its end is damaged, behind ", SUMS_NAME, "");
	return 0;
}

int archive_read(int fd, const struct archive_reader *r, char *why,
		 size_t why_size)
{
	struct archive_member m;
	struct reading *g;
	bool last = false;
	int err = 0;

	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->fd = fd;
	g->r = r;
	g->why = why;
	g->why_size = why_size;
	buf_init(&g->sums, SUMS_BYTES);
	while (err == 0 && !last) {
		err = read_header(g, &m);
		last = err == 0 && strcmp(m.name, SUMS_NAME) == 0;
		if (err == 0)
			err = last ? read_end(g, &m) : read_member(g, &m);
	}
	buf_release(&g->sums);
	free(g);
	return err;
}

int archive_hash_file(int fd, char hash[static ARCHIVE_HASH_BYTES],
		      int64_t *ret_size)
{
	crypto_hash_sha256_state state;
	uint8_t bytes[64 * 1024];
	int64_t size = 0;
	ssize_t got;

	crypto_hash_sha256_init(&state);
	while ((got = read_some(fd, bytes, sizeof(bytes))) > 0) {
		crypto_hash_sha256_update(&state, bytes, (size_t)got);
		size += got;
	}
	if (got < 0)
		return (int)got;
	finish_hash(&state, hash);
	*ret_size = size;
	return 0;
}
