#include "base/timer_queue.h"

/* Most timers are cancelled long before they are due: they wait in a hierarchical
 * wheel (Varghese, Lauck, 1987), where starting and cancelling touch two
 * neighbours. When the time of their slot has come, they move to a pairing heap
 * (Fredman, Sedgewick, Sleator, Tarjan, 1986), which has the exact order.
 *
 * A tick has 2^22 ns, and its number has digits of 6 bits. A timer lies at the
 * level of the highest digit in which its tick differs from the queue's, in the
 * slot of that digit. All timers of a level are due before those of the next. A
 * timer's place is thus known from its time: it need not be stored. */
#define TICK_BITS 22

static bool due_before(const struct timer_entry *a, const struct timer_entry *b)
{
	return a->due_ns != b->due_ns ? a->due_ns < b->due_ns
				      : a->order < b->order;
}

/* Merge two heaps without siblings into one.
 * @param a,b  may be NULL */
static struct timer_entry *merged(struct timer_entry *a, struct timer_entry *b)
{
	struct timer_entry *parent = a;
	struct timer_entry *child = b;

	if (!a || !b)
		return a ? a : b;
	if (due_before(b, a)) {
		parent = b;
		child = a;
	}
	child->next = parent->child;
	if (child->next)
		child->next->back = child;
	child->back = parent;
	parent->child = child;
	return parent;
}

/* Merge all siblings into one heap: pairs from first to last, then the pairs
 * from last to first. */
static struct timer_entry *siblings_merged(struct timer_entry *first)
{
	struct timer_entry *pairs = NULL;
	struct timer_entry *heap = NULL;

	while (first) {
		struct timer_entry *a = first;
		struct timer_entry *b = a->next;

		first = b ? b->next : NULL;
		a->next = NULL;
		if (b)
			b->next = NULL;
		a = merged(a, b);
		a->next = pairs;
		pairs = a;
	}
	while (pairs) {
		struct timer_entry *a = pairs;

		pairs = a->next;
		a->next = NULL;
		heap = merged(heap, a);
	}
	if (heap)
		heap->back = NULL;
	return heap;
}

static void heap_add(struct timer_queue *q, struct timer_entry *t)
{
	t->child = NULL;
	t->next = NULL;
	t->back = NULL;
	q->root = merged(q->root, t);
}

static void cut(struct timer_entry *t)
{
	if (t->back->child == t)
		t->back->child = t->next;
	else
		t->back->next = t->next;
	if (t->next)
		t->next->back = t->back;
}

static void heap_remove(struct timer_queue *q, struct timer_entry *t)
{
	struct timer_entry *rest = siblings_merged(t->child);

	if (t == q->root) {
		q->root = rest;
	} else {
		cut(t);
		q->root = merged(q->root, rest);
	}
}

/* ---- wheel ---- */

static int64_t tick_of(int64_t time_ns)
{
	/* rounds down: negative times are in ticks before 0 */
	return time_ns >= 0 ? time_ns >> TICK_BITS
			    : -1 - ((-1 - time_ns) >> TICK_BITS);
}

struct place {
	unsigned level;
	unsigned slot;
};

/* @param tick  after q->tick */
static struct place place_of(const struct timer_queue *q, int64_t tick)
{
	uint64_t differs = (uint64_t)(tick ^ q->tick);
	unsigned level = (63 - (unsigned)__builtin_clzll(differs)) /
			 TIMER_QUEUE_SLOT_BITS;

	return (struct place){
		level,
		(unsigned)(tick >> (level * TIMER_QUEUE_SLOT_BITS)) %
			TIMER_QUEUE_SLOTS,
	};
}

static void wheel_add(struct timer_queue *q, struct timer_entry *t,
		      struct place at)
{
	struct timer_entry **slot = &q->slots[at.level][at.slot];

