#include "media/analysis/codec_count.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

void codec_count_init(struct codec_count *c, struct codec_count_entry *more)
{
	*c = (struct codec_count){.more = more};
}

static const struct codec_count_entry *entry_at(const struct codec_count *c,
						size_t i)
{
	return i < CODEC_COUNT_FIRST ? &c->first[i]
				     : &c->more[i - CODEC_COUNT_FIRST];
}

static bool is_codec(const struct codec_count_entry *e, const char *name,
		     uint32_t clock_hz, const struct emodel_values *values)
{
	return e->clock_hz == clock_hz &&
	       strncasecmp(e->name, name, sizeof(e->name) - 1) == 0 &&
	       emodel_values_equal(&e->values, values);
}

/* @return c->count: not found */
static size_t find(const struct codec_count *c, const char *name,
		   uint32_t clock_hz, const struct emodel_values *values)
{
	size_t i = 0;

	while (i < c->count &&
	       !is_codec(entry_at(c, i), name, clock_hz, values))
		i++;
	return i;
}

void codec_count_enter(struct codec_count *c, const char *name,
		       uint32_t clock_hz, uint8_t pt,
		       const struct emodel_values *values)
{
	struct codec_count_entry *e;

	c->current = find(c, name, clock_hz, values);
	if (c->current == CODEC_COUNT_MAX)
		return;
	e = codec_count_at(c, c->current);
	if (c->current < c->count) {
		if (pt < e->pt)
			e->pt = pt;
		return;
	}
	c->count++;
	*e = (struct codec_count_entry){
		.values = *values,
		.clock_hz = clock_hz,
		.pt = pt,
	};
	memcpy(e->name, name, strnlen(name, sizeof(e->name) - 1));
}

void codec_count_add(struct codec_count *c, uint64_t packets)
{
	if (c->current < c->count)
		codec_count_at(c, c->current)->packets += packets;
	else
		c->other += packets;
}

const struct codec_count_entry *codec_count_most(const struct codec_count *c,
						 uint64_t open)
{
	const struct codec_count_entry *most = NULL;
	uint64_t most_packets = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct codec_count_entry *e = entry_at(c, i);
		uint64_t n = e->packets + (i == c->current ? open : 0);

		if (most && (n < most_packets ||
			     (n == most_packets && e->pt > most->pt)))
			continue;
		most = e;
		most_packets = n;
	}
	if (c->other + (c->current == CODEC_COUNT_MAX ? open : 0) >
	    most_packets)
		return NULL;
	return most;
}

const struct codec_count_entry *codec_count_interval(struct codec_count *c)
{
	const struct codec_count_entry *most = NULL;
	uint64_t most_packets = 0;

	for (size_t i = 0; i < c->count; i++) {
		struct codec_count_entry *e = codec_count_at(c, i);
		uint64_t n = e->packets - e->packets_before;

		e->packets_before = e->packets;
		if (n == 0 || n < most_packets ||
		    (n == most_packets && e->pt > most->pt))
			continue;
		most = e;
		most_packets = n;
	}
	return most;
}
