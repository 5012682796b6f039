#include "control/server/schedule/zone.h"

#include "base/big_endian.h"
#include "base/str.h"
#include "control/server/schedule/zone_rule.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDER "/usr/share/zoneinfo/"

/* Ceilings: the largest file of tzdata has some 250 changes in 4 kB. */
#define FILE_BYTES_MAX  65536
#define TRANSITIONS_MAX 4096
#define TYPES_MAX       256
#define RULE_BYTES      128
#define HEADER_BYTES    44
#define OFFSET_SANE_S   (26 * 3600)
#define DAY_S           86400

struct zone {
	size_t count;
	int32_t first;    /* offset before the first change */
	int64_t *at;      /* instants of the changes, rising */
	int32_t *offsets; /* from each on */
	bool has_rule;    /* after the last change */
	struct zone_rule rule;
};

struct zone *zone_free(struct zone *z)
{
	if (z) {
		free(z->at);
		free(z->offsets);
		free(z);
	}
	return NULL;
}

/* ---- TZif ---- */

struct counts {
	uint32_t ut, standard, leap, times, types, chars;
};

static int64_t big64(const uint8_t *b)
{
	return (int64_t)((uint64_t)be32(b) << 32 | be32(b + 4));
}

static bool read_header(const uint8_t *bytes, size_t len, struct counts *ret)
{
	if (len < HEADER_BYTES || memcmp(bytes, "TZif", 4) != 0 ||
	    bytes[4] < '2')
		return false;
	*ret = (struct counts){
		.ut = be32(bytes + 20),
		.standard = be32(bytes + 24),
		.leap = be32(bytes + 28),
		.times = be32(bytes + 32),
		.types = be32(bytes + 36),
		.chars = be32(bytes + 40),
	};
	/* with leap seconds ("right/" zones) the times are not POSIX times */
	return ret->ut <= TYPES_MAX && ret->standard <= TYPES_MAX &&
	       ret->leap == 0 && ret->times <= TRANSITIONS_MAX &&
	       ret->types >= 1 && ret->types <= TYPES_MAX &&
	       ret->chars <= FILE_BYTES_MAX;
}

static size_t block_bytes(const struct counts *c, size_t time_bytes)
{
	return (size_t)c->times * (time_bytes + 1) + (size_t)c->types * 6 +
	       c->chars + c->standard + c->ut;
}

/* Times, their types, and the types' offsets. */
static bool read_table(struct zone *z, const uint8_t *block,
		       const struct counts *c)
{
	const uint8_t *kinds = block + (size_t)c->times * 8;
	const uint8_t *types = kinds + c->times;

	z->first = (int32_t)be32(types);
	for (size_t i = 0; i < c->types; i++) {
		int32_t offset = (int32_t)be32(types + 6 * i);

		if (offset < -OFFSET_SANE_S || offset > OFFSET_SANE_S)
			return false;
	}
	for (size_t i = 0; i < c->times; i++) {
		z->at[i] = big64(block + 8 * i);
		if ((i && z->at[i] <= z->at[i - 1]) || kinds[i] >= c->types)
			return false;
		z->offsets[i] = (int32_t)be32(types + 6 * kinds[i]);
	}
	z->count = c->times;
	return true;
}

/* The footer: a line that begins and ends with a newline. */
static bool read_rule(struct zone *z, const uint8_t *footer, size_t len)
{
	char text[RULE_BYTES];
	const uint8_t *end;

	if (len < 2 || footer[0] != '\n')
		return false;
	end = memchr(footer + 1, '\n', len - 1);
	if (!end || (size_t)(end - footer) > sizeof(text))
		return false;
	len = (size_t)(end - footer - 1);
	memcpy(text, footer + 1, len);
	text[len] = '\0';
	z->has_rule = text[0];
	return !z->has_rule || zone_rule_parse(&z->rule, text) == 0;
}

