#include "media/analysis/rtp_seq.h"

#include <string.h>

#define RTP_SEQ_MOD  65536u
#define WORD_BITS    64
#define RESTART_TS_S 2 /* docs/reference/measurement.md "Jumps" */

void rtp_seq_init(struct rtp_seq *q)
{
	memset(q, 0, sizeof(*q));
}

static size_t slot(int64_t ext)
{
	return (size_t)((uint64_t)ext & (RTP_WINDOW_BITS - 1));
}

/* Write the newest packet's word back, so that the window is complete. */
static void window_store(struct rtp_seq *q)
{
	q->window[slot(q->max) / 64] = q->current;
}

static void window_load(struct rtp_seq *q)
{
	q->current = q->window[slot(q->max) / 64];
}

static bool is_received(const struct rtp_seq *q, int64_t ext)
{
	return q->window[slot(ext) / 64] >> (slot(ext) % 64) & 1;
}

static void set_received(struct rtp_seq *q, int64_t ext)
{
	q->window[slot(ext) / 64] |= UINT64_C(1) << (slot(ext) % 64);
}

/* A word begins at `ext`, and all of its packets were received. */
static bool is_whole_word(const struct rtp_seq *q, int64_t ext)
{
	return slot(ext) % WORD_BITS == 0 && q->max - ext >= WORD_BITS - 1 &&
	       q->window[slot(ext) / WORD_BITS] == UINT64_MAX;
}

/* Add the runs in the window, scanned in order of sequence. */
static void scan_window(const struct rtp_seq *q, struct loss_runs *runs)
{
	int64_t from = q->max - (RTP_WINDOW_BITS - 1);

	if (from < q->base)
		from = q->base;
	while (from <= q->max) {
		if (is_whole_word(q, from)) {
			runs->open = 0;
			from += WORD_BITS;
		} else {
			loss_runs_add(runs, !is_received(q, from++));
		}
	}
}

static void begin_segment(struct rtp_seq *q, const struct packet_record *r)
{
	memset(q->window, 0, sizeof(q->window));
	q->started = true;
	q->base = r->seq;
	q->max = r->seq;
	q->max_ts = r->rtp_ts;
	q->max_ns = r->mono_ns;
	q->received++;
	q->runs.open = 0;
	set_received(q, q->max);
}

/* Accept a packet `ahead` >= 1 of the newest. Positions that leave the window
 * are final for the loss runs. */
