/* What the measurement of a received stream costs, in ns and as a multiple of
 * a reference loop of the same run. Usage: bench-analysis [REPEATS] */
#include "base/clock.h"
#include "base/ring.h"
#include "base/str.h"
#include "media/analysis/quality.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LINE_BYTES      64
#define BLOCK_RECORDS   8192 /* at least, made before the clock runs */
#define PACKETS_TIMED   4000000
#define REPEATS_DEFAULT 7
#define REPEATS_MAX     100
#define CLOSE_STREAMS   1000 /* their state stays in the cache */
#define BLOCKS_MAX      (PACKETS_TIMED / BLOCK_RECORDS + 1)
#define START_ROUNDS    64
#define CLOSE_SECONDS   20
#define CLOSE_PACKETS   50 /* a second of 20 ms packets */
#define PACKETS_AHEAD   8  /* as the analysis thread looks, media/analyse.c */
#define RING_RECORDS    4096
#define RING_BATCH      64
#define RING_HOPS       1000000

/* As an engine has them. There they lie where the allocator puts them: side by
 * side they must not share sets of the cache, so an odd number of lines. */
struct measured {
	_Alignas(LINE_BYTES) struct rtp_stream stream;
	struct rtp_quality quality;
};

struct place {
	struct measured in;
	_Alignas(
		LINE_BYTES) char unused[sizeof(struct measured) / LINE_BYTES % 2
						? 2 * LINE_BYTES
						: LINE_BYTES];
};

_Static_assert(sizeof(struct place) / LINE_BYTES % 2, "odd number of lines");

/* The reference: RFC 3550 A.1 without probation, A.8 in double, one line. */
struct minimal {
	_Alignas(LINE_BYTES) int64_t ref_ns;
	double jitter_ms;
	uint64_t received;
	uint32_t ref_ts;
	uint32_t cycles;
	uint32_t bad_seq;
	uint32_t base_seq;
	uint16_t max_seq;
};

struct bench {
	bool quality; /* what the buffers discard, bursts and gaps, XR */
	size_t streams;
	struct place *places;
	struct minimal *minimal;
	struct packet_record *block; /* and what is looked at ahead of it */
	size_t block_records;        /* a multiple of streams */
	uint32_t random;
	uint64_t round; /* packets of each stream so far */
	struct rtp_payload_map map;
	uint64_t sink; /* keeps what is computed */
};

/* Memory as an engine's that was up for a while: touched, large pages where
 * the system gives them. */
static void *memory(size_t bytes)
{
	size_t whole = (bytes + (2u << 20) - 1) & ~(size_t)((2u << 20) - 1);
	void *p = aligned_alloc(2u << 20, whole);

	if (!p) {
		fprintf(stderr, "bench-analysis: out of memory\n");
		exit(1);
	}
	madvise(p, whole, MADV_HUGEPAGE);
	memset(p, 0, whole);
	return p;
}

static uint32_t next_random(struct bench *b)
{
	b->random = b->random * 1664525u + 1013904223u;
	return b->random >> 8;
}

/* A round is one packet of each stream: 20 ms of G.711, up to 2 ms late. */
static void make_block(struct bench *b)
{
	for (size_t i = 0; i < b->block_records + 2 * PACKETS_AHEAD; i++) {
		size_t stream = i % b->streams;
		uint64_t n = b->round + i / b->streams;

		b->block[i] = (struct packet_record){
			.mono_ns = (int64_t)n * 20000000 +
				   (int64_t)(next_random(b) % 2000000) +
				   (int64_t)(stream % 1000) * 20000,
			.rtp_ts = (uint32_t)(n * 160),
			.session = (uint32_t)stream,
			.seq = (uint16_t)(n + stream),
			.payload_bytes = 160,
			.header_bytes = 12,
		};
	}
	b->round += b->block_records / b->streams;
}

static void minimal_update(struct minimal *m, const struct packet_record *r)
{
	uint16_t ahead = (uint16_t)(r->seq - m->max_seq);
	double d;

	if (ahead < 3000) {
		if (r->seq < m->max_seq)
			m->cycles += 65536;
		m->max_seq = r->seq;
	} else if (ahead <= 65536 - 100) {
		if (r->seq != m->bad_seq) {
			m->bad_seq = (uint16_t)(r->seq + 1);
			return;
		}
		m->base_seq = r->seq;
		m->max_seq = r->seq;
	}
	m->received++;
	d = (double)(r->mono_ns - m->ref_ns) / 1e6 -
	    (int32_t)(r->rtp_ts - m->ref_ts) / 8.0;
	m->jitter_ms += (fabs(d) - m->jitter_ms) / 16.0;
	m->ref_ns = r->mono_ns;
	m->ref_ts = r->rtp_ts;
}

