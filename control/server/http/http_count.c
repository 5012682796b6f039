/* Counters of what is served; relaxed, as they order nothing. */
#include "base/clock.h"
#include "control/server/http/http_internal.h"

static const double time_bounds[HTTP_TIMES_MAX] = HTTP_TIMES;

static void count_one(atomic_uint_fast64_t *counter, uint64_t by)
{
	atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

static uint64_t counted(atomic_uint_fast64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

void http_count_answer(struct http *http, const struct exchange *x)
{
	const int64_t ns = clock_mono_ns() - x->started_ns;
	size_t i = 0;

	if (!x->response || x->status < 100 || x->status > 599)
		return; /* cut off */
	while (i < HTTP_TIMES_MAX &&
	       (double)ns > time_bounds[i] * (double)NS_PER_S)
		i++;
	count_one(&http->answers[x->status / 100], 1);
	count_one(&http->times[i], 1);
	count_one(&http->time_ns, (uint64_t)ns);
}

void http_count(struct http *http, struct http_counters *ret)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < 6; i++)
		ret->answers[i] = counted(&http->answers[i]);
	for (size_t i = 0; i <= HTTP_TIMES_MAX; i++) {
		sum += counted(&http->times[i]);
		ret->times[i] = sum;
	}
	ret->seconds = (double)counted(&http->time_ns) / (double)NS_PER_S;
	ret->queued = http_queue_count(http->queue);
	ret->active = atomic_load_explicit(&http->active, memory_order_relaxed);
}
