/* Whether the bounds that a calibration states are true: calibrate this host, then measure
 * streams that a relay impairs, and compare with what the relay did to them.
 * Usage: bench-calibrate [STREAMS [SECONDS [CALIBRATE_SECONDS [SEED]]]]
 * CALIBRATE_SECONDS 0: no calibration; only the loss is judged.
 * Exit status: 0 if in each of jitter, round trip and loss at least 95 % are within their
 * bound. */
#include "agent/calibrate/calibrate.h"
#include "base/clock.h"
#include "base/str.h"
#include "impairment.h"
#include "media/media.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORT_MIN 20000
#define PORT_MAX 29999
/* Half a second is enough for what the relay holds and for reports under way. */
#define ARRIVE_NS (NS_PER_S / 2)
#define RTCP_MS   500

struct measured {
	bool has_jitter, has_rtt;
	double jitter_ms, rtt_ms;
	uint64_t lost, expected, rtts;
};

struct batch {
	struct media_engine *engines[2];
	struct media_session **sessions[2];
	struct measured *streams; /* 2 a pair, by the side that sends */
	uint32_t pairs, stopped;
};

struct check {
	const char *name;
	double bound;
	uint64_t streams, within;
	double worst;
};

static void collect(const struct media_record *record, void *arg)
{
	struct batch *b = arg;
	const struct stream_total *t = &record->u.total;
	size_t index = (size_t)(uintptr_t)media_session_user(record->session);
	struct measured *m;

	if (record->kind == MEDIA_RECORD_STOPPED) {
		b->stopped++;
	} else if (record->kind == MEDIA_RECORD_TOTAL && record->outgoing) {
		m = &b->streams[index];
		m->has_rtt = t->rtt_ms.n > 0;
		m->rtt_ms = t->rtt_ms.avg;
		m->rtts = t->rtt_ms.n;
	} else if (record->kind == MEDIA_RECORD_TOTAL) {
		m = &b->streams[index ^ 1];
		m->has_jitter = t->jitter_ms.n > 0;
		m->jitter_ms = t->jitter_ms.avg;
		m->lost = (uint64_t)t->lost;
		m->expected = t->expected;
	}
}

static void poll_until(struct batch *b, int64_t until_ns, uint32_t stopped)
{
	while (clock_mono_ns() < until_ns && b->stopped < stopped) {
		struct pollfd fds[2];

		for (int k = 0; k < 2; k++)
			fds[k] = (struct pollfd){
				.fd = media_engine_fd(b->engines[k]),
				.events = POLLIN};
		(void)poll(fds, 2, 20);
		for (int k = 0; k < 2; k++)
			media_engine_poll(b->engines[k], collect, b);
	}
}

static struct media_addr relay_at(uint16_t port)
{
	struct media_addr at = {.len = sizeof(struct sockaddr_in)};

	at.ss.in.sin_family = AF_INET;
	at.ss.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	at.ss.in.sin_port = htons(port);
	return at;
}

static int session_make(struct batch *b, struct impairment *m, uint32_t pair,
			int side)
{
	struct media_session_params params = {
		.bind = relay_at(0),
		.user = (void *)(uintptr_t)(2 * pair + (uint32_t)side)};
	struct media_session **s = &b->sessions[side][pair];
	const struct media_local *own;
	int err = media_session_new(s, b->engines[side], &params);

	if (err)
		return err;
	own = media_session_local(*s);
	impairment_peer(m, pair, side, false, &own->rtp.ss.in);
	impairment_peer(m, pair, side, true, &own->rtcp.ss.in);
	return 0;
}

static int session_apply(struct batch *b, struct impairment *m, uint32_t pair,
			 int side)
{
	struct media_session *s = b->sessions[side][pair];
	const struct media_local *own = media_session_local(s);
	const struct media_negotiated n = {
		.rtp = relay_at(impairment_port(m, pair, side, false)),
		.rtcp = relay_at(impairment_port(m, pair, side, true)),
		.codec = own->codecs[0],
		.accepted = {own->codecs[0]},
		.accepted_count = 1,
		.ptime_ms = 20,
		.direction = MEDIA_SENDRECV,
	};

	return media_session_apply(s, &n);
}

static int batch_start(struct batch *b, struct impairment *m)
{
	const struct media_engine_params params = {
		.port_min = PORT_MIN,
		.port_max = PORT_MAX,
		.sessions_max = b->pairs,
		.rtcp_interval_ms = RTCP_MS,
		.realtime = true,
	};
	int err = 0;

	b->streams = calloc(2 * b->pairs, sizeof(*b->streams));
	for (int k = 0; k < 2 && !err; k++) {
		b->sessions[k] =
			calloc(b->pairs, sizeof(struct media_session *));
		err = media_engine_new(&b->engines[k], &params);
	}
	for (uint32_t i = 0; i < b->pairs && !err; i++) {
		err = session_make(b, m, i, 0);
		if (!err)
			err = session_make(b, m, i, 1);
	}
	if (!err)
		err = impairment_start(m);
	for (uint32_t i = 0; i < 2 * b->pairs && !err; i++) {
		err = session_apply(b, m, i / 2, (int)(i % 2));
		poll_until(b, 0, UINT32_MAX);
	}
	return err;
}

static void batch_end(struct batch *b)
{
	for (uint32_t i = 0; i < 2 * b->pairs; i++)
		(void)media_session_send_until(b->sessions[i % 2][i / 2], 1);
	poll_until(b, clock_mono_ns() + ARRIVE_NS, UINT32_MAX);
	for (uint32_t i = 0; i < 2 * b->pairs; i++)
		media_session_stop(b->sessions[i % 2][i / 2]);
	poll_until(b, clock_mono_ns() + 30 * NS_PER_S, 2 * b->pairs);
}

