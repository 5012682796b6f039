#include "media/lateness.h"

#include <math.h>
#include <string.h>

#define SUB_BUCKETS (1u << LATENESS_SUB_BITS)

static size_t bucket_of(uint64_t ns)
{
	unsigned octave;
	size_t bucket;

	if (ns < SUB_BUCKETS)
		return (size_t)ns;
	octave = 63u - (unsigned)__builtin_clzll(ns) - LATENESS_SUB_BITS;
	bucket = ((size_t)(octave + 1) << LATENESS_SUB_BITS) +
		 (size_t)((ns >> octave) - SUB_BUCKETS);
	return bucket < LATENESS_BUCKETS ? bucket : LATENESS_BUCKETS - 1;
}

static double bucket_middle_ns(size_t bucket)
{
	unsigned octave;
	double low;

	if (bucket < SUB_BUCKETS)
		return (double)bucket;
	octave = (unsigned)(bucket >> LATENESS_SUB_BITS) - 1;
	low = ldexp((double)(SUB_BUCKETS + (bucket & (SUB_BUCKETS - 1))),
		    (int)octave);
	return low + (ldexp(1.0, (int)octave) - 1) / 2;
}

/* relaxed everywhere: statistics of one writer, they order nothing */
#define LOAD(p)     atomic_load_explicit(p, memory_order_relaxed)
#define STORE(p, v) atomic_store_explicit(p, v, memory_order_relaxed)

void lateness_add(struct lateness *l, int64_t ns)
{
	_Atomic uint64_t *count;
	uint64_t n = LOAD(&l->n);

	if (ns < 0)
		ns = 0;
	count = &l->counts[bucket_of((uint64_t)ns)];
	STORE(count, LOAD(count) + 1);
	STORE(&l->sum_ns, LOAD(&l->sum_ns) + ns);
	if (n == 0 || ns < LOAD(&l->min_ns))
		STORE(&l->min_ns, ns);
	if (n == 0 || ns > LOAD(&l->max_ns))
		STORE(&l->max_ns, ns);
	STORE(&l->n, n + 1);
}

struct walk {
	const struct lateness *l;
	uint64_t n; /* sum of the buckets, at the time of reading */
	double min_ms;
	double max_ms;
};

static double value_at(const struct walk *w, double p)
{
	uint64_t rank = (uint64_t)(p * (double)(w->n - 1) + 0.5);
	uint64_t seen = 0;
	double ms = w->max_ms;

	for (size_t i = 0; i < LATENESS_BUCKETS; i++) {
		seen += LOAD(&w->l->counts[i]);
		if (seen > rank) {
			ms = bucket_middle_ns(i) / 1e6;
			break;
		}
	}
	return fmin(fmax(ms, w->min_ms), w->max_ms);
}

void lateness_since(const struct lateness *l, struct lateness_mark *mark,
		    int64_t bound_ns, struct lateness_figures *ret)
{
	size_t bound = bucket_of((uint64_t)bound_ns);
	uint64_t added[LATENESS_BUCKETS];
	uint64_t above = 0;

	*ret = (struct lateness_figures){0};
	for (size_t i = 0; i < LATENESS_BUCKETS; i++) {
		uint64_t now = LOAD(&l->counts[i]);

		added[i] = now - mark->counts[i];
		mark->counts[i] = now;
		ret->n += added[i];
		if (i > bound)
			ret->later += added[i];
	}
	for (size_t i = LATENESS_BUCKETS; i-- > 0;) {
		if (!added[i])
			continue;
		if (above == 0)
			ret->max_ms = bucket_middle_ns(i) / 1e6;
		if (above * 100 <= ret->n)
			ret->p99_ms = bucket_middle_ns(i) / 1e6;
		above += added[i];
	}
}

void lateness_read(const struct lateness *l, struct distribution *ret,
		   double *ret_p99_ms)
{
	struct walk w = {.l = l};
	double squares = 0;

	memset(ret, 0, sizeof(*ret));
	*ret_p99_ms = 0;
	ret->n = LOAD(&l->n);
	if (ret->n == 0)
		return;
	ret->min = w.min_ms = (double)LOAD(&l->min_ns) / 1e6;
	ret->max = w.max_ms = (double)LOAD(&l->max_ns) / 1e6;
	ret->avg = (double)LOAD(&l->sum_ns) / (double)ret->n / 1e6;
	for (size_t i = 0; i < LATENESS_BUCKETS; i++) {
		uint64_t count = LOAD(&l->counts[i]);
		double off = bucket_middle_ns(i) / 1e6 - ret->avg;

		w.n += count;
		squares += (double)count * off * off;
	}
	if (w.n == 0)
		return;
	ret->stddev = sqrt(squares / (double)w.n);
	ret->median = value_at(&w, 0.5);
	ret->p75 = value_at(&w, 0.75);
	ret->p90 = value_at(&w, 0.9);
	ret->p95 = value_at(&w, 0.95);
	*ret_p99_ms = value_at(&w, 0.99);
}
