/* Whose a datagram of a shared socket is. */
#include "media_rig.h"

#include "media/peer_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SLOTS  64
#define NOBODY UINT32_MAX

static int table_open(void **state)
{
	struct peer_table *t;

	assert_int_equal(peer_table_new(&t, SLOTS), 0);
	*state = t;
	return 0;
}

static int table_close(void **state)
{
	*state = peer_table_free(*state);
	return 0;
}

/* @param ssrc  0: none is announced */
static struct peer_told peer(const char *host, uint16_t port, uint32_t ssrc)
{
	return (struct peer_told){
		.rtp = rig_addr(host, port),
		.rtcp = rig_addr(host, (uint16_t)(port + 1)),
		.ssrcs = {ssrc},
		.ssrc_count = ssrc ? 1 : 0,
	};
}

static int settle(struct peer_table *t, uint32_t slot, const char *host,
		  uint16_t port, uint32_t ssrc)
{
	const struct peer_told p = peer(host, port, ssrc);

	return peer_table_settle(t, slot, &p);
}

static uint32_t find(struct peer_table *t, const char *host, uint16_t port,
		     uint32_t ssrc)
{
	const struct media_addr from = rig_addr(host, port);
	struct peer_addr addr;
	uint32_t slot = NOBODY;

	assert_true(peer_addr_of(&addr, &from));
	return peer_table_find(t, &addr, ssrc, &slot) ? slot : NOBODY;
}

#define A "192.0.2.1"
#define B "192.0.2.2"

static void test_announced_ssrcs_share_an_address(void **state)
{
	struct peer_table *t = *state;

	for (uint32_t i = 0; i < SLOTS; i++)
		assert_int_equal(settle(t, i, A, 5000, 100 + i), 0);
	for (uint32_t i = 0; i < SLOTS; i++) {
		assert_int_equal(find(t, A, 5000, 100 + i), i);
		assert_int_equal(find(t, A, 5001, 100 + i), i); /* RTCP */
	}
	assert_int_equal(find(t, A, 5000, 99), NOBODY);
	peer_table_remove(t, 7);
	assert_int_equal(find(t, A, 5000, 107), NOBODY);
	assert_int_equal(find(t, A, 5000, 108), 8);
}

static void test_an_announced_ssrc_is_found_at_another_address(void **state)
{
	struct peer_table *t = *state;

	assert_int_equal(settle(t, 1, A, 5000, 100), 0);
	assert_int_equal(find(t, B, 9, 100), 1);
	/* of two it cannot be told */
	assert_int_equal(settle(t, 2, A, 6000, 100), 0);
	assert_int_equal(find(t, B, 9, 100), NOBODY);
	assert_int_equal(find(t, A, 5000, 100), 1);
	assert_int_equal(find(t, A, 6000, 100), 2);
}

/* What the next call from there sends before its answer is here. */
static void test_another_ssrc_of_an_announced_address_is_nobodys(void **state)
{
	struct peer_table *t = *state;

	assert_int_equal(settle(t, 1, A, 5000, 100), 0);
	assert_int_equal(find(t, A, 5000, 101), NOBODY);
	assert_int_equal(settle(t, 2, A, 5000, 101), 0);
	assert_int_equal(find(t, A, 5000, 101), 2);
}

static void test_without_announcement_the_address_decides(void **state)
{
	struct peer_table *t = *state;

	assert_int_equal(settle(t, 1, A, 5000, 0), 0);
	assert_int_equal(settle(t, 2, A, 6000, 0), 0);
	assert_int_equal(settle(t, 3, "2001:db8::1", 5000, 0), 0);
	assert_int_equal(find(t, A, 5000, 1), 1);
	assert_int_equal(find(t, A, 5001, 1), 1);
	assert_int_equal(find(t, A, 6000, 1), 2); /* the same SSRC */
	assert_int_equal(find(t, A, 6000, 2), 2); /* another one */
	assert_int_equal(find(t, "2001:db8::1", 5000, 1), 3);
	assert_int_equal(find(t, B, 5000, 1), NOBODY);
}

static void test_an_address_of_two_needs_announcements(void **state)
{
	struct peer_table *t = *state;

	assert_int_equal(settle(t, 1, A, 5000, 0), 0);
	assert_int_equal(settle(t, 2, A, 5000, 0), -EADDRINUSE);
	assert_int_equal(settle(t, 2, A, 5000, 100), -EADDRINUSE);
	/* RTP where the other one has RTCP */
	assert_int_equal(settle(t, 2, A, 5001, 0), -EADDRINUSE);
	assert_int_equal(find(t, A, 5000, 7), 1);
	/* a refused one is as it was: nowhere, then at its first address */
	assert_int_equal(find(t, A, 5000, 100), 1);
	assert_int_equal(settle(t, 2, A, 6000, 100), 0);
	assert_int_equal(settle(t, 2, A, 5000, 100), -EADDRINUSE);
	assert_int_equal(find(t, A, 6000, 100), 2);
	/* the first one leaves */
	peer_table_remove(t, 1);
	assert_int_equal(settle(t, 2, A, 5000, 100), 0);
	assert_int_equal(settle(t, 3, A, 5000, 0), -EADDRINUSE);
	/* its own address is no conflict */
	assert_int_equal(settle(t, 2, A, 5000, 0), 0);
	assert_int_equal(settle(t, 2, A, 5000, 0), 0);
}

