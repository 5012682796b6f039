/* Two ICE agents on a simulated network with NATs, loss and strangers. */
#include "base/clock.h"
#include "media/nat/ice_internal.h"
#include "media/nat/stun_message.h"
#include "media/socket.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define FLIGHTS_MAX 256
#define DELAY_NS    (10 * NS_PER_MS)
#define PORT_A      5000
#define PORT_B      6000
#define NAT_PORTS   100 /* the NAT adds this to A's ports */

struct flight {
	int64_t due_ns;
	int to;
	struct ice_path path; /* as the receiver sees it */
	size_t bytes;
	uint8_t data[STUN_MESSAGE_BYTES];
};

/*
 * A is at 10.0.0.1, optionally behind the NAT 198.51.100.1; B is at 192.0.2.2.
 */
struct world {
	struct ice *agents[2];
	bool nat;      /* A is behind a NAT that accepts packets only from
		        * hosts A has sent to */
	bool opened;   /* A has sent through it */
	bool deaf;     /* packets from B are dropped */
	bool no_rtcp;  /* so are those of component 2 */
	unsigned lose; /* drop one in so many datagrams; 0: none */
	unsigned sent;
	int64_t now_ns;
	struct flight flights[FLIGHTS_MAX];
	size_t flight_count;
};

struct side {
	struct world *w;
	int index;
};

static struct media_addr addr(const char *host, uint16_t port)
{
	struct media_addr a;
	struct sockaddr_in *in = (struct sockaddr_in *)&a.ss;

	memset(&a, 0, sizeof(a));
	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	assert_int_equal(inet_pton(AF_INET, host, &in->sin_addr), 1);
	a.len = sizeof(*in);
	return a;
}

static struct media_addr host_of(int side, uint8_t component)
{
	return side == 0
		       ? addr("10.0.0.1", (uint16_t)(PORT_A + component - 1))
		       : addr("192.0.2.2", (uint16_t)(PORT_B + component - 1));
}

static struct media_addr outside_of_a(uint8_t component)
{
	return addr("198.51.100.1",
		    (uint16_t)(PORT_A + NAT_PORTS + component - 1));
}

static void send_h(const struct ice_path *path, const uint8_t *data,
		   size_t bytes, void *arg)
{
	struct side *side = arg;
	struct world *w = side->w;
	int to = 1 - side->index;
	struct flight *f = &w->flights[w->flight_count];
	struct media_addr target = host_of(to, path->component);

	assert_true(w->flight_count < FLIGHTS_MAX);
	if (w->lose && ++w->sent % w->lose == 0)
		return;
	if ((side->index == 1 && w->deaf) ||
	    (path->component == 2 && w->no_rtcp))
		return;
	if (w->nat && side->index == 0)
		w->opened = true;
	if (w->nat && side->index == 1) {
		target = outside_of_a(path->component);
		if (!w->opened)
			return;
	}
	if (!media_addr_equal(&path->peer, &target))
		return; /* no host has that address */
	*f = (struct flight){
		.due_ns = w->now_ns + DELAY_NS,
		.to = to,
		.path = {.component = path->component,
			 .peer = w->nat && side->index == 0
					 ? outside_of_a(path->component)
					 : host_of(side->index,
						   path->component)},
		.bytes = bytes,
	};
	memcpy(f->data, data, bytes);
	w->flight_count++;
}

static struct side sides[2];

static void world_open(struct world *w, bool lite_a, bool lite_b)
{
	memset(w, 0, sizeof(*w));
	w->now_ns = NS_PER_S;
	for (int i = 0; i < 2; i++) {
		const struct ice_params params = {
			.lite = i == 0 ? lite_a : lite_b,
			.send = send_h,
			.arg = &sides[i],
		};

		sides[i] = (struct side){w, i};
		assert_int_equal(ice_new(&w->agents[i], &params), 0);
		for (uint8_t k = 1; k <= 2; k++) {
			const struct media_candidate c = {
				.component = k, .addr = host_of(i, k)};

			assert_int_equal(ice_candidate_add(w->agents[i], &c),
					 0);
			/* only once */
			assert_int_equal(ice_candidate_add(w->agents[i], &c),
					 0);
		}
		assert_int_equal(ice_local(w->agents[i])->candidate_count, 2);
	}
}

static void world_close(struct world *w)
{
	for (int i = 0; i < 2; i++)
		w->agents[i] = ice_free(w->agents[i]);
}

