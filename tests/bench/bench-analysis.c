/* Cost of measuring a received stream, in ns and as a multiple of a reference
 * loop of the same run. Every figure is measured for a moment in each of many
 * rounds: a disturbance of the machine affects a few blocks of each figure, and
 * not its median.
 * Usage: bench-analysis [ROUNDS [TEXT]]: only figures with this text in their name */
#include "base/clock.h"
#include "base/ring.h"
#include "base/str.h"
#include "media/analysis/quality.h"
#include "tests/bench/figure.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LINE_BYTES     64
#define BLOCK_RECORDS  8192   /* at least, made before the clock runs */
#define PACKETS_TIMED  500000 /* of each number of streams in a round */
#define PACKETS_WARM   300000
#define ROUNDS_DEFAULT 15
#define ROUNDS_MAX     1000
#define CLOSE_STREAMS  1000 /* their state stays in the cache */
#define START_ROUNDS   64
#define CLOSE_SECONDS  10
#define CLOSE_PACKETS  50 /* a second of 20 ms packets */
#define PACKETS_AHEAD \
	8 /* as the analysis thread looks, media/measure/measure.c */
#define RING_RECORDS 4096
#define RING_BATCH   64
#define RING_HOPS    512000 /* whole batches */

/* The state of one stream, as in an engine, where the allocator places it. Here
 * streams are adjacent: an odd number of cache lines keeps them from sharing
 * the same cache sets. */
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
	bool quality; /* with jitter buffer discards, bursts and gaps, XR */
	size_t streams;
	struct place *places;
	struct rtp_rest *rests; /* of the streams */
	struct minimal *minimal;
	struct packet_record *block; /* and what is looked at ahead of it */
	size_t block_records;        /* a multiple of streams */
	uint32_t random;
	uint64_t round; /* packets of each stream so far */
	struct rtp_payload_map map;
	uint64_t sink; /* keeps what is computed */
};

/* Allocate memory as in an engine that has run for a while: touched, with huge
 * pages if the system provides them. */
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

/* Make records. A round is one packet of each stream: 20 ms of G.711, up to 2
 * ms late. */
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
	b->rests = memory(streams * sizeof(*b->rests));
	b->minimal = memory(streams * sizeof(*b->minimal));
	b->block = memory((b->block_records + 2 * PACKETS_AHEAD) *
			  sizeof(*b->block));
	rtp_payload_map_add(&b->map, 0, "PCMU", 8000);
	for (size_t i = 0; i < streams; i++) {
		struct place *p = &b->places[i];

		rtp_stream_init(&p->in.stream, (uint32_t)i, 0, &b->map,
				&b->rests[i]);
		if (quality)
			rtp_quality_init(&p->in.quality, &p->in.stream);
	}
	/* Streams start one after another: work done every n packets must not
	 * fall into the same block for all streams. */
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

/* Check that every packet took the code path to be measured. */
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
	free(b->rests);
	free(b->minimal);
	free(b->block);
}

/* Measure blocks of both loops in turn, so that other load affects both. */
static void bench_update(bool quality, size_t streams, struct figure *f)
{
	struct bench b;
	double records;

	bench_open(&b, quality, streams);
	records = (double)b.block_records;
	for (size_t n = 0; n < PACKETS_WARM; n += b.block_records) {
		make_block(&b);
		block_minimal(&b);
		block_update(&b);
	}
	for (size_t n = 0; n < PACKETS_TIMED; n += b.block_records) {
		int64_t at[3];

		make_block(&b);
		at[0] = clock_mono_ns();
		block_minimal(&b);
		at[1] = clock_mono_ns();
		block_update(&b);
		at[2] = clock_mono_ns();
		figure_add(f, (double)(at[2] - at[1]) / records,
			   (double)(at[1] - at[0]) / records);
	}
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

/* As the analysis thread, when packets of the next second come. */
static void prefetch_closing(const struct bench *b, size_t n)
{
	size_t soon = (n + PACKETS_AHEAD) % CLOSE_STREAMS;
	size_t later = (n + 2 * PACKETS_AHEAD) % CLOSE_STREAMS;

	rtp_stream_prefetch(&b->places[later].in.stream);
	rtp_stream_prefetch_second(&b->places[soon].in.stream);
}

static void close_seconds(struct bench *b, struct stream_second *out)
{
	for (size_t n = 0; n < CLOSE_STREAMS; n++) {
		struct place *p = &b->places[n];

		prefetch_closing(b, n);
		rtp_stream_close_second(&p->in.stream,
					(int64_t)b->round * 20000000, &out[n]);
		if (b->quality)
			rtp_quality_close_second(&p->in.quality, &out[n]);
	}
}

static void check_waiting(struct bench *b, uint32_t waiting)
{
	for (size_t i = 0; i < CLOSE_STREAMS; i++) {
		if (b->places[i].in.stream.run_count == waiting)
			continue;
		fprintf(stderr, "bench-analysis: not %u packets wait\n",
			waiting);
		exit(1);
	}
}

/* Feed a second of packets, then measure closing the second in every stream.
 * The reference copies the results of closing.
 * @param waiting  packets queued but not evaluated yet: closing evaluates them
 */
static void bench_second(bool quality, uint32_t waiting, struct figure *f)
{
	struct bench b;
	struct stream_second *out = memory(CLOSE_STREAMS * sizeof(*out));
	struct stream_second *copy = memory(CLOSE_STREAMS * sizeof(*copy));

	bench_open(&b, quality, CLOSE_STREAMS);
	close_seconds(&b, out); /* nothing waits from here on */
	for (size_t i = 0; i < CLOSE_SECONDS; i++) {
		int64_t at[3];

		for (uint32_t n = 0; n < CLOSE_PACKETS - RTP_RUN_MAX + waiting;
		     n++)
			round_update(&b);
		check_waiting(&b, waiting);
		at[0] = clock_mono_ns();
		close_seconds(&b, out);
		at[1] = clock_mono_ns();
		memcpy(copy, out, CLOSE_STREAMS * sizeof(*out));
		at[2] = clock_mono_ns();
		figure_add(f, (double)(at[1] - at[0]) / CLOSE_STREAMS,
			   (double)(at[2] - at[1]) / CLOSE_STREAMS);
		b.sink += copy[i].packets;
	}
	bench_close(&b);
	free(out);
	free(copy);
}

/* Fill a record as the receiving thread does for the analysis thread. */
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
	cpu_set_t before;
	double ns;

	CPU_ZERO(&before);
	pthread_getaffinity_np(pthread_self(), sizeof(before), &before);
	pin(1);
	if (pthread_create(&producer, NULL, produce, ring))
		return NAN;
	while (got_count < RING_HOPS) {
		if (hop_out(ring, sink))
			got_count++;
		else
			sched_yield();
	}
	pthread_join(producer, NULL);
	ns = (double)(clock_mono_ns() - start_ns) / RING_HOPS;
	pthread_setaffinity_np(pthread_self(), sizeof(before), &before);
	return ns;
}

