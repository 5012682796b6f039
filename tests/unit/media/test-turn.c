/* The TURN client with a server of the test, and the framing of datagrams. */
#include "base/clock.h"
#include "media/nat/stun_message.h"
#include "media/nat/turn.h"
#include "media/nat/turn_frame.h"
#include "media/socket.h"
#include "media_rig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/evp.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* ---- frames ---- */

static void test_frame_channel(void **state)
{
	uint8_t data[64] = {0};
	struct turn_frame f;
	(void)state;

	turn_frame_channel(data, 0x4001, 20);
	assert_int_equal(turn_frame_parse(&f, data, 24, 24), 0);
	assert_int_equal(f.kind, TURN_FRAME_CHANNEL);
	assert_int_equal(f.channel, 0x4001);
	assert_int_equal(f.offset, 4);
	assert_int_equal(f.bytes, 20);
	/* padding, and a datagram that was truncated when it was read */
	assert_int_equal(turn_frame_parse(&f, data, 28, 28), 0);
	assert_int_equal(f.bytes, 20);
	assert_int_equal(turn_frame_parse(&f, data, 10, 24), 0);
	/* the length exceeds the datagram */
	assert_int_equal(turn_frame_parse(&f, data, 23, 23), -EBADMSG);
	assert_int_equal(turn_frame_parse(&f, data, 3, 3), -EBADMSG);
	/* reserved channel numbers */
	turn_frame_channel(data, 0x5000, 4);
	assert_int_equal(turn_frame_parse(&f, data, 8, 8), -EBADMSG);
}

/* A Send indication is a Data indication with another type. */
static size_t data_indication(uint8_t *dst, size_t room,
			      const struct media_addr *peer,
			      const uint8_t *data, size_t bytes)
{
	size_t size = turn_frame_send(dst, room, peer, data, bytes);

	if (size > 0)
		dst[1] = 0x17;
	return size;
}

static void test_frame_indication(void **state)
{
	static const char *const hosts[] = {"192.0.2.77", "2001:db8::77"};
	static const uint8_t payload[] = "a datagram of a peer";
	(void)state;

	for (size_t i = 0; i < 2; i++) {
		struct media_addr peer = rig_addr(hosts[i], 4711);
		uint8_t data[128];
		struct turn_frame f;
		size_t size = data_indication(data, sizeof(data), &peer,
					      payload, sizeof(payload));

		assert_int_equal(turn_frame_parse(&f, data, size, size), 0);
		assert_int_equal(f.kind, TURN_FRAME_DATA);
		assert_true(media_addr_equal(&f.peer, &peer));
		assert_int_equal(f.bytes, sizeof(payload));
		assert_memory_equal(data + f.offset, payload, sizeof(payload));
		/* the data was truncated when it was read: its size is known */
		assert_int_equal(turn_frame_parse(&f, data, size - 10, size),
				 0);
		assert_int_equal(f.bytes, sizeof(payload));
		for (size_t cut = 0; cut < size; cut++)
			assert_int_equal(turn_frame_parse(&f, data, cut, cut),
					 -EBADMSG);
		assert_int_equal(turn_frame_send(data, size - 1, &peer, payload,
						 sizeof(payload)),
				 0);
	}
}

static void test_frame_others(void **state)
{
	uint8_t data[32] = {0x01, 0x03, 0, 8, 0x21, 0x12, 0xa4, 0x42};
	struct turn_frame f;
	(void)state;

	assert_int_equal(turn_frame_parse(&f, data, 28, 28), 0);
	assert_int_equal(f.kind, TURN_FRAME_CONTROL);
	data[4] = 0; /* no magic cookie */
	assert_int_equal(turn_frame_parse(&f, data, 28, 28), -EBADMSG);
	data[0] = 0x80; /* RTP */
	assert_int_equal(turn_frame_parse(&f, data, 28, 28), -EBADMSG);
}

/* ---- the client ---- */

#define REALM "test"
#define NONCE "n1"

struct server {
	struct turn *t;
	int64_t now_ns;
	bool deaf;
	bool forbids; /* refuses channels */
	bool forgets; /* no nonce is good for a second request */
	const char *nonce;
	uint32_t lifetime_s;
	unsigned allocations, refreshes, permissions, channels, ended, asked;
};

