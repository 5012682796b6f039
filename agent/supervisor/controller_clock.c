#include "agent/supervisor/controller_clock.h"

#include "base/clock.h"

#include <stdlib.h>

/* Two clocks that no one disciplines drift apart by less: 100 us in a second is what
 * adjtimex() tolerates of a quartz. */
#define DRIFT_PER_S 10000

/* The controller's times are whole milliseconds, rounded down. */
#define UNIT_NS NS_PER_MS

int64_t controller_clock_error_ns(const struct controller_clock *c,
				  int64_t at_ns)
{
	return c->error_ns + llabs(at_ns - c->read_ns) / DRIFT_PER_S;
}

void controller_clock_read(struct controller_clock *c, int64_t sent_ns,
			   int64_t done_ns, int64_t server_us,
			   int64_t server_error_us)
{
	const int64_t half_ns = (done_ns - sent_ns) / 2;
	const int64_t error_ns =
		half_ns + UNIT_NS / 2 + server_error_us * NS_PER_US;

	if (c->known && controller_clock_error_ns(c, done_ns) < error_ns)
		return;
	*c = (struct controller_clock){
		.known = true,
		.offset_ns = server_us * NS_PER_US + UNIT_NS / 2 -
			     (sent_ns + half_ns),
		.error_ns = error_ns,
		.read_ns = sent_ns + half_ns,
	};
}
