#include "media/analysis/count_parts.h"

#include <string.h>

uint8_t count_part_take(struct count_parts *p)
{
	uint8_t number = ++p->used;

	memset(count_part_at(p, number), 0, sizeof(struct count_part));
	return number;
}