static void deliver(struct world *w)
{
	for (size_t i = 0; i < w->flight_count;) {
		struct flight f = w->flights[i];

		if (f.due_ns > w->now_ns) {
			i++;
			continue;
		}
		w->flights[i] = w->flights[--w->flight_count];
		ice_input(w->agents[f.to], &f.path, f.data, f.bytes, w->now_ns);
	}
}

static void run_ms(struct world *w, int64_t ms)
{
	for (int64_t t = 0; t < ms; t += 10) {
		w->now_ns += 10 * NS_PER_MS;
		deliver(w);
		for (int i = 0; i < 2; i++)
			ice_tick(w->agents[i], w->now_ns);
	}
}

static void start(struct world *w, int side, unsigned components, bool offers)
{
	assert_int_equal(ice_start(w->agents[side],
				   ice_local(w->agents[1 - side]), components,
				   offers, w->now_ns),
			 0);
}

static struct ice_selected selected(struct world *w, int side,
				    uint8_t component)
{
	struct ice_selected s;

	assert_true(ice_selected(w->agents[side], component, &s));
	return s;
}

static void check_connected(struct world *w, unsigned components)
{
	for (int i = 0; i < 2; i++)
		assert_int_equal(ice_state(w->agents[i]), ICE_CONNECTED);
	for (uint8_t k = 1; k <= components; k++) {
		struct ice_selected a = selected(w, 0, k);
		struct ice_selected b = selected(w, 1, k);

		/* each side sends to the address where it sees the other */
		assert_true(media_addr_equal(&a.remote.addr, &b.local.addr));
		assert_true(media_addr_equal(&b.remote.addr, &a.local.addr));
	}
}

static void test_hosts_connect(void **state)
{
	static const struct {
		bool lite_a, lite_b, a_leads;
	} cases[] = {
		{false, false, true},
		{true, false, false}, /* the full agent is controlling */
		{false, true, true},
		{true, true, true},
	};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (unsigned components = 1; components <= 2; components++) {
			struct world w;

			world_open(&w, cases[i].lite_a, cases[i].lite_b);
			start(&w, 1, components, false);
			run_ms(&w, 200);
			start(&w, 0, components, true);
			run_ms(&w, 1000);
			check_connected(&w, components);
			assert_int_equal(selected(&w, 0, 1).remote.type,
					 MEDIA_CANDIDATE_HOST);
			assert_int_equal(ice_controlling(w.agents[0]),
					 cases[i].a_leads);
			assert_int_equal(ice_controlling(w.agents[1]),
					 !cases[i].a_leads);
			world_close(&w);
		}
	}
}

/*
 * B does not know of the NAT: it learns a peer-reflexive candidate from A's
 * packets.
 */
static void test_nat_learns(void **state)
{
	struct world w;
	struct ice_selected a;
	(void)state;

	world_open(&w, false, false);
	w.nat = true;
	start(&w, 1, 1, false);
	start(&w, 0, 1, true);
	run_ms(&w, 2000);
	check_connected(&w, 1);
	a = selected(&w, 0, 1);
	assert_int_equal(a.local.type, MEDIA_CANDIDATE_PRFLX);
	assert_int_equal(selected(&w, 1, 1).remote.type, MEDIA_CANDIDATE_PRFLX);
	assert_true(media_addr_equal(
		&a.local.related, &ice_local(w.agents[0])->candidates[0].addr));
	world_close(&w);
}

static void test_nat_lite(void **state)
{
	struct world w;
	(void)state;

	world_open(&w, false, true);
	w.nat = true;
	start(&w, 1, 1, false);
	start(&w, 0, 1, true);
	run_ms(&w, 2000);
	check_connected(&w, 1);
	world_close(&w);
}

/* Checks that arrive before the answer are answered and remembered. */
static void test_early_checks(void **state)
{
	struct world w;
	(void)state;

	world_open(&w, false, false);
	w.nat = true;
	w.opened = true;
	start(&w, 0, 1, false); /* answers */
	run_ms(&w, 3000);
	assert_int_equal(ice_state(w.agents[1]), ICE_IDLE);
	start(&w, 1, 1, true);
	run_ms(&w, 1000);
	check_connected(&w, 1);
	world_close(&w);
}

/*
 * A firewall lets B's packets in once B has sent its first one, when A's check
 * has been sent for the last time: B's check makes A send a new one.
 */
