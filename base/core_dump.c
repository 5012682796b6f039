#include "base/core_dump.h"

#include <sys/resource.h>

void core_dump_disable(void)
{
	const struct rlimit none = {.rlim_cur = 0, .rlim_max = 0};

	/* lowering a limit is never refused */
	(void)setrlimit(RLIMIT_CORE, &none);
}
