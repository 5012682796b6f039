/* The capture file of an engine: what is in it, in which order, and what is told
 * of the rest. */
#include "base/clock.h"
#include "base/packet_file.h"
#include "media/capture/packet_capture.h"
#include "media/packet_copy.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define RTP_BYTES  172
#define IPV4_BYTES 28 /* with UDP */

static char path[] = "/tmp/test-capture-XXXXXX";

static struct media_addr address(const char *text)
{
	struct media_addr a = {.len = sizeof(struct sockaddr_in)};

	assert_int_equal(packet_file_address(&a.ss, text), 0);
	return a;
}

static struct packet_copies copies(const struct packet_capture *c,
				   enum packet_capture_from from)
{
	return (struct packet_copies){
		.ring = packet_capture_ring(c, from),
		.local = {address("192.0.2.1:4000"), address("192.0.2.1:4001")},
	};
}

/* Copy a packet whose bytes are the number. */
static void put(const struct packet_copies *to, uint8_t number, int64_t mono_ns,
		bool sent, bool rtcp)
{
	const struct media_addr peer = address("198.51.100.7:5000");
	uint8_t data[RTP_BYTES];
	const struct packet_copy p = {
		.mono_ns = mono_ns,
		.sent = sent,
		.rtcp = rtcp,
		.socket = rtcp ? SOCKET_RTCP : SOCKET_RTP,
		.peer = &peer,
		.data = data,
		.captured = sizeof(data),
		.bytes = sizeof(data),
	};

	memset(data, number, sizeof(data));
	data[0] = 0x80;
	packet_copy(to, &p);
}

static struct packet_capture *begin(uint64_t bytes_max, size_t ring_bytes,
				    int64_t wall_offset_ns)
{
	const struct media_capture_params params = {
		.path = path,
		.bytes_max = bytes_max,
		.wall_offset_ns = wall_offset_ns,
	};
	struct packet_capture *c;

	assert_int_equal(packet_capture_new(&c, &params, ring_bytes), 0);
	return c;
}

struct packet {
	struct packet_file_record record;
	uint8_t data[512];
};

/* Read the file. @return packets */
static size_t read_all(struct packet *ret, size_t max)
{
	uint8_t header[PACKET_FILE_HEADER_BYTES];
	uint8_t record[PACKET_FILE_RECORD_BYTES];
	FILE *in = fopen(path, "r");
	size_t count = 0;

	assert_non_null(in);
	assert_int_equal(fread(header, sizeof(header), 1, in), 1);
	assert_true(packet_file_header_valid(header));
	while (count < max && fread(record, sizeof(record), 1, in) == 1) {
		struct packet *p = &ret[count++];

		packet_file_record_read(&p->record, record);
		assert_true(p->record.captured <= sizeof(p->data));
		assert_int_equal(fread(p->data, p->record.captured, 1, in), 1);
	}
	assert_int_equal(fgetc(in), EOF);
	fclose(in);
	return count;
}

static int file_make(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int file_remove(void **state)
{
	(void)state;
	return unlink(path);
}

static void test_packets_in_order_of_time(void **state)
{
	const int64_t now_ns = clock_mono_ns(), wall_ns = 1000 * NS_PER_S;
	struct packet_capture *c =
		begin(1 << 20, PAYLOAD_RING_BYTES_MIN, wall_ns);
	struct packet_copies rx = copies(c, PACKET_CAPTURE_RX);
	struct packet_copies tx = copies(c, PACKET_CAPTURE_TX);
	struct media_captured result;
	struct packet p[8];

	(void)state;
	/* in the future: all of them wait in one batch */
	put(&rx, 4, now_ns + 4 * NS_PER_S, false, false);
	put(&rx, 1, now_ns + 1 * NS_PER_S, false, false);
	put(&tx, 3, now_ns + 3 * NS_PER_S, true, false);
	put(&tx, 2, now_ns + 2 * NS_PER_S, true, true);
	packet_capture_end(c, &result);
	assert_int_equal(result.packets, 4);
	assert_int_equal(result.unwritten + result.dropped, 0);
	assert_int_equal(result.err, 0);
	assert_false(result.full);
	assert_int_equal(read_all(p, 8), 4);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(p[i].record.unix_ns,
				 now_ns + (i + 1) * NS_PER_S + wall_ns);
		assert_int_equal(p[i].data[IPV4_BYTES + 1], i + 1);
		assert_int_equal(p[i].record.bytes, IPV4_BYTES + RTP_BYTES);
	}
	/* of RTP the header, of RTCP all */
	assert_int_equal(p[0].record.captured, IPV4_BYTES + 12);
	assert_int_equal(p[1].record.captured, IPV4_BYTES + RTP_BYTES);
	/* received, then sent: source and destination port */
	assert_memory_equal(p[0].data + 20, "\x13\x88\x0f\xa0", 4);
	assert_memory_equal(p[1].data + 20, "\x0f\xa1\x13\x88", 4);
	packet_capture_free(c);
}