static void test_peer_checks_late(void **state)
{
	struct world w;
	(void)state;

	world_open(&w, false, false);
	w.deaf = true;
	start(&w, 0, 1, true);
	run_ms(&w, 8000);
	assert_int_equal(w.agents[0]->pairs[0].check.sent, ICE_SENDS_MAX);
	w.deaf = false;
	start(&w, 1, 1, false);
	run_ms(&w, 3000);
	check_connected(&w, 1);
	world_close(&w);
}

static void test_loss(void **state)
{
	struct world w;
	(void)state;

	world_open(&w, false, false);
	w.lose = 3;
	start(&w, 1, 2, false);
	start(&w, 0, 2, true);
	run_ms(&w, 15000);
	check_connected(&w, 2);
	world_close(&w);
}

/* Both agents, or neither, take the controlling role (RFC 8445 7.3.1.1). */
static void test_role_conflict(void **state)
{
	(void)state;

	for (int role = 0; role < 2; role++) {
		struct world w;

		world_open(&w, false, false);
		start(&w, 0, 1, role);
		start(&w, 1, 1, role);
		run_ms(&w, 3000);
		check_connected(&w, 1);
		assert_int_equal(ice_controlling(w.agents[0]),
				 !ice_controlling(w.agents[1]));
		world_close(&w);
	}
}

/*
 * A lite agent is controlled by a checking peer. A peer that also takes the
 * controlled role gets a role conflict.
 */
static void test_lite_does_not_lead(void **state)
{
	struct world w;
	char name[2 * MEDIA_ICE_UFRAG_BYTES];
	const struct ice_path from = {.component = 1, .peer = host_of(1, 1)};
	uint32_t priority = 1;
	struct stun_draft draft = {
		.method = STUN_MESSAGE_BINDING,
		.class = STUN_MESSAGE_REQUEST,
		.id = (const uint8_t *)"twelve bytes",
		.fingerprint = true,
		.username = name,
		.priority = &priority,
		.controlled = &(uint64_t){1},
	};
	uint8_t data[STUN_MESSAGE_BYTES];
	struct stun_message m;
	size_t bytes;
	(void)state;

	world_open(&w, true, false);
	draft.key = ice_local(w.agents[0])->pwd;
	draft.key_bytes = strlen(draft.key);
	snprintf(name, sizeof(name), "%s:theirs",
		 ice_local(w.agents[0])->ufrag);
	/* also before the peer's SDP */
	assert_int_equal(stun_message_write(data, &bytes, &draft), 0);
	ice_input(w.agents[0], &from, data, bytes, w.now_ns);
	assert_int_equal(w.flight_count, 1);
	assert_int_equal(
		stun_message_open(&m, w.flights[0].data, w.flights[0].bytes),
		0);
	assert_int_equal(m.class, STUN_MESSAGE_ERROR);
	assert_int_equal(m.error, 487);
	assert_true(stun_message_verify(&m, draft.key, draft.key_bytes));
	stun_message_close(&m);
	world_close(&w);
}

static void test_nobody_there(void **state)
{
	struct world w;
	(void)state;

	world_open(&w, false, false);
	w.deaf = true;
	start(&w, 0, 1, true);
	run_ms(&w, ICE_PATIENCE_NS / NS_PER_MS + 100);
	assert_int_equal(ice_state(w.agents[0]), ICE_FAILED);
	assert_non_null(strstr(ice_reason(w.agents[0]), "no candidate pair"));
	world_close(&w);
}

static void test_consent(void **state)
{
	struct world w;
	unsigned version;
	(void)state;

	world_open(&w, false, false);
	start(&w, 1, 1, false);
	start(&w, 0, 1, true);
	run_ms(&w, 1000);
	check_connected(&w, 1);
	version = ice_version(w.agents[0]);
	run_ms(&w, 60000);
	check_connected(&w, 1);
	/* nothing changed */
	assert_int_equal(ice_version(w.agents[0]), version);
	/* the same description of the peer again changes nothing */
	start(&w, 0, 1, true);
	assert_int_equal(ice_version(w.agents[0]), version);
	w.deaf = true;
	run_ms(&w, 23000);
	assert_int_equal(ice_state(w.agents[0]), ICE_CONNECTED);
	run_ms(&w, 8000);
	assert_int_equal(ice_state(w.agents[0]), ICE_FAILED);
	assert_non_null(strstr(ice_reason(w.agents[0]), "consent"));
	world_close(&w);
}