static void key_make(uint8_t key[static 16])
{
	static const char text[] = "alice:" REALM ":secret";
	unsigned bytes = 0;

	assert_int_equal(
		EVP_Digest(text, strlen(text), key, &bytes, EVP_md5(), NULL),
		1);
}

static void answer(struct server *s, const struct stun_message *m,
		   unsigned error)
{
	struct media_addr mapped = rig_addr("198.51.100.1", 7000);
	struct media_addr relayed = rig_addr("203.0.113.1", 49152);
	bool allocated = m->method == STUN_MESSAGE_ALLOCATE && !error;
	uint8_t key[16];
	struct stun_draft d = {
		.method = (enum stun_message_method)m->method,
		.class = error ? STUN_MESSAGE_ERROR : STUN_MESSAGE_SUCCESS,
		.id = m->id,
		.error = error,
		.reason = "So it is\x01",
		.realm = error ? REALM : NULL,
		.nonce = error ? s->nonce : NULL,
		.mapped = error ? NULL : &mapped,
		.relayed = allocated ? &relayed : NULL,
		.lifetime_s = error ? NULL : &s->lifetime_s,
	};
	uint8_t data[STUN_MESSAGE_BYTES];
	size_t bytes;

	key_make(key);
	if (!error && m->username) {
		d.key = key;
		d.key_bytes = sizeof(key);
	}
	assert_int_equal(stun_message_write(data, &bytes, &d), 0);
	turn_input(s->t, data, bytes, s->now_ns);
}

static void send_h(const uint8_t *data, size_t bytes, void *arg)
{
	struct server *s = arg;
	struct stun_message m;
	uint8_t key[16];

	s->asked++;
	if (s->deaf)
		return;
	assert_int_equal(stun_message_open(&m, data, bytes), 0);
	assert_int_equal(m.class, STUN_MESSAGE_REQUEST);
	assert_true(stun_message_fingerprint(&m));
	key_make(key);
	if (m.method == STUN_MESSAGE_BINDING) {
		answer(s, &m, 0);
	} else if (!m.username || !stun_message_verify(&m, key, sizeof(key))) {
		answer(s, &m, 401);
	} else if (s->forgets || strcmp(m.nonce, s->nonce) != 0) {
		answer(s, &m, 438);
	} else if (s->forbids && m.method == STUN_MESSAGE_CHANNEL) {
		answer(s, &m, 403);
	} else {
		s->allocations += m.method == STUN_MESSAGE_ALLOCATE;
		s->refreshes += m.method == STUN_MESSAGE_REFRESH;
		s->ended +=
			m.method == STUN_MESSAGE_REFRESH && m.lifetime_s == 0;
		s->permissions += m.method == STUN_MESSAGE_PERMISSION;
		s->channels += m.method == STUN_MESSAGE_CHANNEL;
		answer(s, &m, 0);
	}
	stun_message_close(&m);
}

static void server_open(struct server *s, const char *password, bool stun)
{
	const struct turn_params params = {
		.stun = stun,
		.username = "alice",
		.password = password,
		.send = send_h,
		.arg = s,
	};

	*s = (struct server){
		.now_ns = NS_PER_S,
		.nonce = NONCE,
		.lifetime_s = 600,
	};
	assert_int_equal(turn_new(&s->t, &params), 0);
}

static void run_s(struct server *s, int64_t seconds)
{
	int64_t end_ns = s->now_ns + seconds * NS_PER_S;

	while (s->now_ns < end_ns) {
		s->now_ns += 20 * NS_PER_MS;
		turn_tick(s->t, s->now_ns);
	}
}

static void test_stun_mapped(void **state)
{
	struct server s;
	struct media_addr seen = rig_addr("198.51.100.1", 7000);
	(void)state;

	server_open(&s, "", true);
	run_s(&s, 1);
	assert_int_equal(turn_state(s.t), TURN_READY);
	assert_true(media_addr_equal(turn_mapped(s.t), &seen));
	assert_int_equal(s.asked, 1);
	turn_free(s.t);
}