static void test_payload_where_it_is_wanted(void **state)
{
	struct packet_capture *c = begin(1 << 20, PAYLOAD_RING_BYTES_MIN, 0);
	struct packet_copies rx = copies(c, PACKET_CAPTURE_RX);
	struct media_captured result;
	struct packet p;

	(void)state;
	rx.whole = true;
	put(&rx, 9, 1, false, false);
	packet_capture_end(c, &result);
	assert_int_equal(read_all(&p, 1), 1);
	assert_int_equal(p.record.captured, IPV4_BYTES + RTP_BYTES);
	assert_int_equal(p.data[IPV4_BYTES + RTP_BYTES - 1], 9);
	packet_capture_free(c);
}

static void test_limit_leaves_the_beginning(void **state)
{
	const uint64_t of_one = PACKET_FILE_RECORD_BYTES + IPV4_BYTES + 12;
	struct packet_capture *c = begin(PACKET_FILE_HEADER_BYTES + 3 * of_one,
					 PAYLOAD_RING_BYTES_MIN, 0);
	struct packet_copies rx = copies(c, PACKET_CAPTURE_RX);
	struct media_captured result;
	struct packet p[8];

	(void)state;
	for (uint8_t i = 0; i < 5; i++)
		put(&rx, i, i + 1, false, false);
	packet_capture_end(c, &result);
	assert_true(result.full);
	assert_int_equal(result.packets, 3);
	assert_int_equal(result.unwritten, 2);
	assert_int_equal(read_all(p, 8), 3);
	assert_int_equal(p[2].data[IPV4_BYTES + 1], 2);
	packet_capture_free(c);
}

static void test_full_queue_is_counted(void **state)
{
	struct packet_capture *c = begin(64 << 20, PAYLOAD_RING_BYTES_MIN, 0);
	struct packet_copies rx = copies(c, PACKET_CAPTURE_RX);
	struct media_captured result;
	const unsigned count = 200000;

	(void)state;
	/* faster than the writer, which looks once in 20 ms */
	rx.whole = true;
	for (unsigned i = 0; i < count; i++)
		put(&rx, 0, i + 1, false, false);
	packet_capture_end(c, &result);
	assert_true(result.dropped > 0);
	assert_int_equal(result.packets + result.dropped, count);
	packet_capture_free(c);
}

static void test_disk_full_is_reported(void **state)
{
	const struct media_capture_params params = {
		.path = "/dev/full",
		.bytes_max = 1 << 20,
	};
	struct packet_capture *c;
	struct packet_copies rx;
	struct media_captured result;

	(void)state;
	assert_int_equal(
		packet_capture_new(&c, &params, PAYLOAD_RING_BYTES_MIN), 0);
	rx = copies(c, PACKET_CAPTURE_RX);
	put(&rx, 1, 1, false, false);
	packet_capture_end(c, &result);
	assert_int_equal(result.err, -ENOSPC);
	packet_capture_free(c);
}

static void test_file_that_cannot_be_made(void **state)
{
	const struct media_capture_params params = {
		.path = "/nowhere/file",
		.bytes_max = 1 << 20,
	};
	struct packet_capture *c;
	struct packet_copies rx;
	struct media_captured result;

	(void)state;
	assert_int_equal(
		packet_capture_new(&c, &params, PAYLOAD_RING_BYTES_MIN), 0);
	rx = copies(c, PACKET_CAPTURE_RX);
	put(&rx, 1, 1, false, false);
	packet_capture_end(c, &result);
	assert_int_equal(result.err, -ENOENT);
	assert_int_equal(result.packets, 0);
	assert_int_equal(result.unwritten, 1);
	packet_capture_free(c);
}

static void test_rtp_headers_with_csrcs_and_extension(void **state)
{
	uint8_t data[64] = {0x80};

	(void)state;
	assert_int_equal(packet_copy_rtp_header(data, 64), 12);
	data[0] = 0x82; /* two CSRCs */
	assert_int_equal(packet_copy_rtp_header(data, 64), 20);
	data[0] = 0x92; /* and an extension of 3 words */
	data[23] = 3;
	assert_int_equal(packet_copy_rtp_header(data, 64), 36);
	/* cut, or longer than the packet */
	assert_int_equal(packet_copy_rtp_header(data, 22), 20);
	assert_int_equal(packet_copy_rtp_header(data, 30), 30);
	assert_int_equal(packet_copy_rtp_header(data, 5), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packets_in_order_of_time),
		cmocka_unit_test(test_payload_where_it_is_wanted),
		cmocka_unit_test(test_limit_leaves_the_beginning),
		cmocka_unit_test(test_full_queue_is_counted),
		cmocka_unit_test(test_disk_full_is_reported),
		cmocka_unit_test(test_file_that_cannot_be_made),
		cmocka_unit_test(test_rtp_headers_with_csrcs_and_extension),
	};

	return cmocka_run_group_tests(tests, file_make, file_remove);
}
