#include "media/handover.h"

#include "base/clock.h"

bool handover_take(struct handover_gate *gate, int64_t now_ns)
{
	if (!gate->open)
		return false;
	if (now_ns - gate->second_ns >= NS_PER_S) {
		gate->second_ns = now_ns;
		gate->taken = 0;
	}
	return gate->taken++ < gate->rate;
}
