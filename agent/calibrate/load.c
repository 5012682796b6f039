#include "agent/calibrate/load.h"

#include "base/clock.h"
#include "media/lateness.h"
#include "media/media.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#define SIDES 2

/* Reports often enough for many round trips in a short time; a call has one in some
 * seconds. The error of a round trip does not depend on it. */
#define RTCP_MS 500

/* What is on its way arrives in less. */
#define ARRIVE_NS (100 * NS_PER_MS)

/* Sessions that are stopped report it within 200 ms; an overloaded host takes longer. */
#define STOPPED_NS (30 * NS_PER_S)

/* Each session has totals of two directions to report, and calls of tests do not end all at
 * once. */
#define STOPS_AT_ONCE 16

#define POLL_MS 20

struct side {
	struct media_engine *engine;
	struct media_session **sessions;
	struct lateness_mark mark;
};

struct load {
	const struct load_params *params;
	struct side sides[SIDES];
	uint32_t pairs;
	uint32_t stopped;
	int64_t from_ns; /* seconds that began before do not count; 0: none count */
	struct load_result *result;
	int err;
};

static void collect(const struct media_record *record, void *arg)
{
	struct load *l = arg;
	struct load_result *r = l->result;
	const struct stream_second *second = &record->u.second;

	if (record->kind == MEDIA_RECORD_STOPPED) {
		l->stopped++;
	} else if (record->kind == MEDIA_RECORD_TOTAL && !record->outgoing) {
		r->packets += record->u.total.expected;
		if (record->u.total.lost > 0)
			r->lost += (uint64_t)record->u.total.lost;
	} else if (record->kind == MEDIA_RECORD_SECOND && l->from_ns &&
		   second->start_ns >= l->from_ns) {
		if (!record->outgoing && second->has_jitter && !l->err)
			l->err = samples_put(&r->jitter_ms, second->jitter_ms);
		if (second->has_rtt && !l->err)
			l->err = samples_put(&r->rtt_ms, second->rtt_ms);
	}
}

static void poll_once(struct load *l)
{
	struct pollfd fds[SIDES];

	for (size_t k = 0; k < SIDES; k++)
		fds[k] = (struct pollfd){
			.fd = media_engine_fd(l->sides[k].engine),
			.events = POLLIN};
	(void)poll(fds, SIDES, POLL_MS);
	for (size_t k = 0; k < SIDES; k++)
		media_engine_poll(l->sides[k].engine, collect, l);
}

static void poll_until(struct load *l, int64_t until_ns,
		       struct clock_check *clock)
{
	while (clock_mono_ns() < until_ns) {
		poll_once(l);
		if (clock)
			clock_check_watch(clock);
	}
}

static int apply(struct media_session *s, const struct media_session *peer)
{
	const struct media_local *at = media_session_local(peer);
	const struct media_negotiated n = {
		.rtp = at->rtp,
		.rtcp = at->rtcp,
		.codec = at->codecs[0],
		.accepted = {at->codecs[0]},
		.accepted_count = 1,
		.ptime_ms = 20,
		.direction = MEDIA_SENDRECV,
	};

	return media_session_apply(s, &n);
}

/* Each side has an address of its own, and so the whole range of ports. */
static int session_make(struct load *l, size_t side, uint32_t i)
{
	struct media_session_params params = {
		.bind.len = sizeof(struct sockaddr_in)};

	params.bind.ss.in.sin_family = AF_INET;
	params.bind.ss.in.sin_addr.s_addr =
		htonl(INADDR_LOOPBACK + (in_addr_t)side);
	return media_session_new(&l->sides[side].sessions[i],
				 l->sides[side].engine, &params);
}

static int calls_begin(struct load *l)
{
	int err = 0;

	for (uint32_t i = 0; i < l->pairs && !err; i++) {
		err = session_make(l, 0, i);
		if (!err)
			err = session_make(l, 1, i);
		if (!err)
			err = apply(l->sides[0].sessions[i],
				    l->sides[1].sessions[i]);
		if (!err)
			err = apply(l->sides[1].sessions[i],
				    l->sides[0].sessions[i]);
		for (size_t k = 0; k < SIDES; k++)
			media_engine_poll(l->sides[k].engine, collect, l);
	}
	return err;
}