static void advance_highest(struct rtp_seq *q, uint32_t ahead, uint32_t rtp_ts,
			    int64_t mono_ns)
{
	int64_t oldest = q->max - (RTP_WINDOW_BITS - 1);

	if (ahead >= RTP_WINDOW_BITS) {
		scan_window(q, &q->runs);
		loss_runs_add_lost(&q->runs, ahead - RTP_WINDOW_BITS);
		memset(q->window, 0, sizeof(q->window));
	} else {
		for (int64_t ext = oldest; ext < oldest + ahead; ext++) {
			if (ext >= q->base)
				loss_runs_add(&q->runs, !is_received(q, ext));
			q->window[slot(ext) / 64] &=
				~(UINT64_C(1) << (slot(ext) % 64));
		}
	}
	q->max += ahead;
	q->max_ts = rtp_ts;
	q->max_ns = mono_ns;
	q->received++;
	set_received(q, q->max);
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* @return the timestamp confirms that this packet is `distance` packets from
 *         the newest */
static bool ts_consistent(const struct rtp_seq *q,
			  const struct packet_record *r, int64_t distance,
			  uint32_t period_ticks, uint32_t clock_hz)
{
	double want = (double)distance * period_ticks;
	double off = (double)(int32_t)(r->rtp_ts - q->max_ts) - want;

	if (period_ticks == 0 || clock_hz == 0)
		return false;
	if (off < 0)
		off = -off;
	return off <= larger(0.5 * clock_hz, 0.25 * (want < 0 ? -want : want));
}

static bool arrival_consistent(const struct rtp_seq *q,
			       const struct packet_record *r, int64_t distance,
			       uint32_t period_ticks, uint32_t clock_hz)
{
	double want_s = (double)distance * period_ticks / clock_hz;
	double off_s = (double)(r->mono_ns - q->max_ns) / 1e9 - want_s;

	if (off_s < 0)
		off_s = -off_s;
	return off_s <= larger(2.0, 0.25 * want_s);
}

static enum rtp_verdict take_late(struct rtp_seq *q, uint32_t behind)
{
	int64_t ext = q->max - behind;

	if (ext >= q->base && is_received(q, ext)) {
		q->duplicates++;
		return RTP_DUPLICATE;
	}
	set_received(q, ext);
	if (ext < q->base)
		q->base = ext;
	q->received++;
	q->reordered++;
	if (behind > q->max_reorder_distance)
		q->max_reorder_distance = behind;
	if (behind < RTP_MAX_MISORDER)
		return RTP_REORDERED;
	q->very_late++;
	return RTP_VERY_LATE;
}

static bool confirms(const struct rtp_seq *q, const struct packet_record *r,
		     uint32_t clock_hz)
{
	int32_t step = (int32_t)(r->rtp_ts - q->pending.rtp_ts);

	if (!q->has_pending || r->seq != (uint16_t)(q->pending.seq + 1))
		return false;
	return clock_hz == 0 ||
	       (step >= 0 &&
		(uint64_t)step <= (uint64_t)RESTART_TS_S * clock_hz);
}

static enum rtp_verdict take_jump(struct rtp_seq *q,
				  const struct packet_record *r,
				  uint32_t period_ticks, uint32_t clock_hz,
				  struct packet_record *ret_pending)
{
	uint32_t ahead = (uint16_t)(q->pending.seq - (uint16_t)q->max);

	if (!confirms(q, r, clock_hz)) {
		if (q->has_pending)
			q->stray++;
		q->pending = *r;
		q->has_pending = true;
		return RTP_PENDING;
	}
	*ret_pending = q->pending;
	q->has_pending = false;
	if (ahead > 0 && ahead < RTP_SEQ_MOD - RTP_LATE_WINDOW &&
	    ts_consistent(q, &q->pending, ahead, period_ticks, clock_hz) &&
	    arrival_consistent(q, &q->pending, ahead, period_ticks, clock_hz)) {
		q->outages++;
		advance_highest(q, ahead, q->pending.rtp_ts,
				q->pending.mono_ns);
		advance_highest(q, 1, r->rtp_ts, r->mono_ns);
		return RTP_OUTAGE;
	}
	q->restarts++;
	q->closed_expected += (uint64_t)(q->max - q->base) + 1;
	scan_window(q, &q->runs);
	begin_segment(q, &q->pending);
	advance_highest(q, 1, r->rtp_ts, r->mono_ns);
	return RTP_RESTART;
}

/* The window must be complete. */
static enum rtp_verdict seq_update(struct rtp_seq *q,
				   const struct packet_record *r,
				   uint32_t period_ticks, uint32_t clock_hz,
				   struct packet_record *ret_pending)
{
	uint32_t ahead = (uint16_t)(r->seq - (uint16_t)q->max);
	uint32_t behind = RTP_SEQ_MOD - ahead;

	q->packets++;
	if (!q->started) {
		begin_segment(q, r);
		return RTP_IN_ORDER;
	}
	if (ahead == 0) {
		q->duplicates++;
		return RTP_DUPLICATE;
	}
	if (ahead < RTP_MAX_DROPOUT) {
		advance_highest(q, ahead, r->rtp_ts, r->mono_ns);
		return RTP_IN_ORDER;
	}
	if (behind < RTP_MAX_MISORDER ||
	    (behind <= RTP_LATE_WINDOW &&
	     ts_consistent(q, r, -(int64_t)behind, period_ticks, clock_hz)))
		return take_late(q, behind);
	return take_jump(q, r, period_ticks, clock_hz, ret_pending);
}

enum rtp_verdict rtp_seq_update(struct rtp_seq *q,
				const struct packet_record *r,
				uint32_t period_ticks, uint32_t clock_hz,
				struct packet_record *ret_pending)
{
	enum rtp_verdict verdict;

	window_store(q);
	verdict = seq_update(q, r, period_ticks, clock_hz, ret_pending);
	window_load(q);
	return verdict;
}

/* Add `count` numbers to the newest packet's word. A position that leaves the
 * window has the same bit as the new number.
 * @return false: a loss becomes final, q unchanged */
static bool run_in_word(struct rtp_seq *q, uint32_t count)
{
	uint64_t bits = ((UINT64_C(1) << count) - 1)
			<< (slot(q->max + 1) % WORD_BITS);

	if ((q->current & bits) == bits)
		q->runs.open = 0;
	else if (q->max + count - RTP_WINDOW_BITS < q->base)
		q->current |= bits;
	else
		return false;
	q->max += count;
	q->packets += count;
	q->received += count;
	return true;
}

void rtp_seq_run(struct rtp_seq *q, uint32_t count, uint32_t rtp_ts,
		 int64_t mono_ns)
{
	while (count > 0) {
		uint32_t room = WORD_BITS - 1 - slot(q->max) % WORD_BITS;
		uint32_t n = count < room ? count : room;

		if (n == 0 || !run_in_word(q, n)) {
			n = 1;
			q->packets++;
			window_store(q);
			advance_highest(q, 1, rtp_ts, mono_ns);
			window_load(q);
		}
		count -= n;
	}
	q->max_ts = rtp_ts;
	q->max_ns = mono_ns;
}

void rtp_seq_counters(const struct rtp_seq *q, struct rtp_counters *ret)
{
	*ret = (struct rtp_counters){
		.packets = q->packets,
		.received = q->received,
		.duplicates = q->duplicates,
		.reordered = q->reordered,
		.very_late = q->very_late,
		.stray = q->stray,
		.restarts = q->restarts,
		.outages = q->outages,
		.expected = q->closed_expected,
		.max_reorder_distance = q->max_reorder_distance,
		.pending = q->has_pending,
	};
	if (q->started)
		ret->expected += (uint64_t)(q->max - q->base) + 1;
	ret->lost = ret->expected - ret->received;
}

void rtp_seq_loss_runs(const struct rtp_seq *q, struct loss_runs *ret)
{
	struct rtp_seq whole = *q;

	window_store(&whole);
	*ret = q->runs;
	if (q->started)
		scan_window(&whole, ret);
}
