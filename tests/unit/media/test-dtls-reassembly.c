/* Which parts of a DTLS peer's datagrams reach the library. */
#include "media/security/dtls_reassembly.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define GIVEN_MAX 16
#define ROOM      (DTLS_MESSAGE_MAX + 64)

enum {
	CLIENT_HELLO = 1,
	SERVER_HELLO = 2,
	CERTIFICATE = 11,
	SERVER_HELLO_DONE = 14,
	CERTIFICATE_VERIFY = 15,
	CLIENT_KEY_EXCHANGE = 16,
};

struct world {
	struct dtls_reassembly *r;
	uint8_t given[GIVEN_MAX][ROOM];
	size_t bytes[GIVEN_MAX];
	unsigned count;
};

static void record_h(const uint8_t *record, size_t bytes, void *arg)
{
	struct world *w = arg;

	assert_true(w->count < GIVEN_MAX && bytes <= ROOM);
	memcpy(w->given[w->count], record, bytes);
	w->bytes[w->count++] = bytes;
}

static int world_open(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	assert_int_equal(dtls_reassembly_new(&w->r, false, record_h, w), 0);
	*state = w;
	return 0;
}

static int world_close(void **state)
{
	struct world *w = *state;

	dtls_reassembly_free(w->r);
	free(w);
	return 0;
}

/* A fragment of a message whose bytes are its message_seq and their offset. */
struct piece {
	uint8_t type;
	uint8_t seq;
	unsigned length;
	unsigned offset;
	unsigned bytes;
	uint8_t salt; /* not 0: changes the bytes */
};

static void put24(uint8_t *p, unsigned value)
{
	p[0] = (uint8_t)(value >> 16);
	p[1] = (uint8_t)(value >> 8);
	p[2] = (uint8_t)value;
}

static uint8_t body(const struct piece *p, unsigned at)
{
	return (uint8_t)(at * 7 + p->seq + p->salt);
}

static size_t piece_write(uint8_t *dst, const struct piece *p)
{
	memcpy(dst, "\x16\xfe\xfd\0\0\xff\xff\xff\xff\xff\xf0", 11);
	dst[11] = (uint8_t)((p->bytes + 12) >> 8);
	dst[12] = (uint8_t)(p->bytes + 12);
	dst[13] = p->type;
	put24(dst + 14, p->length);
	dst[17] = 0;
	dst[18] = p->seq;
	put24(dst + 19, p->offset);
	put24(dst + 22, p->bytes);
	for (unsigned i = 0; i < p->bytes; i++)
		dst[25 + i] = body(p, p->offset + i);
	return 25 + p->bytes;
}

static void take(struct world *w, const struct piece *p)
{
	uint8_t data[ROOM];

	dtls_reassembly_input(w->r, data, piece_write(data, p));
}

/*
 * The n-th delivered record is this message, whole, with the next sequence
 * number.
 */
static void check_given(const struct world *w, unsigned n, uint8_t type,
			uint8_t seq, unsigned length)
{
	const struct piece p = {type, seq, length, 0, length, 0};
	uint8_t want[ROOM];
	size_t bytes = piece_write(want, &p);

	assert_true(n < w->count);
	put24(want + 5, 0);
	put24(want + 8, n);
	assert_int_equal(w->bytes[n], bytes);
	assert_memory_equal(w->given[n], want, bytes);
}

static void check_refused(const struct world *w, uint64_t count,
			  const char *reason)
{
	assert_int_equal(dtls_reassembly_refused(w->r), count);
	if (count)
		assert_non_null(strstr(dtls_reassembly_reason(w->r), reason));
	else
		assert_null(dtls_reassembly_reason(w->r));
}

static void hello(struct world *w)
{
	take(w, &(struct piece){CLIENT_HELLO, 0, 90, 0, 90, 0});
	check_given(w, 0, CLIENT_HELLO, 0, 90);
}

/*
 * Fragments in any order, some twice, some overlapping, and the next message
 * first. A repeated message is not delivered again.
 */
static void test_fragments_in_any_order(void **state)
{
	struct world *w = *state;

	take(w, &(struct piece){CERTIFICATE, 1, 300, 200, 100, 0});
	take(w, &(struct piece){CERTIFICATE, 1, 300, 0, 150, 0});
	take(w, &(struct piece){CERTIFICATE, 1, 300, 0, 150, 0});
	assert_int_equal(w->count, 0);
	hello(w);
	take(w, &(struct piece){CLIENT_KEY_EXCHANGE, 2, 66, 0, 66, 0});
	assert_int_equal(w->count, 1);
	take(w, &(struct piece){CERTIFICATE, 1, 300, 140, 70, 0});
	assert_int_equal(w->count, 3);
	check_given(w, 1, CERTIFICATE, 1, 300);
	check_given(w, 2, CLIENT_KEY_EXCHANGE, 2, 66);
	take(w, &(struct piece){CERTIFICATE, 1, 300, 0, 300, 0});
	take(w, &(struct piece){CERTIFICATE_VERIFY, 3, 78, 0, 78, 0});
	check_given(w, 3, CERTIFICATE_VERIFY, 3, 78);
	assert_int_equal(w->count, 4);
	check_refused(w, 0, NULL);
}

