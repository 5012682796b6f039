#include "media_rig.h"

#include "base/clock.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void settle_pair(struct rig_log *a, struct rig_log *b,
			enum media_direction of_a, enum media_direction of_b)
{
	const struct media_local *at_a = media_session_local(a->session);
	const struct media_local *at_b = media_session_local(b->session);
	struct media_negotiated n = rig_settle(&at_b->rtp, &at_b->rtcp, of_a);

	assert_int_equal(media_session_apply(a->session, &n), 0);
	n = rig_settle(&at_a->rtp, &at_a->rtcp, of_b);
	assert_int_equal(media_session_apply(b->session, &n), 0);
}

static void check_clean(const struct stream_total *sent,
			const struct stream_total *received, uint64_t packets)
{
	assert_int_equal(sent->packets, packets);
	assert_int_equal(sent->bytes, packets * 172);
	assert_string_equal(sent->codec, "PCMA");
	assert_int_equal(received->ssrc, sent->ssrc);
	assert_string_equal(received->codec, "PCMA");
	assert_int_equal(received->packets, packets);
	assert_int_equal(received->bytes, packets * 172);
	/* packets from before the receiver's negotiation are stray */
	assert_int_equal(received->received + received->stray, packets);
	assert_true(received->has_loss);
	assert_int_equal(received->lost, 0);
	assert_int_equal(received->duplicates, 0);
	assert_int_equal(received->reordered, 0);
	assert_true(received->jitter_ms.n > 0);
	assert_true(received->rtt_ms.n > 0);
	assert_true(received->has_score);
	assert_true(fabs(received->mos_total - 4.41) < 0.01);
	assert_true(sent->rtt_ms.n > 0);
	assert_true(sent->has_score);
	assert_true(fabs(sent->mos_total - 4.41) < 0.01);
}

static void test_engine_two_sessions_count_exactly(void **state)
{
	struct media_evidence evidence;
	struct rig rig;
	struct rig_log *a;
	struct rig_log *b;
	int64_t end_ns;

	(void)state;
	rig_open(&rig, 4, 300);
	a = rig_session(&rig, 0);
	b = rig_session(&rig, 1);
	assert_int_equal(media_session_start_ns(a->session), 0);
	settle_pair(a, b, MEDIA_SENDRECV, MEDIA_SENDRECV);
	/*
	 * packets are due at start + 0, 20, ... ms: the one at 3000 ms is still
	 * sent by a
	 */
	end_ns = media_session_start_ns(a->session) + 3000 * NS_PER_MS + 1;
	assert_int_equal(media_session_send_until(a->session, end_ns), 0);
	end_ns = media_session_start_ns(b->session) + 3000 * NS_PER_MS;
	assert_int_equal(media_session_send_until(b->session, end_ns), 0);
	rig_run_until(&rig, end_ns + 500 * NS_PER_MS);
	rig_stop(&rig, 2);
	check_clean(&a->total[1], &b->total[0], 151);
	check_clean(&b->total[1], &a->total[0], 150);
	for (size_t i = 0; i < 2; i++) {
		rig_check_seconds(&rig.logs[i]);
		assert_int_equal(rig.logs[i].first_rtp, 1);
		assert_int_equal(rig.logs[i].first_rtcp, 1);
		assert_true(rig.logs[i].seconds[0] >= 3);
		assert_int_equal(rig.logs[i].seconds[0],
				 rig.logs[i].seconds[1]);
	}
	media_engine_evidence(rig.engine, &evidence);
	assert_int_equal(evidence.packets_sent, 301);
	assert_int_equal(evidence.packets_received, 301);
	assert_int_equal(evidence.send_lateness_ms.n, 301);
	assert_int_equal(evidence.send_errors, 0);
	assert_int_equal(evidence.ring_drops, 0);
	assert_int_equal(evidence.receive_queue_drops, 0);
	assert_int_equal(evidence.invalid_packets, 0);
	assert_int_equal(evidence.foreign_packets, 0);
	rig_close(&rig);
}

