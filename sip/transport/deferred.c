#include "sip/transport/deferred.h"

static void timer_handler(void *arg)
{
	deferred_run(arg);
}

void deferred_start(struct deferred_queue *queue, struct deferred *deferred,
		    void (*handler)(void *arg), void *arg)
{
	deferred->handler = handler;
	deferred->arg = arg;
	if (deferred->le.list)
		return;
	list_append(&queue->due, &deferred->le, deferred);
	/* deferred_run() follows the handling of a message */
	if (!queue->handling && !mono_timer_running(&queue->tmr))
		mono_timer_start(&queue->tmr, 0, timer_handler, queue);
}

void deferred_cancel(struct deferred *deferred)
{
	list_unlink(&deferred->le);
}

void deferred_run(struct deferred_queue *queue)
{
	struct deferred *first;

	for (uint32_t left = list_count(&queue->due);
	     left > 0 && (first = list_ledata(list_head(&queue->due)));
	     left--) {
		list_unlink(&first->le);
		first->handler(first->arg);
	}
	if (list_head(&queue->due))
		mono_timer_start(&queue->tmr, 0, timer_handler, queue);
	else
		mono_timer_cancel(&queue->tmr);
}

void deferred_close(struct deferred_queue *queue)
{
	mono_timer_cancel(&queue->tmr);
}
