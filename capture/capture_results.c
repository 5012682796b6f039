/* What there is to read when frames have been taken. */
#include "capture/capture_internal.h"

#include <stdlib.h>

const struct capture_counters *capture_counters(const struct capture *c)
{
	return &c->counters;
}

size_t capture_stream_count(const struct capture *c)
{
	return c->table.count;
}

struct capture_stream *capture_stream(struct capture *c, size_t i)
{
	return c->stream[i];
}

int capture_intervals(struct capture *c, const struct capture_stream *s,
		      chain_file_h *handler, void *arg)
{
	return s->detail ? chain_file_walk(&c->intervals, &s->detail->intervals,
					   handler, arg)
			 : 0;
}

int capture_reports(struct capture *c, chain_file_h *handler, void *arg)
{
	return chain_file_walk(&c->reports.file, &c->reports.chain, handler,
			       arg);
}

uint64_t capture_left_out(const struct capture *c)
{
	return c->intervals.left_out + c->reports.file.left_out;
}

void capture_reporters(struct capture *c, capture_reporter_h *handler,
		       void *arg)
{
	reports_walk(&c->reports, handler, arg);
}

void capture_ssrc_changes(struct capture *c, capture_flow_h *handler, void *arg)
{
	struct flow_table flows;
	uint64_t *changes = calloc(c->table.count + 1, sizeof(*changes));

	flow_table_init(&flows, c->table.count);
	for (size_t i = 0; changes && i < c->table.count; i++) {
		struct flow_key key = c->table.keys[i];
		uint32_t at;

		key.ssrc = 0;
		at = flow_table_find(&flows, &key);
		if (at == FLOW_NONE)
			flow_table_add(&flows, &key);
		else
			changes[at]++;
	}
	for (size_t i = 0; changes && i < flows.count; i++) {
		if (changes[i] > 0)
			handler(&flows.keys[i], changes[i], arg);
	}
	flow_table_release(&flows);
	free(changes);
}
