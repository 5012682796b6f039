/* N two-way sessions on loopback: how late packets leave, and what a session
 * costs. Usage: bench-media [SESSIONS [SECONDS [srtp | audio PROMPT]]]; SESSIONS is
 * even.
 * With "srtp" plain ones first, then each SRTP suite with each implementation,
 * and its cost over plain;
 * with "audio" what it costs to decode, a codec and a kind of work each. */
#include "base/clock.h"
#include "base/str.h"
#include "media/media.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/** The parameters of a run's sessions. */
#define ROUNDS 7u

struct kind {
	const char *name;
	unsigned suite; /* MEDIA_SRTP_SUITE_COUNT: plain */
	enum media_srtp_library library;
	const char *codec; /* NULL: the default one */
	unsigned audio;    /* enum media_audio */
	const char *expect_file;
};

struct result {
	bool each; /* print every stream: a few, to compare with a capture */
	uint64_t stopped;
	uint64_t sent;
	uint64_t received;
	uint64_t expected;
	int64_t lost;
	double jitter_max_ms;
};

static double cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void collect(const struct media_record *record, void *arg)
{
	struct result *r = arg;

	if (record->kind == MEDIA_RECORD_STOPPED) {
		r->stopped++;
		media_session_free(record->session);
	} else if (record->kind == MEDIA_RECORD_TOTAL && record->outgoing) {
		r->sent += record->u.total.packets;
	} else if (record->kind == MEDIA_RECORD_TOTAL) {
		const struct stream_total *t = &record->u.total;

		if (r->each)
			printf("ssrc 0x%08X packets %llu lost %lld J ms: mean "
			       "%.3f max %.3f; RTT ms: n %llu mean %.3f\n",
			       t->ssrc, (unsigned long long)t->packets,
			       (long long)t->lost, t->jitter_ms.avg,
			       t->jitter_ms.max,
			       (unsigned long long)t->rtt_ms.n, t->rtt_ms.avg);
		r->received += t->packets;
		r->expected += t->expected;
		r->lost += t->lost;
		if (t->jitter_ms.n && t->jitter_ms.max > r->jitter_max_ms)
			r->jitter_max_ms = t->jitter_ms.max;
	}
}

static void poll_once(struct media_engine *e, struct result *r)
{
	struct pollfd fd = {.fd = media_engine_fd(e), .events = POLLIN};

	poll(&fd, 1, 50);
	media_engine_poll(e, collect, r);
}

static int apply(struct media_session *s, const struct media_session *peer)
{
	const struct media_local *at = media_session_local(peer);
	const struct media_local *own = media_session_local(s);
	struct media_negotiated n = {
		.rtp = at->rtp,
		.rtcp = at->rtcp,
		.codec = at->codecs[0],
		.accepted = {at->codecs[0]},
		.accepted_count = 1,
		.ptime_ms = 20,
		.direction = MEDIA_SENDRECV,
		.encrypted = own->crypto_count > 0,
		.crypto_tx = own->crypto[0],
		.crypto_rx = at->crypto[0],
	};

	return media_session_apply(s, &n);
}

