/*
 * Sessions behind a TURN server that sends garbage, and sessions with ICE that
 * strangers flood. The stream is unaffected, and every other packet is counted
 * under a name.
 */
#include "media_peer.h"
#include "media_rig.h"

#include "base/clock.h"
#include "media/nat/stun_message.h"
#include "media/nat/turn_frame.h"
#include "media/socket.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SSRC     0x11223344
#define STREAM   100
#define FLOOD    500
#define HANG_NS  (60 * NS_PER_S)
#define SOCKETS  2
#define RTP_SIZE (12 + PEER_PAYLOAD_BYTES)

/* The TURN server's state of one of our sockets. */
struct client {
	struct media_addr from;
	uint16_t channel;
};

struct world {
	struct rig rig;
	struct rig_log *log;
	struct peer server;
	struct peer stranger;
	struct client clients[SOCKETS];
	size_t client_count;
};

static struct media_addr addr(const char *text, uint16_t port)
{
	struct media_addr a = rig_loopback();
	struct sockaddr_in *in = (struct sockaddr_in *)(void *)&a.ss;

	assert_int_equal(inet_pton(AF_INET, text, &in->sin_addr), 1);
	in->sin_port = htons(port);
	return a;
}

static int world_open(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	rig_open(&w->rig, 4, 0);
	peer_open(&w->server);
	peer_open(&w->stranger);
	*state = w;
	return 0;
}

static int world_close(void **state)
{
	struct world *w = *state;

	rig_close(&w->rig);
	peer_close(&w->server);
	peer_close(&w->stranger);
	free(w);
	return 0;
}

static struct rig_log *session(struct world *w, size_t index,
			       const struct media_nat_params *nat)
{
	struct rig_log *log = &w->rig.logs[index];
	struct media_session_params params = {
		.bind = rig_loopback(),
		.user = log,
		.rtcp_mux = nat->mode == MEDIA_NAT_ICE ? MEDIA_MUX_OFFER
						       : MEDIA_MUX_TAKE,
		.nat = *nat,
	};

	assert_int_equal(
		media_session_new(&log->session, w->rig.engine, &params), 0);
	return log;
}

/* ---- the TURN server ---- */

static struct client *client_of(struct world *w, const struct media_addr *from)
{
	for (size_t i = 0; i < w->client_count; i++) {
		if (media_addr_equal(&w->clients[i].from, from))
			return &w->clients[i];
	}
	assert_true(w->client_count < SOCKETS);
	w->clients[w->client_count].from = *from;
	return &w->clients[w->client_count++];
}

static void server_answer(struct world *w, const uint8_t *data, size_t bytes,
			  const struct media_addr *from)
{
	static const uint32_t lifetime_s = 600;
	struct client *c = client_of(w, from);
	struct media_addr mapped = addr("198.51.100.1", 7000);
	struct media_addr relayed = addr("203.0.113.1", 49152);
	struct stun_message m;
	struct stun_draft d = {.class = STUN_MESSAGE_SUCCESS,
			       .lifetime_s = &lifetime_s};
	uint8_t answer[STUN_MESSAGE_BYTES];
	size_t len;

	if (data[0] >= 0x40 || stun_message_open(&m, data, bytes))
		return; /* media from us */
	if (m.class == STUN_MESSAGE_REQUEST) {
		d.method = (enum stun_message_method)m.method;
		d.id = m.id;
		if (m.method == STUN_MESSAGE_ALLOCATE) {
			d.mapped = &mapped;
			d.relayed = &relayed;
		}
		/*
		 * libre does not read the channel number of a message; our
		 * channels are known
		 */
		if (m.method == STUN_MESSAGE_CHANNEL)
			c->channel = 0x4000;
		assert_int_equal(stun_message_write(answer, &len, &d), 0);
		peer_send(&w->server, from, answer, len);
	}
	stun_message_close(&m);
}

static void server_run(struct world *w)
{
	uint8_t data[4096];
	struct media_addr from = {.len = sizeof(from.ss)};
	ssize_t len;

	rig_run_ms(&w->rig, 2);
	while ((len = recvfrom(w->server.fd, data, sizeof(data), MSG_DONTWAIT,
			       (struct sockaddr *)(void *)&from.ss,
			       &from.len)) > 0) {
		server_answer(w, data, (size_t)len, &from);
		from.len = sizeof(from.ss);
	}
}

