/* rtp.pcap of an agent, merged with a file that is good. */
#include "base/packet_file.h"
#include "control/server/report/packet_merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

struct seen {
	size_t packets;
	uint8_t sum;
};

static int take(const char *role, const struct packet_file_record *record,
		const void *data, void *arg)
{
	struct seen *s = arg;

	/* every byte that is handed out is there */
	for (size_t i = 0; i < record->captured; i++)
		s->sum ^= ((const uint8_t *)data)[i];
	if (record->captured > record->bytes || !role[0])
		abort();
	s->packets++;
	return 0;
}

static void add(struct packet_merge *m, const char *role, const void *data,
		size_t bytes)
{
	int fd = memfd_create(role, MFD_CLOEXEC);
	char path[64];

	if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (packet_merge_add(m, role, path))
		abort();
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	uint8_t good[PACKET_FILE_HEADER_BYTES + PACKET_FILE_RECORD_BYTES + 1] =
		{0};
	const struct packet_file_record r = {
		.unix_ns = 1,
		.captured = 1,
		.bytes = 9,
	};
	struct packet_merge *m;
	struct seen s = {0};

	packet_file_header(good);
	packet_file_record_write(good + PACKET_FILE_HEADER_BYTES, &r);
	if (packet_merge_new(&m))
		return 0;
	add(m, "callee", good, sizeof(good));
	add(m, "caller", data, bytes);
	if (packet_merge_until(m, 0, take, &s) ||
	    packet_merge_until(m, INT64_MAX, take, &s) || s.packets == 0)
		abort(); /* the good file is not affected */
	packet_merge_free(m);
	return 0;
}
