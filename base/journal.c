#include "base/journal.h"

#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define NAME_BYTES 24

bool journal_is_stderr(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device &&
	       st.st_ino == inode;
}

int journal_open(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

/* Append the field of a word. @param name  lower case, '_' */
static bool field_add(char *dst, size_t size, size_t *used, const char *name,
		      size_t name_len, const char *value, size_t value_len)
{
	char upper[NAME_BYTES];
	int len;

	for (size_t i = 0; i < name_len; i++)
		upper[i] = (char)toupper((unsigned char)name[i]);
	len = str_print(dst + *used, size - *used, "OFFHOOK_%.*s=%.*s\n",
			(int)name_len, upper, (int)value_len, value);
	if (len < 0)
		return false;
	*used += (size_t)len;
	return true;
}

size_t journal_entry(char *dst, size_t size, int priority,
		     const char *identifier, const char *line)
{
	int len = str_print(dst, size,
			    "PRIORITY=%d\nSYSLOG_IDENTIFIER=%s\nMESSAGE=%s\n",
			    priority, identifier, line);
	size_t used = len < 0 ? 0 : (size_t)len;

	if (len < 0)
		return 0;
	for (;;) {
		size_t name = strspn(line, "abcdefghijklmnopqrstuvwxyz_");
		const char *value = line + name + 1;
		size_t end;

		if (name == 0 || name >= NAME_BYTES || line[name] != '=')
			break;
		end = strcspn(value, " ");
		/* "role=caller: lost" */
		if (!field_add(dst, size, &used, line, name, value,
			       end && value[end - 1] == ':' ? end - 1 : end))
			return 0;
		line = value + end + (value[end] == ' ');
	}
	return used;
}

int journal_send(int fd, const char *path, const char *entry, size_t bytes)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};

	if (str_print(to.sun_path, sizeof(to.sun_path), "%s", path) < 0)
		return -ENAMETOOLONG;
	if (sendto(fd, entry, bytes, MSG_NOSIGNAL, (struct sockaddr *)&to,
		   sizeof(to)) < 0)
		return -errno;
	return 0;
}