int zone_parse(struct zone **ret, const uint8_t *bytes, size_t len)
{
	struct counts c;
	struct zone *z;
	size_t skip;

	if (!read_header(bytes, len, &c))
		return -EBADMSG;
	skip = HEADER_BYTES + block_bytes(&c, 4);
	if (skip > len || !read_header(bytes + skip, len - skip, &c))
		return -EBADMSG;
	skip += HEADER_BYTES;
	if (block_bytes(&c, 8) > len - skip)
		return -EBADMSG;
	z = calloc(1, sizeof(*z));
	if (!z)
		return -ENOMEM;
	z->at = calloc(c.times + 1, sizeof(*z->at));
	z->offsets = calloc(c.times + 1, sizeof(*z->offsets));
	if (!z->at || !z->offsets) {
		zone_free(z);
		return -ENOMEM;
	}
	if (!read_table(z, bytes + skip, &c) ||
	    !read_rule(z, bytes + skip + block_bytes(&c, 8),
		       len - skip - block_bytes(&c, 8))) {
		zone_free(z);
		return -EBADMSG;
	}
	*ret = z;
	return 0;
}

/* ---- files ---- */

/* Names stay within the folder: letters, digits, and "_", "-", "+" between
 * single slashes. */
static bool is_name(const char *name)
{
	size_t len = strlen(name);

	if (!len || len >= ZONE_NAME_BYTES || !isalpha((unsigned char)name[0]))
		return false;
	for (const char *c = name; *c; c++) {
		if (*c == '/' && (c[1] == '/' || !c[1]))
			return false;
		if (!isalnum((unsigned char)*c) && !strchr("_-+/", *c))
			return false;
	}
	return true;
}

static int read_file(const char *path, uint8_t *bytes, size_t size,
		     size_t *ret_len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t len = 0;
	ssize_t got = 1;
	int err;

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? -ENOENT : -EIO;
	while (len < size && (got = read(fd, bytes + len, size - len)) > 0)
		len += (size_t)got;
	err = got < 0 ? -errno : 0;
	close(fd);
	if (err) /* a folder, such as "Europe" */
		return err == -EISDIR ? -ENOENT : -EIO;
	*ret_len = len;
	return 0;
}

int zone_load(struct zone **ret, const char *name)
{
	char path[sizeof(FOLDER) + ZONE_NAME_BYTES];
	uint8_t *bytes;
	size_t len;
	int err;

	if (!is_name(name))
		return -EINVAL;
	if (strcmp(name, "UTC") == 0) {
		*ret = calloc(1, sizeof(**ret));
		return *ret ? 0 : -ENOMEM;
	}
	str_print(path, sizeof(path), FOLDER "%s", name);
	bytes = malloc(FILE_BYTES_MAX);
	if (!bytes)
		return -ENOMEM;
	err = read_file(path, bytes, FILE_BYTES_MAX, &len);
	if (!err)
		err = zone_parse(ret, bytes, len);
	free(bytes);
	return err;
}

/* ---- times ---- */

int32_t zone_offset(const struct zone *z, int64_t utc_s)
{
	size_t low = 0, high = z->count; /* changes up to low are over */

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (z->at[middle] <= utc_s)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == z->count && z->has_rule)
		return zone_rule_offset(&z->rule, utc_s);
	return low ? z->offsets[low - 1] : z->first;
}

/* Find the first instant at which the offset differs from that at `low`. */
static int64_t change_between(const struct zone *z, int64_t low, int64_t high)
{
	int32_t before = zone_offset(z, low);

	while (high - low > 1) {
		int64_t middle = low + (high - low) / 2;

		if (zone_offset(z, middle) == before)
			low = middle;
		else
			high = middle;
	}
	return high;
}

unsigned zone_instants(const struct zone *z, int64_t local_s, int64_t ret[2])
{
	int32_t before = zone_offset(z, local_s - DAY_S);
	int32_t after = zone_offset(z, local_s + DAY_S);
	int64_t early = local_s - before, late = local_s - after;
	unsigned count = 0;

	if (zone_offset(z, early) == before)
		ret[count++] = early;
	if (before != after && zone_offset(z, late) == after)
		ret[count++] = late;
	if (!count)
		ret[0] = change_between(z, late, early);
	return count;
}
