/*
 * Addresses of a tapped program, learned from its messages with STUN and TURN
 * servers.
 */
#include "media/nat/stun_message.h"
#include "media/nat/turn_frame.h"
#include "media/socket.h"
#include "media/tap/tap_paths.h"
#include "media_rig.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define PORT 30000

static struct tap_paths_datagram last;

/* Pass it a datagram; `last` is what remains of it. */
static bool take(struct tap_paths *w, bool sent, uint16_t port,
		 const uint8_t *data, size_t captured, size_t bytes)
{
	last = (struct tap_paths_datagram){
		.port = port,
		.sent = sent,
		.peer = rig_addr("192.0.2.9", 3478),
		.data = data,
		.captured = captured,
		.bytes = bytes,
	};
	return tap_paths_take(w, &last);
}

static bool say(struct tap_paths *w, bool sent, uint16_t port,
		const struct stun_draft *draft)
{
	uint8_t data[STUN_MESSAGE_BYTES];
	size_t bytes = 0;

	assert_int_equal(stun_message_write(data, &bytes, draft), 0);
	return take(w, sent, port, data, bytes, bytes);
}

static bool ask(struct tap_paths *w, enum stun_message_method method,
		const uint8_t *id, uint16_t port)
{
	return say(w, true, port,
		   &(struct stun_draft){.method = method,
					.class = STUN_MESSAGE_REQUEST,
					.id = id});
}

static bool answer(struct tap_paths *w, enum stun_message_method method,
		   const uint8_t *id, uint16_t port,
		   const struct media_addr *mapped,
		   const struct media_addr *relayed)
{
	return say(w, false, port,
		   &(struct stun_draft){.method = method,
					.class = STUN_MESSAGE_SUCCESS,
					.id = id,
					.mapped = mapped,
					.relayed = relayed});
}

static void test_mapped_address(void **state)
{
	static const char *const hosts[] = {"203.0.113.7", "2001:db8::7"};
	struct tap_paths *w = calloc(1, sizeof(*w));
	const uint8_t id[12] = {1, 2, 3};
	const uint8_t other[12] = {9};

	(void)state;
	assert_non_null(w);
	for (size_t i = 0; i < 2; i++) {
		struct media_addr a = rig_addr(hosts[i], 4444);

		assert_int_equal(tap_paths_port(w, &a), 0);
		assert_false(ask(w, STUN_MESSAGE_BINDING, id, PORT));
		/*
		 * not a response to it: another transaction ID, another port, a
		 * sent message
		 */
		assert_false(
			answer(w, STUN_MESSAGE_BINDING, other, PORT, &a, NULL));
		assert_false(answer(w, STUN_MESSAGE_BINDING, id, PORT + 1, &a,
				    NULL));
		assert_int_equal(tap_paths_port(w, &a), 0);
		assert_true(
			answer(w, STUN_MESSAGE_BINDING, id, PORT, &a, NULL));
		assert_int_equal(tap_paths_port(w, &a), PORT);
		/* only once */
		assert_false(
			answer(w, STUN_MESSAGE_BINDING, id, PORT, &a, NULL));
		media_addr_set_port(&a, 4445);
		assert_int_equal(tap_paths_port(w, &a), 0);
	}
	free(w);
}

/*
 * The latest owner of an address counts. Of too many addresses the oldest is
 * forgotten.
 */
static void test_mapped_address_of_many(void **state)
{
	struct tap_paths *w = calloc(1, sizeof(*w));
	struct media_addr a = rig_addr("203.0.113.7", 1);
	uint8_t id[12] = {7};

	(void)state;
	assert_non_null(w);
	for (uint16_t i = 1; i <= TAP_PATHS_MAPPINGS + 1; i++) {
		media_addr_set_port(&a, i);
		assert_false(ask(w, STUN_MESSAGE_BINDING, id, PORT + i));
		assert_true(answer(w, STUN_MESSAGE_BINDING, id, PORT + i, &a,
				   NULL));
	}
	media_addr_set_port(&a, 1);
	assert_int_equal(tap_paths_port(w, &a), 0);
	media_addr_set_port(&a, 2);
	assert_int_equal(tap_paths_port(w, &a), PORT + 2);
	assert_false(ask(w, STUN_MESSAGE_BINDING, id, 777));
	assert_true(answer(w, STUN_MESSAGE_BINDING, id, 777, &a, NULL));
	assert_int_equal(tap_paths_port(w, &a), 777);
	media_addr_set_port(&a, 3);
	assert_int_equal(tap_paths_port(w, &a), PORT + 3);
	free(w);
}