static void bench_ring(bool two_threads, struct figure *f)
{
	struct ring *ring;
	struct packet_record *slots = memory(RING_RECORDS * sizeof(*slots));
	uint64_t sink = 0;

	if (ring_new(&ring, sizeof(struct packet_record), RING_RECORDS)) {
		fprintf(stderr, "bench-analysis: out of memory\n");
		exit(1);
	}
	for (int i = 0; i < 2; i++) {
		double reference = array_ns(slots, &sink);

		figure_add(f,
			   two_threads ? ring_two_threads_ns(ring, &sink)
				       : ring_one_thread_ns(ring, &sink),
			   reference);
	}
	if (sink != 4 * records_sum()) {
		fprintf(stderr, "bench-analysis: records were lost\n");
		exit(1);
	}
	ring_free(ring);
	free(slots);
}

/* Kinds of figures: an update, the closing of a second, a ring hop. */
enum row_kind {
	ROW_UPDATE,
	ROW_SECOND,
	ROW_RING,
};

struct row {
	const char *what;
	enum row_kind kind;
	bool quality;
	size_t number; /* streams; packets that wait; threads */
	double target; /* ns; 0: none */
};

_Static_assert(RTP_RUN_MAX == 25, "24 wait at most");

static const struct row rows[] = {
	{"update, 1 stream", ROW_UPDATE, false, 1, 0},
	{"update, 100 streams", ROW_UPDATE, false, 100, 0},
	{"update, 1000 streams", ROW_UPDATE, false, 1000, 15},
	{"update, 10 000 streams", ROW_UPDATE, false, 10000, 25},
	{"update, 100 000 streams", ROW_UPDATE, false, 100000, 70},
	{"closing a second, 0 waiting", ROW_SECOND, false, 0, 250},
	{"closing a second, 24 waiting", ROW_SECOND, false, 24, 250},
	{"with quality: update, 1 stream", ROW_UPDATE, true, 1, 0},
	{"with quality: update, 100 streams", ROW_UPDATE, true, 100, 0},
	{"with quality: update, 1000 streams", ROW_UPDATE, true, 1000, 0},
	{"with quality: update, 10 000 streams", ROW_UPDATE, true, 10000, 0},
	{"with quality: update, 100 000 streams", ROW_UPDATE, true, 100000, 0},
	{"with quality: closing, 0 waiting", ROW_SECOND, true, 0, 0},
	{"with quality: closing, 24 waiting", ROW_SECOND, true, 24, 0},
	{"ring hop, one thread", ROW_RING, false, 1, 10},
	{"ring hop, two threads, pinned", ROW_RING, false, 2, 10},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static void bench_row(const struct row *row, struct figure *f)
{
	switch (row->kind) {
	case ROW_UPDATE:
		bench_update(row->quality, row->number, f);
		break;
	case ROW_SECOND:
		bench_second(row->quality, (uint32_t)row->number, f);
		break;
	case ROW_RING:
		bench_ring(row->number == 2, f);
		break;
	}
}

int main(int argc, char **argv)
{
	static struct figure figures[ROWS];
	const char *text = argc > 2 ? argv[2] : "";
	uint64_t rounds = ROUNDS_DEFAULT;

	if (argc > 1 &&
	    (str_to_u64(argv[1], ROUNDS_MAX, &rounds) || rounds == 0)) {
		fprintf(stderr, "usage: bench-analysis [ROUNDS [TEXT]]\n");
		return 2;
	}
	printf("medians of %llu rounds; state of a stream %zu bytes\n",
	       (unsigned long long)rounds, sizeof(struct measured));
	for (size_t i = 0; i < ROWS; i++) {
		figures[i].what = rows[i].what;
		figures[i].target = rows[i].target;
	}
	for (uint64_t k = 0; k < rounds * ROWS; k++) {
		if (strstr(rows[k % ROWS].what, text))
			bench_row(&rows[k % ROWS], &figures[k % ROWS]);
	}
	figures_heading();
	for (size_t i = 0; i < ROWS; i++) {
		if (figures[i].n > 0)
			figure_print(&figures[i]);
		figure_release(&figures[i]);
	}
	return 0;
}
