/** What must hold in a fuzz target: if it does not, the input is a finding. */
#ifndef OFFHOOK_FUZZ_CHECK_H
#define OFFHOOK_FUZZ_CHECK_H

#include <stdbool.h>
#include <stdlib.h>

static inline void check(bool holds)
{
	if (!holds)
		abort();
}

#endif
