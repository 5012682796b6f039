/* A session's STUN and TURN clients and ICE, with servers of the test. */
#include "media/nat/session_nat.h"

#include "base/clock.h"
#include "media/nat/ice_internal.h"
#include "media/nat/stun_message.h"
#include "media_rig.h"

#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct world {
	_Atomic unsigned ticking;
	struct nat_sessions all;
	struct session_nat nat;
	struct media_local local;
	struct media_negotiated settled;
	unsigned paths;
	const char *reason; /* of the last path */
	unsigned maps;
	struct relay_map map; /* the last one of RTP */
};

/* The server's end of a client. */
struct server {
	struct turn *client;
	bool refuses;
};

static struct server servers[2 * SOCKET_COUNT];

/* ---- servers ---- */

static void server_answer(const uint8_t *data, size_t bytes, void *arg)
{
	static const uint32_t lifetime_s = 600;
	const struct server *s = arg;
	struct media_addr mapped = rig_addr("198.51.100.1", 7000);
	struct media_addr relayed = rig_addr("203.0.113.1", 49152);
	struct stun_draft d = {.class = STUN_MESSAGE_SUCCESS,
			       .lifetime_s = &lifetime_s,
			       .mapped = &mapped,
			       .relayed = &relayed};
	uint8_t answer[STUN_MESSAGE_BYTES];
	struct stun_message m;
	size_t len;

	assert_int_equal(stun_message_open(&m, data, bytes), 0);
	d.method = (enum stun_message_method)m.method;
	d.id = m.id;
	if (s->refuses)
		d = (struct stun_draft){.method = d.method,
					.class = STUN_MESSAGE_ERROR,
					.id = m.id,
					.error = 500,
					.reason = "Broken"};
	assert_int_equal(stun_message_write(answer, &len, &d), 0);
	turn_input(s->client, answer, len, clock_mono_ns());
	stun_message_close(&m);
}

static struct turn *client(size_t at, bool stun, bool refuses)
{
	struct server *s = &servers[at];
	const struct turn_params params = {
		.stun = stun,
		.send = server_answer,
		.arg = s,
	};

	s->refuses = refuses;
	assert_int_equal(turn_new(&s->client, &params), 0);
	turn_tick(s->client, clock_mono_ns());
	return s->client;
}

/* ---- the session ---- */

static struct world *world_of(struct media_session *session)
{
	return (struct world *)(void *)session;
}

static int apply_h(struct media_session *session)
{
	(void)session;
	return 0;
}

static int relay_h(struct media_session *session, unsigned socket,
		   const struct relay_map *map)
{
	struct world *w = world_of(session);

	w->maps++;
	if (socket == SOCKET_RTP)
		w->map = *map;
	return 0;
}

static void check_lost(const struct ice_path *path, const uint8_t *data,
		       size_t bytes, void *arg)
{
	(void)path;
	(void)data;
	(void)bytes;
	(void)arg;
}

static void record_h(const struct media_record *r, void *arg)
{
	struct world *w = arg;

	assert_int_equal(r->kind, MEDIA_RECORD_PATH);
	w->paths++;
	w->reason = r->u.path->reason;
}

static void candidate(struct ice *ice, enum media_candidate_type type,
		      uint8_t component, const char *host)
{
	const struct media_candidate c = {
		.type = type,
		.component = component,
		.addr = rig_addr(host, (uint16_t)(5000 + component)),
	};

	assert_int_equal(ice_candidate_add(ice, &c), 0);
}

/* ICE of two components; the selected pairs go through the relay, or not. */
static void ice_settle(struct world *w, const bool relayed[static SOCKET_COUNT])
{
	const struct ice_params params = {.send = check_lost};
	struct media_ice *peer = &w->settled.ice_peer;
	struct ice *ice;

	assert_int_equal(ice_new(&w->nat.ice.ice, &params), 0);
	ice = w->nat.ice.ice;
	w->settled.ice = true;
	strcpy(peer->ufrag, "peer");
	strcpy(peer->pwd, "the password of the peer");
	for (uint8_t k = 1; k <= 2; k++) {
		candidate(ice, MEDIA_CANDIDATE_HOST, k, "10.0.0.1");
		candidate(ice, MEDIA_CANDIDATE_RELAY, k, "203.0.113.1");
		peer->candidates[peer->candidate_count++] =
			(struct media_candidate){
				.component = k,
				.addr = rig_addr("192.0.2.2",
						 (uint16_t)(6000 + k))};
	}
	assert_int_equal(ice_start(ice, peer, 2, true, clock_mono_ns()), 0);
	for (size_t k = 0; k < SOCKET_COUNT; k++) {
		struct pair *pair = ice_pair(ice, relayed[k], k);

		assert_non_null(pair);
		pair->state = PAIR_VALID;
		ice_select(ice, pair);
	}
	assert_int_equal(ice_state(ice), ICE_CONNECTED);
}

