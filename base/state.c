#include "base/state.h"

#include <string.h>

static const char *const names[] = {
#define X(name) [UA_##name] = #name,
	UA_STATES(X)
#undef X
};

const char *ua_state_name(enum ua_state state)
{
	return names[state];
}

bool ua_state_parse(const char *name, enum ua_state *ret)
{
	for (int i = 0; i < UA_STATE_COUNT; i++) {
		if (strcmp(names[i], name) == 0) {
			*ret = (enum ua_state)i;
			return true;
		}
	}
	return false;
}