	t->child = NULL;
	t->next = *slot;
	t->back = NULL;
	if (t->next)
		t->next->back = t;
	*slot = t;
	q->used[at.level] |= UINT64_C(1) << at.slot;
}

static void wheel_remove(struct timer_queue *q, struct timer_entry *t)
{
	if (t->next)
		t->next->back = t->back;
	if (t->back) {
		t->back->next = t->next;
	} else {
		struct place at = place_of(q, tick_of(t->due_ns));

		q->slots[at.level][at.slot] = t->next;
		if (!t->next)
			q->used[at.level] &= ~(UINT64_C(1) << at.slot);
	}
}

static void add(struct timer_queue *q, struct timer_entry *t)
{
	int64_t tick = tick_of(t->due_ns);

	if (tick <= q->tick)
		heap_add(q, t);
	else
		wheel_add(q, t, place_of(q, tick));
}

/* @return false: the wheel is empty */
static bool slot_first(const struct timer_queue *q, struct place *ret)
{
	for (unsigned level = 0; level < TIMER_QUEUE_LEVELS; level++) {
		if (q->used[level]) {
			*ret = (struct place){
				level,
				(unsigned)__builtin_ctzll(q->used[level]),
			};
			return true;
		}
	}
	return false;
}

/* @return first tick of a slot */
static int64_t slot_begin(const struct timer_queue *q, struct place at)
{
	unsigned bits = at.level * TIMER_QUEUE_SLOT_BITS;
	int64_t above = q->tick >> (bits + TIMER_QUEUE_SLOT_BITS);

	return ((above << TIMER_QUEUE_SLOT_BITS) + at.slot) << bits;
}

/* Move the timers of each slot that begins until then to a lower level or to
 * the heap. No other timer changes its place: its tick differs from the new one
 * in the same digit. */
static void wheel_turn(struct timer_queue *q, int64_t tick)
{
	struct place at;

	while (slot_first(q, &at)) {
		int64_t begin = slot_begin(q, at);
		struct timer_entry *t = q->slots[at.level][at.slot];

		if (begin > tick)
			break;
		q->slots[at.level][at.slot] = NULL;
		q->used[at.level] &= ~(UINT64_C(1) << at.slot);
		q->tick = begin;
		while (t) {
			struct timer_entry *next = t->next;

			add(q, t);
			t = next;
		}
	}
	q->tick = tick;
}

/* ---- both ---- */

void timer_queue_cancel(struct timer_entry *t)
{
	struct timer_queue *q = t->queue;

	if (!q)
		return;
	if (tick_of(t->due_ns) <= q->tick)
		heap_remove(q, t);
	else
		wheel_remove(q, t);
	t->queue = NULL;
	t->child = NULL;
	t->next = NULL;
	t->back = NULL;
}

void timer_queue_start(struct timer_queue *q, struct timer_entry *t,
		       int64_t due_ns, void (*handler)(void *arg), void *arg)
{
	timer_queue_cancel(t);
	t->queue = q;
	t->due_ns = due_ns;
	t->order = q->started++;
	t->handler = handler;
	t->arg = arg;
	add(q, t);
}

int64_t timer_queue_next_ns(const struct timer_queue *q)
{
	int64_t next_ns = INT64_MAX;
	struct place at;

	if (q->root)
		return q->root->due_ns;
	if (!slot_first(q, &at))
		return INT64_MAX;
	for (const struct timer_entry *t = q->slots[at.level][at.slot]; t;
	     t = t->next) {
		if (t->due_ns < next_ns)
			next_ns = t->due_ns;
	}
	return next_ns;
}

bool timer_queue_run_one(struct timer_queue *q, int64_t now_ns)
{
	int64_t tick = tick_of(now_ns);
	struct timer_entry *t;

	if (tick > q->tick)
		wheel_turn(q, tick);
	t = q->root;
	if (!t || t->due_ns > now_ns)
		return false;
	timer_queue_cancel(t);
	t->handler(t->arg);
	return true;
}
