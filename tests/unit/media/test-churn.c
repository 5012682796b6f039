/*
 * Sessions start, change and end all the time: nothing is lost or counted
 * twice, and (under the sanitizers) nothing is used after it was freed.
 */
#include "media_peer.h"
#include "media_rig.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SLOTS 12
#define TURNS 600

struct churn {
	struct media_engine *engine;
	struct media_session *sessions[SLOTS]; /* NULL: none */
	bool applied[SLOTS];
	uint64_t made;
	uint64_t released; /* released without an apply: they report nothing */
	uint64_t stopped;
	uint64_t totals;
	uint64_t sent;
	uint64_t received;
	uint64_t sent_in_seconds;
	uint64_t received_in_seconds;
	unsigned asked; /* calls for media_engine_flush() since the last one */
	uint64_t flushes;
};

static void flush_asked(void *arg)
{
	struct churn *c = arg;

	c->asked++;
}

static void record_count(const struct media_record *record, void *arg)
{
	struct churn *c = arg;

	if (record->kind == MEDIA_RECORD_STOPPED) {
		c->stopped++;
		media_session_free(record->session);
	} else if (record->kind == MEDIA_RECORD_TOTAL) {
		c->totals++;
		*(record->outgoing ? &c->sent : &c->received) +=
			record->u.total.packets;
	} else if (record->kind == MEDIA_RECORD_SECOND) {
		*(record->outgoing ? &c->sent_in_seconds
				   : &c->received_in_seconds) +=
			record->u.second.packets;
	}
}

static void churn_poll(struct churn *c)
{
	struct pollfd fd = {
		.fd = media_engine_fd(c->engine),
		.events = POLLIN,
	};

	poll(&fd, 1, 3);
	assert_true(c->asked <= 1); /* once, however many commands wait */
	if (c->asked) {
		c->asked = 0;
		c->flushes++;
		media_engine_flush(c->engine);
	}
	media_engine_poll(c->engine, record_count, c);
}

static void session_make(struct churn *c, int at)
{
	struct media_session_params params = {
		.bind = rig_loopback(),
		.ptime_ms = rand() % 2 ? 10 : 20,
	};

	if (media_session_new(&c->sessions[at], c->engine, &params) == 0)
		c->made++;
	else
		c->sessions[at] = NULL;
}

static void session_change(struct churn *c, int at)
{
	int to = rand() % SLOTS;
	const struct media_local *peer;
	struct media_negotiated n;
	int err;

	if (!c->sessions[to])
		return;
	peer = media_session_local(c->sessions[to]);
	n = rig_settle(&peer->rtp, &peer->rtcp,
		       rand() % 4 ? MEDIA_SENDRECV : MEDIA_INACTIVE);
	n.ptime_ms = rand() % 2 ? 10 : 20;
	err = media_session_apply(c->sessions[at], &n);
	assert_true(err == 0 || err == -EAGAIN);
	c->applied[at] |= err == 0;
}

static void session_end(struct churn *c, int at)
{
	if (c->applied[at]) {
		media_session_stop(c->sessions[at]);
	} else {
		media_session_free(c->sessions[at]);
		c->released++;
	}
	c->sessions[at] = NULL;
	c->applied[at] = false;
}

static void everything_is_accounted_for(bool flushed)
{
	struct media_engine_params params = {
		.port_min = 20000,
		.port_max = 32000,
		.sessions_max = SLOTS,
		.rtcp_interval_ms = 30,
	};
	struct media_evidence evidence;
	struct churn c = {0};

	if (flushed) {
		params.flush_h = flush_asked;
		params.flush_arg = &c;
	}
	srand(7);
	assert_int_equal(media_engine_new(&c.engine, &params), 0);
	for (int turn = 0; turn < TURNS; turn++) {
		int at = rand() % SLOTS;

		if (!c.sessions[at])
			session_make(&c, at);
		else if (rand() % 6)
			session_change(&c, at);
		else
			session_end(&c, at);
		churn_poll(&c);
	}
	for (int at = 0; at < SLOTS; at++) {
		if (c.sessions[at])
			session_end(&c, at);
	}
	while (c.stopped < c.made - c.released)
		churn_poll(&c);
	media_engine_evidence(c.engine, &evidence);
	assert_int_equal(c.totals, 2 * c.stopped);
	assert_int_equal(evidence.ring_drops, 0);
	assert_int_equal(evidence.invalid_packets, 0);
	assert_true(c.sent > 0);
	assert_int_equal(c.sent, evidence.packets_sent);
	assert_int_equal(c.sent, c.sent_in_seconds);
	assert_int_equal(c.received, c.received_in_seconds);
	/* packets were also sent to sessions that were never applied */
	assert_true(c.received <= evidence.packets_received);
	assert_true(c.received > 0);
	/* Sessions that end one after the other are flushed together. */
	assert_true(flushed == (c.flushes > 0));
	media_engine_free(c.engine);
}

static void test_churn_accounts_for_everything(void **state)
{
	(void)state;
	everything_is_accounted_for(false);
}

/* Threads wake late, with many commands at a time. */
static void test_churn_accounts_for_everything_when_flushed(void **state)
{
	(void)state;
	everything_is_accounted_for(true);
}

static void test_churn_free_with_sessions_running(void **state)
{
	struct media_engine_params params = {
		.port_min = 20000,
		.port_max = 32000,
		.sessions_max = SLOTS,
		.rtcp_interval_ms = 30,
	};
	struct churn c = {0};

	(void)state;
	assert_int_equal(media_engine_new(&c.engine, &params), 0);
	for (int at = 0; at < SLOTS; at++)
		session_make(&c, at);
	for (int at = 0; at < SLOTS; at++)
		session_change(&c, at);
	for (int i = 0; i < 20; i++)
		churn_poll(&c);
	for (int at = 0; at < SLOTS; at++)
		media_session_free(c.sessions[at]);
	assert_null(media_engine_free(c.engine));
	assert_null(media_engine_free(NULL));
	assert_null(media_session_free(NULL));
}

#define FLOOD 40000

static void test_churn_flood_is_accounted_for(void **state)
{
	struct media_evidence evidence;
	struct media_negotiated n;
	struct peer peer;
	struct rig rig;
	struct rig_log *log;
	struct media_addr to;

	(void)state;
	rig_open(&rig, 1, 0);
	log = rig_session(&rig, 0);
	peer_open(&peer);
	to = media_session_local(log->session)->rtp;
	n = rig_settle(&peer.at, &peer.at, MEDIA_RECVONLY);
	assert_int_equal(media_session_apply(log->session, &n), 0);
	/* the ring holds less than what arrives within the analysis delay */
	for (int i = 0; i < FLOOD; i++)
		peer_send_rtp(&peer, &to, 77, (uint16_t)i);
	rig_run_ms(&rig, 200);
	rig_stop(&rig, 1);
	media_engine_evidence(rig.engine, &evidence);
	assert_int_equal(evidence.packets_received +
				 evidence.receive_queue_drops,
			 FLOOD);
	assert_int_equal(log->total[0].packets + evidence.ring_drops,
			 evidence.packets_received);
	/* the scheduler decides how much is dropped; the sums must add up */
	print_message("flood: %llu ring drops, %llu queue drops\n",
		      (unsigned long long)evidence.ring_drops,
		      (unsigned long long)evidence.receive_queue_drops);
	rig_check_seconds(log);
	peer_close(&peer);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_churn_accounts_for_everything_when_flushed),
		cmocka_unit_test(test_churn_accounts_for_everything),
		cmocka_unit_test(test_churn_free_with_sessions_running),
		cmocka_unit_test(test_churn_flood_is_accounted_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