static void test_engine_seconds_have_figures(void **state)
{
	struct rig rig;
	struct rig_log *a;
	size_t jitter = 0;
	size_t rtt[2] = {0};
	size_t mos[2] = {0};
	size_t loss_out = 0;

	(void)state;
	rig_open(&rig, 4, 300);
	a = rig_session(&rig, 0);
	settle_pair(a, rig_session(&rig, 1), MEDIA_SENDRECV, MEDIA_SENDRECV);
	rig_run_ms(&rig, 2300);
	rig_stop(&rig, 2);
	for (size_t i = 0; i < a->seconds[0]; i++) {
		const struct stream_second *in = &a->second[0][i];
		const struct stream_second *out = &a->second[1][i];

		assert_int_equal(in->lost, 0);
		assert_int_equal(out->lost, 0);
		assert_int_equal(in->start_ns, out->start_ns);
		jitter += in->has_jitter;
		rtt[0] += in->has_rtt;
		rtt[1] += out->has_rtt;
		mos[0] += in->has_mos && fabs(in->mos - 4.41) < 0.01;
		mos[1] += out->has_mos && fabs(out->mos - 4.41) < 0.01;
		loss_out += out->has_loss;
		assert_true(!in->has_rtt || in->rtt_ms == out->rtt_ms);
	}
	assert_true(jitter > 0);
	assert_true(rtt[0] > 0 && rtt[0] == rtt[1]);
	assert_true(mos[0] > 0 && mos[1] > 0 && loss_out > 0);
	rig_close(&rig);
}

static void test_engine_hold_stops_sending_not_measuring(void **state)
{
	struct media_evidence before;
	struct media_evidence after;
	struct rig rig;
	struct rig_log *a;
	struct rig_log *b;

	(void)state;
	rig_open(&rig, 4, 300);
	a = rig_session(&rig, 0);
	b = rig_session(&rig, 1);
	settle_pair(a, b, MEDIA_SENDRECV, MEDIA_SENDRECV);
	rig_run_ms(&rig, 400);
	settle_pair(a, b, MEDIA_INACTIVE, MEDIA_INACTIVE);
	rig_run_ms(&rig, 300); /* until the threads have taken it */
	media_engine_evidence(rig.engine, &before);
	rig_run_ms(&rig, 600);
	media_engine_evidence(rig.engine, &after);
	assert_true(before.packets_sent > 0);
	assert_int_equal(before.packets_sent, after.packets_sent);
	settle_pair(a, b, MEDIA_SENDONLY, MEDIA_RECVONLY);
	rig_run_ms(&rig, 600);
	assert_int_equal(media_session_send_until(a->session, 1), 0);
	rig_run_ms(&rig, 300);
	rig_stop(&rig, 2);
	/* the sequence numbers continued: no loss and no restart */
	assert_true(a->total[1].packets > b->total[1].packets);
	assert_int_equal(b->total[0].packets, a->total[1].packets);
	assert_int_equal(b->total[0].lost, 0);
	assert_int_equal(b->total[0].expected, b->total[0].received);
	assert_int_equal(a->total[0].packets, b->total[1].packets);
	rig_check_seconds(a);
	rig_check_seconds(b);
	assert_true(a->seconds[0] >= 2);
	rig_close(&rig);
}

static void test_engine_recvonly_sends_reports_only(void **state)
{
	struct rig rig;
	struct rig_log *a;
	struct rig_log *b;

	(void)state;
	rig_open(&rig, 4, 200);
	a = rig_session(&rig, 0);
	b = rig_session(&rig, 1);
	settle_pair(a, b, MEDIA_SENDONLY, MEDIA_RECVONLY);
	rig_run_ms(&rig, 1500);
	rig_stop(&rig, 2);
	assert_int_equal(b->total[1].packets, 0);
	assert_int_equal(a->total[0].packets, 0);
	assert_false(a->total[0].has_score);
	assert_non_null(a->total[0].no_score_reason);
	assert_int_equal(a->first_rtp, 0);
	assert_int_equal(a->first_rtcp, 1);
	assert_true(a->total[1].rtt_ms.n > 0);
	assert_int_equal(b->total[1].rtt_ms.n, 0);
	rig_close(&rig);
}