static void test_the_same_ssrc_is_a_collision(void **state)
{
	struct peer_table *t = *state;

	assert_int_equal(settle(t, 0, A, 5000, 100), 0);
	assert_int_equal(settle(t, 1, A, 5000, 100), -EEXIST);
	for (uint32_t i = 1; i < PEER_SAME_SSRC_MAX; i++)
		assert_int_equal(
			settle(t, i, A, (uint16_t)(5000 + 10 * i), 100), 0);
	assert_int_equal(settle(t, 50, A, 6000, 100), -EEXIST);
	peer_table_end(t, 3);
	assert_int_equal(settle(t, 50, A, 6000, 100), 0);
}

static void test_a_new_announcement_keeps_the_old_ssrc(void **state)
{
	struct peer_table *t = *state;

	assert_int_equal(settle(t, 1, A, 5000, 100), 0);
	assert_int_equal(settle(t, 2, A, 5000, 200), 0);
	assert_int_equal(settle(t, 1, A, 5000, 101), 0);
	assert_int_equal(find(t, A, 5000, 101), 1);
	assert_int_equal(find(t, A, 5000, 100), 1); /* on its way */
	/* another session may take it over */
	assert_int_equal(settle(t, 2, A, 5000, 100), 0);
	assert_int_equal(find(t, A, 5000, 100), 2);
	/* the oldest ones make room */
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(settle(t, 1, A, 5000, 1000 + i), 0);
	assert_int_equal(find(t, A, 5000, 1019), 1);
	assert_int_equal(find(t, A, 5000, 1018), 1);
	assert_int_equal(find(t, A, 5000, 1000), NOBODY);
}

static void test_a_new_address_leaves_the_old_one(void **state)
{
	struct peer_table *t = *state;

	assert_int_equal(settle(t, 1, A, 5000, 0), 0);
	assert_int_equal(settle(t, 1, B, 5000, 0), 0);
	assert_int_equal(find(t, A, 5000, 1), NOBODY);
	assert_int_equal(settle(t, 2, A, 5000, 0), 0);
	assert_int_equal(find(t, A, 5000, 1), 2);
	assert_int_equal(find(t, B, 5000, 1), 1);
}

static void test_an_ended_session_gets_only_its_own(void **state)
{
	struct peer_table *t = *state;

	assert_int_equal(settle(t, 1, A, 5000, 0), 0);
	assert_int_equal(find(t, A, 5000, 100), 1);
	peer_table_end(t, 1);
	assert_int_equal(find(t, A, 5000, 100), 1);
	/* of the next call from there, whose answer is on its way */
	assert_int_equal(find(t, A, 5000, 101), NOBODY);
	assert_int_equal(settle(t, 2, A, 5000, 0), 0);
	assert_int_equal(find(t, A, 5000, 101), 2);
	peer_table_remove(t, 1);
	assert_int_equal(find(t, A, 5000, 101), 2);

	assert_int_equal(settle(t, 3, B, 5000, 200), 0);
	peer_table_end(t, 3);
	assert_int_equal(find(t, B, 5000, 200), 3);
	assert_int_equal(settle(t, 4, B, 5000, 0), 0);
	assert_int_equal(find(t, B, 5000, 201), 4);
	assert_int_equal(find(t, B, 5000, 200), 3);
}

/* Against a list that is searched: what the table may say, after many changes. */
static void test_many_changes_agree_with_a_list(void **state)
{
	struct peer_table *t = *state;
	struct peer_told list[SLOTS] = {{.ssrc_count = 0}};
	bool known[SLOTS] = {false};

	srandom(1);
	for (int round = 0; round < 20000; round++) {
		uint32_t slot = (uint32_t)random() % SLOTS;
		uint16_t port = (uint16_t)(5000 + 2 * (random() % 24));
		uint32_t ssrc =
			(uint32_t)(random() % 3 ? 1 + random() % 500 : 0);
		uint32_t found;

		if (random() % 3 == 0) {
			peer_table_remove(t, slot);
			known[slot] = false;
		} else if (settle(t, slot, A, port, ssrc) == 0) {
			list[slot] = peer(A, port, ssrc);
			known[slot] = true;
		}
		ssrc = (uint32_t)(1 + random() % 500);
		found = find(t, A, port, ssrc);
		for (uint32_t i = 0; i < SLOTS; i++) {
			const struct peer_told p = peer(A, port, 0);
			bool here = known[i] && memcmp(&p.rtp, &list[i].rtp,
						       sizeof(p.rtp)) == 0;

			if (here && (list[i].ssrc_count == 0 ||
				     list[i].ssrcs[0] == ssrc))
				assert_int_equal(found, i);
		}
		if (found != NOBODY)
			assert_true(known[found]);
	}
}

#define CASE(name) \
	cmocka_unit_test_setup_teardown(name, table_open, table_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_announced_ssrcs_share_an_address),
		CASE(test_an_announced_ssrc_is_found_at_another_address),
		CASE(test_another_ssrc_of_an_announced_address_is_nobodys),
		CASE(test_without_announcement_the_address_decides),
		CASE(test_an_address_of_two_needs_announcements),
		CASE(test_the_same_ssrc_is_a_collision),
		CASE(test_a_new_announcement_keeps_the_old_ssrc),
		CASE(test_a_new_address_leaves_the_old_one),
		CASE(test_an_ended_session_gets_only_its_own),
		CASE(test_many_changes_agree_with_a_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
