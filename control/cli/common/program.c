#include "control/cli/common/program.h"

#include "base/str.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* Find our own path by the name we were started with. @return false: unknown */
static bool own_name(char dst[static PATH_MAX])
{
	const char *name = (const char *)(uintptr_t)getauxval(AT_EXECFN);

	return name && realpath(name, dst);
}

int program_beside(char *dst, size_t size, const char *name)
{
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (len >= 0)
		self[len] = '\0';
	else if (!own_name(self)) /* no /proc, as in a bare chroot */
		return -ENOENT;
	slash = strrchr(self, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	if (str_print(dst, size, "%s/%s", self, name) < 0)
		return -ENOENT;
	return access(dst, X_OK) == 0 ? 0 : -ENOENT;
}

int program_become(const char *name, char **argv)
{
	char path[PATH_MAX];
	int err;

	if (program_beside(path, sizeof(path), name) == 0)
		execv(path, argv);
	else
		execvp(name, argv);
	err = errno;
	fprintf(stderr,
		"offhook: cannot start %s, which does this command: %s\n"
		"       it is installed beside offhook\n",
		name, strerror(err));
	return -err;
}