/* A nonce with which no request could be written: the client says so at once. */
static void test_turn_challenge_too_long(void **state)
{
	char username[TURN_USER_BYTES], nonce[701];
	struct server s = {.now_ns = NS_PER_S, .nonce = nonce};
	const struct turn_params params = {
		.username = username,
		.password = "secret",
		.send = send_h,
		.arg = &s,
	};
	(void)state;

	memset(username, 'u', sizeof(username));
	memset(nonce, 'n', sizeof(nonce));
	username[sizeof(username) - 1] = nonce[sizeof(nonce) - 1] = '\0';
	assert_int_equal(turn_new(&s.t, &params), 0);
	run_s(&s, 1);
	assert_int_equal(turn_state(s.t), TURN_FAILED);
	assert_string_equal(
		turn_reason(s.t),
		"the realm and nonce of the TURN server are too long");
	assert_int_equal(s.asked, 1);
	turn_free(s.t);
}

static void test_turn_life(void **state)
{
	struct media_addr peer = rig_addr("192.0.2.2", 6000);
	struct media_addr other = rig_addr("192.0.2.3", 6000);
	struct media_addr again = rig_addr("192.0.2.3", 7000);
	struct media_addr v6 = rig_addr("2001:db8::1", 7000);
	struct server s;
	struct media_addr at;
	(void)state;

	server_open(&s, "secret", false);
	run_s(&s, 1);
	assert_int_equal(turn_state(s.t), TURN_READY);
	assert_int_equal(turn_relayed(s.t)->len, sizeof(struct sockaddr_in));
	assert_int_equal(turn_permit(s.t, &other), 0);
	assert_int_equal(turn_permit(s.t, &again), 0); /* the same address */
	assert_int_equal(turn_bind(s.t, &peer), 0);
	assert_int_equal(turn_bind(s.t, &peer), 0);
	assert_int_equal(turn_bind(s.t, &v6), -EINVAL);
	/* the receiver knows the channel before its data arrives */
	assert_int_equal(turn_channel_at(s.t, 0, &at), TURN_CHANNEL_MIN);
	assert_int_equal(s.channels, 0);
	turn_tick(s.t, s.now_ns);
	assert_int_equal(s.channels, 1);
	assert_int_equal(s.permissions, 1);
	run_s(&s, 1);
	assert_int_equal(turn_channel(s.t, &peer), TURN_CHANNEL_MIN);
	assert_int_equal(turn_channel_at(s.t, 0, &at), TURN_CHANNEL_MIN);
	assert_true(media_addr_equal(&at, &peer));
	assert_int_equal(turn_channel_at(s.t, 1, &at), 0);
	assert_int_equal(s.permissions, 1);
	assert_int_equal(s.channels, 1);
	/* everything is refreshed in time, also with a stale nonce */
	s.nonce = "n2";
	run_s(&s, 1200);
	assert_int_equal(turn_state(s.t), TURN_READY);
	assert_true(s.refreshes >= 2 && s.refreshes <= 3);
	assert_true(s.permissions >= 5 && s.permissions <= 6);
	assert_true(s.channels >= 5 && s.channels <= 6);
	turn_end(s.t);
	assert_int_equal(s.ended, 1);
	turn_free(s.t);
}

static void test_turn_refused(void **state)
{
	struct server s;
	struct media_addr peer = rig_addr("192.0.2.2", 6000);
	(void)state;

	server_open(&s, "wrong", false);
	run_s(&s, 1);
	assert_int_equal(turn_state(s.t), TURN_FAILED);
	assert_string_equal(turn_reason(s.t),
			    "the TURN server says 401 So it is?");
	assert_int_equal(s.asked, 2);
	turn_free(s.t);

	server_open(&s, "secret", false);
	s.forbids = true;
	run_s(&s, 1);
	assert_int_equal(turn_bind(s.t, &peer), 0);
	run_s(&s, 1);
	assert_int_equal(turn_state(s.t), TURN_FAILED);
	assert_non_null(strstr(turn_reason(s.t), "binds no channel"));
	turn_free(s.t);

	server_open(&s, "secret", false);
	s.deaf = true;
	run_s(&s, 9);
	assert_int_equal(turn_state(s.t), TURN_FAILED);
	assert_string_equal(turn_reason(s.t),
			    "the TURN server does not answer");
	assert_int_equal(s.asked, TURN_SENDS_MAX);
	turn_free(s.t);
}