static void test_engine_speaks_ipv6(void **state)
{
	struct media_session_params params = {.codecs = {"PCMA"},
					      .codec_count = 1};
	struct sockaddr_in6 *in6 = (void *)&params.bind.ss;
	struct rig rig;
	int err = 0;

	(void)state;
	rig_open(&rig, 2, 200);
	in6->sin6_family = AF_INET6;
	in6->sin6_addr = in6addr_loopback;
	params.bind.len = sizeof(*in6);
	for (size_t i = 0; i < 2 && !err; i++) {
		params.user = &rig.logs[i];
		err = media_session_new(&rig.logs[i].session, rig.engine,
					&params);
	}
	if (err) { /* a host without IPv6 */
		assert_true(err == -EADDRNOTAVAIL || err == -EAFNOSUPPORT);
		rig_close(&rig);
		skip();
	}
	settle_pair(&rig.logs[0], &rig.logs[1], MEDIA_SENDRECV, MEDIA_SENDRECV);
	rig_run_ms(&rig, 700);
	assert_int_equal(media_session_send_until(rig.logs[0].session, 1), 0);
	assert_int_equal(media_session_send_until(rig.logs[1].session, 1), 0);
	rig_run_ms(&rig, 200);
	rig_stop(&rig, 2);
	assert_true(rig.logs[0].total[1].packets > 0);
	assert_int_equal(rig.logs[0].total[1].packets,
			 rig.logs[1].total[0].packets);
	assert_int_equal(rig.logs[1].total[1].packets,
			 rig.logs[0].total[0].packets);
	assert_true(rig.logs[0].total[0].rtt_ms.n > 0);
	rig_close(&rig);
}

/*
 * An address that the kernel refuses is reported. It is not our error, unless
 * packets were sent there before.
 */
static void test_engine_refused_address(void **state)
{
	const struct media_addr broadcast = rig_addr("255.255.255.255", 4000);
	const struct media_addr report = rig_addr("255.255.255.255", 4001);
	const struct media_addr good = rig_addr("127.0.0.1", 9);
	struct media_evidence evidence;
	struct media_negotiated n;
	struct rig_log *log;
	struct rig r;
	(void)state;

	rig_open(&r, RIG_SESSIONS, 200);
	log = rig_session(&r, 0);
	n = rig_settle(&broadcast, &report, MEDIA_SENDRECV);
	assert_int_equal(media_session_apply(log->session, &n), 0);
	rig_run_ms(&r, 2000); /* three RTCP intervals */
	assert_true(log->unreachable[0] > 0);
	assert_true(log->unreachable[1] > 0);
	assert_true(log->unreachable_err == -EACCES ||
		    log->unreachable_err == -ENETUNREACH);
	media_engine_evidence(r.engine, &evidence);
	assert_true(evidence.rtp_send_refused >= 10);
	assert_true(evidence.rtcp_send_refused >= 3);
	/* another address, of an ordinary call: no further report */
	n = rig_settle(&good, &good, MEDIA_SENDRECV);
	assert_int_equal(media_session_apply(log->session, &n), 0);
	rig_run_ms(&r, 200);
	log->unreachable[0] = 0;
	rig_run_ms(&r, 1200);
	assert_int_equal(log->unreachable[0], 0);
	media_engine_evidence(r.engine, &evidence);
	assert_int_equal(evidence.send_errors, 0);
	assert_true(evidence.packets_sent > 0);
	/* refused packets stay counted */
	assert_true(evidence.rtp_send_refused >= 10);
	assert_true(evidence.rtcp_send_refused >= 3);
	rig_stop(&r, 1);
	rig_close(&r);
}

/*
 * Refused RTCP packets are counted even if they are too few to be reported, as
 * in a short call: one in three refusals is reported, each is counted.
 */
static void test_engine_counts_refused_rtcp(void **state)
{
	const struct media_addr good = rig_addr("127.0.0.1", 9);
	const struct media_addr report = rig_addr("255.255.255.255", 4001);
	struct media_evidence evidence;
	struct media_negotiated n;
	struct rig_log *log;
	struct rig r;
	(void)state;

	rig_open(&r, RIG_SESSIONS, 200);
	log = rig_session(&r, 0);
	n = rig_settle(&good, &report, MEDIA_SENDRECV);
	assert_int_equal(media_session_apply(log->session, &n), 0);
	rig_run_ms(&r, 350);
	rig_stop(&r, 1);
	media_engine_evidence(r.engine, &evidence);
	assert_true(evidence.rtcp_send_refused > 0);
	assert_int_equal(evidence.rtcp_send_refused / 3, log->unreachable[1]);
	assert_int_equal(evidence.rtp_send_refused, 0);
	assert_int_equal(evidence.send_errors, 0);
	rig_close(&r);
}