static void relayed_open(struct world *w)
{
	const struct media_nat_params nat = {
		.mode = MEDIA_NAT_TURN,
		.turn_server = w->server.at,
	};
	struct media_addr rtp = addr("192.0.2.9", 6000);
	struct media_addr rtcp = addr("192.0.2.9", 6001);
	struct media_negotiated n = rig_settle(&rtp, &rtcp, MEDIA_SENDRECV);
	int64_t end_ns = clock_mono_ns() + HANG_NS;

	w->log = session(w, 0, &nat);
	while (!w->log->gathered && clock_mono_ns() < end_ns)
		server_run(w);
	assert_int_equal(w->log->gathered, 1);
	assert_int_equal(media_session_apply(w->log->session, &n), 0);
	while (!w->log->paths && clock_mono_ns() < end_ns)
		server_run(w);
	assert_int_equal(w->log->paths, 1);
	assert_null(w->log->path.reason);
	assert_int_equal(w->client_count, SOCKETS);
}

static void rtp_write(uint8_t *data, uint16_t seq)
{
	memset(data, 0x55, RTP_SIZE);
	data[0] = 0x80;
	data[1] = 8;
	data[2] = (uint8_t)(seq >> 8);
	data[3] = (uint8_t)seq;
	for (int k = 0; k < 4; k++) {
		data[4 + k] = (uint8_t)((uint32_t)seq * 160 >> (24 - 8 * k));
		data[8 + k] = (uint8_t)(SSRC >> (24 - 8 * k));
	}
}

/*
 * Send ChannelData.
 * @param claims  the length in its header
 */
static void channel_send(const struct world *w, uint16_t channel, size_t claims,
			 const uint8_t *data, size_t bytes)
{
	static uint8_t frame[65507];

	turn_frame_channel(frame, channel, claims);
	memcpy(frame + TURN_CHANNEL_BYTES, data, bytes);
	peer_send(&w->server, &w->clients[0].from, frame,
		  TURN_CHANNEL_BYTES + bytes);
}

/* A response to a request that was never sent. */
static void forged_send(const struct peer *from, const struct media_addr *to,
			enum stun_message_method method, unsigned error,
			uint8_t number)
{
	const uint8_t id[STUN_TRANSACTION_BYTES] = {number, 1, 2, 3};
	struct media_addr a = addr("192.0.2.66", 666);
	struct stun_draft d = {
		.method = method,
		.class = error ? STUN_MESSAGE_ERROR : STUN_MESSAGE_SUCCESS,
		.id = id,
		.error = error,
		.reason = error ? "no" : NULL,
		.mapped = error ? NULL : &a,
		.relayed = error ? NULL : &a,
		.fingerprint = true,
	};
	uint8_t data[STUN_MESSAGE_BYTES];
	size_t bytes;

	assert_int_equal(stun_message_write(data, &bytes, &d), 0);
	peer_send(from, to, data, bytes);
}

/* @return number of datagrams that are neither a message nor a frame */
static unsigned garbage_send(struct world *w, const uint8_t *rtp)
{
	static const uint8_t large[65000];
	struct media_addr peer = addr("192.0.2.9", 6000);
	uint8_t data[2048];
	size_t bytes;

	/*
	 * an unknown channel; longer than the datagram; no valid channel
	 * number; empty; a frame in a frame; 65 kB
	 */
	channel_send(w, 0x4ff0, RTP_SIZE, rtp, RTP_SIZE);
	channel_send(w, 0x4000, 2 * RTP_SIZE, rtp, RTP_SIZE);
	channel_send(w, 0x7fff, RTP_SIZE, rtp, RTP_SIZE);
	channel_send(w, 0x4000, 0, rtp, 0);
	turn_frame_channel(data, 0x4000, RTP_SIZE);
	memcpy(data + TURN_CHANNEL_BYTES, rtp, RTP_SIZE);
	channel_send(w, 0x4000, TURN_CHANNEL_BYTES + RTP_SIZE, data,
		     TURN_CHANNEL_BYTES + RTP_SIZE);
	channel_send(w, 0x4ff0, sizeof(large), large, sizeof(large));
	/* our own Send indication, reflected by the server and truncated */
	bytes = turn_frame_send(data, sizeof(data), &peer, rtp, RTP_SIZE);
	assert_true(bytes > 0);
	peer_send(&w->server, &w->clients[0].from, data, 7);
	return 7;
}

