#include "control/server/request/controller.h"
#include "control/server/request/import_turn.h"

#include <stdatomic.h>

/* Acquire: with the release in main(), the server is complete. */
static struct http *http_of(struct controller *c)
{
	return atomic_load_explicit(&c->http, memory_order_acquire);
}

static void wake(struct controller *c, unsigned kinds)
{
	struct http *http = http_of(c);

	if (http)
		c->http_ops->wake_parked(http, kinds);
}

void controller_wake_here(struct controller *c)
{
	wake(c, PARKED_ALL);
}

void controller_end_polls(struct controller *c, int64_t agent_id)
{
	struct http *http = http_of(c);

	if (http)
		c->http_ops->end_polls(http, agent_id);
}

void controller_wake_parked(struct controller *c, unsigned kinds)
{
	wake(c, kinds);
	if (c->announce_h)
		c->announce_h(c->announcer);
}

const char *controller_address(struct controller *c)
{
	const struct http *http = http_of(c);

	return http ? c->http_ops->address(http) : NULL;
}

bool controller_count(struct controller *c, struct http_counters *ret)
{
	struct http *http = http_of(c);

	if (http)
		c->http_ops->count(http, ret);
	return http != NULL;
}

bool import_turn_take(struct controller *c)
{
	if (atomic_fetch_add_explicit(&c->imports, 1, memory_order_relaxed) <
	    IMPORT_TURNS_MAX)
		return true;
	import_turn_give(c);
	return false;
}

void import_turn_give(struct controller *c)
{
	atomic_fetch_sub_explicit(&c->imports, 1, memory_order_relaxed);
}
