/*
 * The DTLS-SRTP handshake: two endpoints joined by a queue that may drop
 * datagrams.
 */
#include "media/security/dtls.h"

#include "media/security/srtp_keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define QUEUE_MAX 64

struct queue {
	uint8_t data[QUEUE_MAX][2048];
	size_t bytes[QUEUE_MAX];
	unsigned count;
	unsigned sent;
	unsigned lose; /* bit n: drop the n-th datagram */
};

struct world {
	struct dtls_identity *ids[2];
	struct queue queues[2]; /* sent by side n */
	struct dtls *sides[2];  /* 0 client, 1 server */
};

static void send_h(const uint8_t *data, size_t bytes, void *arg)
{
	struct queue *q = arg;

	assert_true(bytes <= 1200);
	if (q->sent++ < 32 && q->lose & 1u << (q->sent - 1))
		return;
	assert_true(q->count < QUEUE_MAX);
	memcpy(q->data[q->count], data, bytes);
	q->bytes[q->count++] = bytes;
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	assert_int_equal(dtls_identity_new(&w->ids[0]), 0);
	assert_int_equal(dtls_identity_new(&w->ids[1]), 0);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 2; i++) {
		dtls_free(w->sides[i]);
		dtls_identity_free(w->ids[i]);
	}
	free(w);
	return 0;
}

static void open_side(struct world *w, int i, enum media_srtp_suite suite,
		      const struct media_fingerprint *peer)
{
	const struct dtls_params params = {
		.client = i == 0,
		.peer = *peer,
		.suites = &suite,
		.suite_count = 1,
		.send = send_h,
		.arg = &w->queues[i],
	};

	assert_int_equal(dtls_new(&w->sides[i], w->ids[i], &params), 0);
}

static void open_both(struct world *w, enum media_srtp_suite suite)
{
	open_side(w, 1, suite, dtls_identity_fingerprint(w->ids[0]));
	open_side(w, 0, suite, dtls_identity_fingerprint(w->ids[1]));
}

static void exchange(struct world *w)
{
	while (w->queues[0].count || w->queues[1].count) {
		for (int i = 0; i < 2; i++) {
			struct queue *q = &w->queues[i];
			unsigned count = q->count;

			q->count = 0;
			for (unsigned n = 0; n < count; n++) {
				uint8_t copy[2048];

				memcpy(copy, q->data[n], q->bytes[n]);
				dtls_input(w->sides[!i], copy, q->bytes[n]);
			}
		}
	}
}

static void check_keys(struct world *w, enum media_srtp_suite suite)
{
	const struct srtp_suite_info *info = srtp_suite_info(suite);
	size_t bytes = (size_t)info->key_bytes + info->salt_bytes;
	struct media_crypto tx[2], rx[2];

	for (int i = 0; i < 2; i++) {
		assert_int_equal(dtls_state(w->sides[i]), DTLS_DONE);
		assert_int_equal(dtls_keys(w->sides[i], &tx[i], &rx[i]), 0);
		assert_int_equal(tx[i].suite, suite);
	}
	assert_memory_equal(tx[0].key, rx[1].key, bytes);
	assert_memory_equal(tx[1].key, rx[0].key, bytes);
	assert_memory_not_equal(tx[0].key, tx[1].key, bytes);
}

static void test_dtls_profiles(void **state)
{
	static const enum media_srtp_suite suites[] = {
		MEDIA_SRTP_AES_CM_128_HMAC_SHA1_80,
		MEDIA_SRTP_AES_CM_128_HMAC_SHA1_32,
		MEDIA_SRTP_AEAD_AES_128_GCM,
		MEDIA_SRTP_AEAD_AES_256_GCM,
	};
	struct world *w = *state;
	const struct dtls_params none = {.send = send_h};
	enum media_srtp_suite unknown = MEDIA_SRTP_AES_256_CM_HMAC_SHA1_80;
	struct dtls_params cm256 = none;

	for (size_t i = 0; i < sizeof(suites) / sizeof(suites[0]); i++) {
		open_both(w, suites[i]);
		assert_int_equal(dtls_state(w->sides[0]), DTLS_UNDER_WAY);
		exchange(w);
		check_keys(w, suites[i]);
		w->sides[0] = dtls_free(w->sides[0]);
		w->sides[1] = dtls_free(w->sides[1]);
	}
	assert_true(dtls_new(&w->sides[0], w->ids[0], &none) < 0);
	cm256.suites = &unknown;
	cm256.suite_count = 1;
	assert_true(dtls_new(&w->sides[0], w->ids[0], &cm256) < 0);
	assert_null(w->sides[0]);
}

static void test_dtls_fingerprint(void **state)
{
	struct world *w = *state;
	struct media_fingerprint other = *dtls_identity_fingerprint(w->ids[1]);

	other.bytes[31] ^= 1;
	open_side(w, 1, 0, dtls_identity_fingerprint(w->ids[0]));
	open_side(w, 0, 0, &other);
	exchange(w);
	assert_int_equal(dtls_state(w->sides[0]), DTLS_FAILED);
	assert_non_null(strstr(dtls_reason(w->sides[0]), "fingerprint"));
}

static void test_dtls_no_common_profile(void **state)
{
	struct world *w = *state;

	open_side(w, 1, MEDIA_SRTP_AEAD_AES_128_GCM,
		  dtls_identity_fingerprint(w->ids[0]));
	open_side(w, 0, MEDIA_SRTP_AEAD_AES_256_GCM,
		  dtls_identity_fingerprint(w->ids[1]));
	exchange(w);
	assert_int_equal(dtls_state(w->sides[0]), DTLS_FAILED);
	assert_non_null(strstr(dtls_reason(w->sides[0]), "profile"));
}

/*
 * Any single datagram of either side is lost: it is retransmitted and the
 * handshake completes.
 */
static void test_dtls_loss(void **state)
{
	struct world *w = *state;

	open_side(w, 1, 0, dtls_identity_fingerprint(w->ids[0]));
	w->queues[0].lose = 1 | 1u << 2;
	w->queues[1].lose = 1 | 1u << 2;
	open_side(w, 0, 0, dtls_identity_fingerprint(w->ids[1]));
	for (int i = 0; i < 600; i++) {
		exchange(w);
		if (dtls_state(w->sides[0]) == DTLS_DONE &&
		    dtls_state(w->sides[1]) == DTLS_DONE)
			break;
		usleep(50000);
		dtls_tick(w->sides[0]);
		dtls_tick(w->sides[1]);
	}
	check_keys(w, 0);
}

/* Garbage, truncated datagrams and retransmissions change nothing. */
static void test_dtls_hostile(void **state)
{
	struct world *w = *state;
	uint8_t noise[1500];
	struct queue *q = &w->queues[0];

	open_both(w, 0);
	for (size_t n = 1; n < sizeof(noise); n += 7) {
		for (size_t i = 0; i < n; i++)
			noise[i] = (uint8_t)(i * n + 22);
		noise[0] = (uint8_t)(20 + n % 44);
		dtls_input(w->sides[1], noise, n);
	}
	for (size_t n = 1; n < q->bytes[0]; n++)
		dtls_input(w->sides[1], q->data[0], n);
	assert_int_equal(dtls_state(w->sides[1]), DTLS_UNDER_WAY);
	exchange(w);
	check_keys(w, 0);
	for (size_t n = 1; n < sizeof(noise); n += 7)
		dtls_input(w->sides[1], noise, n);
	check_keys(w, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_dtls_profiles),          TEST(test_dtls_fingerprint),
		TEST(test_dtls_no_common_profile), TEST(test_dtls_loss),
		TEST(test_dtls_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
