#include "media/analysis/pattern.h"

#include <stddef.h>
#include <string.h>

#include "base/prefetch.h"

#define WORD_BITS 64

void pattern_init(struct loss_pattern *p)
{
	pattern_init_settling(p, RTP_WINDOW_BITS);
}

void pattern_init_settling(struct loss_pattern *p, int32_t settle)
{
	memset(p, 0, sizeof(*p));
	p->settle = settle;
	/* as small as possible, to use fewer cache lines */
	p->window_bits = WORD_BITS;
	while (p->window_bits < settle)
		p->window_bits = (uint16_t)(2 * p->window_bits);
}

static size_t slot(const struct loss_pattern *p, int64_t ext)
{
	return (size_t)((uint64_t)ext & (p->window_bits - 1u));
}

/* The next word of the window. */
static size_t word_after(const struct loss_pattern *p, size_t word)
{
	return (word + 1) & (p->window_bits / WORD_BITS - 1u);
}

static bool is_good(const struct loss_pattern *p, int64_t ext)
{
	return p->good[slot(p, ext) / WORD_BITS] >> (slot(p, ext) % WORD_BITS) &
	       1;
}

static void set_bit(struct loss_pattern *p, int64_t ext, bool good)
{
	uint64_t bit = UINT64_C(1) << (slot(p, ext) % WORD_BITS);

	if (good)
		p->good[slot(p, ext) / WORD_BITS] |= bit;
	else
		p->good[slot(p, ext) / WORD_BITS] &= ~bit;
}

/* A group of bad packets has ended: a single one remains in the gap; more are a
 * burst and end the gap before them. */
static void end_group(struct burst_gap *b)
{
	if (b->group_bad >= 2) {
		b->bursts++;
		b->burst_packets += b->group_packets;
		b->burst_bad += b->group_bad;
		if (b->gap_open > 0) {
			b->gaps++;
			b->gap_packets += b->gap_open;
			b->gap_bad += b->gap_open_bad;
		}
		b->gap_open = 0;
		b->gap_open_bad = 0;
	} else {
		b->gap_open += b->group_packets;
		b->gap_open_bad += b->group_bad;
	}
	b->gap_open += b->good_since;
	b->group_packets = 0;
	b->group_bad = 0;
	b->good_since = 0;
}

static void burst_gap_add(struct burst_gap *b, bool good)
{
	if (good && b->group_bad == 0) {
		b->gap_open++;
	} else if (good) {
		b->good_since++;
		if (b->good_since >= PATTERN_GMIN)
			end_group(b);
	} else {
		b->group_packets += b->good_since + 1;
		b->group_bad++;
		b->good_since = 0;
	}
}

/* burst_gap_add() for several good packets. */
static void burst_gap_add_good(struct burst_gap *b, uint64_t count)
{
	if (b->group_bad > 0) {
		uint64_t rest = PATTERN_GMIN - b->good_since;
		uint64_t n = count < rest ? count : rest;

		b->good_since += n;
		count -= n;
		if (b->good_since < PATTERN_GMIN)
			return;
		end_group(b);
	}
	b->gap_open += count;
}

static void burst_gap_finish(struct burst_gap *b)
{
	end_group(b);
	if (b->gap_open > 0) {
		b->gaps++;
		b->gap_packets += b->gap_open;
		b->gap_bad += b->gap_open_bad;
	}
	b->gap_open = 0;
	b->gap_open_bad = 0;
}

static void end_run(struct loss_pattern *p)
{
	if (p->histogram && p->runs.open > 0)
		run_histogram_add(p->histogram, p->runs.open);
}

/* One position in order of sequence is final. */
static void settle(struct loss_pattern *p, bool good)
{
	p->packets++;
	if (good)
		end_run(p);
	loss_runs_add(&p->runs, !good);
	if (p->has_last && p->last_good) {
		p->after_good++;
		p->good_to_bad += !good;
	} else if (p->has_last) {
		p->after_bad++;
		p->bad_to_good += good;
	}
	p->has_last = true;
	p->last_good = good;
	burst_gap_add(&p->burst_gap, good);
}

/* The same for many bad ones at once: a gap may have 65536. */
static void settle_bad(struct loss_pattern *p, uint64_t count)
{
	struct burst_gap *b = &p->burst_gap;

	if (count == 0)
		return;
	settle(p, false);
	count--;
	p->packets += count;
	loss_runs_add_lost(&p->runs, count);
	p->after_bad += count;
	b->group_packets += count;
	b->group_bad += count;
}

/* settle() for several good packets. */
static void settle_good(struct loss_pattern *p, uint32_t count)
{
	p->packets += count;
	end_run(p);
	p->runs.open = 0;
	if (p->has_last && !p->last_good) {
		p->after_bad++;
		p->bad_to_good++;
	} else if (p->has_last) {
		p->after_good++;
	}
	p->after_good += count - 1;
	p->has_last = true;
	p->last_good = true;
	burst_gap_add_good(&p->burst_gap, count);
}

