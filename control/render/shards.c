#include "control/render/shards.h"

#include "base/str.h"
#include "control/wire/text.h"

#include <string.h>

static void number(char text[static SHARD_CELL_BYTES], const json_t *shard,
		   const char *member, int decimals)
{
	const json_t *value = json_object_get(shard, member);

	text[0] = '\0';
	if (json_is_number(value))
		(void)str_print(text, SHARD_CELL_BYTES, "%.*f", decimals,
				json_number_value(value));
}

void shard_cells_of(struct shard_cells *ret, const json_t *shard)
{
	(void)str_print(ret->shard, sizeof(ret->shard),
			"%" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT,
			json_integer_value(json_object_get(shard, "shard")),
			json_integer_value(json_object_get(shard, "shards")));
	number(ret->calls, shard, "calls", 0);
	number(ret->calls_per_second, shard, "calls_per_second", 3);
	number(ret->start, shard, "start_offset_ms", 1);
	number(ret->error, shard, "clock_error_ms", 1);
	const char *const all[SHARD_COLUMNS] = {
		text_of(shard, "role"),
		ret->shard,
		text_of(shard, "agent"),
		text_of(shard, "state"),
		ret->calls,
		ret->calls_per_second,
		ret->start,
		ret->error,
	};
	memcpy(ret->all, all, sizeof(all));
}

struct beginning {
	size_t count;
	double first_ms, first_error_ms;
	double last_ms, last_error_ms;
};

static void add(struct beginning *b, const json_t *shard)
{
	const json_t *start = json_object_get(shard, "start_offset_ms");
	const double ms = json_number_value(start);
	const double error_ms =
		json_number_value(json_object_get(shard, "clock_error_ms"));

	if (!json_is_number(start))
		return;
	if (!b->count || ms < b->first_ms) {
		b->first_ms = ms;
		b->first_error_ms = error_ms;
	}
	if (!b->count || ms >= b->last_ms) {
		b->last_ms = ms;
		b->last_error_ms = error_ms;
	}
	b->count++;
}

bool shard_skew_next(struct shard_skew *ret, const json_t *shards, size_t *at)
{
	while (*at < json_array_size(shards)) {
		const char *role = text_of(json_array_get(shards, *at), "role");
		struct beginning b = {.count = 0};
		const json_t *shard;

		while ((shard = json_array_get(shards, *at)) &&
		       strcmp(text_of(shard, "role"), role) == 0) {
			add(&b, shard);
			(*at)++;
		}
		if (b.count < 2)
			continue;
		*ret = (struct shard_skew){
			.role = role,
			.skew_ms = b.last_ms - b.first_ms,
			.error_ms = b.first_error_ms + b.last_error_ms,
		};
		return true;
	}
	return false;
}