static struct rtp_stream *stream_of(struct bench *b, size_t i)
{
	return &b->places[b->block[i].session].in.stream;
}

static void block_update(struct bench *b)
{
	for (size_t i = 0; i < b->block_records; i++) {
		rtp_stream_prefetch(stream_of(b, i + 2 * PACKETS_AHEAD));
		rtp_stream_prefetch_run(stream_of(b, i + PACKETS_AHEAD));
		rtp_stream_update(stream_of(b, i), &b->block[i]);
	}
}

static void block_minimal(struct bench *b)
{
	for (size_t i = 0; i < b->block_records; i++)
		minimal_update(&b->minimal[b->block[i].session], &b->block[i]);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *x, size_t n)
{
	qsort(x, n, sizeof(*x), compare);
	return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

static double smallest(const double *x, size_t n)
{
	double least = x[0];

	for (size_t i = 1; i < n; i++)
		least = fmin(least, x[i]);
	return least;
}

/* @param least  of all blocks: what it costs where nothing else ran */
static void print_line(const char *what, double *ns, double least,
		       double *reference, size_t repeats)
{
	double x = median(ns, repeats);
	double ref = median(reference, repeats);

	printf("%-34s %8.1f ns  (min %6.1f)   reference %7.1f ns   ratio %5.2f\n",
	       what, x, least, ref, x / ref);
	fflush(stdout);
}

static void bench_open(struct bench *b, bool quality, size_t streams)
{
	size_t rounds = (BLOCK_RECORDS + streams - 1) / streams;

	*b = (struct bench){
		.quality = quality,
		.streams = streams,
		.random = 1,
		.round = 1,
	};
	b->block_records = rounds * streams;
	b->places = memory(streams * sizeof(*b->places));
	b->minimal = memory(streams * sizeof(*b->minimal));
	b->block = memory((b->block_records + 2 * PACKETS_AHEAD) *
			  sizeof(*b->block));
	rtp_payload_map_add(&b->map, 0, "PCMU", 8000);
	for (size_t i = 0; i < streams; i++) {
		struct place *p = &b->places[i];

		rtp_stream_init(&p->in.stream, (uint32_t)i, 0, &b->map);
		if (quality)
			rtp_quality_init(&p->in.quality, &p->in.stream);
	}
	/* Streams start one after another: what one does every n packets must
	 * not happen to all in the same block. */
	for (int start = 0; start < START_ROUNDS; start++) {
		make_block(b);
		for (size_t i = 0; i < b->block_records; i++) {
			uint32_t to = b->block[i].session;

			if (to % START_ROUNDS <= (uint32_t)start)
				rtp_stream_update(&b->places[to].in.stream,
						  &b->block[i]);
		}
	}
}

/* Nothing may have taken another path than the one to be measured. */
static void bench_close(struct bench *b)
{
	for (size_t i = 0; i < b->streams; i++) {
		struct rtp_counters c;

		rtp_stream_counters(&b->places[i].in.stream, &c);
		b->sink += b->minimal[i].received;
		if (c.received != c.packets || c.lost != 0) {
			fprintf(stderr, "bench-analysis: a stream lost\n");
			exit(1);
		}
	}
	if (b->sink == 0)
		printf("nothing was measured\n");
	free(b->places);
	free(b->minimal);
	free(b->block);
}

/* Blocks of both loops in turn, so that other load hits both. A repeat's
 * figure is the median of its blocks: one that was preempted does not count. */
static void bench_update(bool quality, size_t streams, size_t repeats)
{
	struct bench b;
	double ns[REPEATS_MAX];
	double reference[REPEATS_MAX];
	double block_ns[2][BLOCKS_MAX];
	double least = HUGE_VAL;
	char what[64];
	size_t blocks;

	bench_open(&b, quality, streams);
	for (int warm = 0; warm < 40; warm++) {
		make_block(&b);
		block_minimal(&b);
		block_update(&b);
	}
	blocks = PACKETS_TIMED / b.block_records / repeats + 1;
	for (size_t k = 0; k < repeats; k++) {
		for (size_t i = 0; i < blocks; i++) {
			int64_t at[3];

			make_block(&b);
			at[0] = clock_mono_ns();
			block_minimal(&b);
			at[1] = clock_mono_ns();
			block_update(&b);
			at[2] = clock_mono_ns();
			block_ns[0][i] = (double)(at[1] - at[0]);
			block_ns[1][i] = (double)(at[2] - at[1]);
		}
		reference[k] =
			median(block_ns[0], blocks) / (double)b.block_records;
		ns[k] = median(block_ns[1], blocks) / (double)b.block_records;
		least = fmin(least, block_ns[1][0] / (double)b.block_records);
	}
	snprintf(what, sizeof(what), "%s, %zu streams",
		 quality ? "update with quality" : "update", streams);
	print_line(what, ns, least, reference, repeats);
	bench_close(&b);
}

/* One packet of each stream. */
static void round_update(struct bench *b)
{
	size_t records = b->block_records;

	b->block_records = b->streams;
	make_block(b);
	block_update(b);
	b->block_records = records;
}

static void close_seconds(struct bench *b, struct stream_second *out)
{
	for (size_t n = 0; n < CLOSE_STREAMS; n++) {
		struct place *p = &b->places[n];

		rtp_stream_close_second(&p->in.stream,
					(int64_t)b->round * 20000000, &out[n]);
		if (b->quality)
			rtp_quality_close_second(&p->in.quality, &out[n]);
	}
}

/* A second of packets, then the time of closing it in every stream. The
 * reference copies what closing hands out.
 * @param waiting  packets that are not taken into account yet: closing does */
static void bench_second(bool quality, uint32_t waiting, size_t repeats)
{
	struct bench b;
	struct stream_second *out = memory(CLOSE_STREAMS * sizeof(*out));
	struct stream_second *copy = memory(CLOSE_STREAMS * sizeof(*copy));
	double ns[REPEATS_MAX];
	double reference[REPEATS_MAX];
	double block_ns[2][CLOSE_SECONDS];
	double least = HUGE_VAL;
	char what[64];

	bench_open(&b, quality, CLOSE_STREAMS);
	close_seconds(&b, out); /* nothing waits from here on */
	for (size_t k = 0; k < repeats; k++) {
		for (size_t i = 0; i < CLOSE_SECONDS; i++) {
			int64_t at[3];

			for (uint32_t n = 0;
			     n < CLOSE_PACKETS - RTP_RUN_MAX + waiting; n++)
				round_update(&b);
			if (b.places[i].in.stream.run_count != waiting) {
				fprintf(stderr, "bench-analysis: %u wait\n",
					b.places[i].in.stream.run_count);
				exit(1);
			}
			at[0] = clock_mono_ns();
			close_seconds(&b, out);
			at[1] = clock_mono_ns();
			memcpy(copy, out, CLOSE_STREAMS * sizeof(*out));
			at[2] = clock_mono_ns();
			block_ns[0][i] = (double)(at[2] - at[1]);
			block_ns[1][i] = (double)(at[1] - at[0]);
			b.sink += copy[i].packets;
		}
		reference[k] =
			median(block_ns[0], CLOSE_SECONDS) / CLOSE_STREAMS;
		ns[k] = median(block_ns[1], CLOSE_SECONDS) / CLOSE_STREAMS;
		least = fmin(least, block_ns[1][0] / CLOSE_STREAMS);
	}
	snprintf(what, sizeof(what), "closing a second%s, %u waiting",
		 quality ? " with quality" : "", waiting);
	print_line(what, ns, least, reference, repeats);
	bench_close(&b);
	free(out);
	free(copy);
}

/* As the receiving thread writes one, and the analysis thread reads it. */
static void record_fill(struct packet_record *r, size_t n)
{
	*r = (struct packet_record){
		.mono_ns = (int64_t)n,
		.rtp_ts = (uint32_t)n * 160,
		.session = (uint32_t)n % 1000,
		.seq = (uint16_t)n,
		.payload_bytes = 160,
		.header_bytes = 12,
	};
}

static uint64_t record_read(const struct packet_record *r)
{
	return r->seq + r->rtp_ts + (uint64_t)r->mono_ns + r->payload_bytes;
}

static uint64_t records_sum(void)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < RING_HOPS; i++) {
		struct packet_record r;

		record_fill(&r, i);
		sum += record_read(&r);
	}
	return sum;
}