/* Several messages in a record, and several records in a datagram. */
static void test_packed(void **state)
{
	struct world *w = *state;
	uint8_t data[ROOM];
	size_t used, more;

	used = piece_write(data,
			   &(struct piece){CLIENT_HELLO, 0, 50, 0, 50, 0});
	more = piece_write(data + used,
			   &(struct piece){CERTIFICATE, 1, 80, 0, 30, 0});
	/* remove the second record's header: both are in the first record */
	memmove(data + used, data + used + 13, more - 13);
	used += more - 13;
	data[12] = (uint8_t)(used - 13);
	used += piece_write(data + used,
			    &(struct piece){CERTIFICATE, 1, 80, 30, 50, 0});
	dtls_reassembly_input(w->r, data, used);
	assert_int_equal(w->count, 2);
	check_given(w, 0, CLIENT_HELLO, 0, 50);
	check_given(w, 1, CERTIFICATE, 1, 80);
	check_refused(w, 0, NULL);
}

/* Contradicting fragments do not suppress the true message. */
static void test_contradictions(void **state)
{
	static const struct piece others[] = {
		{CERTIFICATE, 1, 301, 0, 100, 0}, /* another length */
		{CERTIFICATE, 1, 4000, 0, 100, 0},
		{CERTIFICATE, 1, 300, 0, 100, 9}, /* other bytes */
		{CERTIFICATE, 1, 300, 100, 100, 5},
		{CERTIFICATE_VERIFY, 1, 300, 0, 100, 0}, /* another type */
	};
	struct world *w = *state;

	for (int before = 0; before < 2; before++) {
		for (size_t i = 0; i < sizeof(others) / sizeof(others[0]);
		     i++) {
			dtls_reassembly_free(w->r);
			w->count = 0;
			assert_int_equal(
				dtls_reassembly_new(&w->r, false, record_h, w),
				0);
			if (before)
				take(w, &others[i]);
			hello(w);
			if (!before)
				take(w, &others[i]);
			take(w,
			     &(struct piece){CERTIFICATE, 1, 300, 0, 150, 0});
			take(w,
			     &(struct piece){CERTIFICATE, 1, 300, 150, 150, 0});
			assert_int_equal(w->count, 2);
			check_given(w, 1, CERTIFICATE, 1, 300);
			assert_true(dtls_reassembly_refused(w->r) > 0);
		}
	}
}

/* Each invalid fragment, and the reason. */
static void test_impossible(void **state)
{
	static const struct {
		struct piece piece;
		const char *reason;
	} cases[] = {
		{{CERTIFICATE, 1, 100, 50, 51, 0}, "no part of its message"},
		{{CERTIFICATE, 1, 0, 0, 20, 0}, "no part of its message"},
		{{CERTIFICATE, 1, 100, 0xffffff, 1, 0}, "no part of its"},
		{{CERTIFICATE, 1, 100, 10, 0, 0}, "no part of its message"},
		{{CERTIFICATE, 1, DTLS_MESSAGE_MAX + 1, 0, 9, 0}, "too long"},
		{{CERTIFICATE, 1, 0xffffff, 0, 9, 0}, "too long"},
		{{CERTIFICATE_VERIFY, 1, 20, 0, 20, 0}, "cannot come here"},
		{{SERVER_HELLO, 1, 20, 0, 20, 0}, "cannot come here"},
		{{0, 1, 0, 0, 0, 0}, "cannot come here"},
		{{200, 3, 20, 0, 20, 0}, "cannot come here"},
		{{CERTIFICATE, 2 + DTLS_AHEAD_MAX, 20, 0, 20, 0}, "far ahead"},
	};
	struct world *w = *state;
	uint64_t n = 0;

	hello(w);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		take(w, &cases[i].piece);
		check_refused(w, ++n, cases[i].reason);
	}
	take(w, &(struct piece){CERTIFICATE, 1, 20, 0, 20, 0});
	check_given(w, 1, CERTIFICATE, 1, 20);
	assert_int_equal(w->count, 2);
}

/*
 * Records that are truncated, of another protocol, or must not be sent in plain
 * text.
 */