static int calls_end(struct load *l)
{
	int64_t until_ns = clock_mono_ns() + STOPPED_NS;
	uint32_t stops = 0;

	for (uint32_t i = 0; i < SIDES * l->pairs; i++) {
		struct media_session *s = l->sides[i % 2].sessions[i / 2];

		if (s && media_session_start_ns(s))
			(void)media_session_send_until(s, 1);
	}
	poll_until(l, clock_mono_ns() + ARRIVE_NS, NULL);
	for (uint32_t i = 0; i < SIDES * l->pairs; i++) {
		struct media_session *s = l->sides[i % 2].sessions[i / 2];

		if (s && media_session_start_ns(s)) {
			media_session_stop(s);
			if (++stops % STOPS_AT_ONCE == 0)
				poll_once(l);
		}
	}
	while (l->stopped < stops && clock_mono_ns() < until_ns)
		poll_once(l);
	return l->stopped < stops ? -ETIMEDOUT : 0;
}

static void figures(struct load *l)
{
	struct load_result *r = l->result;

	for (size_t k = 0; k < SIDES; k++) {
		struct side *side = &l->sides[k];
		struct lateness_figures sent;
		struct media_evidence m;

		lateness_since(media_engine_lateness(side->engine), &side->mark,
			       NS_PER_MS, &sent);
		if (sent.n && sent.p99_ms > r->lateness_p99_ms)
			r->lateness_p99_ms = sent.p99_ms;
		media_engine_evidence(side->engine, &m);
		r->scheduling = media_scheduling_name(m.sending);
	}
}

/* Packets that this host has not sent, not received or not analysed. */
static uint64_t errors_of(const struct load *l)
{
	uint64_t errors = 0;

	for (size_t k = 0; k < SIDES; k++) {
		struct media_evidence m;

		media_engine_evidence(l->sides[k].engine, &m);
		errors += m.send_errors + m.packets_unsent +
			  m.receive_queue_drops + m.ring_drops;
	}
	return errors;
}

static int measure(struct load *l)
{
	struct lateness_figures before;
	struct clock_check clock;
	int64_t now_ns;

	poll_until(l, clock_mono_ns() + l->params->settle_ns, NULL);
	for (size_t k = 0; k < SIDES; k++)
		lateness_since(media_engine_lateness(l->sides[k].engine),
			       &l->sides[k].mark, NS_PER_MS, &before);
	l->result->errors = errors_of(l);
	clock_check_start(&clock);
	now_ns = clock_mono_ns();
	l->from_ns = now_ns;
	poll_until(l, now_ns + l->params->length_ns, &clock);
	l->from_ns = 0;
	figures(l);
	l->result->errors = errors_of(l) - l->result->errors;
	clock_check_end(&clock, &l->result->clock);
	return l->err;
}

static int engines_start(struct load *l)
{
	const struct media_engine_params params = {
		.port_min = l->params->port_min,
		.port_max = l->params->port_max,
		.sessions_max = l->pairs,
		.rtcp_interval_ms = RTCP_MS,
		.realtime = l->params->realtime,
	};
	int err = 0;

	for (size_t k = 0; k < SIDES && !err; k++) {
		struct side *side = &l->sides[k];

		side->sessions =
			calloc(l->pairs, sizeof(struct media_session *));
		err = side->sessions ? media_engine_new(&side->engine, &params)
				     : -ENOMEM;
	}
	return err;
}

static void engines_end(struct load *l)
{
	for (size_t k = 0; k < SIDES; k++) {
		struct side *side = &l->sides[k];

		for (uint32_t i = 0; side->sessions && i < l->pairs; i++)
			media_session_free(side->sessions[i]);
		media_engine_free(side->engine);
		free(side->sessions);
	}
}

void load_result_clear(struct load_result *r)
{
	samples_clear(&r->jitter_ms);
	samples_clear(&r->rtt_ms);
}

int load_run(struct load_result *ret, const struct load_params *params)
{
	struct load *l = calloc(1, sizeof(*l));
	int err;

	*ret = (struct load_result){.scheduling = ""};
	if (!l)
		return -ENOMEM;
	l->params = params;
	l->pairs = params->calls / SIDES;
	l->result = ret;
	err = engines_start(l);
	if (!err) {
		int end_err;

		err = calls_begin(l);
		if (!err)
			err = measure(l);
		end_err = calls_end(l);
		err = err ? err : end_err;
	}
	engines_end(l);
	free(l);
	samples_ascend(&ret->jitter_ms);
	samples_ascend(&ret->rtt_ms);
	return err;
}