static int run(struct media_engine *e, struct media_session **s, uint64_t count,
	       int64_t seconds, const struct kind *kind, double *ret_cpu)
{
	struct media_session_params params = {
		.audio = kind->audio,
		.expect_file = kind->expect_file,
		.codecs = {kind->codec},
		.codec_count = kind->codec ? 1 : 0,
	};
	struct sockaddr_in *in = (struct sockaddr_in *)(void *)&params.bind.ss;
	struct media_evidence evidence;
	struct result r = {.each = count <= 8};
	double cpu;
	int64_t start_ns;
	int err = 0;

	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	params.bind.len = sizeof(*in);
	if (kind->suite < MEDIA_SRTP_SUITE_COUNT) {
		params.encryption = MEDIA_ENCRYPTION_SDES_MANDATORY;
		params.suites[0] = (enum media_srtp_suite)kind->suite;
		params.suite_count = 1;
	}
	for (uint64_t i = 0; i < count && !err; i++)
		err = media_session_new(&s[i], e, &params);
	if (err)
		return err;
	cpu = cpu_s();
	start_ns = clock_mono_ns();
	for (uint64_t i = 0; i < count && !err; i++) {
		err = apply(s[i], s[i ^ 1]);
		if (i % 2 == 0) /* spread over the packet time */
			poll(NULL, 0, i % 64 == 0);
	}
	while (!err && clock_mono_ns() < start_ns + seconds * NS_PER_S)
		poll_once(e, &r);
	cpu = cpu_s() - cpu;
	start_ns = clock_mono_ns() - start_ns;
	for (uint64_t i = 0; i < count && !err; i++)
		err = media_session_send_until(s[i], 1);
	for (int i = 0; i < 10; i++)
		poll_once(e, &r);
	for (uint64_t i = 0; i < count; i++)
		media_session_stop(s[i]);
	while (r.stopped < count)
		poll_once(e, &r);
	media_engine_evidence(e, &evidence);
	printf("sessions %llu, sent %llu, received %llu, lost %lld, worst J %.3f ms\n"
	       "send lateness ms: p50 %.3f p95 %.3f p99 %.3f max %.3f, %s\n"
	       "CPU: %.3f %% of a core a session; send errors %llu, "
	       "queue drops %llu, ring drops %llu\n",
	       (unsigned long long)count, (unsigned long long)r.sent,
	       (unsigned long long)r.received, (long long)r.lost,
	       r.jitter_max_ms, evidence.send_lateness_ms.median,
	       evidence.send_lateness_ms.p95, evidence.send_lateness_p99_ms,
	       evidence.send_lateness_ms.max,
	       media_scheduling_name(evidence.sending),
	       100 * cpu / ((double)start_ns / 1e9) / (double)count,
	       (unsigned long long)evidence.send_errors,
	       (unsigned long long)evidence.receive_queue_drops,
	       (unsigned long long)evidence.ring_drops);
	*ret_cpu = 100 * cpu / ((double)start_ns / 1e9) / (double)count;
	if (evidence.srtp_refused || evidence.srtp_unkeyed)
		printf("SRTP: %llu refused, %llu without a key\n",
		       (unsigned long long)evidence.srtp_refused,
		       (unsigned long long)evidence.srtp_unkeyed);
	return err;
}

#define NAME(name, key, salt, tag, rtcp_tag) #name,
static const char *const suite_names[] = {MEDIA_SRTP_SUITES(NAME) "plain"};
#undef NAME