/* Wait until the RX thread has read so much: the garbage exceeds the socket buffer. */
static void invalid_await(const struct world *w, uint64_t count)
{
	int64_t hang_ns = clock_mono_ns() + HANG_NS;
	struct media_evidence e = {.invalid_packets = 0};

	while (e.invalid_packets < count) {
		assert_true(clock_mono_ns() < hang_ns);
		usleep(100);
		media_engine_evidence(w->rig.engine, &e);
	}
}

static void test_relay_sends_garbage(void **state)
{
	struct world *w = *state;
	struct media_evidence e;
	uint8_t rtp[RTP_SIZE];
	unsigned invalid = 0;

	relayed_open(w);
	for (uint16_t i = 0; i < STREAM; i++) {
		rtp_write(rtp, i);
		channel_send(w, 0x4000, RTP_SIZE, rtp, RTP_SIZE);
		invalid += garbage_send(w, rtp);
		invalid_await(w, invalid);
		if (i % 10 == 0)
			server_run(w);
	}
	for (unsigned i = 0; i < FLOOD; i++) {
		forged_send(&w->server, &w->clients[0].from,
			    i % 2 ? STUN_MESSAGE_CHANNEL : STUN_MESSAGE_REFRESH,
			    i % 3 ? 403 : 0, (uint8_t)i);
		if (i % 50 == 0)
			server_run(w);
	}
	rig_run_ms(&w->rig, 200);
	/* the allocation still exists */
	assert_int_equal(w->log->paths, 1);
	rig_stop(&w->rig, 1);
	rig_check_seconds(w->log);
	media_engine_evidence(w->rig.engine, &e);
	assert_int_equal(e.receive_queue_drops, 0);
	assert_int_equal(w->log->total[0].packets, STREAM);
	assert_int_equal(w->log->total[0].lost, 0);
	assert_int_equal(w->log->total[0].ssrc, SSRC);
	assert_int_equal(e.invalid_packets, invalid);
	assert_true(e.stun_dropped > 0);
	assert_int_equal(e.foreign_packets, 0);
}

/* ---- ICE ---- */

/* @param also  another RTP candidate of the peer; NULL: none */
static void apply_ice(struct rig_log *log, const struct rig_log *peer,
		      bool controlling, const struct media_addr *also)
{
	const struct media_local *theirs = media_session_local(peer->session);
	struct media_negotiated n =
		rig_settle(&theirs->rtp, &theirs->rtp, MEDIA_SENDRECV);

	n.rtcp_mux = true;
	n.ice = true;
	n.ice_controlling = controlling;
	n.ice_peer = theirs->ice;
	if (also)
		n.ice_peer.candidates[n.ice_peer.candidate_count++] =
			(struct media_candidate){
				.type = MEDIA_CANDIDATE_RELAY,
				.component = 1,
				.priority = 1,
				.addr = *also,
			};
	assert_int_equal(media_session_apply(log->session, &n), 0);
}

/*
 * A connectivity check with the username, which is in the SDP, but without the
 * password.
 */
static void check_send(const struct world *w, const struct media_addr *to,
		       const char *username, uint8_t number)
{
	const uint8_t id[STUN_TRANSACTION_BYTES] = {number, 9};
	static const uint64_t tie_breaker = UINT64_MAX;
	static const uint32_t priority = UINT32_MAX;
	const struct stun_draft d = {
		.method = STUN_MESSAGE_BINDING,
		.class = STUN_MESSAGE_REQUEST,
		.id = id,
		.username = username,
		.key = "guessed",
		.key_bytes = 7,
		.priority = &priority,
		.controlling = &tie_breaker,
		.use_candidate = true,
		.fingerprint = true,
	};
	uint8_t data[STUN_MESSAGE_BYTES];
	size_t bytes;

	assert_int_equal(stun_message_write(data, &bytes, &d), 0);
	peer_send(&w->stranger, to, data, bytes);
}

static void flood(struct world *w, const char *username)
{
	static uint8_t large[65000] = {0,    1,    0xfd, 0xd4,
				       0x21, 0x12, 0xa4, 0x42};
	const struct media_addr *to =
		&media_session_local(w->rig.logs[0].session)->rtp;

	for (unsigned i = 0; i < FLOOD; i++) {
		check_send(w, to, username, (uint8_t)i);
		forged_send(&w->stranger, to, STUN_MESSAGE_BINDING,
			    i % 2 ? 487 : 0, (uint8_t)i);
		/* begins like STUN, but is too long or truncated */
		peer_send(&w->stranger, to, large,
			  i % 50 ? 20 + i % 1000 : sizeof(large));
		if (i % 25 == 0)
			rig_run_ms(&w->rig, 2);
	}
}