static void world_open(struct world *w, bool stun_refuses)
{
	static const struct session_nat_handlers handlers = {
		.apply = apply_h,
		.relay = relay_h,
	};

	memset(w, 0, sizeof(*w));
	w->all.ticking = &w->ticking;
	w->all.loop_fd = eventfd(0, EFD_CLOEXEC);
	assert_true(w->all.loop_fd >= 0);
	w->all.first = &w->nat;
	w->nat.all = &w->all;
	w->nat.handlers = &handlers;
	w->nat.session = (struct media_session *)(void *)w;
	w->nat.local = &w->local;
	w->nat.settled = &w->settled;
	w->nat.mode = MEDIA_NAT_ICE;
	w->nat.listed = true;
	w->nat.settled_once = true;
	for (size_t k = 0; k < SOCKET_COUNT; k++) {
		w->nat.servers.stuns[k] = client(k, true, stun_refuses);
		w->nat.servers.turns[k] =
			client(SOCKET_COUNT + k, false, false);
	}
}

static void world_close(struct world *w)
{
	session_nat_release(&w->nat);
	close(w->all.loop_fd);
}

static void poll_all(struct world *w)
{
	for (int i = 0; i < 3; i++)
		session_nat_poll(&w->all, record_h, w);
}

/* ---- cases ---- */

/* The STUN server does not answer, but ICE has selected a relayed candidate whose
 * TURN server works: the call goes on. */
static void test_relay_without_the_stun_server(void **state)
{
	static const bool relayed[SOCKET_COUNT] = {true, true};
	struct world w;
	(void)state;

	world_open(&w, true);
	assert_int_equal(turn_state(w.nat.servers.stuns[0]), TURN_FAILED);
	assert_int_equal(turn_state(w.nat.servers.turns[0]), TURN_READY);
	ice_settle(&w, relayed);
	poll_all(&w);
	assert_int_equal(w.paths, 1);
	assert_null(w.reason);
	turn_lost(w.nat.servers.turns[SOCKET_RTP], "the relay is gone");
	poll_all(&w);
	assert_int_equal(w.paths, 2);
	assert_string_equal(w.reason, "the relay is gone");
	world_close(&w);
}

/* A failed TURN allocation ends the call only if media is relayed through it. */
static void test_relay_of_another_socket(void **state)
{
	static const struct {
		bool relayed[SOCKET_COUNT];
		bool mux;
		unsigned fails; /* socket whose relay is lost */
		bool lost;
	} cases[] = {
		{{true, false}, false, SOCKET_RTP, true},
		{{true, false}, false, SOCKET_RTCP, false},
		{{false, true}, false, SOCKET_RTCP, true},
		{{false, true}, false, SOCKET_RTP, false},
		{{true, true}, true, SOCKET_RTCP, false},
		{{false, false}, false, SOCKET_RTP, false},
	};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world w;

		world_open(&w, false);
		w.settled.rtcp_mux = cases[i].mux;
		ice_settle(&w, cases[i].relayed);
		poll_all(&w);
		assert_int_equal(w.paths, 1);
		assert_null(w.reason);
		turn_lost(w.nat.servers.turns[cases[i].fails], "gone");
		poll_all(&w);
		assert_int_equal(w.paths, 1 + cases[i].lost);
		assert_int_equal(w.reason != NULL, cases[i].lost);
		world_close(&w);
	}
}

static bool map_has(const struct relay_map *map, uint16_t number)
{
	for (size_t i = 0; i < RELAY_CHANNELS_MAX; i++) {
		if (map->channels[i].number == number)
			return true;
	}
	return false;
}

/*
 * The RX thread knows the channel in use: a peer that moves back to an earlier
 * address has that one's channel, which is then the newest.
 */
static void test_receiver_knows_a_channel_used_again(void **state)
{
	struct world w;
	struct turn *turn;
	struct media_addr first = rig_addr("192.0.2.2", 6000);
	(void)state;

	world_open(&w, false);
	turn = w.nat.servers.turns[SOCKET_RTP];
	for (uint16_t i = 0; i <= RELAY_CHANNELS_MAX; i++) {
		struct media_addr peer =
			rig_addr("192.0.2.2", (uint16_t)(6000 + i));

		assert_int_equal(turn_bind(turn, &peer), 0);
		poll_all(&w);
	}
	assert_int_not_equal(turn_channel(turn, &first), 0);
	assert_false(map_has(&w.map, turn_channel(turn, &first)));
	assert_int_equal(turn_bind(turn, &first), 0);
	poll_all(&w);
	assert_true(map_has(&w.map, turn_channel(turn, &first)));
	/* bound once more it is the newest one already */
	w.maps = 0;
	assert_int_equal(turn_bind(turn, &first), 0);
	poll_all(&w);
	assert_int_equal(w.maps, 0);
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_relay_without_the_stun_server),
		cmocka_unit_test(test_relay_of_another_socket),
		cmocka_unit_test(test_receiver_knows_a_channel_used_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