/* Each run has an engine of its own: no state is left from the previous run. */
static int run_one(const struct media_engine_params *params, uint64_t count,
		   int64_t seconds, const struct kind *kind, double *ret_cpu)
{
	struct media_engine_params own = *params;
	struct media_session **s = calloc(count, sizeof(*s));
	struct media_engine *e;
	int err;

	if (!s)
		return -ENOMEM;
	own.srtp_library = kind->library;
	err = media_engine_new(&e, &own);
	if (!err) {
		printf("-- %s\n", kind->name);
		err = run(e, s, count, seconds, kind, ret_cpu);
		media_engine_free(e);
	}
	free(s);
	return err;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

#define LIBRARIES MEDIA_SRTP_LIBRARY_COUNT

/* Print each suite as a ratio to the plain run of its round, and the median of
 * the rounds: on a machine with other load a run of a few seconds may cost
 * twice as much as the next. libsrtp2 is compared to the built-in
 * implementation in the same way. */
static int run_suites(const struct media_engine_params *params, uint64_t count,
		      int64_t seconds)
{
	static const char *const names[LIBRARIES] = {"builtin", "libsrtp2"};
	double ratios[MEDIA_SRTP_SUITE_COUNT][LIBRARIES + 1][ROUNDS];
	int err = 0;

	for (unsigned k = 0; !err && k < ROUNDS; k++) {
		struct kind kind = {.name = "plain",
				    .suite = MEDIA_SRTP_SUITE_COUNT};
		double plain = 0;

		err = run_one(params, count, seconds, &kind, &plain);
		for (unsigned i = 0;
		     !err && i < MEDIA_SRTP_SUITE_COUNT * LIBRARIES; i++) {
			double(*ratio)[ROUNDS] = ratios[i / LIBRARIES];
			unsigned library = i % LIBRARIES;
			double cpu = 0;
			char name[64];

			snprintf(name, sizeof(name), "%s, %s",
				 suite_names[i / LIBRARIES], names[library]);
			kind.name = name;
			kind.suite = i / LIBRARIES;
			kind.library = (enum media_srtp_library)library;
			err = run_one(params, count, seconds, &kind, &cpu);
			ratio[library][k] = cpu / plain;
			if (library == MEDIA_SRTP_LIBRARY_LIBSRTP2)
				ratio[LIBRARIES][k] = cpu / plain / ratio[0][k];
		}
	}
	if (err)
		return err;
	printf("medians of %u rounds (lowest to highest)\n%-24s %-26s "
	       "%-26s %s\n",
	       ROUNDS, "suite", "builtin to plain", "libsrtp2 to plain",
	       "libsrtp2 to builtin");
	for (unsigned i = 0; i < MEDIA_SRTP_SUITE_COUNT; i++) {
		printf("%-24s", suite_names[i]);
		for (unsigned k = 0; k <= LIBRARIES; k++) {
			double *r = ratios[i][k];

			qsort(r, ROUNDS, sizeof(r[0]), compare);
			printf(" %5.2f (%5.2f to %5.2f)    ", r[ROUNDS / 2],
			       r[0], r[ROUNDS - 1]);
		}
		printf("\n");
	}
	return 0;
}

/* The kinds of work of a codec run one after the other, so that compared
 * figures are measured under the same load. */
static int run_audio(const struct media_engine_params *params, uint64_t count,
		     int64_t seconds, const char *expect_file)
{
	static const char *const codecs[] = {"PCMU", "G722",      "GSM",
					     "opus", "L16/16000", "L16/44100"};
	const struct {
		const char *name;
		unsigned audio;
		const char *expect_file;
	} works[] = {
		{"nothing", 0, NULL},
		{"checks", MEDIA_AUDIO_MEASURE, NULL},
		{"digits", MEDIA_AUDIO_DTMF, NULL},
		{"markers", MEDIA_AUDIO_MEASURE | MEDIA_AUDIO_MARKER, NULL},
		{"prompt", MEDIA_AUDIO_MEASURE, expect_file},
	};
	enum {
		WORKS = sizeof(works) / sizeof(works[0])
	};
	double cpu[sizeof(codecs) / sizeof(codecs[0])][WORKS];
	size_t done = 0;
	int err = 0;

	for (; !err && done < sizeof(codecs) / sizeof(codecs[0]); done++) {
		for (size_t k = 0; !err && k < WORKS; k++) {
			char name[64];
			const struct kind kind = {
				.name = name,
				.suite = MEDIA_SRTP_SUITE_COUNT,
				.codec = codecs[done],
				.audio = works[k].audio,
				.expect_file = works[k].expect_file,
			};

			snprintf(name, sizeof(name), "%s, %s", codecs[done],
				 works[k].name);
			err = run_one(params, count, seconds, &kind,
				      &cpu[done][k]);
		}
	}
	if (err)
		return err;
	printf("%% of a core a session; over nothing:\n%-10s", "codec");
	for (size_t k = 0; k < WORKS; k++)
		printf(" %9s", works[k].name);
	for (size_t i = 0; i < done; i++) {
		printf("\n%-10s %9.3f", codecs[i], cpu[i][0]);
		for (size_t k = 1; k < WORKS; k++)
			printf(" %+9.3f", cpu[i][k] - cpu[i][0]);
	}
	printf("\n");
	return 0;
}

/* @return what to do; NULL: wrong usage */
static const char *arguments_read(int argc, char **argv, uint64_t *count,
				  uint64_t *seconds)
{
	const char *mode = argc > 3 ? argv[3] : "plain";

	if ((argc > 1 && str_to_u64(argv[1], 10000, count)) ||
	    (argc > 2 && str_to_u64(argv[2], 3600, seconds)) || *count % 2 ||
	    *count == 0)
		return NULL;
	if (strcmp(mode, "audio") == 0 && argc > 4)
		return mode;
	return argc <= 4 && strcmp(mode, "audio") != 0 ? mode : NULL;
}

int main(int argc, char **argv)
{
	struct media_engine_params params = {
		.port_min = 20000,
		.port_max = 60000,
		.realtime = true,
	};
	const struct kind plain = {.name = "plain",
				   .suite = MEDIA_SRTP_SUITE_COUNT};
	struct rlimit files;
	uint64_t count = 100;
	uint64_t seconds = 10;
	const char *mode = arguments_read(argc, argv, &count, &seconds);
	double cpu;
	int err;

	if (!mode) {
		fprintf(stderr,
			"usage: bench-media [SESSIONS [SECONDS [srtp | audio PROMPT]]]\n");
		return 2;
	}
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	params.sessions_max = (uint32_t)count;
	if (strcmp(mode, "audio") == 0)
		err = run_audio(&params, count, (int64_t)seconds, argv[4]);
	else if (strcmp(mode, "srtp") == 0)
		err = run_suites(&params, count, (int64_t)seconds);
	else
		err = run_one(&params, count, (int64_t)seconds, &plain, &cpu);
	if (err)
		fprintf(stderr, "bench: %s\n", strerror(-err));
	return err ? 1 : 0;
}