/* Four challenges in a row are answered. */
static void test_turn_challenged_for_ever(void **state)
{
	struct server s;
	(void)state;

	server_open(&s, "secret", false);
	s.forgets = true;
	run_s(&s, 1);
	assert_int_equal(turn_state(s.t), TURN_FAILED);
	assert_non_null(strstr(turn_reason(s.t), "438"));
	assert_int_equal(s.asked, 5);
	turn_free(s.t);
}

/* A server may grant any lifetime. */
static void test_turn_lifetimes(void **state)
{
	struct server s;
	(void)state;

	server_open(&s, "secret", false);
	s.lifetime_s = UINT32_MAX;
	run_s(&s, 1);
	assert_int_equal(turn_state(s.t), TURN_READY);
	run_s(&s, 100);
	assert_int_equal(s.refreshes, 0);
	turn_free(s.t);

	server_open(&s, "secret", false);
	s.lifetime_s = 4;
	run_s(&s, 31);
	assert_int_equal(turn_state(s.t), TURN_READY);
	assert_in_range(s.refreshes, 9, 10);
	/* lifetime 0: not refreshed at every tick, and not released */
	s.lifetime_s = 0;
	run_s(&s, 10);
	assert_int_equal(turn_state(s.t), TURN_FAILED);
	assert_string_equal(turn_reason(s.t),
			    "the TURN server lends an address for 0 s");
	assert_in_range(s.refreshes, 10, 11);
	assert_int_equal(s.ended, 0);
	turn_free(s.t);
}

/*
 * A server that is unreachable when the allocation is to be refreshed, and back
 * before it expires; then one that stays unreachable.
 */
static void test_turn_server_is_away(void **state)
{
	struct media_addr peer = rig_addr("192.0.2.2", 6000);
	struct server s;
	(void)state;

	server_open(&s, "secret", false);
	run_s(&s, 1);
	assert_int_equal(turn_bind(s.t, &peer), 0);
	run_s(&s, 448);
	s.deaf = true;
	run_s(&s, 100);
	assert_int_equal(turn_state(s.t), TURN_READY);
	s.deaf = false;
	run_s(&s, 10);
	assert_int_equal(s.refreshes, 1);
	s.deaf = true;
	run_s(&s, 595);
	assert_int_equal(turn_state(s.t), TURN_READY);
	run_s(&s, 20);
	assert_int_equal(turn_state(s.t), TURN_FAILED);
	assert_string_equal(turn_reason(s.t),
			    "the TURN server does not answer");
	turn_free(s.t);
}

static void test_turn_ceiling(void **state)
{
	struct server s;
	(void)state;

	server_open(&s, "secret", false);
	run_s(&s, 1);
	for (uint16_t i = 0; i < TURN_PEERS_MAX; i++) {
		struct media_addr peer =
			rig_addr("192.0.2.2", (uint16_t)(6000 + i));

		assert_int_equal(turn_bind(s.t, &peer), 0);
	}
	assert_int_equal(turn_bind(s.t,
				   &(struct media_addr){
					   .ss.ss_family = AF_INET,
					   .len = sizeof(struct sockaddr_in)}),
			 -ENOSPC);
	turn_free(s.t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frame_channel),
		cmocka_unit_test(test_frame_indication),
		cmocka_unit_test(test_frame_others),
		cmocka_unit_test(test_stun_mapped),
		cmocka_unit_test(test_turn_challenge_too_long),
		cmocka_unit_test(test_turn_life),
		cmocka_unit_test(test_turn_refused),
		cmocka_unit_test(test_turn_challenged_for_ever),
		cmocka_unit_test(test_turn_lifetimes),
		cmocka_unit_test(test_turn_server_is_away),
		cmocka_unit_test(test_turn_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