static void test_relayed_address(void **state)
{
	struct tap_paths *w = calloc(1, sizeof(*w));
	struct media_addr mapped = rig_addr("203.0.113.7", 4444);
	struct media_addr relayed = rig_addr("192.0.2.9", 49152);
	const uint8_t id[12] = {1};

	(void)state;
	assert_non_null(w);
	assert_false(ask(w, STUN_MESSAGE_ALLOCATE, id, PORT));
	assert_true(
		answer(w, STUN_MESSAGE_ALLOCATE, id, PORT, &mapped, &relayed));
	assert_int_equal(tap_paths_port(w, &relayed), PORT);
	assert_int_equal(tap_paths_port(w, &mapped), PORT);
	free(w);
}

/*
 * Media relayed both ways, by a channel and by indications: the content is
 * extracted.
 */
static void test_relayed_media(void **state)
{
	struct tap_paths *w = calloc(1, sizeof(*w));
	const struct media_addr peer = rig_addr("198.51.100.4", 5004);
	const struct media_addr server = rig_addr("192.0.2.9", 3478);
	const uint8_t rtp[] = {0x80, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0xaa};
	const uint8_t id[12] = {1};
	uint8_t data[128];
	size_t size;

	(void)state;
	assert_non_null(w);
	turn_frame_channel(data, 0x4001, sizeof(rtp));
	memcpy(data + 4, rtp, sizeof(rtp));
	/* an unknown channel: a datagram of the server's */
	take(w, true, PORT, data, 4 + sizeof(rtp), 4 + sizeof(rtp));
	assert_ptr_equal(last.data, data + 4);
	assert_true(media_addr_equal(&last.peer, &server));
	assert_false(say(w, true, PORT,
			 &(struct stun_draft){.method = STUN_MESSAGE_CHANNEL,
					      .class = STUN_MESSAGE_REQUEST,
					      .id = id,
					      .channel = 0x4001,
					      .peer = &peer}));
	for (int sent = 0; sent < 2; sent++) {
		/* with padding */
		take(w, sent, PORT, data, 4 + sizeof(rtp), 20);
		assert_ptr_equal(last.data, data + 4);
		assert_int_equal(last.captured, sizeof(rtp));
		assert_int_equal(last.bytes, sizeof(rtp));
		assert_true(media_addr_equal(&last.peer, &peer));
		/* the channel of another port */
		take(w, sent, PORT + 2, data, 4 + sizeof(rtp), 20);
		assert_true(media_addr_equal(&last.peer, &server));
	}
	size = turn_frame_send(data, sizeof(data), &peer, rtp, sizeof(rtp));
	assert_true(size > 0);
	for (int sent = 1; sent >= 0; sent--) {
		data[1] = sent ? 0x16 : 0x17;
		take(w, sent, PORT, data, size, size);
		assert_int_equal(last.bytes, sizeof(rtp));
		assert_memory_equal(last.data, rtp, sizeof(rtp));
		assert_true(media_addr_equal(&last.peer, &peer));
		/* truncated by the capture */
		take(w, sent, PORT, data, size - 10, size);
		assert_int_equal(last.bytes, sizeof(rtp));
		assert_int_equal(last.captured, sizeof(rtp) + 3 - 10);
	}
	free(w);
}

static void test_media_of_its_own_are_left_alone(void **state)
{
	struct tap_paths *w = calloc(1, sizeof(*w));
	const uint8_t rtp[16] = {0x80, 8};
	const uint8_t dtls[16] = {22, 0xfe, 0xff};

	(void)state;
	assert_non_null(w);
	take(w, true, PORT, rtp, sizeof(rtp), 160);
	assert_ptr_equal(last.data, rtp);
	assert_int_equal(last.captured, sizeof(rtp));
	assert_int_equal(last.bytes, 160);
	take(w, false, PORT, dtls, sizeof(dtls), sizeof(dtls));
	assert_ptr_equal(last.data, dtls);
	take(w, false, PORT, rtp, 0, 0);
	assert_int_equal(last.captured, 0);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mapped_address),
		cmocka_unit_test(test_mapped_address_of_many),
		cmocka_unit_test(test_relayed_address),
		cmocka_unit_test(test_relayed_media),
		cmocka_unit_test(test_media_of_its_own_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