/*
 * ICE restart: the peer's new credentials start new checks with new candidates.
 */
static void test_restart(void **state)
{
	struct world w;
	const struct ice_params params = {.send = send_h, .arg = &sides[1]};
	const struct media_candidate c = {.component = 1,
					  .addr = host_of(1, 1)};
	struct ice_selected before;
	struct ice_selected pair;
	(void)state;

	world_open(&w, false, false);
	start(&w, 1, 1, false);
	start(&w, 0, 1, true);
	run_ms(&w, 1000);
	check_connected(&w, 1);
	before = selected(&w, 0, 1);
	ice_free(w.agents[1]);
	assert_int_equal(ice_new(&w.agents[1], &params), 0);
	assert_int_equal(ice_candidate_add(w.agents[1], &c), 0);
	start(&w, 0, 1, true);
	assert_int_equal(ice_state(w.agents[0]), ICE_CHECKING);
	/* media uses the previous pair until a new one is selected */
	assert_true(ice_selected(w.agents[0], 1, &pair));
	assert_true(media_addr_equal(&pair.remote.addr, &before.remote.addr));
	assert_true(media_addr_equal(&pair.local.addr, &before.local.addr));
	assert_true(pair.before);
	assert_false(ice_selected(w.agents[0], 2, &pair));
	start(&w, 1, 1, false);
	run_ms(&w, 1000);
	check_connected(&w, 1);
	assert_false(selected(&w, 0, 1).before);
	world_close(&w);
}

/*
 * RTCP moves to RTP's port and back to its own one with the same credentials
 * (rtcp-mux of a later offer and answer). The first side to know may be either.
 */
static void test_components_change(void **state)
{
	static const struct {
		bool lite_a, lite_b;
	} cases[] = {
		{false, false}, {true, false}, {false, true}, {true, true}};
	struct ice_selected pair;
	(void)state;

	for (int i = 0; i < 8; i++) {
		int first = i % 2;
		struct world w;

		world_open(&w, cases[i / 2].lite_a, cases[i / 2].lite_b);
		start(&w, 1, 1, false);
		start(&w, 0, 1, true);
		run_ms(&w, 1000);
		check_connected(&w, 1);
		for (int k = 0; k < 2; k++) {
			start(&w, first, 2, !first);
			assert_int_equal(
				ice_selected(w.agents[first], 1, &pair), true);
			run_ms(&w, 500);
			start(&w, 1 - first, 2, first);
			run_ms(&w, 1000);
			check_connected(&w, 2);
			start(&w, first, 1, !first);
			run_ms(&w, 500);
			start(&w, 1 - first, 1, first);
			/* no consent is wanted for RTCP's old port */
			w.no_rtcp = true;
			run_ms(&w, 60000);
			w.no_rtcp = false;
			check_connected(&w, 1);
			assert_false(ice_selected(w.agents[0], 2, &pair));
			assert_false(ice_selected(w.agents[1], 2, &pair));
		}
		world_close(&w);
	}
}

/* The new component has to connect like one of a new call. */
static void test_component_that_fails(void **state)
{
	struct world w;
	(void)state;

	world_open(&w, false, false);
	start(&w, 1, 1, false);
	start(&w, 0, 1, true);
	run_ms(&w, 1000);
	w.no_rtcp = true;
	start(&w, 1, 2, false);
	start(&w, 0, 2, true);
	assert_int_equal(ice_state(w.agents[0]), ICE_CHECKING);
	run_ms(&w, ICE_PATIENCE_NS / NS_PER_MS + 100);
	assert_int_equal(ice_state(w.agents[0]), ICE_FAILED);
	world_close(&w);
}

/* ---- strangers ---- */

static void stranger_sends(struct world *w, struct stun_draft *draft)
{
	static const uint8_t id[STUN_TRANSACTION_BYTES] = "who are you";
	const struct ice_path from = {.component = 1,
				      .peer = addr("203.0.113.9", 9999)};
	uint8_t data[STUN_MESSAGE_BYTES];
	size_t bytes;

	draft->method = STUN_MESSAGE_BINDING;
	draft->id = id;
	assert_int_equal(stun_message_write(data, &bytes, draft), 0);
	for (size_t cut = 0; cut <= bytes; cut++)
		ice_input(w->agents[0], &from, data, cut, w->now_ns);
	for (size_t i = 0; i < bytes * 8; i++) {
		data[i / 8] ^= (uint8_t)(1 << i % 8);
		ice_input(w->agents[0], &from, data, bytes, w->now_ns);
		data[i / 8] ^= (uint8_t)(1 << i % 8);
	}
}