/* Reference of the ring: the same records in an array. */
static double array_ns(struct packet_record *slots, uint64_t *sink)
{
	int64_t start_ns = clock_mono_ns();

	for (size_t i = 0; i < RING_HOPS; i += RING_BATCH) {
		for (size_t k = i; k < i + RING_BATCH; k++)
			record_fill(&slots[k % RING_RECORDS], k);
		__asm__ volatile("" ::: "memory");
		for (size_t k = i; k < i + RING_BATCH; k++)
			*sink += record_read(&slots[k % RING_RECORDS]);
	}
	return (double)(clock_mono_ns() - start_ns) / RING_HOPS;
}

static bool hop_in(struct ring *ring, size_t n)
{
	struct packet_record *r = ring_reserve(ring);

	if (!r)
		return false;
	record_fill(r, n);
	ring_commit(ring);
	return true;
}

static bool hop_out(struct ring *ring, uint64_t *sink)
{
	const struct packet_record *r = ring_front(ring);

	if (!r)
		return false;
	*sink += record_read(r);
	ring_release(ring);
	return true;
}

static double ring_one_thread_ns(struct ring *ring, uint64_t *sink)
{
	int64_t start_ns = clock_mono_ns();

	for (size_t i = 0; i < RING_HOPS; i += RING_BATCH) {
		for (size_t k = i; k < i + RING_BATCH; k++)
			hop_in(ring, k);
		for (size_t k = i; k < i + RING_BATCH; k++)
			hop_out(ring, sink);
	}
	return (double)(clock_mono_ns() - start_ns) / RING_HOPS;
}