static uint64_t low_bits(uint32_t count)
{
	return (UINT64_C(1) << count) - 1;
}

static uint32_t window_get(const struct loss_pattern *p, int64_t ext,
			   uint32_t count)
{
	size_t word = slot(p, ext) / WORD_BITS;
	size_t bit = slot(p, ext) % WORD_BITS;
	uint64_t bits = p->good[word] >> bit;

	if (bit + count > 64)
		bits |= p->good[word_after(p, word)] << (64 - bit);
	return (uint32_t)(bits & low_bits(count));
}

/* settle() for `count` numbers, at most 32. */
static void settle_run(struct loss_pattern *p, int64_t ext, uint32_t count)
{
	uint32_t good = window_get(p, ext, count);

	if (good == low_bits(count)) {
		settle_good(p, count);
		return;
	}
	for (uint32_t i = 0; i < count; i++)
		settle(p, good >> i & 1);
}

static void settle_window(struct loss_pattern *p)
{
	int64_t ext = p->max - (p->settle - 1);

	if (ext < p->base)
		ext = p->base;
	while (ext <= p->max) {
		uint32_t count =
			p->max - ext < 31 ? (uint32_t)(p->max - ext) + 1 : 32;

		settle_run(p, ext, count);
		ext += count;
	}
}

static void flush(struct loss_pattern *p)
{
	settle_window(p);
	end_run(p);
	p->runs.open = 0;
	p->has_last = false;
	burst_gap_finish(&p->burst_gap);
}

void pattern_add(struct loss_pattern *p, int64_t ext, bool new_segment,
		 bool good)
{
	if (!p->started || new_segment) {
		if (p->started)
			flush(p);
		memset(p->good, 0, sizeof(p->good));
		p->started = true;
		p->base = ext;
		p->max = ext;
		set_bit(p, ext, good);
		return;
	}
	if (ext - p->max >= p->settle) {
		settle_window(p);
		settle_bad(p, (uint64_t)(ext - p->max - p->settle));
		memset(p->good, 0, sizeof(p->good));
		p->max = ext;
	}
	for (; p->max < ext; p->max++) {
		int64_t oldest = p->max - (p->settle - 1);

		if (oldest >= p->base)
			settle(p, is_good(p, oldest));
		set_bit(p, p->max + 1, false);
	}
	if (ext < p->base)
		p->base = ext;
	if (ext > p->max - p->settle)
		set_bit(p, ext, good);
}

static void window_put(struct loss_pattern *p, int64_t ext, uint32_t count,
		       uint64_t good)
{
	size_t word = slot(p, ext) / WORD_BITS;
	size_t bit = slot(p, ext) % WORD_BITS;
	uint64_t *at = &p->good[word];

	*at = (*at & ~(low_bits(count) << bit)) | good << bit;
	if (bit + count <= 64)
		return;
	at = &p->good[word_after(p, word)];
	*at = (*at & ~(low_bits(count) >> (64 - bit))) | good >> (64 - bit);
}

void pattern_add_run(struct loss_pattern *p, int64_t ext, uint32_t count,
		     uint32_t good)
{
	int64_t oldest = p->max - (p->settle - 1);
	int64_t end = oldest + count;

	if (!p->started || ext != p->max + 1 || (int64_t)count > p->settle) {
		for (uint32_t i = 0; i < count; i++)
			pattern_add(p, ext + i, false, good >> i & 1);
		return;
	}
	if (oldest < p->base)
		oldest = p->base;
	if (oldest < end)
		settle_run(p, oldest, (uint32_t)(end - oldest));
	window_put(p, ext, count, good);
	p->max += count;
}

void pattern_prefetch(const struct loss_pattern *p, int32_t settle)
{
	const size_t start = offsetof(struct loss_pattern, burst_gap.group_bad);
	const size_t end =
		offsetof(struct loss_pattern, good) +
		(size_t)(settle + WORD_BITS - 1) / WORD_BITS * sizeof(uint64_t);

	prefetch((const char *)p + start, end - start);
}

void pattern_finish(struct loss_pattern *p)
{
	if (p->started)
		flush(p);
}

bool pattern_gilbert(const struct loss_pattern *p, double *ret_p, double *ret_q,
		     double *ret_burst_r)
{
	if (p->runs.lost == 0 || p->after_good == 0 || p->after_bad == 0)
		return false;
	*ret_p = (double)p->good_to_bad / (double)p->after_good;
	*ret_q = (double)p->bad_to_good / (double)p->after_bad;
	*ret_burst_r = *ret_p + *ret_q < 1.0 ? 1.0 / (*ret_p + *ret_q) : 1.0;
	return true;
}