static void batch_free(struct batch *b)
{
	for (int k = 0; k < 2; k++) {
		for (uint32_t i = 0; b->sessions[k] && i < b->pairs; i++)
			media_session_free(b->sessions[k][i]);
		media_engine_free(b->engines[k]);
		free(b->sessions[k]);
	}
	free(b->streams);
}

static void compare(struct check *c, double measured, double truth)
{
	double error = fabs(measured - truth);

	c->streams++;
	c->within += error <= c->bound + 1e-9;
	if (error > c->worst)
		c->worst = error;
}

static void streams_compare(const struct batch *b, const struct impairment *m,
			    struct check checks[3])
{
	for (uint32_t i = 0; i < 2 * b->pairs; i++) {
		const struct measured *s = &b->streams[i];
		struct impaired truth;

		impairment_read(m, i / 2, (int)(i % 2), &truth);
		printf("%u: J %.4f (true %.4f) ms, round trip %.4f (%.4f) ms "
		       "of %llu (%llu), lost %llu (%llu) of %llu; relay "
		       "exact to %.3f ms\n",
		       i, s->jitter_ms, truth.jitter_ms, s->rtt_ms,
		       truth.rtt_ms, (unsigned long long)s->rtts,
		       (unsigned long long)truth.rtts,
		       (unsigned long long)s->lost,
		       (unsigned long long)truth.lost,
		       (unsigned long long)s->expected, truth.doubt_ms);
		compare(&checks[0], s->jitter_ms, truth.jitter_ms);
		compare(&checks[1], s->rtt_ms, truth.rtt_ms);
		compare(&checks[2], 100 * (double)s->lost / (double)s->expected,
			100 * (double)truth.lost /
				(double)(truth.forwarded + truth.lost));
	}
}

/* @return 0; -errno */
static int batch_run(uint32_t pairs, int64_t seconds, uint64_t seed,
		     struct check checks[3])
{
	struct batch b = {.pairs = pairs};
	struct impairment *m = NULL;
	int err = impairment_new(&m, pairs, seed);

	if (!err)
		err = batch_start(&b, m);
	if (!err) {
		poll_until(&b, clock_mono_ns() + seconds * NS_PER_S,
			   UINT32_MAX);
		batch_end(&b);
		impairment_end(m);
		streams_compare(&b, m, checks);
	}
	batch_free(&b);
	impairment_free(m);
	return err;
}

static int calibrated(struct wire_calibration *c, uint32_t seconds)
{
	const struct calibrate_params params = {.seconds = seconds,
						.port_min = PORT_MIN,
						.port_max = PORT_MAX,
						.realtime = true};
	int err = calibrate_run(c, &params);

	if (!err && !(c->has_jitter_bound && c->has_rtt_bound))
		err = -ENODATA;
	if (err)
		return err;
	printf("calls %u, bounds with %u: jitter %.4f ms, round trip %.4f ms, "
	       "loss %.4f %%\n",
	       c->calls, c->bounds_calls, c->jitter_bound_ms, c->rtt_bound_ms,
	       c->loss_bound_pct);
	return 0;
}

static int streams_run(const struct wire_calibration *c, uint64_t streams,
		       uint64_t seconds, uint64_t seed, struct check checks[3])
{
	int err = 0;

	for (uint64_t left = streams; left && !err;) {
		uint64_t now = left < c->bounds_calls ? left : c->bounds_calls;

		now -= now % 2;
		err = batch_run((uint32_t)now / 2, (int64_t)seconds,
				seed + left, checks);
		left -= now;
	}
	return err;
}

int main(int argc, char **argv)
{
	uint64_t numbers[] = {200, 20, 60, 1}; /* streams, s, s, seed */
	/* without a calibration: losses are counted exactly on any host */
	struct wire_calibration c = {.bounds_calls = UINT32_MAX,
				     .jitter_bound_ms = INFINITY,
				     .rtt_bound_ms = INFINITY};
	bool good = true;
	int err = 0;

	for (int i = 1; i < argc && !err; i++)
		err = i > 4 ? -EINVAL
			    : str_to_u64(argv[i], 100000, &numbers[i - 1]);
	if (err || numbers[0] % 2 || !numbers[0] || !numbers[1] ||
	    (numbers[2] && numbers[2] < CALIBRATE_SECONDS_MIN)) {
		fprintf(stderr, "usage: bench-calibrate [STREAMS [SECONDS "
				"[CALIBRATE_SECONDS [SEED]]]]\n");
		return 2;
	}
	if (numbers[2])
		err = calibrated(&c, (uint32_t)numbers[2]);
	struct check checks[] = {
		{"jitter, ms", c.jitter_bound_ms, 0, 0, 0},
		{"round trip, ms", c.rtt_bound_ms, 0, 0, 0},
		{"loss, %", c.loss_bound_pct, 0, 0, 0},
	};

	if (!err)
		err = streams_run(&c, numbers[0], numbers[1], numbers[3],
				  checks);
	for (size_t i = 0; i < 3 && !err; i++) {
		const struct check *k = &checks[i];

		printf("%s: %llu of %llu streams within +- %.4f, largest "
		       "error %.4f\n",
		       k->name, (unsigned long long)k->within,
		       (unsigned long long)k->streams, k->bound, k->worst);
		good &= 100 * k->within >= 95 * k->streams;
	}
	if (err)
		fprintf(stderr, "bench-calibrate: %s\n", strerror(-err));
	return err || !good ? 1 : 0;
}