static void pin(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set))
		fprintf(stderr, "bench-analysis: cannot pin to CPU %d\n", cpu);
}

static void *produce(void *arg)
{
	struct ring *ring = arg;

	pin(0);
	for (size_t i = 0; i < RING_HOPS; i++) {
		while (!hop_in(ring, i))
			sched_yield();
	}
	return NULL;
}

static double ring_two_threads_ns(struct ring *ring, uint64_t *sink)
{
	pthread_t producer;
	int64_t start_ns = clock_mono_ns();
	size_t got_count = 0;

	if (pthread_create(&producer, NULL, produce, ring))
		return NAN;
	while (got_count < RING_HOPS) {
		if (hop_out(ring, sink))
			got_count++;
		else
			sched_yield();
	}
	pthread_join(producer, NULL);
	return (double)(clock_mono_ns() - start_ns) / RING_HOPS;
}

static void bench_ring(size_t repeats)
{
	struct ring *ring;
	struct packet_record *slots = memory(RING_RECORDS * sizeof(*slots));
	double one[REPEATS_MAX];
	double two[REPEATS_MAX];
	double reference[REPEATS_MAX];
	uint64_t sink = 0;

	if (ring_new(&ring, sizeof(struct packet_record), RING_RECORDS)) {
		fprintf(stderr, "bench-analysis: out of memory\n");
		exit(1);
	}
	pin(1);
	for (size_t k = 0; k < repeats; k++) {
		reference[k] = array_ns(slots, &sink);
		one[k] = ring_one_thread_ns(ring, &sink);
		two[k] = ring_two_threads_ns(ring, &sink);
	}
	if (sink != 3 * records_sum() * repeats) {
		fprintf(stderr, "bench-analysis: records were lost\n");
		exit(1);
	}
	print_line("ring hop, one thread", one, smallest(one, repeats),
		   reference, repeats);
	print_line("ring hop, two threads, pinned", two, smallest(two, repeats),
		   reference, repeats);
	ring_free(ring);
	free(slots);
}

int main(int argc, char **argv)
{
	static const size_t counts[] = {1, 100, 1000, 10000, 100000};
	uint64_t repeats = REPEATS_DEFAULT;

	if (argc > 1 &&
	    (str_to_u64(argv[1], REPEATS_MAX, &repeats) || repeats == 0)) {
		fprintf(stderr, "usage: bench-analysis [REPEATS]\n");
		return 2;
	}
	printf("medians of %llu repeats; state of a stream %zu bytes\n",
	       (unsigned long long)repeats, sizeof(struct measured));
	for (int quality = 0; quality < 2; quality++) {
		for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
			bench_update(quality, counts[i], repeats);
		bench_second(quality, 0, repeats);
		bench_second(quality, RTP_RUN_MAX - 1, repeats);
	}
	bench_ring(repeats);
	return 0;
}