/* @return responses to the stranger, all of them error responses */
static unsigned refusals(struct world *w)
{
	uint8_t data[2048];
	unsigned count = 0;
	int len;

	while ((len = peer_receive(&w->stranger, data, sizeof(data))) > 0) {
		struct stun_message m;

		assert_int_equal(stun_message_open(&m, data, (size_t)len), 0);
		assert_int_equal(m.class, STUN_MESSAGE_ERROR);
		assert_true(m.error == 400 || m.error == 401);
		stun_message_close(&m);
		count++;
	}
	return count;
}

static void test_ice_in_a_flood(void **state)
{
	const struct media_nat_params nat = {.mode = MEDIA_NAT_ICE};
	struct world *w = *state;
	struct rig_log *a = session(w, 0, &nat), *b = session(w, 1, &nat);
	int64_t end_ns = clock_mono_ns() + HANG_NS;
	struct media_evidence e;
	char username[600];

	strcpy(username, media_session_local(a->session)->ice.ufrag);
	strcat(username, ":");
	strcat(username, media_session_local(b->session)->ice.ufrag);
	flood(w, username); /* before the SDP arrives */
	apply_ice(a, b, true, NULL);
	apply_ice(b, a, false, NULL);
	flood(w, username);
	while (!(a->paths && b->paths) && clock_mono_ns() < end_ns) {
		flood(w, username);
		rig_run_ms(&w->rig, 20);
	}
	flood(w, username);
	rig_run_ms(&w->rig, 500);
	assert_true(a->paths == 1 && b->paths == 1);
	assert_null(a->path.reason);
	assert_null(b->path.reason);
	assert_true(media_addr_equal(&a->path.remote[0].addr,
				     &media_session_local(b->session)->rtp));
	rig_stop(&w->rig, 2);
	media_engine_evidence(w->rig.engine, &e);
	assert_int_equal(e.receive_queue_drops, 0);
	assert_true(e.stun_dropped > 0);
	assert_true(a->total[0].packets > 10);
	assert_int_equal(a->total[0].packets, b->total[1].packets);
	assert_int_equal(b->total[0].packets, a->total[1].packets);
	assert_int_equal(a->total[0].lost + b->total[0].lost, 0);
	assert_int_equal(e.foreign_packets, 0);
	assert_true(refusals(w) < FLOOD);
}

/*
 * Packets from a candidate of the peer that is in no selected pair, for example
 * its relay, are the peer's.
 */
static void test_other_candidates_are_the_peers(void **state)
{
	const struct media_nat_params nat = {.mode = MEDIA_NAT_ICE};
	struct world *w = *state;
	struct rig_log *a = session(w, 0, &nat), *b = session(w, 1, &nat);
	const struct media_addr *ours = &media_session_local(a->session)->rtp;
	int64_t end_ns = clock_mono_ns() + HANG_NS;
	struct media_evidence e;

	apply_ice(a, b, true, &w->server.at);
	apply_ice(b, a, false, NULL);
	while (!(a->paths && b->paths) && clock_mono_ns() < end_ns)
		rig_run_ms(&w->rig, 20);
	assert_null(a->path.reason);
	assert_true(media_addr_equal(&a->path.remote[0].addr,
				     &media_session_local(b->session)->rtp));
	for (uint16_t i = 0; i < 10; i++)
		peer_send_rtp(&w->server, ours, SSRC, i);
	rig_run_ms(&w->rig, 50);
	media_engine_evidence(w->rig.engine, &e);
	assert_int_equal(e.foreign_packets, 0);
	for (uint16_t i = 10; i < 20; i++)
		peer_send_rtp(&w->stranger, ours, SSRC, i);
	rig_stop(&w->rig, 2);
	media_engine_evidence(w->rig.engine, &e);
	assert_int_equal(e.foreign_packets, 10);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, world_open, world_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_relay_sends_garbage),
		TEST(test_ice_in_a_flood),
		TEST(test_other_candidates_are_the_peers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
