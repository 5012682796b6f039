/* A tap without end: streams that are over, and what was learned of them, make
 * room. */
#include "capture/capture_internal.h"

/* The streams that stay, in a table of their own. */
static bool keep_streams(struct capture *c, struct flow_table *kept,
			 int64_t before_ns, capture_stream_h *handler,
			 void *arg)
{
	size_t left = 0;

	for (size_t i = 0; i < c->table.count; i++) {
		struct capture_stream *s = c->stream[i];

		if (s->last_ns >= before_ns &&
		    flow_table_add(kept, &s->key) == FLOW_NONE)
			return false;
	}
	for (size_t i = 0; i < c->table.count; i++) {
		struct capture_stream *s = c->stream[i];

		if (s->last_ns >= before_ns) {
			s->successor = s;
			c->stream[left++] = s;
			continue;
		}
		measure_finish(s, &c->options, &c->intervals);
		handler(s, arg);
		measure_free(s, &c->memory);
	}
	return true;
}

static void use(struct flow_table *used, const struct address *address,
		unsigned port)
{
	const struct flow_key key = {.src = *address, .sport = (uint16_t)port};

	if (flow_table_find(used, &key) == FLOW_NONE)
		flow_table_add(used, &key);
}

/* Ports that no stream uses make room; of a stream, RTCP's, too. */
static void expire_endpoints(struct capture *c)
{
	struct flow_table used;

	flow_table_init(&used, 4 * c->options.streams_max);
	for (size_t i = 0; i < c->table.count; i++) {
		const struct flow_key *k = &c->table.keys[i];

		for (unsigned rtcp = 0; rtcp < 2; rtcp++) {
			use(&used, &k->src, k->sport + rtcp);
			use(&used, &k->dst, k->dport + rtcp);
		}
	}
	endpoints_keep(&c->endpoints, &used);
	flow_table_release(&used);
}

void capture_expire(struct capture *c, int64_t before_ns,
		    capture_stream_h *handler, void *arg)
{
	struct flow_table kept;

	flow_table_init(&kept, c->options.streams_max);
	if (keep_streams(c, &kept, before_ns, handler, arg)) {
		flow_table_release(&c->table);
		c->table = kept;
		c->last = kept.count ? c->stream[0] : NULL;
	} else { /* no memory: all stay */
		flow_table_release(&kept);
	}
	if (endpoints_crowded(&c->endpoints))
		expire_endpoints(c);
	reports_expire(&c->reports);
}
