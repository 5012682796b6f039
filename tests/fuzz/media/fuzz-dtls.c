/*
 * Datagrams of a DTLS peer. What reaches the library is one complete record; in
 * epoch 0 a complete handshake message, in order, or a valid ChangeCipherSpec
 * or alert. The first byte is our role; then come datagrams, each after its
 * size (2 bytes).
 */
#include "base/big_endian.h"
#include "media/security/dtls_reassembly.h"
#include "tests/fuzz/check.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	unsigned records;
	unsigned messages;
};

static void record_h(const uint8_t *record, size_t bytes, void *arg)
{
	static const uint8_t whole[3] = {0, 0, 0};
	struct seen *seen = arg;

	check(bytes >= 13 && bytes == 13u + be16(record + 11));
	if (be16(record + 3) > 0)
		return;
	check(be32(record + 7) == seen->records++);
	if (record[0] == 20)
		check(bytes == 14 && record[13] == 1);
	else if (record[0] == 21)
		check(bytes == 15);
	if (record[0] != 22)
		return;
	check(bytes >= 25 && bytes <= 25u + DTLS_MESSAGE_MAX);
	check(be16(record + 17) == seen->messages++);
	check(memcmp(record + 19, whole, 3) == 0);
	check(memcmp(record + 14, record + 22, 3) == 0);
	check(bytes - 25 == ((size_t)record[14] << 16 | be16(record + 15)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen seen = {0, 0};
	struct dtls_reassembly *r;
	bool client = size > 0 && data[0] & 1;

	if (size < 1 || dtls_reassembly_new(&r, client, record_h, &seen))
		return 0;
	for (data++, size--; size > 2;) {
		size_t bytes = be16(data);

		data += 2;
		size -= 2;
		if (bytes > size)
			bytes = size;
		dtls_reassembly_input(r, data, bytes);
		data += bytes;
		size -= bytes;
	}
	check(!dtls_reassembly_refused(r) == !dtls_reassembly_reason(r));
	dtls_reassembly_free(r);
	return 0;
}