static void test_engine_never_applied_is_released(void **state)
{
	struct rig rig;
	struct rig_log *a;

	(void)state;
	rig_open(&rig, 1, 0);
	/* the ceiling counts owned sessions, not those being released */
	for (int i = 0; i < 20; i++) {
		a = rig_session(&rig, 0);
		a->session = media_session_free(a->session);
	}
	rig_run_ms(&rig, 300);
	assert_int_equal(a->stopped, 0); /* no event is sent */
	a = rig_session(&rig, 0);
	rig_stop(&rig, 1);
	assert_int_equal(a->totals[0] + a->totals[1], 0);
	a = rig_session(&rig, 0);
	a->session = media_session_free(a->session);
	rig_close(&rig); /* frees the sessions being released */
}

static void test_engine_refuses_what_it_cannot_do(void **state)
{
	struct media_session_params params = {
		.codecs = {"G729"},
		.codec_count = 1,
	};
	struct media_engine_params bad = {.port_min = 20000, .port_max = 30000};
	struct media_engine *engine;
	struct media_negotiated n;
	struct media_session *s;
	struct rig rig;
	struct rig_log *a;

	(void)state;
	assert_int_equal(media_engine_new(&engine, &bad), -EINVAL);
	rig_open(&rig, 1, 0);
	a = rig_session(&rig, 0);
	params.bind = rig_loopback();
	assert_int_equal(media_session_new(&s, rig.engine, &params), -EINVAL);
	params.codecs[0] = "pcmu";
	params.ptime_ms = 9;
	assert_int_equal(media_session_new(&s, rig.engine, &params), -EINVAL);
	params.ptime_ms = 25;
	assert_int_equal(media_session_new(&s, rig.engine, &params), -ENOSPC);
	n = rig_settle(&params.bind, &params.bind, MEDIA_SENDRECV);
	assert_int_equal(media_session_apply(a->session, &n), -EINVAL);
	n.rtp = n.rtcp = media_session_local(a->session)->rtp;
	n.ptime_ms = 500;
	assert_int_equal(media_session_apply(a->session, &n), -EINVAL);
	n.ptime_ms = 20;
	n.codec.clock_hz = 16000;
	assert_int_equal(media_session_apply(a->session, &n), -EINVAL);
	rig_stop(&rig, 1);
	assert_int_equal(a->totals[0], 0);
	rig_close(&rig);
}

static void test_engine_ports_run_out(void **state)
{
	struct media_session_params params = {.bind = rig_loopback()};
	struct media_engine_params few = {.sessions_max = 4};
	struct media_session *s[3];
	struct media_engine *engine;
	struct media_addr taken;
	struct rig rig;
	struct rig_log *a;
	size_t made = 0;
	int err = 0;

	(void)state;
	rig_open(&rig, 1, 0);
	a = rig_session(&rig, 0);
	taken = media_session_local(a->session)->rtp;
	few.port_min =
		ntohs(((struct sockaddr_in *)(void *)&taken.ss)->sin_port);
	few.port_max = (uint16_t)(few.port_min + 1);
	assert_int_equal(few.port_min % 2, 0);
	assert_int_equal(media_engine_new(&engine, &few), 0);
	assert_int_equal(media_session_new(&s[0], engine, &params),
			 -EADDRINUSE);
	media_engine_free(engine);
	/* two port pairs, one of them in use: at most one session */
	few.port_max = (uint16_t)(few.port_min + 3);
	assert_int_equal(media_engine_new(&engine, &few), 0);
	while (made < 3 && !err) {
		err = media_session_new(&s[made], engine, &params);
		made += err == 0;
	}
	assert_int_equal(err, -EADDRINUSE);
	assert_true(made <= 1);
	while (made > 0)
		media_session_free(s[--made]);
	media_engine_free(engine);
	rig_stop(&rig, 1);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_engine_two_sessions_count_exactly),
		cmocka_unit_test(test_engine_seconds_have_figures),
		cmocka_unit_test(test_engine_hold_stops_sending_not_measuring),
		cmocka_unit_test(test_engine_recvonly_sends_reports_only),
		cmocka_unit_test(test_engine_speaks_ipv6),
		cmocka_unit_test(test_engine_refused_address),
		cmocka_unit_test(test_engine_counts_refused_rtcp),
		cmocka_unit_test(test_engine_never_applied_is_released),
		cmocka_unit_test(test_engine_refuses_what_it_cannot_do),
		cmocka_unit_test(test_engine_ports_run_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
