#include "base/version.h"

#include "base/commit.h"

#include <stdio.h>

void version_print(const char *program)
{
	if (OFFHOOK_COMMIT[0])
		printf("%s " OFFHOOK_VERSION " (commit " OFFHOOK_COMMIT ")\n",
		       program);
	else
		printf("%s " OFFHOOK_VERSION "\n", program);
}
