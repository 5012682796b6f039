#include "base/timer_queue.h"

/* A pairing heap (Fredman, Sedgewick, Sleator, Tarjan, 1986). Most timers are
 * cancelled before they are due: they are removed from their list of siblings
 * at any position. */

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

static void cut(struct timer_entry *t)
{
	if (t->back->child == t)
		t->back->child = t->next;
	else
		t->back->next = t->next;
	if (t->next)
		t->next->back = t->back;
}

void timer_queue_cancel(struct timer_entry *t)
{
	struct timer_queue *q = t->queue;
	struct timer_entry *rest;

	if (!q)
		return;
	rest = siblings_merged(t->child);
	if (t == q->root) {
		q->root = rest;
	} else {
		cut(t);
		q->root = merged(q->root, rest);
	}
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
	q->root = merged(q->root, t);
}

int64_t timer_queue_next_ns(const struct timer_queue *q)
{
	return q->root ? q->root->due_ns : INT64_MAX;
}

bool timer_queue_run_one(struct timer_queue *q, int64_t now_ns)
{
	struct timer_entry *t = q->root;

	if (!t || t->due_ns > now_ns)
		return false;
	timer_queue_cancel(t);
	t->handler(t->arg);
	return true;
}
