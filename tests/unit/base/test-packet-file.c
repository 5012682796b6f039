/* Capture files: headers of the file, of records and of datagrams. */
#include "base/big_endian.h"
#include "base/clock.h"
#include "base/packet_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_record_read_as_written(void **state)
{
	const struct packet_file_record r = {
		.unix_ns = INT64_C(4294967295) * NS_PER_S + NS_PER_S - 1,
		.captured = 40,
		.bytes = 0x01020304,
	};
	uint8_t bytes[PACKET_FILE_RECORD_BYTES];
	struct packet_file_record read;

	(void)state;
	packet_file_record_write(bytes, &r);
	packet_file_record_read(&read, bytes);
	assert_int_equal(read.unix_ns, r.unix_ns);
	assert_int_equal(read.captured, r.captured);
	assert_int_equal(read.bytes, r.bytes);
	/* little-endian */
	assert_int_equal(bytes[12], 4);
	assert_int_equal(bytes[15], 1);
}

static void test_header_of_another_file(void **state)
{
	uint8_t header[PACKET_FILE_HEADER_BYTES];

	(void)state;
	packet_file_header(header);
	assert_true(packet_file_header_valid(header));
	assert_int_equal(header[0], 0x4d);
	assert_int_equal(header[20], 101);
	header[0] = 0xd4; /* the magic of microseconds */
	assert_false(packet_file_header_valid(header));
}

/* Source: RFC 1071: with its checksum a packet sums up to 0xffff */
static uint32_t sum_all(const uint8_t *data, size_t bytes, uint32_t total)
{
	for (size_t i = 0; i + 1 < bytes; i += 2)
		total += be16(data + i);
	if (bytes % 2)
		total += (uint32_t)data[bytes - 1] << 8;
	while (total >> 16)
		total = (total & 0xffff) + (total >> 16);
	return total;
}

static void test_udp_checksums_of_both_families(void **state)
{
	static const char *const addresses[][2] = {
		{"192.0.2.1:1000", "198.51.100.7:65535"},
		{"[2001:db8::1]:1000", "[2001:db8::2]:65535"},
		{"192.0.2.1:1000", "[2001:db8::2]:65535"},
	};
	const uint8_t data[] = {0x80, 0, 0xff, 0xfe, 7};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		uint8_t packet[PACKET_FILE_UDP_BYTES + sizeof(data)];
		union sockaddr_ip from, to;
		size_t addresses_at = i == 0 ? 12 : 8;
		size_t header;
		uint32_t pseudo;

		assert_int_equal(packet_file_address(&from, addresses[i][0]),
				 0);
		assert_int_equal(packet_file_address(&to, addresses[i][1]), 0);
		header = packet_file_udp(packet, &from, &to, data, sizeof(data),
					 sizeof(data));
		assert_int_equal(header, i == 0 ? 28 : 48);
		memcpy(packet + header, data, sizeof(data));
		pseudo = 17 + 8 + sizeof(data);
		pseudo = sum_all(packet + addresses_at,
				 header - 8 - addresses_at, pseudo);
		assert_int_equal(
			sum_all(packet + header - 8, 8 + sizeof(data), pseudo),
			0xffff);
		assert_int_equal(packet_file_udp_packet(packet),
				 header + sizeof(data));
		if (i == 0)
			assert_int_equal(sum_all(packet, 20, 0), 0xffff);
	}
}

static void test_udp_length_of_a_cut_datagram(void **state)
{
	uint8_t header[PACKET_FILE_UDP_BYTES];
	const uint8_t data[4] = {0};
	union sockaddr_ip from, to;

	(void)state;
	assert_int_equal(packet_file_address(&from, "192.0.2.1:1"), 0);
	assert_int_equal(packet_file_address(&to, "192.0.2.2:2"), 0);
	packet_file_udp(header, &from, &to, data, sizeof(data), 3000);
	assert_int_equal(packet_file_udp_packet(header), 3028);
	assert_int_equal(be16(header + 24), 3008);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_record_read_as_written),
		cmocka_unit_test(test_header_of_another_file),
		cmocka_unit_test(test_udp_checksums_of_both_families),
		cmocka_unit_test(test_udp_length_of_a_cut_datagram),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
