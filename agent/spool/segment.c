#include "agent/spool/segment.h"

#include "base/file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CRC_AT  4u /* offset of the CRC; it covers all from BODY_AT on */
#define SEQ_AT  8u
#define KIND_AT 16u

uint32_t segment_crc(const void *data, size_t len)
{
	/* one nibble a step: a table of 64 bytes, fast enough for some MB/s */
	static const uint32_t table[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
		0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
		0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
		0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};
	const uint8_t *bytes = data;
	uint32_t crc = 0xffffffff;

	for (size_t i = 0; i < len; i++) {
		crc ^= bytes[i];
		crc = (crc >> 4) ^ table[crc & 15];
		crc = (crc >> 4) ^ table[crc & 15];
	}
	return ~crc;
}

static void put_le(uint8_t *at, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get_le(const uint8_t *at, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)at[i] << (8 * i);
	return value;
}

int segment_append(int fd, uint64_t *end, const struct record *record)
{
	size_t len = SEGMENT_HEADER_BYTES + record->len;
	uint8_t *frame;
	int err;

	if (record->len > SEGMENT_TEXT_BYTES)
		return -EMSGSIZE;
	frame = malloc(len);
	if (!frame)
		return -ENOMEM;
	put_le(frame, record->len, 4);
	put_le(frame + SEQ_AT, record->seq, 8);
	put_le(frame + KIND_AT, record->kind, 4);
	memcpy(frame + SEGMENT_HEADER_BYTES, record->text, record->len);
	put_le(frame + CRC_AT, segment_crc(frame + SEQ_AT, len - SEQ_AT), 4);
	err = file_write(fd, frame, len);
	free(frame);
	if (err == 0)
		*end += len;
	else if (ftruncate(fd, (off_t)*end) != 0)
		return err; /* a reader stops at the torn record */
	return err;
}

/* @return bytes read, less than len at the end of the file; -errno */
static ssize_t read_at(int fd, void *data, size_t len, uint64_t at)
{
	size_t used = 0;

	while (used < len) {
		ssize_t n = pread(fd, (char *)data + used, len - used,
				  (off_t)(at + used));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		used += (size_t)n;
	}
	return (ssize_t)used;
}

int segment_read(int fd, uint64_t at, struct record *ret, uint64_t *ret_next)
{
	uint8_t header[SEGMENT_HEADER_BYTES], *frame;
	ssize_t n = read_at(fd, header, sizeof(header), at);
	size_t len, behind_crc;
	uint64_t kind;

	if (n <= 0)
		return (int)n;
	if ((size_t)n < sizeof(header))
		return -EBADMSG;
	len = (size_t)get_le(header, 4);
	kind = get_le(header + KIND_AT, 4);
	if (len > SEGMENT_TEXT_BYTES || kind < RECORD_META ||
	    kind > RECORD_FINISH)
		return -EBADMSG;
	behind_crc = sizeof(header) - SEQ_AT + len;
	frame = malloc(behind_crc + 1);
	if (!frame)
		return -ENOMEM;
	n = read_at(fd, frame, behind_crc, at + SEQ_AT);
	if (n < 0 || (size_t)n < behind_crc ||
	    segment_crc(frame, behind_crc) != get_le(header + CRC_AT, 4)) {
		free(frame);
		return n < 0 ? (int)n : -EBADMSG;
	}
	ret->kind = (enum record_kind)kind;
	ret->seq = get_le(header + SEQ_AT, 8);
	ret->len = len;
	memmove(frame, frame + sizeof(header) - SEQ_AT, len);
	frame[len] = '\0';
	ret->text = (char *)frame;
	*ret_next = at + sizeof(header) + len;
	return 1;
}