static void test_records(void **state)
{
	static const struct {
		const char *data;
		size_t bytes;
		const char *reason;
	} cases[] = {
		{"\x16", 1, "cut off"},
		{"\x16\xfe\xfd\0\0\0\0\0\0\0\0\0\x02z", 14, "cut off"},
		{"\x16\x03\x03\0\0\0\0\0\0\0\0\0\x01z", 14, "no version"},
		{"\x16\xfe\xfd\0\0\0\0\0\0\0\0\0\x01z", 14, "its record"},
		{"\x17\xfe\xfd\0\0\0\0\0\0\0\0\0\x01z", 14, "in plain"},
		{"\x14\xfe\xfd\0\0\0\0\0\0\0\0\0\x01z", 14, "in plain"},
		{"\x14\xfe\xfd\0\0\0\0\0\0\0\0\0\0", 13, "in plain"},
		{"\x15\xfe\xfd\0\0\0\0\0\0\0\0\0\x01\x02", 14, "in plain"},
		{"\x15\xfe\xfd\0\0\0\0\0\0\0\0\0\x02\x03\x28", 15, "in plain"},
		{"\x15\xfe\xfd\0\0\0\0\0\0\0\0\0\x03\x02\x28z", 16, "in plain"},
	};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		dtls_reassembly_input(w->r, (const uint8_t *)cases[i].data,
				      cases[i].bytes);
		check_refused(w, i + 1, cases[i].reason);
	}
	assert_int_equal(w->count, 0);
	/* plain records are renumbered; encrypted ones pass unchanged */
	dtls_reassembly_input(w->r,
			      (const uint8_t *)"\x14\xfe\xfd\0\0\0\0\xff\0\0\0"
					       "\0\x01\x01\x15\xfe\xff\0\0\0\0"
					       "\xff\0\0\0\0\x02\x02\x28\x17"
					       "\xfe\xfd\0\x01\0\0\xff\0\0\x07"
					       "\0\x03xyz",
			      45);
	assert_int_equal(w->count, 3);
	assert_memory_equal(w->given[0], "\x14\xfe\xfd\0\0\0\0\0\0\0\0\0\1\1",
			    14);
	assert_memory_equal(w->given[1],
			    "\x15\xfe\xff\0\0\0\0\0\0\0\1\0\2\x02\x28", 15);
	assert_int_equal(w->bytes[2], 16);
	assert_memory_equal(w->given[2],
			    "\x17\xfe\xfd\0\1\0\0\xff\0\0\7\0\3xyz", 16);
}

/* More incomplete messages than there is room for. */
static void test_no_room(void **state)
{
	struct world *w = *state;

	hello(w);
	for (unsigned i = 0; i < 10 * DTLS_PARTIAL_MAX; i++)
		take(w, &(struct piece){CERTIFICATE, 1, 400 + i, 0, 40, 0});
	take(w, &(struct piece){CERTIFICATE, 1, 300, 0, 150, 0});
	take(w, &(struct piece){CERTIFICATE_VERIFY, 3, 78, 0, 78, 0});
	for (unsigned i = 0; i < DTLS_PARTIAL_MAX - 2; i++)
		take(w, &(struct piece){CERTIFICATE, 1, 900 + i, 0, 40, 0});
	take(w, &(struct piece){CERTIFICATE, 1, 300, 150, 150, 0});
	check_given(w, 1, CERTIFICATE, 1, 300);
	take(w, &(struct piece){CLIENT_KEY_EXCHANGE, 2, 66, 0, 66, 0});
	check_given(w, 3, CERTIFICATE_VERIFY, 3, 78);
}

/* The longest message allowed. */
static void test_largest(void **state)
{
	struct world *w = *state;

	hello(w);
	for (unsigned at = 0; at < DTLS_MESSAGE_MAX; at += 1000)
		take(w, &(struct piece){CERTIFICATE, 1, DTLS_MESSAGE_MAX, at,
					at + 1000 > DTLS_MESSAGE_MAX
						? DTLS_MESSAGE_MAX - at
						: 1000,
					0});
	check_given(w, 1, CERTIFICATE, 1, DTLS_MESSAGE_MAX);
	check_refused(w, 0, NULL);
}

/* The messages of a server, one of them empty. */
static void test_of_a_server(void **state)
{
	struct world *w = *state;

	dtls_reassembly_free(w->r);
	assert_int_equal(dtls_reassembly_new(&w->r, true, record_h, w), 0);
	take(w, &(struct piece){3, 0, 23, 0, 23, 0}); /* HelloVerifyRequest */
	take(w, &(struct piece){SERVER_HELLO, 1, 70, 0, 70, 0});
	take(w, &(struct piece){CERTIFICATE, 2, 300, 0, 300, 0});
	take(w, &(struct piece){12, 3, 150, 0, 150, 0});
	take(w, &(struct piece){CLIENT_KEY_EXCHANGE, 4, 66, 0, 66, 0});
	check_refused(w, 1, "cannot come here");
	take(w, &(struct piece){13, 4, 30, 0, 30, 0});
	take(w, &(struct piece){SERVER_HELLO_DONE, 5, 0, 0, 0, 0});
	check_given(w, 5, SERVER_HELLO_DONE, 5, 0);
	take(w, &(struct piece){SERVER_HELLO_DONE, 6, 0, 0, 0, 0});
	assert_int_equal(w->count, 6);
	check_refused(w, 2, "cannot come here");
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, world_open, world_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_fragments_in_any_order),
		TEST(test_packed),
		TEST(test_contradictions),
		TEST(test_impossible),
		TEST(test_records),
		TEST(test_no_room),
		TEST(test_largest),
		TEST(test_of_a_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
