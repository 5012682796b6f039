#include "control/server/request/cookie.h"

#include <errno.h>
#include <string.h>

int cookie_get(const char *header, const char *name, char *value, size_t size)
{
	size_t name_len = strlen(name);

	while (header && *header) {
		size_t len;

		header += strspn(header, " \t;");
		len = strcspn(header, ";");
		if (strncmp(header, name, name_len) == 0 &&
		    header[name_len] == '=') {
			header += name_len + 1;
			len -= name_len + 1;
			if (len >= size)
				return -ENAMETOOLONG;
			memcpy(value, header, len);
			value[len] = '\0';
			return 0;
		}
		header += len;
	}
	return -ENOENT;
}
