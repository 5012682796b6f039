#include "media/analysis/pattern.h"

#include <string.h>

void pattern_init(struct loss_pattern *p)
{
	pattern_init_settling(p, RTP_WINDOW_BITS);
}

void pattern_init_settling(struct loss_pattern *p, int32_t settle)
{
	memset(p, 0, sizeof(*p));
	p->settle = settle;
}

static size_t slot(int64_t ext)
{
	return (size_t)((uint64_t)ext & (RTP_WINDOW_BITS - 1));
}

static bool is_good(const struct loss_pattern *p, int64_t ext)
{
	return p->good[slot(ext) / 64] >> (slot(ext) % 64) & 1;
}

static void set_bit(struct loss_pattern *p, int64_t ext, bool good)
{
	uint64_t bit = UINT64_C(1) << (slot(ext) % 64);

	if (good)
		p->good[slot(ext) / 64] |= bit;
	else
		p->good[slot(ext) / 64] &= ~bit;
}

/* A group of bad packets ended: a single one stays in the gap, more are a
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
	uint64_t length = p->runs.open;

	if (length == 0)
		return;
	if (length < PATTERN_RUNS_SHORT)
		p->run_short[length]++;
	else if (p->run_long_count < PATTERN_RUNS_LONG)
		p->run_long[p->run_long_count++] = length;
	else
		p->run_long_dropped++;
}

/* One position, in order of sequence: it cannot change any more. */
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

/* The same for many bad ones at once: a gap may be 65536 long. */
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

static void settle_window(struct loss_pattern *p)
{
	int64_t from = p->max - (p->settle - 1);

	for (int64_t ext = from < p->base ? p->base : from; ext <= p->max;
	     ext++)
		settle(p, is_good(p, ext));
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
