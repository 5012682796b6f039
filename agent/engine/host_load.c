#include "agent/engine/host_load.h"

#include "base/clock.h"
#include "base/str.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TEXT_BYTES 4096
#define PATH_BYTES 1024

/* ---- texts ---- */

void host_load_parse_stat(const char *text, struct host_load_sample *ret)
{
	/* user nice system idle iowait irq softirq steal; guest time is part of
	 * user time */
	uint64_t ticks[8];
	uint64_t all = 0;

	if (sscanf(text,
		   "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
		   &ticks[0], &ticks[1], &ticks[2], &ticks[3], &ticks[4],
		   &ticks[5], &ticks[6], &ticks[7]) != 8)
		return;
	for (size_t i = 0; i < 8; i++)
		all += ticks[i];
	ret->host_ticks = all;
	ret->steal_ticks = ticks[7];
	ret->known |= HOST_LOAD_STEAL;
}

/* @return false: the text has no such line */
static bool line_value(const char *text, const char *name, uint64_t *ret)
{
	size_t len = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, len) == 0 && line[len] == ' ') {
			*ret = strtoull(line + len, NULL, 10);
			return true;
		}
	}
	return false;
}

void host_load_parse_group(const char *text, struct host_load_sample *ret)
{
	uint64_t periods, time;

	if (!line_value(text, "nr_throttled", &periods))
		return;
	ret->throttled += periods;
	if (line_value(text, "throttled_usec", &time))
		ret->throttled_ns += (int64_t)time * NS_PER_US;
	else if (line_value(text, "throttled_time", &time)) /* version 1 */
		ret->throttled_ns += (int64_t)time;
	ret->known |= HOST_LOAD_THROTTLED;
}

void host_load_parse_schedstat(const char *text, struct host_load_sample *ret)
{
	uint64_t ran, waited;

	if (sscanf(text, "%" SCNu64 " %" SCNu64, &ran, &waited) != 2)
		return;
	ret->loop_wait_ns = (int64_t)waited;
	ret->known |= HOST_LOAD_WAIT;
}

/* ---- files ---- */

/* @return false: nothing was read */
static bool text_of_fd(int fd, char text[static TEXT_BYTES])
{
	ssize_t n = fd < 0 ? -1 : pread(fd, text, TEXT_BYTES - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static int open_group(const char *mount, const char *path)
{
	char name[PATH_BYTES];

	if (str_print(name, sizeof(name), "/sys/fs/cgroup%s%s/cpu.stat", mount,
		      path) < 0)
		return -1;
	return open(name, O_RDONLY | O_CLOEXEC);
}

/* Open cpu.stat of a group and of those above it.
 * @param path  absolute below the mount; it is shortened */
static void open_groups(struct host_load *h, const char *mount, char *path)
{
	while (h->groups < HOST_LOAD_GROUPS) {
		int fd = open_group(mount, path);
		char *slash = strrchr(path, '/');

		if (fd >= 0)
			h->group_fd[h->groups++] = fd;
		if (!slash)
			return;
		*slash = '\0';
	}
}

static bool has_controller(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (; list; list = strchr(list, ',')) {
		list += *list == ',';
		if (strncmp(list, name, len) == 0 &&
		    (list[len] == ',' || list[len] == '\0'))
			return true;
	}
	return false;
}

/* A line of /proc/self/cgroup: ID:CONTROLLERS:PATH, the list empty in version 2. */
static void groups_of_line(struct host_load *h, char *line)
{
	char *list = strchr(line, ':');
	char *path = list ? strchr(list + 1, ':') : NULL;
	char mount[64];

	if (!path || h->groups)
		return;
	*path++ = '\0';
	list++;
	if (strcmp(path, "/") == 0)
		*path = '\0';
	if (!list[0])
		open_groups(h, "", path);
	else if (has_controller(list, "cpu") &&
		 str_print(mount, sizeof(mount), "/%s", list) >= 0)
		open_groups(h, mount, path);
}

static void groups_open(struct host_load *h)
{
	int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
	char text[TEXT_BYTES];
	bool read = text_of_fd(fd, text);
	char *rest = text;
	char *line;

	if (fd >= 0)
		close(fd);
	while (read && (line = strsep(&rest, "\n")) != NULL)
		groups_of_line(h, line);
}

void host_load_open(struct host_load *h)
{
	h->stat_fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	h->sched_fd = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
	h->groups = 0;
	groups_open(h);
}

void host_load_close(struct host_load *h)
{
	if (h->stat_fd >= 0)
		close(h->stat_fd);
	if (h->sched_fd >= 0)
		close(h->sched_fd);
	while (h->groups)
		close(h->group_fd[--h->groups]);
	h->stat_fd = h->sched_fd = -1;
}

void host_load_read(const struct host_load *h, struct host_load_sample *ret)
{
	struct timespec used = {0};
	char text[TEXT_BYTES];

	*ret = (struct host_load_sample){.mono_ns = clock_mono_ns()};
	if (text_of_fd(h->stat_fd, text))
		host_load_parse_stat(text, ret);
	if (text_of_fd(h->sched_fd, text))
		host_load_parse_schedstat(text, ret);
	for (size_t i = 0; i < h->groups; i++) {
		if (text_of_fd(h->group_fd[i], text))
			host_load_parse_group(text, ret);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	ret->processor_ns = used.tv_sec * NS_PER_S + used.tv_nsec;
	ret->wall_offset_ns = clock_wall_offset_ns();
}