static void test_strangers(void **state)
{
	struct world w;
	uint32_t priority = 1;
	char name[2 * MEDIA_ICE_UFRAG_BYTES];
	(void)state;

	world_open(&w, false, false);
	start(&w, 0, 1, true);
	snprintf(name, sizeof(name), "%s:%s", ice_local(w.agents[0])->ufrag,
		 ice_local(w.agents[1])->ufrag);
	/*
	 * whoever sees the SIP message knows the username, and the password
	 * too; this stranger does not know the password
	 */
	stranger_sends(&w, &(struct stun_draft){
				   .class = STUN_MESSAGE_REQUEST,
				   .key = "a password of the stranger",
				   .key_bytes = 26,
				   .fingerprint = true,
				   .username = name,
				   .priority = &priority,
				   .controlling = &(uint64_t){1},
				   .use_candidate = true,
			   });
	stranger_sends(&w, &(struct stun_draft){
				   .class = STUN_MESSAGE_SUCCESS,
				   .key = "a password of the stranger",
				   .key_bytes = 26,
				   .fingerprint = true,
				   .mapped = &(struct media_addr){.len = 0},
			   });
	w.flight_count = 0;
	/* it left no state behind */
	start(&w, 1, 1, false);
	run_ms(&w, 1000);
	check_connected(&w, 1);
	world_close(&w);
}

/*
 * Checks with the right password from many unknown addresses: at most
 * ICE_REMOTES_MAX remote candidates are stored.
 */
/* Checks of 500 addresses that know the password of agent 0. */
static void checks_of_many(struct world *w)
{
	const char *pwd = ice_local(w->agents[0])->pwd;
	char name[2 * MEDIA_ICE_UFRAG_BYTES];
	uint32_t priority = 1;

	snprintf(name, sizeof(name), "%s:%s", ice_local(w->agents[0])->ufrag,
		 ice_local(w->agents[1])->ufrag);
	for (uint16_t port = 1000; port < 1500; port++) {
		const struct ice_path from = {
			.component = 1, .peer = addr("203.0.113.9", port)};
		const struct stun_draft draft = {
			.method = STUN_MESSAGE_BINDING,
			.class = STUN_MESSAGE_REQUEST,
			.id = (const uint8_t *)"twelve bytes",
			.key = pwd,
			.key_bytes = strlen(pwd),
			.fingerprint = true,
			.username = name,
			.priority = &priority,
			.controlled = &(uint64_t){1},
		};
		uint8_t data[STUN_MESSAGE_BYTES];
		size_t bytes;

		assert_int_equal(stun_message_write(data, &bytes, &draft), 0);
		ice_input(w->agents[0], &from, data, bytes, w->now_ns);
	}
}

static void test_remotes_bounded(void **state)
{
	struct world w;
	(void)state;

	world_open(&w, false, false);
	start(&w, 0, 1, true);
	checks_of_many(&w);
	start(&w, 1, 1, false);
	run_ms(&w, 5000);
	check_connected(&w, 1);
	assert_int_equal(w.agents[0]->remote_count, ICE_REMOTES_MAX);
	world_close(&w);
}

/* Before the answer, with the candidates of the peer. */
static void test_early_checks_bounded(void **state)
{
	struct world w;
	(void)state;

	world_open(&w, false, false);
	checks_of_many(&w);
	assert_int_equal(w.agents[0]->early_count, ICE_EARLY_MAX);
	start(&w, 0, 1, true);
	start(&w, 1, 1, false);
	run_ms(&w, 5000);
	check_connected(&w, 1);
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hosts_connect),
		cmocka_unit_test(test_nat_learns),
		cmocka_unit_test(test_nat_lite),
		cmocka_unit_test(test_early_checks),
		cmocka_unit_test(test_peer_checks_late),
		cmocka_unit_test(test_loss),
		cmocka_unit_test(test_role_conflict),
		cmocka_unit_test(test_lite_does_not_lead),
		cmocka_unit_test(test_nobody_there),
		cmocka_unit_test(test_consent),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_components_change),
		cmocka_unit_test(test_component_that_fails),
		cmocka_unit_test(test_strangers),
		cmocka_unit_test(test_remotes_bounded),
		cmocka_unit_test(test_early_checks_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
