#include "control/wire/measure.h"

#include <string.h>

static const char *const names[MEASURE_COUNT] = {
#define X(name, unit) #name,
	MEASURES(X)
#undef X
};

static const char *const units[MEASURE_COUNT] = {
#define X(name, unit) unit,
	MEASURES(X)
#undef X
};

const char *measure_name(enum measure m)
{
	return names[m];
}

const char *measure_unit(enum measure m)
{
	return units[m];
}

bool measure_parse(const char *name, enum measure *ret)
{
	for (int i = 0; i < MEASURE_COUNT; i++) {
		if (strcmp(names[i], name) == 0) {
			*ret = (enum measure)i;
			return true;
		}
	}
	return false;
}
